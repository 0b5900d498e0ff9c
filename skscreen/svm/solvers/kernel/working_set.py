"""One solve on a working set, whose kernel matrix is computed once: SMO, then Newton's method."""

import numpy as np

from skscreen.samples.kernel_blocks import KernelBlocks
from skscreen.svm.solvers.kernel.block_newton import newton_step
from skscreen.svm.solvers.kernel.block_smo_loops import (
    LANES,
    pairs_with_offset,
    pairs_without_offset,
)
from skscreen.svm.solvers.kernel.box import Box

# Samples of a working set: few enough for its matrix to be factored, at most 400 MB.
LARGEST = 10_000

# Steps of SMO, for each sample, before a step of Newton's method; times both are tried.
_STEPS, _ROUNDS = 8, 12


class WorkingSets:
    """Solves on working sets; keeps the memory of their matrices.

    Parameters
    ----------
    blocks : KernelBlocks
    square_bias : float
        B^2 of a penalised intercept, added to all kernel values.
    diagonal : ndarray of shape (n,)
        K_ii + B^2 of all samples.
    max_steps : int
        Of all solves together.
    """

    def __init__(self, blocks: KernelBlocks, square_bias: float, diagonal: np.ndarray, max_steps):
        self._blocks, self._square_bias, self._diagonal = blocks, square_bias, diagonal
        self._max_steps = max_steps
        self._memory = np.empty(0, np.float32)
        self.n_steps = 0

    def solve(self, W: np.ndarray, box: Box, beta: np.ndarray, g: np.ndarray, eps: float):
        """Return beta after moves that leave no slopes further apart than eps.

        Parameters
        ----------
        W : ndarray of shape (m,)
            Samples.
        box : Box
            Of these samples.
        beta, g : ndarray of shape (m,)
            Point and slopes.
        eps : float
        """
        m = W.size
        n = -(-m // LANES) * LANES
        if self._memory.size < m * n:
            # Fresh memory comes page by page, which takes as long as filling it.
            self._memory = np.empty(m * n, np.float32)
        K = self._memory[: m * n].reshape(m, n)
        K[:, m:] = 0.0
        self._blocks.block(W, W, K)
        if self._square_bias:
            K[:, :m] += np.float32(self._square_bias)
        diagonal = np.ones(n, np.float32)
        diagonal[:m] = self._diagonal[W]
        K[np.arange(m), np.arange(m)] = diagonal[:m]
        low, high, beta, g = (_padded(part, n) for part in (box.low, box.high, beta, g))
        loop = pairs_with_offset if box.free else pairs_without_offset
        for _ in range(_ROUNDS):
            most = min(_STEPS * m, self._max_steps - self.n_steps)
            steps = loop(K, diagonal, low, high, beta, g, eps, most)
            self.n_steps += steps
            if steps < most or self.n_steps >= self._max_steps:
                break
            self.n_steps += newton_step(K, low[:m], high[:m], beta[:m], g, box.free)
        return beta[:m]


def _padded(values: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n)
    out[: values.size] = values
    return out
