"""Semismooth Newton for the proximal point step of a hinge-loss problem on a working set.

The proximal step of the dual at a centre a_k,

    min 1/2 a'Qa + a'h - 1'a + delta/2 |a - a_k|^2,    0 <= a_i <= C_i,    [y'a = e],

h the margins due to the samples outside, is dual to a smooth convex problem in w (and b),

    phi(w, b) = 1/2 |w|^2 - <u_out, w> - e_out b
                + sum_i max_{0 <= t <= C_i} (1 - m_i) t - delta/2 (t - a_ki)^2,

the hinge rounded off over margins of width delta C_i, where m_i = <z_i, w> + y_i b. Its gradient
is piecewise linear, with t_i(m) = clip(a_ki - (m_i - 1) / delta, 0, C_i) as the dual variables.
Newton's method solves one system with Q_EE + delta I a step, E the samples with t_i in the
interior (it is a primal-dual active set method: the step is the solution if E stays what it was),
and as phi is convex an exact line search makes it converge from anywhere.

References
----------
X. Li, D. Sun, K.-C. Toh. A highly efficient semismooth Newton augmented Lagrangian method for
solving Lasso problems. SIAM Journal on Optimization 28, 2018 (the method, on another problem).
M. Hintermüller, K. Ito, K. Kunisch. The primal-dual active set strategy as a semismooth Newton
method. SIAM Journal on Optimization 13, 2002.
"""

from dataclasses import dataclass

import numpy as np

from skscreen.core.memory import Pool
from skscreen.samples.gram_loops import add_rows
from skscreen.svm.solvers.kernel.bordered_factor import BorderedFactor
from skscreen.svm.solvers.kernel.newton_loops import clipped_dual, slope_of_loss

# A full step that leaves no more than this much of the slope needs no line search.
_SLOPE_LEFT = 0.3


@dataclass
class WorkingSet:
    """The problem on some samples, all others being at a bound.

    Parameters
    ----------
    Q : ndarray of shape (m, m)
    C : ndarray of shape (m,)
    outer_margins : ndarray of shape (m,)
        Margins of u_out, the part of w = sum_i alpha_i z_i due to the other samples.
    outer_square : float
        |u_out|^2.
    y : ndarray of shape (m,), or None
        Labels, where the intercept is free.
    outer_sum : float
        Sum of y_i alpha_i over the other samples.
    """

    Q: np.ndarray
    C: np.ndarray
    outer_margins: np.ndarray
    outer_square: float
    y: np.ndarray | None = None
    outer_sum: float = 0.0


@dataclass
class Point:
    """A primal point w = outer u_out + sum_i coef_i z_i; its margins are without intercept."""

    outer: float
    coef: np.ndarray
    margins: np.ndarray
    b: float = 0.0


