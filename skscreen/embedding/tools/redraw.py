"""Positions of objects with few answers, drawn from what the answers and the map leave open.

The distribution is normal with the mean and covariance of the map, times the probabilities of the
answers about the object, the others being where they are. The steps are those of Metropolis: first
proposals from the map, then random walks.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from skscreen.embedding.problem.losses import EmbeddingLoss


class Response(NamedTuple):
    """Probability of a right answer, lapses / 2 + (1 - lapses) / (1 + exp(-slope margin))."""

    slope: float
    lapses: float

    @classmethod
    def fit(cls, seen: np.ndarray, rng: np.random.Generator) -> Self:
        """Maximise the likelihood of answers with these margins, positive where they are right."""
        if len(seen) > 20_000:
            seen = rng.choice(seen, 20_000, replace=False)
        size = float(np.mean(np.abs(seen))) if seen.size else 0.0
        if not size > 0.0:
            return cls(1.0, 0.0)
        margins = seen / size

        def loss(parameters: np.ndarray):
            return -float(np.mean(cls(np.exp(parameters[0]), expit(parameters[1])).log(margins)))

        # Slopes in units of the inverse mean margin, and shares of answers at random.
        starts = ((1.0, 0.05), (3.0, 0.3))
        bounds = [(-7.0, 7.0), (-7.0, 7.0)]
        found = [
            minimize(loss, [np.log(slope), np.log(share / (1.0 - share))], bounds=bounds)
            for slope, share in starts
        ]
        log_slope, logit = min(found, key=lambda one: one.fun).x
        return cls(float(np.exp(log_slope)) / size, float(expit(logit)))

    def probability(self, margins: np.ndarray) -> np.ndarray:
        """Return the probability that an answer with this margin is given."""
        return 0.5 * self.lapses + (1.0 - self.lapses) * expit(self.slope * margins)

    def log(self, margins: np.ndarray) -> np.ndarray:
        """Return the logarithm of the probability."""
        return np.log(np.maximum(self.probability(margins), 1e-300))


def redraw(
    points: np.ndarray, rows: np.ndarray, weights: np.ndarray, counts: np.ndarray,
    loss: EmbeddingLoss, response: Response, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw positions in `points`, (n_samples, n_objects, p), of objects with few answers."""
    # `weights` (n_samples, m) of answers; `counts` (n_objects,): how many are about each object.
    width = rows.shape[1]
    order = np.argsort(rows, axis=None, kind="stable")
    objects, about = rows.ravel()[order], order // width
    few = np.flatnonzero((counts > 0.0) & (counts < 120))
    kept = np.isin(objects, few)
    objects, about = objects[kept], about[kept]
    if not len(objects):
        return
    # Some million numbers in memory at a time.
    chunk = max(1, 4_000_000 // (len(objects) * (points.shape[2] + 2)))
    for start in range(0, len(points), chunk):
        part = slice(start, start + chunk)
        sides = _Sides(points[part], rows[about], objects, few, weights[part][:, about], loss)
        points[part, few] = _metropolis(points[part], few, counts, sides, response, rng)


class _Sides:
    """Answers about objects: margins are constant + linear x + quadratic |x|^2 in a place x."""

    def __init__(self, points, rows, objects, few, weights, loss):
        self.places = np.searchsorted(few, objects)
        self.first = np.searchsorted(self.places, np.arange(len(few)))
        self.weights = weights
        l_column = 0 if rows.shape[1] == 3 else 2
        pairs = [(0, 1), (l_column, rows.shape[1] - 1)] + ([(1, 2)] if loss.of_trials else [])
        near, *far = (_squares(points, rows, objects, *pair) for pair in pairs)
        self.margins = [[a - b for a, b in zip(one, near, strict=True)] for one in far]

    def log_likelihood(self, x: np.ndarray, response: Response) -> np.ndarray:
        """Return that of the answers about each object, of shape (n_samples, n_few)."""
        at = x[:, self.places]
        squares = np.einsum("bep,bep->be", at, at)
        margins = [
            constant + np.einsum("bep,bep->be", linear, at) + quadratic * squares
            for constant, linear, quadratic in self.margins
        ]
        logs = self.weights * response.log(np.minimum.reduce(margins))
        return np.add.reduceat(logs, self.first, axis=1)


def _squares(points: np.ndarray, rows: np.ndarray, objects: np.ndarray, first: int, second: int):
    """Coefficients of a squared distance in the place of an object of each row."""
    i, j = rows[:, first], rows[:, second]
    sign = (i == objects).astype(float) - (j == objects)
    base = points[:, i] - points[:, j] - sign[:, None] * points[:, objects]
    return np.einsum("bep,bep->be", base, base), 2.0 * sign[:, None] * base, sign * sign


def _metropolis(
    points: np.ndarray, few: np.ndarray, counts: np.ndarray, sides: _Sides, response: Response,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Return drawn places, of shape (n_samples, n_few, n_components)."""
    n_samples = len(points)
    middle, factor = _spread(points, counts)
    # In units of the map its distribution is normal with variance 1.
    x = np.linalg.solve(factor, (points[:, few] - middle).transpose(0, 2, 1)).transpose(0, 2, 1)

    def evaluate(x):
        at = x @ factor.transpose(0, 2, 1) + middle
        return sides.log_likelihood(at, response), -0.5 * (x * x).sum(axis=2)

    likelihood, prior = evaluate(x)
    step = np.ones((n_samples, len(few))) * np.minimum(1.0, 3.0 / np.sqrt(1.0 + counts[few]))
    for turn in range(40):
        # After 16 proposals from the map.
        walks = turn >= 16
        normal = rng.normal(size=x.shape)
        new = x + step[:, :, None] * normal if walks else normal
        found = evaluate(new)
        gain = found[0] - likelihood + (found[1] - prior if walks else 0.0)
        taken = np.log(rng.uniform(size=gain.shape)) < gain
        if walks:
            step *= np.where(taken, 1.3, 0.85)
        x = np.where(taken[:, :, None], new, x)
        likelihood, prior = (
            np.where(taken, *both) for both in zip(found, (likelihood, prior), strict=True)
        )
    return x @ factor.transpose(0, 2, 1) + middle


def _spread(points: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each map and a square root of its covariance, objects by their answers."""
    shares = counts / counts.sum()
    middle = np.einsum("n,bnp->bp", shares, points)[:, None]
    off = points - middle
    # Wider than the map, whose objects may be few and are drawn to its middle by a ridge.
    covariance = 1.25 * np.einsum("n,bnp,bnq->bpq", shares, off, off)
    size = np.trace(covariance, axis1=1, axis2=2)[:, None, None]
    ridge = 1e-9 * np.where(size > 0.0, size, 1.0) * np.eye(points.shape[2])
    return middle, np.linalg.cholesky(covariance + ridge)
