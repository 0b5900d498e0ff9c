"""Rules of comparisons: what a ball cut by a half-space or a cone proves about one item."""

from skscreen._compiled import metric_learning

# From the weakest to the strongest; each decides all that the ones before it do.
RULES = ("sphere", "linear", "semidefinite")


half_space_lower = metric_learning.half_space_lower
"""(margin_low, norm, radius, along, depth) -> smallest margin over a ball cut by a half-space.

Theorem J9, with its cases in order: minimise <A, X> over |X - Q| <= r and <P, X> >= 0 with |P| = 1.
For any y >= 0 the sphere bound of A - y P is a lower bound, <A, Q> - y <P, Q> - r |A - y P|, and
the best y, that of the theorem, makes it the minimum. Evaluated so, it is safe whatever the
rounding errors of y. `margin_low` is <A, Q> or less, `norm` is |A| or more, `along` <P, A> or less,
`depth` <P, Q> or more. From -radius down the half-space leaves nothing of the ball (rounding
errors, or a wrong ball) and nothing may be concluded: the result is -inf.
"""
