"""The rules of the paper for listed items, each by its own Frobenius norm.

A solver decides rows of items in one pass, with sqrt(|a|^4 + |b|^4) in the place of |H|_F for
H = aa' - bb', and looks at the ends of the rows alone for the stronger rules (see
`metric_learning.screening`). Here every item is looked at, O(d) for the sphere rule, so that
decisions are those of the printed rules, and each rule decides all that the ones before it do.
"""

from collections.abc import Iterator

import numpy as np

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import EPS, WIDER
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.objective import SLACK, Objective, inner, norm
from skscreen.metric_learning.screening.bounds import Ball
from skscreen.metric_learning.screening.cone_rules import (
    cone_decides,
    orthant_decides,
    search_space,
)
from skscreen.metric_learning.screening.ranges import zero_range
from skscreen.metric_learning.screening.rules import half_space_lower

# Items at a time.
_TOGETHER = 2**14

Part = tuple[np.ndarray, np.ndarray]


def item_codes(objective: Objective, balls: list[Ball], rule: str) -> np.ndarray:
    """Return what balls that hold the optimum decide, in the order of item numbers.

    Parameters
    ----------
    objective : Objective
        The full problem at the lambda of the balls.
    balls : list of Ball
        An item is decided as soon as one of them decides it.
    rule : name of `rules.RULES`

    Returns
    -------
    ndarray of shape (T,), int8
        0 undecided, 1 zero part, 2 linear part.
    """
    geometry = objective.geometry
    codes = np.zeros(geometry.n_items, dtype=np.int8)
    regions = [_Region(objective, ball, rule) for ball in balls]
    for rows, slots in _parts(geometry):
        differences = geometry.pair_differences(rows, slots)
        sizes = frobenius_norms(*differences, geometry.diagonal)
        found = np.zeros(rows.size, dtype=np.int8)
        for region in regions:
            region.decide((rows, slots), differences, sizes, found)
        codes[geometry.item_numbers(rows, slots)] = found
    return codes


def _parts(geometry) -> Iterator[Part]:
    """Yield rows and slots of all items, some at a time."""
    rows, slots = geometry.list_items()
    for first in range(0, rows.size, _TOGETHER):
        yield rows[first : first + _TOGETHER], slots[first : first + _TOGETHER]


def frobenius_norms(near: np.ndarray, far: np.ndarray, diagonal: bool) -> np.ndarray:
    """Return |H|_F of items H = far far' - near near' (of its diagonal), or a little more.

    With u = far - near and v = far + near it is the root of (|u|^2 |v|^2 + <u, v>^2) / 2, which
    cancels no digits where both are alike.
    """
    minus, plus = far - near, far + near
    if diagonal:
        sizes = np.linalg.norm(minus * plus, axis=1)
    else:
        squares = [np.einsum("ij,ij->i", a, b) for a, b in
                   ((minus, minus), (plus, plus), (minus, plus))]  # fmt: skip
        sizes = np.sqrt(0.5 * (squares[0] * squares[1] + squares[2] ** 2))
    # Differences are off by an EPS each.
    lengths = np.einsum("ij,ij->i", near, near) + np.einsum("ij,ij->i", far, far)
    return sizes * (1.0 + EPS * (near.shape[1] + 16.0)) + 8.0 * EPS * lengths


