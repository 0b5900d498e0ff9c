"""Errors on validation samples, and bounds on them for every C between two solved values.

Two classes are told by the sign of one score. One against the rest there is a score f_k for each
class k, and a sample is right where that of its own class c is the largest. With bounds on all of
them that are linear in t (see `bounds`),

    lower_c(t) > upper_k(t) for all k != c   at both ends of a part   ->   right for every C of it,
    upper_c(t) < lower_k(t) for some k != c  at both ends             ->   wrong for every C of it.

The bounds by balls cost next to nothing. Those by regression are only computed for undecided
samples, first for their own class, then for the classes that are not yet decided. The mean absolute
error is bounded by how far scores can be from those of u(t), whose residuals are linear in t.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skscreen.core.floats import EPS, WIDER
from skscreen.samples.intercept import weighted_quantile
from skscreen.svm.certified.bounds import Between


@dataclass(frozen=True)
class Mistakes:
    """The share, by weights (n_val,), of the validation samples that are classified wrongly."""

    # As `Between.sure`, by what bounds the scores of all problems; by these scores, who is wrong.
    sure: Callable[[Sequence[Between], float, float, int], np.ndarray]
    wrong: Callable[[Sequence[np.ndarray]], np.ndarray]
    weights: np.ndarray
    name = "validation error"

    def error(self, scores: Sequence[np.ndarray]) -> float:
        """Return the share of samples with wrong scores."""
        return self._share(self.wrong(scores))

    def bound(self, betweens: Sequence[Between], start: float, stop: float, side: int) -> float:
        """Return the share that is provably wrong (side -1) or not provably right (side 1)."""
        found = self.sure(betweens, start, stop, side)
        return self._share(found if side < 0 else ~found)

    def _share(self, found: np.ndarray) -> float:
        # Divide only once, at the end, because counts are exact.
        return float((self.weights @ found) / self.weights.sum())


def surely_on_a_side(
    betweens: Sequence[Between], start: float, stop: float, side: int
) -> np.ndarray:
    """Return which samples of two classes are provably on a side, see `Between.sure`."""
    return betweens[0].sure(start, stop, side)


def on_the_wrong_side(signs: np.ndarray, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return which samples of two classes are classified wrongly; f = 0 means the first class."""
    return np.where(signs > 0.0, scores[0] <= 0.0, scores[0] < 0.0)


