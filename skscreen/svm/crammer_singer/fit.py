"""The multi-class hinge behind the door of `ScreenedLinearSVC`."""

import time

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from skscreen.samples.labels import check_bounds
from skscreen.samples.rows import LinearSamples
from skscreen.svm.crammer_singer.solve import solve_crammer_singer
from skscreen.svm.problem import SVMProblem, taken
from skscreen.svm.solvers.solution import Solution


def joint_solutions(model: BaseEstimator, problem: SVMProblem, C: float) -> list[Solution]:
    """Return what the classes have of the one solution, all with its certificate.

    As for one-vs-rest there is one for each class, or one for two classes: the second class less
    the first, whose weights are opposite.
    """
    began = time.perf_counter()
    labels = problem.labels
    X = taken(problem.X, labels.rows, problem.kernel)
    check_bounds(C, labels.weights)
    bias = float(model.intercept_scaling) if model.fit_intercept else 0.0
    samples = LinearSamples(X, np.ones(X.shape[0]), bias)
    # Sweeps that ordinary data do not reach.
    most = 100_000 if model.max_iter is None else model.max_iter
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    own = labels.codes.astype(np.int64)
    newton = problem.road.solver == "classes by Newton"
    tol = float(model.tol)
    found = solve_crammer_singer(samples, own, C * labels.weights, tol, most, seed, newton)
    betas, ws = found.alpha.T, found.w.T
    if labels.present.size == 2:
        betas, ws = betas[1:] - betas[:1], ws[1:] - ws[:1]
    d, seconds = X.shape[1], time.perf_counter() - began
    converged = found.certificate.relative_gap <= tol
    return [
        Solution(
            beta=beta, w=w[:d].copy(), certificate=found.certificate,
            n_iter=found.n_iter, converged=converged, seconds=seconds,
            b=bias * float(w[d]) if model.fit_intercept else 0.0, C=C,
        )
        for beta, w in zip(betas, ws, strict=True)
    ]  # fmt: skip
