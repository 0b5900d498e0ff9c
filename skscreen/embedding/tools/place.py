"""Points of new objects from answers about them, with the known points where they are."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skscreen.core.sklearn_private import wrap_data_with_container
from skscreen.embedding.problem.answers import Answers, learn_answers, usable_answers
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, wrong_share
from skscreen.embedding.problem.reading.objects import add_objects
from skscreen.embedding.tools.fitted import check_columns_of_fit, layout_after_fit
from skscreen.fitting.warning import warn_user


class PlaceMixin(BaseEstimator):
    """Mixin of ordinal embeddings: points for new objects."""

    def place(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> tuple:
        """Find points for new objects from answers about them, without moving the known points.

        Minimises the objective of the fit over the new points, from several starts. The estimator
        is not changed.

        Parameters
        ----------
        X, y, sample_weight
            Answers as in `fit`. Answers about known objects only are not used.

        Returns
        -------
        ndarray of shape (n_new_objects, n_components)
            A point for each object in X that was in no answer of the fit, sorted by object. With
            ``set_output`` the objects are the index of the data frame.

        Raises
        ------
        ValueError
            For invalid answers, or if they contain no new object.

        Warns
        -----
        ConvergenceWarning
            If the points did not converge.

        Examples
        --------
        >>> from skscreen import OrdinalEmbedding
        >>> from skscreen.datasets import load_eurodist, make_triplets
        >>> cities = load_eurodist()
        >>> answers = make_triplets(cities.distances, 3000, metric="precomputed", random_state=0)
        >>> with_last = (answers == 20).any(axis=1)
        >>> model = OrdinalEmbedding(random_state=0).fit(answers[~with_last])
        >>> model.place(answers[with_last]).shape
        (1, 2)
        """
        check_is_fitted(self)
        check_columns_of_fit(self, X)
        layout = layout_after_fit(self, self.response_)
        answers, objects, _ = learn_answers(X, y, sample_weight, layout, self.objects_, add_objects)
        answers = usable_answers(answers)
        known = np.flatnonzero(self.compared_)
        new = np.setdiff1d(answers.rows, known)
        if not len(new):
            raise ValueError("X must name at least one object that was in no answer of the fit.")
        # Sorted by name, even if the fit had no names.
        with suppress(TypeError):
            new = new[np.argsort(objects[new], kind="stable")]
        # Their points are behind those of the fit.
        n_fit = len(self.embedding_)
        places = np.arange(len(objects), dtype=np.int32)
        places[new] = n_fit + np.arange(len(new))
        answers = answers._replace(rows=places[answers.rows])
        # Answers about known objects alone have no information.
        answers = answers.take(np.any(answers.rows >= n_fit, axis=1))
        points = self._found(answers, known, len(new))
        wrapped = wrap_data_with_container("transform", points, points, self)
        if hasattr(wrapped, "index"):
            wrapped.index = objects[new]
        return wrapped

    def _found(self, answers: Answers, known: np.ndarray, n_new: int) -> np.ndarray:
        """Return the new points, after those of the fit, with the lowest objective found."""
        n_fit, p = self.embedding_.shape
        start = np.concatenate([self.embedding_, np.zeros((n_new, p))])
        loss = EmbeddingLoss.of(self)
        problem = EmbeddingProblem(answers.rows, answers.weights, len(start), loss, 0.0)
        # The ridge is as strong as in the fit, relative to the number of answers about an object.
        problem.reg = self.reg_ * len(start) / (n_new * problem.width)

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            points = start.copy()
            points[n_fit:] = flat.reshape(n_new, p)
            value, gradient = problem.evaluate(points)
            return value, gradient[n_fit:].ravel()

        rng = check_random_state(self.random_state)
        best: Any = None
        for begin in _beginnings(answers, start, known, n_new, loss, rng):
            found = minimize(
                objective, begin.ravel(), jac=True, method="L-BFGS-B",
                options={"maxiter": 1000, "ftol": 1e-2 * min(self.tol, 1.0)},
            )  # fmt: skip
            # Written such that NaN is never the lowest.
            if best is None or found.fun < best.fun:
                best = found
        # Status 1 is that of a search that ran out of iterations. Status 2, a line search without a
        # decrease, is usual where rounding errors end one.
        if best.status == 1:
            warn_user(
                f"{best.nit} iterations did not find the points of {n_new} new objects; the "
                f"objective is {best.fun:.6g}. Use more answers about each.",
                ConvergenceWarning,
            )
        return best.x.reshape(n_new, p)


def _beginnings(
    answers: Answers, start: np.ndarray, known: np.ndarray, n_new: int, loss: EmbeddingLoss,
    rng: np.random.RandomState,
) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield starts: each new object beside the known one where most of its answers are right."""
    candidates = rng.permutation(known)[:200]
    size = np.sqrt(np.mean(start[known] ** 2))
    n_fit, points, orders = len(start) - n_new, start.copy(), []
    is_new = answers.rows >= n_fit
    for v in range(n_fit, len(start)):
        alone = (answers.rows == v).any(axis=1) & ~(is_new & (answers.rows != v)).any(axis=1)
        rows, weights, _ = answers.take(alone)
        shares = np.zeros(len(candidates))
        for place, at in enumerate(candidates if len(rows) else ()):
            points[v] = start[at]
            shares[place] = wrong_share(points, rows, weights, loss)
        orders.append(candidates[np.argsort(shares, kind="stable")])
    for turn in range(min(5, len(candidates))):
        beside = 0.05 * size * rng.normal(size=(n_new, start.shape[1]))
        yield start[[order[turn] for order in orders]] + beside