def not_ahead(codes: np.ndarray, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return which samples are classified wrongly; of equal scores the first class counts."""
    return np.argmax(np.stack(scores), axis=0) != codes


def surely_ahead(
    codes: np.ndarray, betweens: Sequence[Between], start: float, stop: float, side: int
) -> np.ndarray:
    """Return which samples (n_val,) of many classes are provably on a side, see `Between.sure`."""
    race = _Race(codes, betweens, start, stop, side)
    sure = race.decided(race.bounds)
    open_rows = np.flatnonzero(~sure & race.decided(race.centres))
    if open_rows.size:
        race.sharpen(open_rows)
        sure[open_rows] = race.decided(race.bounds)[open_rows]
    return sure


class _Race:
    """Bounds on -side f of the own class and on side f of the others, at both ends of a part.

    A class is behind if the sum of its bound and that of the own class is negative at both ends: a
    sample is right if all others are behind (side 1), and wrong if one of them is (side -1).
    """

    def __init__(self, codes, betweens, start, stop, side):
        self._codes, self._betweens, self._part, self._side = codes, betweens, (start, stop), side
        self._everyone = np.arange(codes.size)
        self._own = codes == np.arange(len(betweens))[:, None]
        signs = np.where(self._own, -side, side)[:, None]
        scores = np.stack([between.scores(start, stop) for between in betweens])
        reach = np.stack([between.reach(start, stop) for between in betweens])
        # Classes, ends, samples.
        self.centres = signs * scores
        self.bounds = self.centres + reach[:, None]

    def _behind(self, bounds: np.ndarray) -> Any:
        """Return which classes are behind, (n_classes, n_val); the own class is neutral."""
        # A comparison, unlike a sum, has no rounding errors.
        ours = -bounds[self._codes, :, self._everyone].T
        behind = np.all(bounds < ours, axis=1)
        behind[self._own] = self._side > 0
        return behind

    def decided(self, bounds: np.ndarray) -> np.ndarray:
        """Return which samples the bounds decide."""
        behind = self._behind(bounds)
        return behind.all(axis=0) if self._side > 0 else behind.any(axis=0)

    def sharpen(self, rows: np.ndarray) -> None:
        """Compute the bounds by regression that some samples need."""
        asked = np.zeros_like(self._own)
        asked[:, rows] = self._own[:, rows]
        self._regress(asked, -self._side)
        asked[:, rows] = ~self._behind(self.bounds)[:, rows] & ~self._own[:, rows]
        if self._side < 0:
            # One class ahead is enough: the most promising one.
            rivals = np.where(self._own, np.inf, self.centres.max(axis=1)).argmin(axis=0)
            asked &= rivals == np.arange(len(asked))[:, None]
        self._regress(asked, self._side)

    def _regress(self, asked: np.ndarray, sign: int) -> None:
        for k, between in enumerate(self._betweens):
            rows = np.flatnonzero(asked[k])
            if rows.size:
                found = between.regressed(rows, sign, *self._part)
                # Use one of both bounds: the smaller one at each end would not be linear in
                # between.
                better = found.sum(axis=0) < self.bounds[k][:, rows].sum(axis=0)
                self.bounds[k][:, rows[better]] = found[:, better]


@dataclass(frozen=True)
class AbsoluteErrors:
    """The mean absolute error on validation samples with targets and weights (n_val,).

    Residuals of u(t) are linear in t, so the mean of their sizes is convex: its maximum is at an
    end, its minimum a weighted median.
    """

    targets: np.ndarray
    weights: np.ndarray
    name = "mean absolute error"

    def error(self, scores: Sequence[np.ndarray]) -> float:
        """Return the error that scores make."""
        return self._mean(np.abs(self.targets - scores[0]))

    def bound(self, betweens: Sequence[Between], start: float, stop: float, side: int) -> float:
        """Return a lower bound (side -1) or an upper one (1) for all t in [start, stop]."""
        (between,) = betweens
        first, last = self.targets - between.scores(start, stop)
        sizes = np.maximum(np.abs(first), np.abs(last)) + np.abs(self.targets)
        error = self._mean(_distance(between, start, stop) + 4.0 * EPS * sizes) * WIDER
        if side > 0:
            return (max(self._mean(np.abs(first)), self._mean(np.abs(last))) + error) * WIDER
        smallest = smallest_sum(first, last - first, self.weights / self.weights.sum())
        # Of sums, and of a median that sums with rounding errors take for the right one.
        return max(smallest - error - 8.0 * (first.size + 4.0) * EPS * self._mean(sizes), 0.0)

    def _mean(self, values: np.ndarray) -> float:
        return float((self.weights @ values) / self.weights.sum())


def _distance(between: Between, start: float, stop: float) -> np.ndarray:
    """Return bounds on the difference between optimal scores and those of u(t)."""
    reach, scores = between.reach(start, stop), between.scores(start, stop)
    everyone = np.arange(reach.size)
    sides = [
        (between.regressed(everyone, sign, start, stop) - sign * scores).max(axis=0)
        for sign in (-1, 1)
    ]
    return np.minimum(reach, np.maximum(*sides))


def smallest_sum(first: np.ndarray, change: np.ndarray, weights: np.ndarray) -> float:
    """Return the least of sum_j weights_j |first_j + t change_j| over t in [0, 1], rounded."""
    # Convex and piecewise linear: least at a median of the kinks, by slopes, or at an end.
    slopes = weights * np.abs(change)
    with np.errstate(over="ignore"):
        kinks = np.divide(-first, change, out=np.zeros(first.size), where=change != 0.0)
    middle = weighted_quantile(kinks, slopes, 0.5 * slopes.sum())
    return float(weights @ np.abs(first + min(max(middle, 0.0), 1.0) * change))
