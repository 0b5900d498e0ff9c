"""Which class has the largest score, for every C between two solved values.

One against the rest there is a score f_k for each class k, and a sample is right where that of its
own class c is the largest. With bounds on all of them that are linear in t (see `score_bounds`),

    lower_c(t) > upper_k(t) for all k != c   at both ends of a part   ->   right for every C of it,
    upper_c(t) < lower_k(t) for some k != c  at both ends             ->   wrong for every C of it.

The bounds by balls cost next to nothing. Those by regression are only computed for undecided
samples, first for their own class, then for the classes that are not yet decided.
"""

from collections.abc import Sequence

import numpy as np

from skscreen.svm.screening.score_bounds import Between


def not_ahead(codes: np.ndarray, scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return which samples are classified wrongly; of equal scores the first class counts."""
    return np.argmax(np.stack(scores), axis=0) != codes


def surely_ahead(
    codes: np.ndarray, betweens: Sequence[Between], start: float, stop: float, side: int
) -> np.ndarray:
    """Return which validation samples are on one side for all t in [start, stop].

    Parameters
    ----------
    codes : ndarray of shape (n_val,)
        Classes of the samples, as indices.
    betweens : sequence of Between
        For the score of each class.
    start, stop, side
        As for `Between.sure`.

    Returns
    -------
    ndarray of shape (n_val,), bool
    """
    race = _Race(codes, betweens, start, stop, side)
    sure = race.decided(race.bounds)
    open_rows = np.flatnonzero(~sure & race.decided(race.centres))
    if open_rows.size:
        race.sharpen(open_rows)
        sure[open_rows] = race.decided(race.bounds)[open_rows]
    return sure


class _Race:
    """Bounds on -side f of the own class and on side f of the others, at both ends of a part.

    A class is behind if the sum of its bound and that of the own class is negative at both ends. A
    sample is right if all other classes are behind with side = 1, and wrong if one of them is with
    side = -1.
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

    def _behind(self, bounds: np.ndarray) -> np.ndarray:
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
