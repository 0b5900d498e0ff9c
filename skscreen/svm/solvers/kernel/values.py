"""Kernel values as the engine wants them: from a matrix, or in tiles."""

import numpy as np

from skscreen.core.floats import EPS
from skscreen.samples.gram import Gram
from skscreen.samples.kernel_blocks import KernelBlocks


class MatrixValues:
    """Kernel values of a matrix in memory, or of rows that are kept; see `engine.Values`.

    Parameters
    ----------
    gram : Gram
    centred : bool
        Whether blocks are those of differences to the first sample, as a free intercept allows.
        Single precision would leave nothing of what differs between values next to each other.

    Attributes
    ----------
    unit : float
        Of blocks, a power of two: nothing is rounded, and single precision ends at 1e38.
    """

    whole = in_double = True

    def __init__(self, gram: Gram, centred: bool):
        self._gram, self.unit, self._own = gram, 1.0, np.zeros(gram.n)
        self._roots = np.sqrt(gram.diagonal)
        if centred:
            first = gram.rows(np.zeros(1, np.int64))[0].astype(np.float64)
            self._own = first - 0.5 * first[0]

    def taken_off(self, index: np.ndarray) -> np.ndarray:
        """Return what blocks lack on the diagonal."""
        return 2.0 * self._own[index]

    def dot(self, I, c, J, double: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and estimates of the errors."""
        out = np.zeros(J.size)
        if I.size and J.size:
            self._gram.add_rows(I, c, out, None if J.size == self._gram.n else J)
        return out, 2.0 * EPS * float(np.linalg.norm(c * self._roots[I])) * self._roots[J]

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`."""
        gram, own = self._gram, self._own
        if out.dtype == np.float32:
            gram.block(I, J, own, 1.0 / self.unit, out)
            return
        K = gram.compute(I, J) if gram.whole is None else gram.whole[np.ix_(I, J)]
        out[:, : J.size] = (K - own[I][:, None] - own[J]) / self.unit


class TileValues:
    """Kernel values that are computed when they are needed; see `engine.Values`.

    Parameters
    ----------
    blocks : KernelBlocks
    compute : callable, optional
        Returns K between two sets of samples in double precision.
    """

    whole = False

    def __init__(self, blocks: KernelBlocks, compute=None):
        self._blocks, self._compute, self.in_double = blocks, compute, compute is not None
        self.dot = blocks.dot

    def taken_off(self, index: np.ndarray) -> float:
        """Return what blocks lack on the diagonal."""
        return 0.0

    def block(self, I, J, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`."""
        if out.dtype == np.float32:
            self._blocks.block(I, J, out)
        else:
            out[:, : J.size] = self._compute(I, J)
