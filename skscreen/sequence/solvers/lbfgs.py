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
    """The best point of L-BFGS.

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
    found = _Run(objective, tol, relative)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            minimize(
                found.value_and_gradient, np.zeros(objective.size), jac=True, method="L-BFGS-B",
                callback=found.iterated,
                options={"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": 0.0, "ftol": 0.0},
            )  # fmt: skip
    except _BrokenDown:
        pass
    return Minimum(found.best.x, found.best.value, found.best.gap, found.n_iter)


class _BrokenDown(ArithmeticError):
    """The line search left the floating-point numbers."""


class _Run:
    """The objective for SciPy; keeps the best point, as line searches may break down."""

    def __init__(self, objective: Objective, tol: float, relative: bool):
        self._objective, self._tol, self._relative = objective, tol, relative
        self.best, self.n_iter = None, 0

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient, and keep the point if it is the best."""
        if not np.isfinite(x).all():
            raise _BrokenDown
        value, gradient = self._objective.value_and_gradient(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise _BrokenDown
        if self.best is None or value <= self.best.value:
            bound = 0.5 * float(gradient @ gradient) / self._objective.lam
            gap = duality_gap(value, value - bound, self._relative)
            self.best = Minimum(x.copy(), value, gap, self.n_iter)
        return value, gradient

    def iterated(self, x: np.ndarray) -> None:
        """Count an iteration; end after the tolerance is reached."""
        self.n_iter += 1
        if self.best.gap <= self._tol:
            raise StopIteration
