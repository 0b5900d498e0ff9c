"""Sequential minimal optimisation on a known kernel matrix of some samples.

In terms of beta_i = y_i alpha_i the labels vanish: with g_i = y_i t_i - f_i (t_i the threshold of
the loss, f_i the score without intercept) the dual is

    max  sum_i y_i t_i beta_i - 1/2 beta' (K + diag(s)) beta,   low_i <= beta_i <= high_i,

and g, less s_i beta_i, its gradient. K is in single or double precision, sums are in double. A step
is a few passes over one or two rows of K, written so that they vectorise: no branches, and choices
as places of the largest entries of arrays, whose length is a multiple of `LANES`.

References
----------
R.-E. Fan, P.-H. Chen, C.-J. Lin. Working set selection using second order information for
training support vector machines. JMLR 6, 2005.
I. Steinwart, D. Hush, C. Scovel. Training SVMs without offset. JMLR 12, 2011.
"""

from skscreen._compiled import svm

LANES = svm.SMO_LANES
"""Number of lanes in which maxima are taken; arrays are padded with samples that cannot move."""

pairs_with_offset = svm.pairs_with_offset
"""(K, diagonal, low, high, beta, g, eps, steps) -> steps taken; beta and its gradient g change.

Moves pairs that keep the sum of beta until no two slopes differ by more than eps, or for so many
steps. K is float32 or float64 of shape (m, n), m <= n: columns from m on are padding. `diagonal`
(n,), of the same type, is K_ii + s_i; `low`, `high`, `beta`, `g` (n,) are float64.
"""

pairs_without_offset = svm.pairs_without_offset
"""The same, free of an equality, until no sample can move along a slope above eps.

The first of a pair has the largest slope, the second one the largest gain together with it. Both
move to the optimum of their problem.
"""

pair_optimum = svm.pair_optimum
"""(q, d_i, g_i, low_i, high_i, d_j, g_j, low_j, high_j, least) -> moves of two samples.

Those that gain most, within bounds of the moves; `least` is the least curvature.
"""