class _Region:
    """A ball, and what a rule cuts it with.

    Parameters
    ----------
    objective : Objective
    ball : Ball
    rule : str
    """

    def __init__(self, objective: Objective, ball: Ball, rule: str):
        geometry, self._loss = objective.geometry, objective.loss
        self._ball, self._diagonal = ball, geometry.diagonal
        self._levels = geometry.thresholds(objective.loss)
        self._width = objective.loss.threshold - objective.loss.linear_below
        self._at = geometry.intervals(ball.terms)
        self._along = self._cone = None
        cuts = ball.centre is not None and np.isfinite(ball.radius + norm(ball.centre))
        if rule == "sphere" or not cuts:
            return
        self._slack = SLACK * EPS * (norm(ball.centre) + ball.radius)
        normal = ball.normal or objective.domain.split(ball.centre)[1]
        size = norm(normal.value)
        if size > 0.0:
            self._along = geometry.intervals(((1.0, geometry.margins(normal)),))
            self._scale = 1.0 / size
            self._depth = inner(normal.value, ball.centre) / size + self._slack
        if rule == "semidefinite":
            self._cone = search_space(objective, ball)
            self._geometry = geometry

    def decide(self, part: Part, differences, sizes: np.ndarray, codes: np.ndarray) -> None:
        """Decide undecided items, in place."""
        low, high = margins_of(self._at, *part)
        radius = self._ball.radius
        above, below = self._levels[part[0]], self._levels[part[0]] - self._width
        left = codes == UNDECIDED
        codes[left & (low - radius * sizes > above)] = ZERO
        codes[left & (high + radius * sizes < below)] = LINEAR
        if self._along is not None:
            self._cut(part, (low, high), sizes, (above, below), codes)
        if self._cone is not None:
            self._search(part, (low, high), sizes, (above, below), codes)

    def _cut(self, part: Part, margins, sizes, levels, codes) -> None:
        """Decide by the linear rule."""
        along = [self._scale * each for each in margins_of(self._along, *part)]
        radius, depth = self._ball.radius, self._depth
        for k in np.flatnonzero(codes == UNDECIDED):
            size = float(sizes[k])
            if half_space_lower(margins[0][k], size, radius, along[0][k], depth) > levels[0][k]:
                codes[k] = ZERO
            elif (
                -half_space_lower(-margins[1][k], size, radius, -along[1][k], depth) < levels[1][k]
            ):
                codes[k] = LINEAR

    def _search(self, part: Part, margins, sizes, levels, codes) -> None:
        """Decide by the semidefinite rule: of -H for the linear part."""
        values, points, noise = self._cone
        left = np.flatnonzero(codes == UNDECIDED)
        near, far = self._pairs(points, part[0][left], part[1][left])
        scratch = np.empty(near.shape[1])
        for k, a, b in zip(left, far, near, strict=True):
            arguments = (float(levels[0][k]), float(margins[0][k])), a, b
            turned = (-float(levels[1][k]), -float(margins[1][k])), b, a
            for code, ((level, margin), first, second) in ((ZERO, arguments), (LINEAR, turned)):
                if self._diagonal:
                    found = orthant_decides(values, self._ball.radius, level, first, second)
                else:
                    found = cone_decides(
                        values, self._ball.radius, level, margin, float(sizes[k]), first, second,
                        noise, self._slack, scratch,
                    )  # fmt: skip
                if found:
                    codes[k] = code
                    break

    def _pairs(self, points: np.ndarray, rows: np.ndarray, slots: np.ndarray):
        """Return the differences of the near and far pairs in the coordinates of the search."""
        items, d = self._geometry.items, self._geometry.n_features
        far = items.far[slots if items.slots is None else items.slots[slots]]
        near, points = items.near[rows], points[:, :d]
        return tuple(
            np.ascontiguousarray(points[pair[:, 0]] - points[pair[:, 1]]) for pair in (near, far)
        )


def margins_of(intervals, rows: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest margin of items by the intervals of their distances."""
    near_low, near_high, far_low, far_high = intervals
    low, high = far_low[slots] - near_high[rows], far_high[slots] - near_low[rows]
    unsure = EPS * (np.abs(near_high[rows]) + np.abs(far_high[slots]))
    return low - unsure, high + unsure


def item_ranges(objective: Objective, point: Point, lam: float, gap: float) -> np.ndarray:
    """Return the range of lambda in which each item is known to be decided; NaN for none.

    That is the open interval in which the sphere rule decides it from the ball of RRPB of a
    reference (Yoshida et al. 2019, Theorem 4.1 for the zero part).

    Parameters
    ----------
    objective : Objective
        With nothing fixed, at any lambda.
    point : Point
    lam, gap : float
        Where the reference was solved, and its duality gap there.

    Returns
    -------
    ndarray of shape (T, 2)
    """
    geometry, size = objective.geometry, norm(point.value) * WIDER
    epsilon = float(np.sqrt(2.0 * gap / lam)) * WIDER
    intervals = geometry.intervals(((1.0, geometry.margins(point)),))
    levels = geometry.thresholds(objective.loss)
    width = objective.loss.threshold - objective.loss.linear_below
    out = np.full((geometry.n_items, 2), np.nan)
    for rows, slots in _parts(geometry):
        low, high = margins_of(intervals, rows, slots)
        sizes = frobenius_norms(*geometry.pair_differences(rows, slots), geometry.diagonal)
        numbers = geometry.item_numbers(rows, slots)
        for k in range(rows.size):
            level, N = levels[rows[k]], sizes[k]
            found = zero_range(low[k], N, level, lam, size, epsilon)
            if not found[0] < found[1]:
                # The linear part of H is the zero part of -H.
                found = zero_range(-high[k], N, width - level, lam, size, epsilon)
            if found[0] < found[1]:
                out[numbers[k]] = found
    return out
