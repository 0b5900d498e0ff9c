"""One solve on a working set, whose kernel matrix is computed once: SMO, then Newton's method.

The dual is max sum_i target_i beta_i - 1/2 beta' (K + diag(s)) beta in a box, and g_i = target_i -
f_i, less s_i beta_i, its gradient. Steps of SMO move pairs that keep the sum of beta until no two
slopes differ by more than eps; or, without an offset, until no sample can move along a slope above
eps: the first of a pair has the largest slope, the second the largest gain together with it, and
both move to the optimum of their problem.

References
----------
R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
training support vector machines. JMLR 6, 2005.
I. Steinwart, D. Hush, C. Scovel. Training SVMs without offset. JMLR 12, 2011.
"""

from dataclasses import dataclass, field

import numpy as np

from skscreen._compiled import svm as loops
from skscreen.samples.kernels.gram import Gram, Places
from skscreen.svm.certificate import Box
from skscreen.svm.solvers.kernel.block_newton import newton_step

# Samples of a working set: few enough for its matrix to be factored, at most 1 GB, and as much for
# the factor.
LARGEST = 16_000


@dataclass
class WorkingSets:
    """Solves on working sets of n samples in `max_steps` together; keeps their matrices' memory."""

    values: Gram | Places
    square_bias: float
    diagonal: np.ndarray  # (n,), K_ii + B^2
    max_steps: int
    # Where all samples are in U, matrices are K_ij - own_i - own_j, in a unit that is a power of
    # two.
    own: np.ndarray | None = None
    unit: float = 1.0
    memory: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))
    # The samples whose matrix is there.
    known: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    n_steps: int = 0

    def sharpen(self) -> bool:
        """Have matrices in double precision from now on; return whether they were not yet."""
        single = self.memory.dtype == np.float32
        if single:
            self.memory, self.known = np.empty(0), np.empty(0, np.int64)
        return single

    def solve(
        self, W: np.ndarray, box: Box, beta: np.ndarray, g: np.ndarray, eps: float
    ) -> np.ndarray:
        """Return beta (m,) of samples W, from slopes g, with slopes no further apart than eps."""
        m, unit = W.size, self.unit
        # Rows are padded to a multiple of the lanes.
        n = m + -m % loops.SMO_LANES
        if self.memory.size < m * n:
            # Fresh memory comes page by page, which takes as long as filling it.
            self.memory = np.empty(m * n, self.memory.dtype)
        K = self.memory[: m * n].reshape(m, n)
        missing = None if self.own is None else self.own[W]
        own = self.diagonal[W] + (box.shifts if box.shifts.size else 0.0)
        own = own if missing is None else own - 2.0 * missing
        diagonal = np.ones(n, K.dtype)
        # A sample at the origin moves to a bound at once.
        diagonal[:m] = np.maximum(own / unit, 1e-30)
        if not np.array_equal(W, self.known):
            K[:, m:] = 0.0
            both = None if missing is None else (missing, missing)
            self.values.block(W, W, K, both, 1.0 / unit)
            if self.square_bias:
                K[:, :m] += K.dtype.type(self.square_bias / unit)
            self.known = W
        K[np.arange(m), np.arange(m)] = diagonal[:m]
        padded = np.zeros((4, n))
        padded[:, :m] = unit * box.low, unit * box.high, unit * beta, g
        low, high, beta, g = padded
        loop = loops.pairs_with_offset if box.free else loops.pairs_without_offset
        # Sets of values in memory are changed often, and each is solved from where others came.
        sweeps = 10 if self.own is None else 1
        for _ in range(12):
            # The more samples, the longer a factor takes.
            most = min(int(sweeps + 0.0025 * m) * m, self.max_steps - self.n_steps)
            steps = loop(K, diagonal, low, high, beta, g, eps, most)
            self.n_steps += steps
            if steps < most or self.n_steps >= self.max_steps:
                break
            self.n_steps += newton_step(K, low[:m], high[:m], beta[:m], g, box.free)
        return np.clip(beta[:m] / unit, box.low, box.high)


def choose(
    box: Box, beta: np.ndarray, slopes: np.ndarray, allowed: float, least: int
) -> tuple[np.ndarray, float]:
    """Return free samples, the largest violators and those nearest to the margin; and eps."""
    violations, free = box.violations(beta, slopes), box.is_free(beta)
    n_free = int(np.count_nonzero(free))
    size = min(max(least, int(1.6 * n_free) + least // 5), LARGEST)
    worst = violations.max()
    # Slopes of so many samples apart by eps leave less than half of the gap that is allowed.
    if box.shifts.size:
        enough = np.sqrt(allowed / (1.0 / box.shifts[free]).sum()) if n_free else 0.0
    else:
        width = box.high - box.low
        enough = 0.5 * allowed / max(width[free].sum(), 0.1 * size * width.mean())
    eps = min(max(enough, 0.03 * worst), 0.5 * worst)
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
