"""Semismooth Newton for the proximal point step of a hinge-loss problem on a working set.

The proximal step of the dual at a centre a_k,

    min 1/2 a'Qa + a'(h - t) + delta/2 |a - a_k|^2,    0 <= a_i <= C_i,    [y'a = e],

t the thresholds, h the margins due to the samples outside, is dual to a smooth convex problem in w
(and b),

    phi(w, b) = 1/2 |w|^2 - <u_out, w> - e_out b
                + sum_i max_{0 <= a <= C_i} (t_i - m_i) a - delta/2 (a - a_ki)^2,

with hinges smoothed over margins of width delta C_i, where m_i = <z_i, w> + y_i b. Its gradient is
piecewise linear, with a_i(m) = clip(a_ki + (t_i - m_i) / delta, 0, C_i) as the dual variables.
Newton's method solves one system with Q_EE + delta I a step, E the samples with a_i in the interior
(it is a primal-dual active set method: the step is the solution if E stays what it was), and as phi
is convex an exact line search makes it converge from any start. A loss with a shift s_i adds s_i/2
a_i^2; this is the same as delta + s_i in place of delta, with another centre.

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
from skscreen.samples.intercept import margins_with_intercept
from skscreen.samples.losses import SampleLosses
from skscreen.svm.solvers.kernel.bordered_factor import BorderedFactor
from skscreen.svm.solvers.kernel.newton_loops import clipped_dual, slope_of_loss

# A full step is taken without a line search if it leaves at most this share of the slope.
_SLOPE_LEFT = 0.3


@dataclass
class WorkingSet:
    """The problem on some samples, all others being at a bound.

    Parameters
    ----------
    Q : ndarray of shape (m, m)
    losses : SampleLosses
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
    losses: SampleLosses
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
        self.caps, self.dual = working.losses.caps, np.empty(len(working.Q))

    def solve(self, point: Point, centre, delta, max_steps: int) -> tuple[Point, int, bool]:
        """Return the point reached, the number of steps, and whether it is the solution."""
        # A shift of the loss is added to delta.
        centre, delta = self.working.losses.proximal(centre, delta)
        self.system = BorderedFactor(self.working.Q, delta, self.pool)
        inside = np.zeros(centre.size, np.bool_)
        full_step = False
        for n_steps in range(max_steps + 1):
            short = self.working.losses.short(point.margins, point.b, self.working.y)
            changes = clipped_dual(short, centre, self.caps, delta, self.dual, inside)
            if full_step and changes == 0:
                return point, n_steps, True
            if n_steps == max_steps:
                break
            if n_steps == 0:
                self._keep_free(short, centre, delta, inside)
            change = self._direction(point, short, inside, delta)
            slope = self._slope(point, change, short, centre, delta)
            start = slope(0.0)
            if n_steps == 0 and start >= 0.0:
                # Not a direction of descent, which the Newton direction always is.
                clipped_dual(short, centre, self.caps, delta, self.dual, inside)
                change = self._direction(point, short, inside, delta)
                slope = self._slope(point, change, short, centre, delta)
                start = slope(0.0)
            if start >= 0.0:
                # Below rounding errors, so the problem is solved.
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

    def _keep_free(self, short, centre, delta, inside) -> None:
        """Treat samples that are inside the box at the centre as free.

        The margins of the last step have t - m = delta (a - a_k) with its larger delta. Divided by
        the smaller new delta, many a would leave the box that belong inside.
        """
        free = (centre > 0.0) & (centre < self.caps)
        inside |= free
        self.dual[free] = centre[free] + short[free] / delta[free]

    def _direction(self, point: Point, short, inside: np.ndarray, delta) -> Point:
        """Return the Newton direction: to a_i(m) off E, and to where a_i(m) is a_i on E."""
        working = self.working
        outer, coef = 1.0 - point.outer, self.dual - point.coef
        margins = outer * working.outer_margins
        E = np.flatnonzero(inside)
        if working.y is not None and E.size == 0:
            # If no loss is curved, b has no equation; any sample provides one.
            E = np.array([np.argmin(np.abs(short))])
        residual = delta[E] * coef[E]
        coef[E] = 0.0
        moved = np.flatnonzero(coef)
        add_rows(working.Q, moved, coef[moved], margins)
        b = 0.0
        if E.size:
            coef[E], b = self._solve_system(E, residual - margins[E], point, coef)
            add_rows(working.Q, E, coef[E], margins)
        return Point(outer, coef, margins, b)

    def _solve_system(self, E, right, point: Point, coef) -> tuple[np.ndarray, float]:
        """Solve (Q_EE + diag(delta)) a_E [+ y_E b] = right [, y_E'a_E = what the others leave]."""
        working = self.working
        if working.y is None:
            return self.system.solve(E, right[:, None])[:, 0], 0.0
        y = working.y[E]
        both = self.system.solve(E, np.column_stack([right, y]))
        left = -working.outer_sum - working.y @ point.coef - working.y @ coef
        b = (y @ both[:, 0] - left) / (y @ both[:, 1])
        return both[:, 0] - b * both[:, 1], b

    def _slope(self, point: Point, change: Point, short, centre, delta):
        """Return the derivative of phi along a direction as a function of the step."""
        working = self.working
        outer = change.outer * working.outer_square + working.outer_margins @ change.coef
        linear = (point.outer - 1.0) * outer + point.coef @ change.margins
        linear -= working.outer_sum * change.b
        square = change.outer * outer + change.coef @ change.margins
        move = margins_with_intercept(change.margins, change.b, working.y)

        def slope(step: float) -> float:
            loss = slope_of_loss(short, move, step, centre, self.caps, delta)
            return linear + step * square - loss

        return slope


def _line_search(slope, start: float) -> float:
    """Return 1, or a step where the increasing function `slope` is nearly zero."""
    end = slope(1.0)
    if end <= -_SLOPE_LEFT * start:
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    for _ in range(60):
        # Secant steps, kept off the ends; bisection if an end does not move.
        step = low + (high - low) * min(max(-at_low / (at_high - at_low), 0.1), 0.9)
        value = slope(step)
        if abs(value) <= -0.1 * start:
            break
        if value < 0.0:
            low, at_low = step, value
        else:
            high, at_high = step, value
    return step
