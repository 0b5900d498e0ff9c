"""Samples each of which stands twice, with both signs: z_i = x_i and z_{n+i} = -x_i.

In regression a residual can be too large on either side. With the samples of a hinge-loss problem
that is two of them on one row: x_i with the threshold y_i - epsilon, and -x_i with the threshold
-(y_i + epsilon). Here are 2n samples that read the n rows without a copy: place i stands for row
i mod n. For kernel values see `kernel_samples.Places`.
"""

from functools import cached_property

import numpy as np

from skscreen.samples.rows import LinearSamples


def both_signs(n: int) -> np.ndarray:
    """Return n times +1, then n times -1."""
    return np.repeat([1.0, -1.0], n)


def places(n: int) -> np.ndarray:
    """Return the row of each of 2n samples."""
    return np.tile(np.arange(n), 2)


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
