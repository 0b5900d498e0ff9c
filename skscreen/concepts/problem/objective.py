"""The penalised likelihood of trials, and its gradient."""

from typing import Self

import numpy as np
from scipy.linalg.blas import dsymm, dsyrk

from skscreen._compiled import concepts as _loops
from skscreen.concepts.problem.trials import Pairs, Trials
from skscreen.core.memory import check_memory

# Similarities are limited to this in a pass: the product of some probabilities does not underflow.
LARGEST_SIMILARITY = 200.0
# Rows of a table whose exponentials are taken together; half of a table is not looked at.
BAND = 256


class Objective:
    r"""Mean of -log p of the kept pairs plus ``(l1 |x|_1 + l2 |x|_2^2) / n`` over x >= 0.

    p is the softmax of the similarities x_i . x_j of the pairs of a trial.
    """

    def __init__(self, trials: Trials, l1: float, l2: float):
        self.pairs = Pairs.of(trials)
        self.n_objects, self.total = trials.n_objects, trials.total
        self.l1, self.l2 = l1, l2
        self._make_tables()

    def _make_tables(self) -> None:
        n, listed = self.n_objects, self.pairs.listed
        size = n**2 if listed is None else len(listed)
        # Powers exp(x_i . x_j), and slopes in x_i . x_j.
        self._powers, self._slopes = np.zeros(size), np.zeros(size)

    def apart(self) -> Self:
        """Return a copy that works in memory of its own, as another thread wants it."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._make_tables()
        return other

    def drawn(self, times: np.ndarray, l1: float, l2: float) -> Self:
        """Return the objective of trials drawn so many times each, in the order of their rows."""
        other = self.apart()
        other.pairs, other.l1, other.l2 = self.pairs.drawn(times), l1, l2
        weights = other.pairs.weights
        other.total = float(weights.sum()) if weights.size else float(len(other.pairs.places))
        return other

    def evaluate(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient (n, d) within x >= 0."""
        self._find_powers(X)
        self._slopes[:] = 0.0
        pairs = self.pairs
        loss = _loops.choice_pass(self._powers, self._slopes, pairs.places, pairs.weights)
        gradient = self._gradient(X)
        squares = float(np.vdot(X, X))
        gradient += self.l1 / self.n_objects
        if self.l2:
            gradient += (2.0 * self.l2 / self.n_objects) * X
        penalty = (self.l1 * float(X.sum()) + self.l2 * squares) / self.n_objects
        return loss / self.total + penalty, gradient

    def log_likelihood(self, X: np.ndarray) -> float:
        """Return the sum of log p over all trials."""
        self._find_powers(X)
        return -_loops.choice_pass(
            self._powers, self._slopes, self.pairs.places, self.pairs.weights
        )

    def _find_powers(self, X: np.ndarray) -> None:
        powers, n = self._powers, self.n_objects
        if not X.shape[1]:
            # BLAS takes no tables without columns.
            powers[:] = 1.0
        elif self.pairs.listed is not None:
            _loops.pair_similarities(X, self.pairs.listed, powers)
            np.exp(np.minimum(powers, LARGEST_SIMILARITY, out=powers), out=powers)
        else:
            table = powers.reshape(n, n)
            # BLAS counts columns first: its lower triangle is the upper one of rows.
            dsyrk(1.0, X.T, trans=1, lower=1, c=table.T, overwrite_c=1)
            for first in range(0, n, BAND):
                band = table[first : first + BAND, first:]
                np.exp(np.minimum(band, LARGEST_SIMILARITY, out=band), out=band)
        powers[0] = 0.0

    def _gradient(self, X: np.ndarray) -> np.ndarray:
        """Return the gradient of the mean of -log p, from the slopes in the similarities."""
        n = self.n_objects
        if not X.shape[1]:
            return np.zeros_like(X)
        if self.pairs.listed is None:
            gradient = dsymm(1.0, self._slopes.reshape(n, n).T, X.T, side=1, lower=1).T
        else:
            gradient = np.zeros_like(X)
            _loops.pair_gradient(X, self.pairs.listed, self._slopes, gradient)
        # The reciprocal of a tiny total would overflow.
        gradient /= self.total
        return gradient


def check_free(trials: Trials, n_components: int, n_threads: int) -> None:
    """Refuse tables, trials and points that would not fit, before they are made."""
    n, m = trials.n_objects, len(trials.rows)
    table = min(n**2, 3.0 * m + 1.0)
    # Places of pairs and the sort that finds them; two tables and some thirty copies of the points
    # in each thread.
    needed = 150.0 * m + n_threads * (16.0 * table + 8.0 * 30 * n * n_components)
    what = f"Fits to {m:,} trials of {n:,} objects in {n_components:,} dimensions"
    check_memory(needed, what, "Use a smaller n_components or n_jobs.")
