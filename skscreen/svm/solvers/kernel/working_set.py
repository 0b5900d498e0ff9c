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

# Samples of a working set: few enough for its matrix to be factored, at most 1 GB, and as much for
# the factor.
LARGEST = 16_000

# Least K_ii: a sample at the origin moves to a bound at once.
_TINIEST = 1e-30

# Share of the largest violation that a solve leaves, if not less is asked for.
_LEFT = 0.03

# Steps of SMO for each sample before a step of Newton's method, which grow with their number, as a
# factor takes longer; times both are tried.
_STEPS, _GROWTH, _ROUNDS = 10, 0.0025, 12


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
    by_newton : bool, default=True
        Whether steps of Newton's method follow those of SMO.
    memory : float32 ndarray, optional
        For their matrices.
    """

    def __init__(
        self, blocks: KernelBlocks, square_bias: float, diagonal: np.ndarray, max_steps,
        by_newton: bool = True, memory: np.ndarray | None = None,
    ):  # fmt: skip
        self._blocks, self._square_bias, self._diagonal = blocks, square_bias, diagonal
        self._max_steps, self._by_newton = max_steps, by_newton
        self._memory = np.empty(0, np.float32) if memory is None else memory
        self._known = np.empty(0, np.int64)
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
        n = row_length(m)
        if self._memory.size < m * n:
            # Fresh memory comes page by page, which takes as long as filling it.
            self._memory = np.empty(m * n, np.float32)
        K = self._memory[: m * n].reshape(m, n)
        diagonal = np.ones(n, np.float32)
        diagonal[:m] = np.maximum(self._diagonal[W], _TINIEST)
        if not np.array_equal(W, self._known):
            K[:, m:] = 0.0
            self._blocks.block(W, W, K)
            if self._square_bias:
                K[:, :m] += np.float32(self._square_bias)
            K[np.arange(m), np.arange(m)] = diagonal[:m]
            self._known = W
        low, high, beta, g = (_padded(part, n) for part in (box.low, box.high, beta, g))
        loop = pairs_with_offset if box.free else pairs_without_offset
        for _ in range(_ROUNDS):
            most = min(int(_STEPS + _GROWTH * m) * m, self._max_steps - self.n_steps)
            steps = loop(K, diagonal, low, high, beta, g, eps, most)
            self.n_steps += steps
            if steps < most or self.n_steps >= self._max_steps or not self._by_newton:
                break
            self.n_steps += newton_step(K, low[:m], high[:m], beta[:m], g, box.free)
        return beta[:m]


def row_length(m: int) -> int:
    """Return the length of rows of the matrix of m samples, with their padding."""
    return -(-m // LANES) * LANES


def working_set_size(n_free: int, least: int) -> int:
    """Return how many samples a working set has for so many free ones."""
    return min(max(least, int(1.6 * n_free) + least // 5), LARGEST)


def choose(
    box: Box, beta: np.ndarray, slopes: np.ndarray, allowed: float, least: int
) -> tuple[np.ndarray, float]:
    """Return free samples, the largest violators and those nearest to the margin; and eps.

    Parameters
    ----------
    box : Box
    beta, slopes : ndarray of shape (m,)
    allowed : float
        Gap that is allowed.
    least : int
        Least samples of a working set.
    """
    violations, free = box.violations(beta, slopes), box.is_free(beta)
    n_free = np.count_nonzero(free)
    size = working_set_size(n_free, least)
    worst = violations.max()
    # Slopes of so many samples apart by eps leave less than half of the gap that is allowed.
    width = box.high - box.low
    weight = max(width[free].sum(), 0.1 * size * width.mean())
    eps = min(max(0.5 * allowed / weight, _LEFT * worst), 0.5 * worst)
    # As many that may rise as may fall: with an intercept they move in pairs.
    most, chosen = n_free + max(size - n_free, 0) // 4, np.zeros(beta.size, np.bool_)
    for slope, moves in ((slopes, beta < box.high), (-slopes, beta > box.low)):
        rank = np.where(moves, -slope, np.inf)
        rank[free] = -np.inf if n_free < size else -np.abs(slopes[free])
        chosen[smallest(rank, min(most, size))] = True
    rest = np.abs(slopes)
    rest[chosen] = -np.inf
    return smallest(rest, size), eps


def smallest(rank: np.ndarray, size: int) -> np.ndarray:
    """Return where the smallest entries are, in increasing order of place."""
    if size >= rank.size:
        return np.arange(rank.size)
    return np.sort(np.argpartition(rank, size)[:size])


def _padded(values: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n)
    out[: values.size] = values
    return out
