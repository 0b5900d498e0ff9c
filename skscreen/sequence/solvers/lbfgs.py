"""L-BFGS for strongly convex objectives, stopped by what the gradient proves."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from skscreen.pragam.follow import duality_gap


class Objective(Protocol):
    """lam/2 |x|^2 + a convex function."""

    lam: float
    size: int

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""


@dataclass(frozen=True)
class Minimum:
    """The last point of L-BFGS.

    Parameters
    ----------
    x : ndarray
    value : float
        P(x).
    gap : float
        |gradient|^2 / (2 lam), or its share of P.
    n_iter : int
    """

    x: np.ndarray
    value: float
    gap: float
    n_iter: int


def minimise(objective: Objective, tol: float, max_iter: int, relative: bool) -> Minimum:
    """Minimise from x = 0 until |gradient|^2 / (2 lam), a bound of P - min P, is within `tol`.

    Parameters
    ----------
    objective : Objective
    tol : float
    max_iter : int
    relative : bool
        Whether the bound counts in units of P.
    """
    last = {}

    def value_and_gradient(x):
        value, gradient = objective.value_and_gradient(x)
        last["x"], last["gap"] = x.copy(), gap(value, gradient)
        return value, gradient

    def gap(value, gradient):
        bound = 0.5 * float(gradient @ gradient) / objective.lam
        return duality_gap(value, value - bound, relative)

    def stop(intermediate_result):
        if last["gap"] <= tol and np.array_equal(last["x"], intermediate_result.x):
            raise StopIteration

    found = minimize(
        value_and_gradient, np.zeros(objective.size), jac=True, method="L-BFGS-B", callback=stop,
        options={"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": 0.0, "ftol": 0.0},
    )  # fmt: skip
    # Where a line search breaks down, value and gradient that come with it are not those of x.
    value, gradient = objective.value_and_gradient(found.x)
    return Minimum(found.x, value, gap(value, gradient), int(found.nit))
