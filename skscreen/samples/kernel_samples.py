"""Samples known by their kernel values: margins, norms and blocks of Q.

With z_i = y_i (phi(x_i), B), where B is the value of the feature that carries the penalised
intercept (0 for none), everything a solver asks of the samples is in

    Q_ij = <z_i, z_j> = y_i y_j (K_ij + B^2).

The matrix K belongs to a `Gram`, which knows no labels: the problems of one-vs-rest share it.
"""

from math import fsum

import numpy as np

from skscreen.samples.gram import Gram
from skscreen.samples.gram_loops import signed_block
from skscreen.samples.rows import LARGEST


def check_intercept_scaling(bias: float) -> None:
    """Refuse a feature with whose values products overflow."""
    if not abs(bias) <= LARGEST:
        raise ValueError(f"intercept_scaling must be at most {LARGEST:g}, got {bias:g}.")


class KernelSamples:
    """Labelled samples of a hinge-loss problem, known by their kernel values.

    Parameters
    ----------
    gram : Gram
    y : ndarray of shape (n,)
        Labels -1 and +1.
    bias : float, default=0.0
        Value B of the feature that carries the penalised intercept; 0 for no intercept.
    """

    # Sums of BLAS would depend on the number of its threads; kernel values have threads of their
    # own.
    width = 0.0

    def __init__(self, gram: Gram, y: np.ndarray, *, bias: float = 0.0):
        y = np.asarray(y, np.float64)
        if y.shape != (gram.n,) or not np.all(np.abs(y) == 1.0):
            raise ValueError(f"y must be {gram.n} labels -1 or +1, got an array of shape {y.shape}")
        self.gram, self.y, self.bias = gram, y, float(bias)
        check_intercept_scaling(self.bias)
        self.n = gram.n
        self.diagonal = gram.diagonal + self.bias**2
        self.norms = np.sqrt(self.diagonal)

    def q_dot(self, alpha: np.ndarray) -> np.ndarray:
        """Return Q alpha, the margins of sum_i alpha_i z_i; zeros of alpha cost nothing."""
        out = np.zeros(self.n)
        index = np.flatnonzero(alpha)
        self.add_columns(index, alpha[index], out)
        return out

    def add_columns(self, index, change, out, columns=None) -> None:
        """Add to margins (of the samples `columns`) what changes of alpha[index] do to them."""
        if index.size == 0:
            return
        y = self.y if columns is None else self.y[columns]
        weights = self.y[index] * change
        # Exact sum, because this part may be large and nearly cancel.
        added = np.full(out.size, self.bias**2 * fsum(weights))
        self.gram.add_rows(index, weights, added, columns)
        out += y * added

    @property
    def error(self) -> float:
        """Relative errors of kernel values: how far they may be from those of any vectors."""
        return self.gram.error

    def summed(self, alpha: np.ndarray) -> float:
        """Return the size, for a sample of length 1, of what is summed up to a margin."""
        return float(np.linalg.norm(alpha * self.norms))

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return <z_i, z_j> of some samples with all, in float64."""
        signs = self.y[index][:, None] * self.y
        return signs * (self.gram.rows(index).astype(np.float64) + self.bias**2)

    def some_margins(self, index: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return some of the margins of sum_i alpha_i z_i."""
        used = np.flatnonzero(alpha)
        return self.block(index, used) @ alpha[used] if used.size else np.zeros(index.size)

    def block(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray | None = None):
        """Return Q between two sets of samples, in float64."""
        out = np.empty((rows.size, columns.size)) if out is None else out
        gram, y = self.gram, self.y
        if gram.whole is not None:
            signed_block(gram.whole, rows, columns, y[rows], y[columns], self.bias**2, out)
            return out
        out[:] = gram.compute(rows, columns).astype(gram.dtype)
        out += self.bias**2
        out *= y[rows][:, None] * y[columns]
        # The diagonal has its own formula, as in the stored matrix.
        same = rows[:, None] == columns
        out[same] = np.broadcast_to(self.diagonal[rows][:, None], same.shape)[same]
        return out
