"""Rules beyond the sphere rule, for the items that it leaves at the ends of the rows.

The optimum lies in the ball *and* in the cone, so the smallest margin over both decides more than
that over the ball. An item is looked at here: O(d), where the sphere pass takes a bisection a row.
So only the ends of what that pass has left are tested, inwards, for as long as they are decided,
and intervals stay intervals.

Every decision rests on a lower bound, valid for any C in the cone K (self-dual, so <C, X> >= 0),

    min {<A, X> : |X - Q| <= r, X in K} >= <A - C, Q> - r |A - C|,

evaluated with its rounding errors: how C was found has no part in whether the decision is right.
The linear rule takes the best multiple of one given P for all items, the semidefinite rule
searches the best C for each item. For the linear part of the loss A changes its sign.
"""

import numpy as np

from skscreen._compiled import metric_learning
from skscreen.core.floats import EPS
from skscreen.metric_learning.problem.objective import SLACK, Objective, inner, norm
from skscreen.metric_learning.screening.bounds import Ball

# Smallest eigenvalue, over the largest, at which a centre still counts as semidefinite.
_INDEFINITE = -1e-10


def refine(
    objective: Objective, ball: Ball, rule: str, start, stop, decisions, weights
) -> tuple[int, int]:
    """Shrink the rows further by the linear or the semidefinite rule.

    Parameters
    ----------
    objective : Objective
    ball : Ball
        Without a centre it decides nothing here.
    rule : {"linear", "semidefinite"}
        "semidefinite" is the projection on the cone by its dual (SDLS, section 4.2 of Yoshida et
        al. 2019), for diagonal metrics the analytic solution of the same problem (Theorems J11
        and J12). It tries the linear rule first. For the full metric and a centre outside the
        cone ("gb") it *is* the linear rule: the search would need a full eigendecomposition for
        each step and item.
    start, stop : ndarray of shape (R,), int64
        Ranges of the rows, updated in place.
    decisions : ndarray of shape (T,), int8, or None
    weights : tuple of ndarray
        Row weights and slot steps, as in the sphere pass.

    Returns
    -------
    n_zero, n_linear : int
        Number of items that were decided.
    """
    if ball.centre is None or not np.isfinite(ball.radius + norm(ball.centre)):
        return 0, 0
    geometry, items = objective.geometry, objective.geometry.items
    normal = ball.normal
    if normal is None:
        normal = objective.domain.split(ball.centre)[1]
    # Rounding errors of the centre, which the radius bounds where the centre cancels.
    slack = SLACK * EPS * (norm(ball.centre) + ball.radius)
    size, half_space = norm(normal.value), (np.empty(0),) * 4
    scale = depth = 0.0
    if size > 0.0:
        half_space = geometry.intervals(((1.0, geometry.margins(normal)),))
        scale, depth = 1.0 / size, inner(normal.value, ball.centre) / size + slack
    cone = search_space(objective, ball) if rule == "semidefinite" else None
    values, points, noise = (np.empty(0), geometry.X, 0.0) if cone is None else cone
    thresholds, width = geometry.thresholds(objective.loss), objective.loss.width
    far = items.far if items.slots is None else items.far[items.slots]
    return metric_learning.refine_pass(
        start, stop, items.base, items.rank, items.near, far, geometry.X, geometry.diagonal,
        geometry.near_sizes, geometry.far_sizes, geometry.intervals(ball.terms), half_space,
        scale, depth, values, points, noise, slack, ball.radius, thresholds,
        width, decisions, *weights,
    )  # fmt: skip


def search_space(objective: Objective, ball: Ball):
    """Eigenvalues of the centre, the data in its eigenbasis, and their noise as in the margins.

    None where the semidefinite rule has nothing to add.
    """
    geometry, centre = objective.geometry, ball.centre
    if geometry.diagonal:
        outside = norm(np.minimum(centre, 0.0))
        # With an empty intersection the search could prove anything.
        return (centre, geometry.X, 0.0) if outside < ball.radius else None
    values, vectors = np.linalg.eigh(centre)
    if values[0] < _INDEFINITE * values[-1]:
        return None
    X = geometry.X[:, : geometry.n_features]
    largest = np.sqrt(np.einsum("ij,ij->i", X, X).max(initial=0.0))
    return np.maximum(values, 0.0), X @ vectors, 8.0 * EPS * geometry.n_features * largest


cone_decides = metric_learning.cone_decides
"""Whether <aa' - bb', X> > level on all of a ball cut with the PSD cone (SDLS).

(values, radius, level, margin, size, a, b, noise, slack, x), in the eigenbasis of a centre Q in the
cone: `values` (d,) are its eigenvalues, >= 0; `margin` is <A, Q> or less, `size` > 0 is |A| or
more; a and b (d,) are the two differences; `noise` and `slack` are rounding errors of a and b, and
of w'Qw; x (d,) is scratch.
"""

orthant_decides = metric_learning.orthant_decides
"""(centre, radius, level, a, b) -> whether <a*a - b*b, x> > level on all of a ball cut so.

With the orthant, by Theorems J11 and J12.
"""
