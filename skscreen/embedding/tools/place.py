"""Points of new objects from answers about them, with the known points where they are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skscreen.answers.answers import Answers
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, wrong_share
from skscreen.fitting.warning import warn_user


def place(model: BaseEstimator, answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the new objects of answers, and these objects."""
    known = {name: k for k, name in enumerate(model.objects_.tolist()) if model.compared_[k]}
    occur = np.bincount(answers.rows.ravel(), minlength=len(answers.objects)) > 0
    names = answers.objects.tolist()
    new = [k for k, name in enumerate(names) if occur[k] and name not in known]
    if not new:
        raise ValueError("X must name at least one object that was in no answer of the fit.")
    # Their points are behind those of the fit.
    n_fit = len(model.embedding_)
    places = np.array([known.get(name, 0) for name in names], dtype=np.int32)
    places[new] = n_fit + np.arange(len(new))
    rows, weights = places[answers.rows], answers.weights
    # Answers about known objects alone have no information.
    told = np.any(rows >= n_fit, axis=1)
    weights = None if weights is None else weights[told]
    return _found(model, rows[told], weights, len(new)), answers.objects[new]


def _found(
    model: BaseEstimator, rows: np.ndarray, weights: np.ndarray | None, n_new: int
) -> np.ndarray:
    """Return the new points, after those of the fit, with the lowest objective found."""
    n_fit, p = model.embedding_.shape
    start = np.concatenate([model.embedding_, np.zeros((n_new, p))])
    loss = EmbeddingLoss.of(model)
    # The ridge is as strong as in the fit, relative to the number of answers about an object.
    reg = model.reg_ * len(start) / (n_new * rows.shape[1])
    problem = EmbeddingProblem(rows, weights, len(start), loss, reg)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        points = start.copy()
        points[n_fit:] = flat.reshape(n_new, p)
        value, gradient = problem.evaluate(points)
        return value, gradient[n_fit:].ravel()

    rng, known = check_random_state(model.random_state), np.flatnonzero(model.compared_)
    best: Any = None
    for begin in _beginnings(rows, weights, start, known, n_new, loss, rng):
        found = minimize(
            objective, begin.ravel(), jac=True, method="L-BFGS-B",
            options={"maxiter": 1000, "ftol": 1e-2 * min(model.tol, 1.0)},
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
    rows: np.ndarray, weights: np.ndarray | None, start: np.ndarray, known: np.ndarray,
    n_new: int, loss: EmbeddingLoss, rng: np.random.RandomState,
) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield starts: each new object beside the known one where most of its answers are right."""
    candidates = rng.permutation(known)[:200]
    size = np.sqrt(np.mean(start[known] ** 2))
    n_fit, points, orders = len(start) - n_new, start.copy(), []
    is_new = rows >= n_fit
    for v in range(n_fit, len(start)):
        alone = (rows == v).any(axis=1) & ~(is_new & (rows != v)).any(axis=1)
        own = None if weights is None else weights[alone]
        shares = np.zeros(len(candidates))
        for turn, at in enumerate(candidates if alone.any() else ()):
            points[v] = start[at]
            shares[turn] = wrong_share(points, rows[alone], own, loss)
        orders.append(candidates[np.argsort(shares, kind="stable")])
    for turn in range(min(5, len(candidates))):
        beside = 0.05 * size * rng.normal(size=(n_new, start.shape[1]))
        yield start[[order[turn] for order in orders]] + beside
