"""Samples known by their kernel values: margins, norms and blocks of Q.

With z_i = y_i (phi(x_i), B), where B is the value of the feature that carries the penalised
intercept (0 for none), everything a solver asks of the samples is in

    Q_ij = <z_i, z_j> = y_i y_j (K_ij + B^2).

The matrix K belongs to a `Gram`, which knows no labels: the problems of one-vs-rest share it.
"""

from math import fsum

import numpy as np

from skscreen.samples.kernels.gram import Gram


class Places:
    """Kernel values of samples that are rows (n,) of a `Gram`: of some, or of all of them twice."""

    def __init__(self, gram: Gram, rows: np.ndarray):
        self._gram, self._rows, self.n = gram, rows, rows.size
        self.whole, self.error = gram.whole, gram.error
        self.diagonal = gram.diagonal[rows]

    @classmethod
    def twice(cls, gram: Gram) -> "Places":
        """Return samples that stand twice."""
        return cls(gram, np.tile(np.arange(gram.n), 2))

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and bounds on the errors."""
        if self.n <= self._gram.n:
            return self._gram.dot(self._rows[I], c, self._rows[J], double)
        sums = np.bincount(self._rows[I], c, minlength=self._gram.n)
        used, asked = np.flatnonzero(sums), self._rows[J]
        place = np.zeros(self._gram.n, np.int64)
        place[asked] = 1
        read = np.flatnonzero(place)
        place[read] = np.arange(read.size)
        values, errors = self._gram.dot(used, sums[used], read, double)
        return values[place[asked]], errors[place[asked]]

    def block(
        self,
        I: np.ndarray,
        J: np.ndarray,
        out: np.ndarray,
        own: tuple[np.ndarray, np.ndarray] | None = None,
        factor: float = 1.0,
    ) -> None:
        """Write kernel values to the first columns of `out`, see `Gram.block`."""
        self._gram.block(self._rows[I], self._rows[J], out, own, factor)


class KernelSamples:
    """Samples known by their kernel values, with labels y (n,), -1 or +1, and `bias` B."""

    # Sums of BLAS would depend on the number of its threads; kernel values have threads of their
    # own.
    width = 0.0

    def __init__(self, gram: Gram | Places, y: np.ndarray, *, bias: float = 0.0):
        y = np.asarray(y, np.float64)
        if y.shape != (gram.n,) or not np.all(np.abs(y) == 1.0):
            raise ValueError(f"y must be {gram.n} labels -1 or +1, got an array of shape {y.shape}")
        self.gram, self.y, self.bias = gram, y, float(bias)
        _check_digits(self.bias, float(gram.diagonal.max(initial=0.0)))
        # Relative errors of kernel values: how far they may be from those of any vectors.
        self.n, self.error = gram.n, gram.error
        self.diagonal = gram.diagonal + self.bias**2
        self.norms = np.sqrt(self.diagonal)

    def q_dot(self, alpha: np.ndarray) -> np.ndarray:
        """Return Q alpha, the margins of sum_i alpha_i z_i; zeros of alpha cost nothing."""
        used = np.flatnonzero(alpha)
        weights = self.y[used] * alpha[used]
        scores = self.gram.dot(used, weights, np.arange(self.n), double=True)[0]
        # Exact sum, because this part may be large and nearly cancel.
        return self.y * (scores + self.bias**2 * fsum(weights))

    def summed(self, alpha: np.ndarray) -> float:
        """Return the size, for a sample of length 1, of what is summed up to a margin."""
        return float(np.linalg.norm(alpha * self.norms))

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return <z_i, z_j> of some samples with all, in float64."""
        return self.block(index, np.arange(self.n))

    def some_margins(self, index: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return some of the margins of sum_i alpha_i z_i."""
        used = np.flatnonzero(alpha)
        return self.block(index, used) @ alpha[used] if used.size else np.zeros(index.size)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return Q between two sets of samples, in float64."""
        out = np.empty((rows.size, columns.size))
        self.gram.block(rows, columns, out)
        out += self.bias**2
        out *= self.y[rows][:, None]
        out *= self.y[columns]
        return out


def _check_digits(bias: float, largest: float) -> None:
    """Refuse an intercept beside whose B^2 kernel values keep fewer than four digits."""
    most = 1e6 * largest**0.5
    if largest > 0.0 and bias > most:
        raise ValueError(
            f"intercept_scaling={bias:g} is too large: its square is added to kernel values of up "
            f"to {largest:g}, which lose their digits. Give at most {most:g}, or "
            f"intercept='free' for an intercept without a penalty."
        )
