"""Solutions by kernel values of few samples, as users hold them: what rounding does is counted."""

from dataclasses import replace
from typing import Any

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.multiclass import Division
from skscreen.samples.targets import BothSides
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.solution import Solution

# Share of the primal value that rounding errors outside of the certificate may have.
_LOST = 1e-9


def with_weights(
    division: Division | BothSides, problem: int, samples: tuple, bias: float, found: Solution,
    tol: float,
) -> Solution:  # fmt: skip
    """Return a solution by values of the linear kernel with the weights of its features.

    `samples` are rows as given, those the values are of, and what was taken off each.
    """
    rows, (given, X, origin) = division.rows(problem), samples
    # Most problems have all samples.
    if rows.size < X.shape[0]:
        X, given = X[rows], given[rows]
    w, C = X.T @ found.beta.reshape(-1, X.shape[0]).sum(axis=0), found.C
    # The primal value is that of the weights.
    dual = Dual.of(division.losses_of_hinge(problem), division.signs(problem), False)
    scores = X @ w + found.b
    slopes = dual.target - np.tile(scores, dual.target.size // scores.size)
    square = float(w @ w) + ((found.b / bias) ** 2 if bias else 0.0)
    primal, before = 0.5 * square + C * float(dual.losses(slopes).sum()), found.certificate
    gap = before.gap + max(primal - before.primal, 0.0)
    b = found.b - float(np.sum(origin * w))
    # Rounding errors of users' scores, as sums of products, are not part of the certificate.
    sizes = np.sqrt(square_norms(given)) * np.linalg.norm(w) + abs(b)
    lost = 2.0 * EPS * C * float(division.weights(problem) @ sizes)
    converged = found.converged and lost <= _LOST * primal and gap <= min(tol, 1e100) * primal
    certificate = Certificate(primal, primal - gap, gap)
    return replace(found, w=w, b=b, converged=converged, certificate=certificate)


def with_given_targets(division: Any, problem: int, found: Solution) -> Solution:
    """Return a regression, converged only if rounding errors of targets do not count."""
    losses = division.losses_of_hinge(problem)
    size = float(np.abs(division.lost()).max()) + EPS * (abs(division.shift) + abs(found.b))
    lost = 2.0 * found.C * float(losses.caps.sum()) * size
    converged = found.converged and lost <= _LOST * found.certificate.primal
    return replace(found, b=found.b + division.shift, converged=converged)
