"""L-BFGS for strongly convex objectives, stopped by what the gradient proves."""

import contextlib
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from skscreen.pragam.follow import Certified, Iterate, Record


class Objective(Protocol):
    """lam/2 |x|^2 + a convex function."""

    lam: float
    size: int

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""


def minimise(
    objective: Objective,
    tol: float,
    max_iter: int,
    watch: Callable[[int, float], None] | None = None,
) -> Certified:
    """Minimise from x = 0; |gradient|^2 / (2 lam) bounds P - min P.

    Parameters
    ----------
    objective : Objective
    tol : float
        Of this bound as a share of P.
    max_iter : int
    watch : callable, optional
        See `follow.Record`.
    """
    run = _Run(objective, Record(tol, watch))
    with contextlib.suppress(_BrokenDown), np.errstate(over="ignore", invalid="ignore"):
        minimize(
            run.value_and_gradient, np.zeros(objective.size), jac=True, method="L-BFGS-B",
            callback=run.iterated,
            options={"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": 0.0, "ftol": 0.0},
        )  # fmt: skip
    return run.record.result


class _BrokenDown(ArithmeticError):
    """The line search left the floating-point numbers."""


class _Run:
    """The objective for SciPy; keeps the best point, as line searches may break down."""

    def __init__(self, objective: Objective, record: Record):
        self._objective, self.record, self._n_iter = objective, record, -1

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient, and keep the point if it is the best."""
        if not np.isfinite(x).all():
            raise _BrokenDown
        value, gradient = self._objective.value_and_gradient(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise _BrokenDown
        bound = 0.5 * float(gradient @ gradient) / self._objective.lam
        self.record.see(Iterate(self._n_iter + 1, x.copy(), 0.0, value, value - bound))
        if self._n_iter < 0:
            self.iterated(x)
        return value, gradient

    def iterated(self, x: np.ndarray) -> None:
        """Count an iteration; end after the tolerance is reached."""
        self._n_iter += 1
        if self.record.end_iteration(self._n_iter) and self._n_iter > 0:
            raise StopIteration
