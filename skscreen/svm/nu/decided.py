"""What a solution at a nu proves about all exact ones, of its own nu or another.

|w* - w|^2 is at most the gap of w = u(beta), so that every exact score is within a radius, times
the length of the sample, of the known one. The best intercept of a group is a weighted quantile of
its slopes, which rises in each: those of the lowest and of the highest slopes hold between them
all best ones. A sample whose slope has one sign in all of this has its dual variable at that bound.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skscreen.core.ball import gap_radius
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.intercept import best_intercepts
from skscreen.svm.dual import Dual

# No slope closer to zero than this share of the numbers it is a difference of is decided.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Region:
    """Scores f* within `widths` (n,) of f (n,), and the interval of intercepts of each group."""

    f: np.ndarray
    widths: np.ndarray
    low: np.ndarray
    high: np.ndarray


def region_of(dual: Dual, f: np.ndarray, widths: np.ndarray) -> Region:
    """Return where all exact solutions are, with scores within widths of f."""
    ends = np.empty((2, dual.sums.size))
    for k in range(dual.sums.size):
        part = np.flatnonzero(dual.group == k) if dual.group.size else slice(None)
        g, width, room = dual.target[part] - f[part], widths[part], (dual.high - dual.low)[part]
        level = float(dual.high[part].sum() - dual.sums[k])
        ends[0, k] = best_intercepts(g - width, room, level)[0]
        ends[1, k] = best_intercepts(g + width, room, level)[1]
    return Region(f, widths, *ends)


def codes_of(dual: Dual, region: Region) -> np.ndarray:
    """Return which samples have their dual variable at 0, or at the other bound, in (n,) codes."""
    group = dual.group if dual.group.size else np.zeros(dual.target.size, np.int8)
    low, high = region.low[group], region.high[group]
    g = dual.target - region.f
    size = np.abs(dual.target) + np.abs(region.f) + np.maximum(np.abs(low), np.abs(high))
    slack = region.widths + _TOLERANCE * size
    rises, falls = g - slack - high > 0.0, g + slack - low < 0.0
    out = np.full(g.size, UNDECIDED, np.int8)
    # The bound that is 0 is the lower one of samples of positive sign.
    positive = dual.high > 0.0
    out[(rises & ~positive) | (falls & positive)] = ZERO
    out[(rises & positive) | (falls & ~positive)] = LINEAR
    return out


def radius_at(
    dual: Dual, beta: np.ndarray, f: np.ndarray, errors: np.ndarray, apart: float, shift: float
) -> float:
    """Return the radius of the ball around (w + u) / 2 that has w*, u = u(beta), |w - u| = apart.

    f are scores of w, within errors; the centre is known up to `shift`.
    """
    view = dual.largest_gap(beta, f, errors)[0]
    # Sums that are not quite as they should be move the gap by as much as the intercepts say.
    lack = float(np.abs(np.atleast_1d(view.b)) @ np.abs(dual.sums_of(beta) - dual.sums))
    lack += EPS * beta.size * float(np.abs(np.atleast_1d(view.b)).max() * np.abs(beta).sum())
    return float(gap_radius(view.gap + lack, apart, 1.0, shift))


class NuScreening:
    """Decisions on samples that hold in every exact solution at a nu.

    Attributes
    ----------
    codes_ : ndarray of shape (n_samples,), or (n_problems, n_samples) for more than two classes
        0 undecided, 1 alpha_i = 0: the sample is no support vector; 2 alpha_i at its bound: it is
        beyond the margin, an outlier of a one-class SVM. As int8; samples that are no part of a
        problem have 1.
    undecided_ : ndarray, or list of ndarray
        Indices of the undecided samples; for more than two classes of each problem.
    rate_ : float
        Share of the decided among all samples that are part of a problem.
    bounds_ : ndarray of shape (n_samples, 2), or (n_problems, n_samples, 2)
        Lowest and highest score sum_j y_j alpha_j K(x_j, x_i), in the scale of bounds s_i of dual
        variables, that the sample may have at the optimum. NaN for samples that are no part of a
        problem.
    nu : float
    """

    codes_: np.ndarray
    bounds_: np.ndarray
    undecided_: np.ndarray | list[np.ndarray]

    def __init__(self, nu: float, n_samples: int, problems: list[tuple]):
        self.nu = nu
        codes = np.full((len(problems), n_samples), ZERO, np.int8)
        bounds = np.full((len(problems), n_samples, 2), np.nan)
        for k, (rows, found, region) in enumerate(problems):
            codes[k, rows] = found
            f, widths = region.f[: rows.size], region.widths[: rows.size]
            bounds[k, rows] = np.stack([f - widths, f + widths], axis=1)
        left = [np.flatnonzero(each == UNDECIDED) for each in codes]
        n_all = sum(rows.size for rows, *_ in problems)
        self.rate_ = (n_all - sum(each.size for each in left)) / n_all
        one = len(problems) == 1
        self.codes_, self.bounds_ = (codes[0], bounds[0]) if one else (codes, bounds)
        self.undecided_ = left[0] if one else left

    def __repr__(self) -> str:
        """Tell how many are decided."""
        counts = [np.count_nonzero(self.codes_ == code) for code in (ZERO, LINEAR, UNDECIDED)]
        return (
            f"NuScreening(nu={self.nu:g}, rate={self.rate_:.3f}: {counts[0]} at 0, {counts[1]} at "
            f"their bound, {counts[2]} undecided)"
        )


def of_both_sides(codes: np.ndarray) -> np.ndarray:
    """Return codes (n,) of the samples of a regression from those of both sides, (2 n,)."""
    above, below = np.split(codes, 2)
    out = np.full(above.size, UNDECIDED, np.int8)
    out[(above == ZERO) & (below == ZERO)] = ZERO
    out[(above == LINEAR) | (below == LINEAR)] = LINEAR
    return out


def screening(nu: float, n_samples: int, problems: list[Any]) -> NuScreening:
    """Return decisions of problems, each (rows, dual, region, whether samples stand twice)."""
    found = []
    for rows, dual, region, twice in problems:
        codes = codes_of(dual, region)
        found.append((rows, of_both_sides(codes) if twice else codes, region))
    return NuScreening(float(nu), n_samples, found)