class ProximalNewton:
    """Newton's method on one working set; `centre` and `delta` define the proximal step."""

    def __init__(self, working: WorkingSet, pool: Pool):
        self.working, self.pool = working, pool
        self.dual = np.empty(working.C.size)

    def solve(self, point: Point, centre, delta, max_steps: int) -> tuple[Point, int, bool]:
        """Return the point reached, the number of steps, and whether it is the solution."""
        self.system = BorderedFactor(self.working.Q, delta, self.pool)
        inside = np.zeros(centre.size, np.bool_)
        full_step = False
        for n_steps in range(max_steps + 1):
            shown = self._with_intercept(point.margins, point.b)
            changes = clipped_dual(shown, centre, self.working.C, delta, self.dual, inside)
            if full_step and changes == 0:
                return point, n_steps, True
            if n_steps == max_steps:
                break
            if n_steps == 0:
                self._keep_free(shown, centre, delta, inside)
            change = self._direction(point, inside, delta)
            slope = self._slope(point, change, shown, centre, delta)
            start = slope(0.0)
            if n_steps == 0 and start >= 0.0:
                # No direction of descent: that of Newton always is one.
                clipped_dual(shown, centre, self.working.C, delta, self.dual, inside)
                change = self._direction(point, inside, delta)
                slope = self._slope(point, change, shown, centre, delta)
                start = slope(0.0)
            if start >= 0.0:
                # Below rounding errors: as good as solved.
                return point, n_steps, True
            step = _line_search(slope, start)
            full_step = step == 1.0
            point = Point(
                1.0 if full_step else point.outer + step * change.outer,
                point.coef + step * change.coef,
                point.margins + step * change.margins,
                point.b + step * change.b,
            )
        return point, max_steps, False

    def _keep_free(self, shown, centre, delta: float, inside) -> None:
        """Count what is free at the centre as inside, wherever t is.

        The margins of the last step have m - 1 = delta (a - a_k) with its larger delta; divided by
        the new one it takes many t out of the box that belong into it.
        """
        free = (centre > 0.0) & (centre < self.working.C)
        inside |= free
        self.dual[free] = centre[free] - (shown[free] - 1.0) / delta

    def _with_intercept(self, margins: np.ndarray, b: float) -> np.ndarray:
        return margins if self.working.y is None else margins + self.working.y * b

    def _direction(self, point: Point, inside: np.ndarray, delta: float) -> Point:
        """Return the Newton direction: to the t_i off E, and to delta a + m = delta t + m on E."""
        working = self.working
        outer, coef = 1.0 - point.outer, self.dual - point.coef
        margins = outer * working.outer_margins
        E = np.flatnonzero(inside)
        if working.y is not None and E.size == 0:
            # Where no loss is curved, b would have no equation: any sample gives one.
            E = np.array([np.argmin(np.abs(self._with_intercept(point.margins, point.b) - 1.0))])
        residual = delta * coef[E]
        coef[E] = 0.0
        moved = np.flatnonzero(coef)
        add_rows(working.Q, moved, coef[moved], margins)
        b = 0.0
        if E.size:
            coef[E], b = self._solve_system(E, residual - margins[E], point, coef)
            add_rows(working.Q, E, coef[E], margins)
        return Point(outer, coef, margins, b)

    def _solve_system(self, E, right, point: Point, coef) -> tuple[np.ndarray, float]:
        """Solve (Q_EE + delta I) a_E [+ y_E b] = right [, y_E'a_E = what the others leave]."""
        working = self.working
        if working.y is None:
            return self.system.solve(E, right[:, None])[:, 0], 0.0
        y = working.y[E]
        both = self.system.solve(E, np.column_stack([right, y]))
        left = -working.outer_sum - working.y @ point.coef - working.y @ coef
        b = (y @ both[:, 0] - left) / (y @ both[:, 1])
        return both[:, 0] - b * both[:, 1], b

    def _slope(self, point: Point, change: Point, shown, centre, delta):
        """Return the derivative of phi along a direction as a function of the step."""
        working = self.working
        outer = change.outer * working.outer_square + working.outer_margins @ change.coef
        linear = (point.outer - 1.0) * outer + point.coef @ change.margins
        linear -= working.outer_sum * change.b
        square = change.outer * outer + change.coef @ change.margins
        move = self._with_intercept(change.margins, change.b)

        def slope(step: float) -> float:
            loss = slope_of_loss(shown, move, step, centre, working.C, delta)
            return linear + step * square - loss

        return slope


def _line_search(slope, start: float) -> float:
    """Return 1, or a step where the increasing function `slope` is nearly zero."""
    end = slope(1.0)
    if end <= -_SLOPE_LEFT * start:
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    for _ in range(60):
        # Secants, kept off the ends: bisection where one of them does not move.
        step = low + (high - low) * min(max(-at_low / (at_high - at_low), 0.1), 0.9)
        value = slope(step)
        if abs(value) <= -0.1 * start:
            break
        if value < 0.0:
            low, at_low = step, value
        else:
            high, at_high = step, value
    return step
