"""The multi-class hinge of Crammer and Singer, by the sequential dual method.

With rows x_i (and a feature B), classes y_i and weights c_i of the losses, the problem is

    min_w  P(w) = 1/2 sum_k |w_k|^2 + sum_i c_i max_k ([k != y_i] + <w_k - w_{y_i}, x_i>),

and its dual

    max_alpha  D(alpha) = sum_i alpha_{i, y_i} - 1/2 sum_k |w_k|^2,  w_k = sum_i alpha_ik x_i,
    such that  sum_k alpha_ik = 0,  alpha_ik <= c_i [k = y_i].

For these w the gap is a sum of terms >= 0: with f_ik = [k != y_i] + <w_k, x_i> it is

    P(w) - D(alpha) = sum_ik (c_i [k = y_i] - alpha_ik) (max_l f_il - f_ik).

A visit of a sample moves all its variables to their best values, which is a projection onto a
simplex. Between two certificates the samples with a part in the gap are visited, in random order;
those that stay alone at a corner of the simplex rest. Where that is slow, all samples move
together, see `newton`, or, with many features, those between the corners, see `faces`.

References
----------
K. Crammer, Y. Singer (2001). On the algorithmic implementation of multiclass kernel-based vector
machines. JMLR 2. Sections 3 and 6.
S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin (2008). A sequential dual
method for large scale multi-class linear SVMs. KDD. Section 2.
"""

from dataclasses import dataclass

import numpy as np

from skscreen._compiled import svm as compiled
from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.rows import LinearSamples
from skscreen.svm.crammer_singer.faces import move_on_face
from skscreen.svm.crammer_singer.newton import Pair, proximal_step
from skscreen.svm.solvers.stalls import Stalls

certify_classes = compiled.certify_classes
"""((rows, bias, K, own (n,), c (n,), squares (n,), alpha, weights), order (n,)) -> loss, gap, m.

Makes the weights those of alpha; `order` begins with the m samples that have a part in the gap.
"""

sweep_classes = compiled.sweep_classes
"""(the same, order (m,), random (1,), enough, visits, most) -> sweeps; see `certify_classes`."""

# Shares of the gap, and of the gap that is allowed, that samples may have on the way when sweeps
# end; visits of each sample, in the mean, between two certificates.
_SHARE, _ENOUGH, _VISITS = 0.02, 0.8, 30
# Least squared length of a row, times c: shorter ones change nothing.
_SHORTEST = 1e-6
# Factor by which sweeps have to lower the gap to go on alone. A face costs as much as a hundred
# sweeps, after which gaps differ by a factor of three: they may fail once more than before Newton.
_SLOW = 0.5
# Certificates in a row without a larger dual or this share of the gap, after which rounding errors
# are left. Samples are visited in another order each time: a few may fail by chance.
_MOST_FAILURES, _LOWER = 12, 0.99


@dataclass(frozen=True)
class ClassSolution:
    """Weights (n_features, n_classes), that of B last, dual variables (n, n_classes), sweeps."""

    w: np.ndarray
    alpha: np.ndarray
    certificate: Certificate
    n_iter: int


def solve_crammer_singer(
    samples: LinearSamples, own: np.ndarray, c: np.ndarray, tol: float, max_iter: int, seed: int,
    newton: bool,
) -> ClassSolution:  # fmt: skip
    """Solve from zero to a relative gap, for classes `own` (n,) and weights c (n,) of losses.

    Where sweeps are slow `newton` takes steps of all weights; else samples move on faces.
    """
    n_classes, lanes = int(own.max()) + 1, compiled.SCORE_LANES
    width, d = -(-n_classes // lanes) * lanes, samples.n_features
    variables, weights = np.zeros((samples.n, width)), np.zeros(d * width)
    alpha = variables[:, :n_classes]
    squares = np.maximum(samples.norms**2, _SHORTEST / c)
    problem = samples.rows, samples.bias, n_classes, own, c, squares, variables, weights
    random = np.array([(2 * seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
    n_iter, highest, before, slow = 0, -np.inf, np.inf, 0
    stalls, halvings = Stalls(_LOWER, each=True), Stalls(0.5)
    # Where rounding errors of weights, as sums of rows, make margins wrong by this much those of
    # Newton's method are better ones.
    is_blurred = EPS * float(c @ samples.norms) * float(samples.norms.max()) > 1e-3
    best: Pair | None = None
    while True:
        order = np.empty(samples.n, np.int64)
        loss, gap, n_active = certify_classes(problem, order)
        w = weights.reshape(d, width)[:, :n_classes]
        half = 0.5 * float(weights @ weights)
        primal, dual = half + loss, half + loss - gap
        certificate = Certificate(primal, dual, gap + 8.0 * EPS * primal)
        # The dual grows with every visit, but for rounding errors; it runs out of digits long
        # before the gap does, which is of first order.
        failures = stalls.see(gap, dual > highest + 4.0 * EPS * primal)
        highest = max(dual, highest)
        if is_blurred and (best is None or not certificate.gap >= best.certificate.gap):
            best = Pair(w.copy(), alpha.copy(), certificate)
        found = best or Pair(w, alpha, certificate)
        crawls = halvings.see(found.certificate.gap) > 40 and is_blurred
        done = found.certificate.relative_gap <= tol or failures > _MOST_FAILURES
        if done or n_iter >= max_iter or crawls:
            return ClassSolution(found.w, found.alpha, found.certificate, n_iter)
        slow = slow + 1 if gap > _SLOW * before else 0
        if slow > (not newton):
            before, steps, slow = np.inf, 0, 0
            if newton:
                if best is not None:
                    # Steps from the best weights, not from sums of rows.
                    w, alpha[:] = best.w, best.alpha
                    gap, primal = best.certificate.gap, best.certificate.primal
                steps, pair = proximal_step(samples, own, c, alpha, w, gap, primal, failures)
                if best is not None and pair.certificate.gap < best.certificate.gap:
                    best = pair
            n_iter += steps or move_on_face(samples, own, c, alpha, w)
            continue
        before = gap
        enough = max(_SHARE * gap, _ENOUGH * tol * primal)
        n_iter += sweep_classes(
            problem, order[:n_active], random, enough, _VISITS * samples.n, max_iter - n_iter
        )
