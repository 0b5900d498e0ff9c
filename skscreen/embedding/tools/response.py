"""The probability of an answer as a function of its margin, learned from unseen answers."""

from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


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

        def loss(parameters):
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
