"""A point to start from: nested random subsets of growing size, each solved from the one before.

The bounds of a subset are multiplied by n / n_level. Its solution gives scores of the next one's
samples, which tell which are at bounds. Samples at their bounds need long rows of the kernel matrix
once.
"""

import numpy as np

from skscreen.svm.certificate import Point
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.kernel.engine import Engine

# Sizes of the levels before the last one, which has all samples.
LEVELS = (1000, 4000, 16000)


def from_nothing(engine: Engine, dual: Dual, sizes: tuple[int, ...] = LEVELS) -> Point:
    """Return a point on all samples, from nested subsets of them, of these sizes."""
    n = dual.target.size
    order = np.random.default_rng(0).permutation(n)
    sizes = (*(size for size in sizes if size * 1.5 < n), n)
    index, part = _some(order, dual, sizes[0])
    point = engine.point(index, part.balanced(np.clip(np.zeros(sizes[0]), part.low, part.high)))
    for size in sizes[1:]:
        view = engine.improve(index, part, point, 3e-2)
        n_free = np.count_nonzero((part.low < point.beta) & (point.beta < part.high))
        chosen, part = _some(order, dual, size)
        point = _carried(engine, index, point, view.b, chosen, part, n_free)
        index = chosen
    return point


def _carried(engine: Engine, index, point: Point, b, new, dual: Dual, n_free) -> Point:
    """Return a point on new samples, which include those of the level before, `index`."""
    f, errors = engine.scores(index, point.beta, new)
    g = dual.target - f - dual.of_samples(b)
    if dual.shifts.size:
        return engine.point(new, dual.balanced(dual.best(g)))
    same = np.zeros(new.size)
    same[np.searchsorted(new, index)] = point.beta
    beta = np.clip(same, dual.low, dual.high)
    # It is the old point if half of that is inside the new bounds. Otherwise scores decide at
    # which bound a sample is; samples near the margin are between their bounds.
    if np.abs(beta).sum() >= 0.5 * np.abs(same).sum():
        beta = dual.filled(beta, g) if dual.sums.any() else dual.balanced(beta)
        values, more = engine.scores(new, beta, new, before=same)
        return Point(beta, f + values, errors + more, np.zeros(new.size, np.bool_))
    size = min(max(3 * n_free, 300), engine.least, new.size) - 1
    band = max(np.partition(np.abs(g), size)[size], 1e-12)
    if dual.group.size:
        beta = np.empty(new.size)
        for k, total in enumerate(dual.sums):
            part = np.flatnonzero(dual.group == k)
            own = dual.take(part)._replace(sums=dual.sums[[k]], group=np.empty(0, np.int8))
            beta[part] = _by_scores(g[part], band, own, float(total))
        return engine.point(new, beta)
    # The sum is what a penalised intercept is a multiple of.
    total = float(point.beta.sum()) if dual.free or engine.square_bias else None
    return engine.point(new, _by_scores(g, band, dual, total))


def _some(order: np.ndarray, dual: Dual, size: int) -> tuple[np.ndarray, Dual]:
    """Return samples, ascending, and the problem in which they represent all: larger losses."""
    rises = dual.high[order] > 0.0
    n_rising = int(np.count_nonzero(rises))
    n, fewest = order.size, min(n_rising, order.size - n_rising)
    # The first of the order, but some of either sign, as a level of one sign has no margin.
    few = min(max(size * fewest // n, 250), fewest, size // 2)
    sizes = (few, size - few) if n_rising == fewest else (size - few, few)
    parts = [order[rises][: sizes[0]], order[~rises][: sizes[1]]]
    factors = np.repeat(
        [n_rising / max(sizes[0], 1), (n - n_rising) / max(sizes[1], 1)],
        [part.size for part in parts],
    )
    chosen = np.concatenate(parts)
    places = np.argsort(chosen)
    chosen, factors = chosen[places], factors[places]
    part = dual.take(chosen)
    shifts = part.shifts / factors if part.shifts.size else part.shifts
    low, high = factors * part.low, factors * part.high
    # Some of the weights may allow less than all of them.
    sums = np.clip(part.sums, part.sums_of(low), part.sums_of(high))
    return chosen, part._replace(low=low, high=high, shifts=shifts, sums=sums)


def _by_scores(g: np.ndarray, band: float, dual: Dual, total: float | None) -> np.ndarray:
    """Return beta at its bounds by the sign of g, and linear in g for |g| < band."""
    width, (low, high) = dual.high - dual.low, (g.min() - band, g.max() + band)
    # For a sum of `total` g is shifted by a constant, found by bisection.
    for _ in range(40):
        b = 0.0 if total is None else 0.5 * (low + high)
        beta = dual.low + np.clip(0.5 + 0.5 * (g - b) / band, 0.0, 1.0) * width
        if total is None:
            break
        low, high = (b, high) if beta.sum() > total else (low, b)
    return dual.balanced(beta)
