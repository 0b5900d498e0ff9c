"""A problem between two classes with known kernel values, in compiled loops.

Variables are signed as in `box`: beta_i = y_i alpha_i, slopes g_i = target_i - f_i, without
intercept. Kernel values of the pair are three blocks in single precision, so that the blocks inside
a class serve all of its problems without a copy. SMO runs on working sets; after each set all
slopes are updated. The first set has a few samples of both classes, evenly chosen, with bounds
that are larger in proportion: its scores tell which samples are near the margin or on its wrong
side. These form the next working set, which others can join later.

One call solves a whole problem, because calls from Python would take most of the time of hundreds
of problems of some hundred samples.
"""

from skscreen._compiled import svm

LARGEST = 3000
"""Largest working set."""

improve = svm.improve_pair
"""(A, B, AB, square_bias, target, low, high, free, beta, f, errors, relative, tol, steps, memory)
-> steps taken.

Improves the point beta (m + n,) to a relative gap `tol`, computed in single precision, in so many
steps of SMO at most. A (m, m), B (n, n), AB (m, n) are float32 kernel values inside the first
class, whose samples come first, inside the second and between them; B^2 of a penalised intercept
is added to all of them. `f` (m + n,), the scores of the point, are replaced by those of the new
one; `errors` becomes bounds on their errors. For `relative` see `scores`. `memory`, float32, is
room for the kernel matrix of a working set.
"""

scores = svm.pair_scores
"""(A, B, AB, square_bias, beta, relative, f, errors) -> None; writes scores and bounds on errors.

Kernel values of samples s and t have relative errors of at most relative_s + relative_t.
"""

bounded = svm.bounded_scores
"""(positive, negative, square_bias, beta, relative, own, f, errors) -> None; the same from sums.

`positive` and `negative` (k,) are sums of |beta_i| K_ij over the samples of the first class, and of
the second; `own` (k,) is `relative` of the samples of the sums.
"""

solve_small = svm.solve_small_pair
"""(A, B, AB, square_bias, target, low, high, free, sizes, relative, tol, enough, limit, beta) ->
steps taken, and b, gap, primal with the largest gap that rounding errors allow.

The same with kernel values in double precision, without working sets: SMO runs on all samples. If
it does not finish soon, as for large C, Newton's method solves for the samples between their
bounds. Improves beta to a relative gap `tol`, and to `enough` if some more steps do, in at most
`limit` steps. No entry K_ij is larger than sizes_i sizes_j, `sizes` (m + n,), nor its error larger
than `relative` times that.
"""
