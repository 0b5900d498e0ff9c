"""L-BFGS for strongly convex objectives, stopped by what the gradient proves."""

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

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
    with contextlib.suppress(_BrokenDown), np.errstate(over="ignore", invalid="ignore"):
        minimize(  # type: ignore[call-overload]
            run.value_and_gradient, first, jac=True, method="L-BFGS-B", callback=run.iterated,
            options={"maxiter": max_iter, "maxfun": 10 * max_iter, "gtol": 0.0, "ftol": 0.0},
        )  # fmt: skip
        if not run.ended and np.ndim(objective.units):
            run.go_on(max_iter)
    return run.record.result


class _BrokenDown(ArithmeticError):
    """The line search left the floating-point numbers."""


class _Run:
    """The objective for SciPy; keeps the best point, as line searches may break down."""

    def __init__(self, objective: Objective, record: Record):
        self._objective, self.record, self._n_iter = objective, record, -1
        self.ended, self._lowest = False, np.inf

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient for variables x, and keep the point if it is the best."""
        w = self._objective.units * x
        if not np.isfinite(w).all():
            raise _BrokenDown
        value, gradient = self._objective.value_and_gradient(w)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise _BrokenDown
        bound = 0.5 * float(gradient @ gradient) / self._objective.lam
        self.record.see(Iterate(self._n_iter + 1, w.copy(), 0.0, value, value - bound))
        if self._n_iter < 0:
            self.iterated(x)
        gradient = self._objective.units * gradient
        if value <= self._lowest:
            self._lowest, self._best = value, (x.copy(), gradient)
        return value, gradient

    def iterated(self, x: np.ndarray) -> None:
        """Count an iteration; end after the tolerance is reached."""
        self._n_iter += 1
        if self.record.end_iteration(self._n_iter) and self._n_iter > 0:
            self.ended = True
            raise StopIteration

    def go_on(self, max_iter: int) -> None:
        """Take steps of L-BFGS that shorten the gradient, where P has no more digits to tell."""
        x, g = self._best
        pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=20)
        while self._n_iter < max_iter and not self.ended:
            change, new = self._shorter(x, g, _descent(g, pairs))
            if new is None and not pairs:
                return
            if new is None:
                # Rounding errors of old differences may have spoilt the direction.
                pairs.clear()
                continue
            if change @ (new - g) > 0.0:
                pairs.append((change, new - g))
            x, g = x + change, new
            with contextlib.suppress(StopIteration):
                self.iterated(x)

    def _shorter(self, x: np.ndarray, g: np.ndarray, direction: np.ndarray) -> tuple:
        """Return a change of x along a direction with a shorter gradient, and that, or None."""
        step = 1.0
        while step >= 1e-4:
            new = self.value_and_gradient(x + step * direction)[1]
            if np.linalg.norm(new) < np.linalg.norm(g):
                return step * direction, new
            step *= 0.25
        return None, None


def _descent(gradient: np.ndarray, pairs) -> np.ndarray:
    """Return the direction of L-BFGS, by its two loops over changes of x and of the gradient."""
    direction, shares = -gradient, []
    for change, bend in reversed(pairs):
        shares.append(change @ direction / (change @ bend))
        direction = direction - shares[-1] * bend
    if pairs:
        change, bend = pairs[-1]
        direction = direction * (change @ bend / (bend @ bend))
    for (change, bend), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - bend @ direction / (change @ bend)) * change
    return direction
