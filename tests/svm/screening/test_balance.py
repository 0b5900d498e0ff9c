"""Decisions where dual variables are out of balance."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from svm_labelled import KernelSamples
from svm_reference import free_optimum

from skscreen.core.decisions import LINEAR, ZERO
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import SLACK, gap_ball, reference
from skscreen.svm.screening.rules import ball_test


def wrong(codes, margins):
    return np.count_nonzero(
        ((codes == ZERO) & (margins < 1.0 - 1e-6)) | ((codes == LINEAR) & (margins > 1.0 + 1e-6))
    )


def between_two_optima(seed, delta):
    """A problem with samples that count for nothing, on different sides at the optima for
    y'alpha = 0 and y'alpha = delta."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.0, 1.0, -1.0)
    C, places = np.ones(80), rng.normal(size=(3000, 3))
    signed = y[:, None] * rbf_kernel(X, gamma=0.3) * y
    margins = []
    for total in (0.0, delta):
        alpha, low, high = free_optimum(signed, C, y, total)
        margins.append(rbf_kernel(places, X, gamma=0.3) @ (y * alpha) + 0.5 * (low + high))
    sides = (margins[0] < 1.0 - 1e-5) & (margins[1] > 1.0 + 1e-5)
    chosen = places[np.flatnonzero(sides)[:5]]
    X, y = np.vstack([X, chosen]), np.append(y, np.ones(len(chosen)))
    samples = KernelSamples(Gram(rbf_kernel(X, gamma=0.3), Kernel("precomputed")), y)
    return samples, np.append(C, np.full(len(chosen), 1e-6))


@pytest.mark.few(2)
@pytest.mark.parametrize("delta", [1e-12, 0.1, 0.3])
@pytest.mark.slow
def test_a_point_out_of_balance_has_a_larger_ball(delta):
    """The optimum for y'alpha = delta has no gap, and yet it is not the one for y'alpha = 0.

    A radius that does not allow for what is missing decides wrongly from there.
    """
    too_small = decided = 0
    for seed in range(5):
        samples, C = between_two_optima(seed, delta)
        Q, y, norms = samples.products(np.arange(samples.n)), samples.y, samples.norms
        best, low, high = free_optimum(Q, C, y)
        alpha = free_optimum(Q, C, y, delta)[0]
        dual, f = Dual.of(hinge(C), y, True), y * (Q @ alpha)
        known = reference(norms, f, y * alpha, dual, dual.best_intercept(f))
        away = alpha - best
        assert np.sqrt(max(away @ Q @ away, 0.0)) <= gap_ball(known).radius
        safe = dual.decided(ball_test(gap_ball(known), norms))
        decided += np.count_nonzero(safe)
        bare = replace(known, share=0.0, shift=SLACK * EPS * known.length)
        codes = dual.decided(ball_test(gap_ball(bare), norms))
        margins = [Q @ best + b * y for b in (low, high)]
        assert sum(wrong(safe, each) for each in margins) == 0
        too_small += min(wrong(codes, each) for each in margins)
    assert decided > 0 or delta > 0.01
    assert (too_small > 0) == (delta > 1e-6)
