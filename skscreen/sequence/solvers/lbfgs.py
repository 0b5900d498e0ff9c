"""L-BFGS for strongly convex objectives, stopped by what the gradient proves."""

import contextlib
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize, root

from skscreen.pragam.iterates import Certified, Iterate, Record


class Objective(Protocol):
    """lam/2 |w|^2 + a convex function, which depends about equally on all of w / units."""

    lam: float
    size: int
    units: np.ndarray | float

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""


def minimise(
    objective: Objective, tol: float, max_iter: int | None,
    watch: Callable[[int, float], None] | None = None, start: np.ndarray | None = None,
) -> Certified:  # fmt: skip
    """Minimise from `start` or 0; |gradient|^2 / (2 lam), to be tol P, bounds P - min P."""
    max_iter = max_iter or 1000
    first = np.zeros(objective.size) if start is None else start / objective.units
    run = _Run(objective, Record(tol, watch))
    with np.errstate(over="ignore", invalid="ignore"):
        minimize(  # type: ignore[call-overload]
            run.value_and_gradient, first, jac=True, method="L-BFGS-B", callback=run.end_iteration,
            options={"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": 0.0, "ftol": 0.0},
        )  # fmt: skip
        if run.record.result.gap > tol:
            _end_gradient(run, objective, tol, max_iter)
    return run.record.result


def _end_gradient(run: "_Run", objective: Objective, tol: float, max_iter: int) -> None:
    """Solve gradient = 0 by Newton-Krylov, where P has no more digits to tell points apart."""
    found = run.record.result
    if found.n_iter >= max_iter:
        return
    # A step takes some twenty gradients, and few steps are left to do.
    steps = min(max_iter - found.n_iter, 20)
    # SciPy raises a ValueError where it finds no direction.
    with contextlib.suppress(ValueError):
        root(
            lambda x: run.value_and_gradient(x)[1], found.w / objective.units, method="krylov",
            callback=lambda x, gradient: run.count_iteration(),
            options={
                "maxiter": steps, "fatol": 2.0 * objective.lam * found.primal * tol,
                "tol_norm": lambda gradient: np.square(gradient / objective.units).sum(),
            },
        )  # fmt: skip


class _Run:
    """The objective for SciPy; keeps the best point, as line searches may break down."""

    def __init__(self, objective: Objective, record: Record):
        self._objective, self.record, self._iteration = objective, record, 0

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient for variables x, and keep the point if it is the best."""
        w = self._objective.units * x
        value, gradient = self._objective.value_and_gradient(w)
        bound = 0.5 * float(gradient @ gradient) / self._objective.lam
        if np.isfinite(value) and np.isfinite(bound):
            self.record.see(Iterate(self._iteration, w.copy(), 0.0, value, value - bound))
        if self._iteration == 0:
            self.record.end_iteration(0)
            self._iteration = 1
        return value, self._objective.units * gradient

    def count_iteration(self) -> bool:
        """Count an iteration; return whether the tolerance is reached."""
        self._iteration += 1
        return self.record.end_iteration(self._iteration - 1)

    def end_iteration(self, x: np.ndarray) -> None:
        """Count an iteration; after one that reached the tolerance, end as SciPy asks for it."""
        if self.count_iteration():
            raise StopIteration
