"""Samples each of which stands twice, with both signs: z_i = x_i and z_{n+i} = -x_i.

In regression a residual can be too large on either side. With the samples of a hinge-loss problem
that is two of them on one row: x_i with the threshold y_i - epsilon, and -x_i with the threshold
-(y_i + epsilon). Here are 2n samples that read the n rows, or the kernel values between them,
without a copy: place i stands for row i mod n.
"""

from functools import cached_property

import numpy as np

from skscreen.samples.gram import Gram
from skscreen.samples.kernel_blocks import KernelBlocks
from skscreen.samples.rows import LinearSamples


def both_signs(n: int) -> np.ndarray:
    """Return n times +1, then n times -1."""
    return np.repeat([1.0, -1.0], n)


class TwiceRows:
    """Rows z_i = (x_i, B) and z_{n+i} = -(x_i, B) of a linear model; see `LinearSamples`.

    Parameters
    ----------
    rows : LinearSamples
        Of signs +1.
    """

    error = 0.0

    def __init__(self, rows: LinearSamples):
        self._half, self.n = rows, 2 * rows.n
        self.y, self.norms = both_signs(rows.n), np.tile(rows.norms, 2)
        self.X, self.bias, self.is_sparse = rows.X, rows.bias, rows.is_sparse
        self.n_columns, self.n_features = rows.n_columns, rows.n_features
        self.n_entries, self.width = 2 * rows.n_entries, rows.width
        self.rows, self.short_rows = rows.rows, rows.short_rows

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """Number of entries in the row of each sample."""
        return np.tile(self._half.row_lengths, 2)

    def with_bias(self, bias: float) -> "TwiceRows":
        """Return the same rows with a feature of another value B."""
        return TwiceRows(self._half.with_bias(bias))

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return <z_i, w>."""
        margins = self._half.margins(w)
        return np.concatenate([margins, -margins])

    def combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return the sum of alpha_i z_i."""
        return self._half.combine(alpha[: self._half.n] - alpha[self._half.n :])

    def q_dot(self, alpha: np.ndarray) -> np.ndarray:
        """Return the margins of `combine(alpha)`."""
        return self.margins(self.combine(alpha))

    def rounding(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return estimates of the rounding errors of margins."""
        return np.tile(self._half.rounding(w, b), 2)

    def exact_margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """Return the margins, in extended precision, of weights and intercept that users have."""
        margins = self._half.exact_margins(w, b)
        return np.concatenate([margins, -margins])

    def some_margins(self, index: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return some of the margins of `combine(alpha)`."""
        return self.restrict(index).margins(self.combine(alpha))

    def restrict(self, index: np.ndarray) -> LinearSamples:
        """Return the samples of an array of indices; their rows are copied."""
        part = self._half.restrict(np.asarray(index) % self._half.n)
        part.y = self.y[index]
        return part

    def scaled_rows(self, index: np.ndarray, scales: np.ndarray, dtype=np.float64):
        """Return the rows scales_i z_i of some samples: an array or CSR."""
        return self._half.scaled_rows(index % self._half.n, scales * self.y[index], dtype)

    def block(
        self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return Q between two sets of samples."""
        n = self._half.n
        out = self._half.block(rows % n, columns % n, out)
        out *= self.y[rows][:, None]
        out *= self.y[columns]
        return out

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return <z_i, z_j> of some samples with all."""
        half = self._half.products(index % self._half.n) * self.y[index][:, None]
        return np.hstack([half, -half])


class TwiceGram:
    """The kernel matrix of samples that stand twice, without their signs; see `Gram`.

    Parameters
    ----------
    gram : Gram
        Of the rows.
    """

    # Blocks of it are those of the matrix of the rows.
    whole = None

    def __init__(self, gram: Gram):
        self._half, self.n = gram, 2 * gram.n
        self.diagonal, self.dtype, self.error = np.tile(gram.diagonal, 2), gram.dtype, gram.error
        self.blocks = None if gram.blocks is None else TwiceBlocks(gram.blocks)

    def compute(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return K between two sets of samples, in float64."""
        rows, columns = rows % self._half.n, columns % self._half.n
        if self._half.whole is not None:
            return self._half.whole[np.ix_(rows, columns)].astype(np.float64, copy=False)
        return self._half.compute(rows, columns)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of K."""
        return np.tile(self._half.rows(index % self._half.n), (1, 2))

    def add_rows(self, index, weights, out, columns=None) -> None:
        """Add sum_k weights_k K[index_k] (at `columns`) to out."""
        n = self._half.n
        used, weights = _merged(index, weights, n)
        read, places = _distinct(np.arange(n) if columns is None else columns, n)
        added = np.zeros(read.size)
        self._half.add_rows(used, weights, added, None if read.size == n else read)
        out += np.tile(added, 2) if columns is None else added[places]

    def block(self, I: np.ndarray, J: np.ndarray, own: np.ndarray, factor: float, out) -> None:
        """Write factor (K_ij - own_i - own_j) to the first columns of `out`, of float32."""
        n = self._half.n
        self._half.block(I % n, J % n, own[:n], factor, out)


class TwiceBlocks:
    """Products of the kernel matrix of samples that stand twice, in tiles; see `KernelBlocks`.

    Parameters
    ----------
    blocks : KernelBlocks
        Of the rows.
    """

    def __init__(self, blocks: KernelBlocks):
        self._half, self.n = blocks, 2 * blocks.n

    def dot(self, I, c, J, double: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and bounds on the errors."""
        read, places = _distinct(J, self._half.n)
        values, errors = self._half.dot(*_merged(I, c, self._half.n), read, double)
        return values[places], errors[places]

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, a float32 array."""
        self._half.block(I % self._half.n, J % self._half.n, out)


def _merged(index: np.ndarray, weights: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of some samples, each once, with the sums of their weights."""
    sums = np.bincount(index % n, weights, minlength=n)
    used = np.flatnonzero(sums)
    return used, sums[used]


def _distinct(index: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of some samples, each once, and which of them belongs to each sample."""
    rows, place = index % n, np.zeros(n, np.int64)
    place[rows] = 1
    read = np.flatnonzero(place)
    place[read] = np.arange(read.size)
    return read, place[rows]
