import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from svm_labelled import KernelSamples, Labelled, polish, solve_linear
from svm_reference import dual, gap, optimum, primal, sloppy

from skscreen import ScreenedSVC
from skscreen.core.certificate import Certificate
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.polish import _change
from skscreen.svm.solvers.solution import SampleSolution

X, labels = load_breast_cancer(return_X_y=True)
X, y = scale(X)[::6], np.where(labels[::6] == 1, 1.0, -1.0)


def samples_and_matrix(kind):
    if kind == "linear":
        return LinearSamples(X, y, 1.0), y[:, None] * (X @ X.T + 1.0) * y
    data = np.repeat(X[:40], 2, axis=0) if kind == "repeated" else X
    signs = np.repeat(y[:40], 2) if kind == "repeated" else y
    gram = Gram(data, Kernel("rbf", gamma=0.02))
    K = gram.compute(np.arange(len(data)), np.arange(len(data)))
    return KernelSamples(gram, signs, bias=1.0), signs[:, None] * (K + 1.0) * signs


def solution_of(samples, Q, C, alpha):
    w = samples.combine(alpha) if isinstance(samples, LinearSamples) else None
    value = primal(Q, C, alpha)
    certificate, y = Certificate(value, dual(Q, alpha), gap(Q, C, alpha)), samples.y
    return Labelled(SampleSolution(y * alpha, y * (Q @ alpha), w, certificate, 1, True, 0.0), y)


@pytest.mark.parametrize("kind", ["linear", "rbf", "repeated"])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("relative_gap", [1e-8, 1e-6])
def test_the_last_digits(kind, C, relative_gap):
    samples, Q = samples_and_matrix(kind)
    bounds = np.full(len(Q), C)
    best = optimum(Q, bounds)
    # A solver has most dual variables at their bounds; those inside are off.
    noise = np.random.default_rng(0).normal(size=len(Q)) * C * ((best > 0.0) & (best < C))
    alpha = best
    for size in np.geomspace(1.0, 1e-9, 60):
        alpha = np.clip(best + size * noise, 0.0, C)
        if gap(Q, bounds, alpha) <= relative_gap * primal(Q, bounds, alpha):
            break
    rough = solution_of(samples, Q, bounds, alpha)
    fine = polish(samples, hinge(bounds), rough)
    assert fine.certificate.relative_gap <= 1e-13
    assert_allclose(fine.certificate.gap, gap(Q, bounds, fine.alpha), atol=1e-13)
    assert_allclose(fine.certificate.primal, primal(Q, bounds, fine.alpha), rtol=1e-12)
    assert_allclose(fine.certificate.dual, dual(Q, fine.alpha), rtol=1e-12)
    assert_allclose(fine.margins, Q @ fine.alpha, atol=1e-10)
    assert fine.alpha.min() >= 0.0 and fine.alpha.max() <= C
    if fine.w is not None:
        assert_allclose(fine.w, samples.combine(fine.alpha))


def test_never_worse():
    samples, Q = samples_and_matrix("rbf")
    bounds, rng = np.full(len(Q), 1.0), np.random.default_rng(0)
    best = optimum(Q, bounds)
    for relative_gap in (1e-4, 1e-2, 0.5):
        rough = solution_of(samples, Q, bounds, sloppy(Q, bounds, best, relative_gap, rng))
        fine = polish(samples, hinge(bounds), rough)
        assert fine.certificate.gap <= rough.certificate.gap
        assert_allclose(fine.certificate.gap, gap(Q, bounds, fine.alpha), rtol=1e-6, atol=1e-13)


def test_nothing_to_do():
    samples, Q = samples_and_matrix("rbf")
    bounds = np.full(len(Q), 1e-4)
    rough = solution_of(samples, Q, bounds, bounds.copy())
    assert polish(samples, hinge(bounds), rough) is rough


@pytest.mark.parametrize(("n", "polished"), [(500, True), (2000, False)])
def test_only_small_sparse_problems_are_polished(n, polished):
    rng = np.random.default_rng(0)
    entries = rng.random((n, 200)) * (rng.random((n, 200)) < 0.3)
    samples = LinearSamples(sparse.csr_array(entries), np.where(rng.random(n) < 0.5, 1.0, -1.0))
    bounds = np.full(n, 0.1)
    rough = solve_linear(samples, hinge(bounds), tol=1e-5, solver="coordinate-descent")
    assert (
        polish(samples, hinge(bounds), rough).certificate.gap < rough.certificate.gap
    ) == polished


def test_free_intercept():
    samples = KernelSamples(Gram(X, Kernel("rbf", gamma=0.02)), y)
    peer = SVC(C=1.0, gamma=0.02, tol=1e-4).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[peer.support_] = np.abs(peer.dual_coef_[0])
    bounds = np.ones(len(y))
    alpha = np.minimum(alpha, bounds)
    Q = samples.products(np.arange(len(y)))
    margins, b = Q @ alpha, peer.intercept_[0]
    rest = 1.0 - margins - y * b
    error = np.where(rest > 0.0, (bounds - alpha) * rest, -alpha * rest).sum()
    both = alpha.sum() + np.maximum(rest, 0.0).sum()
    certificate = Certificate(0.5 * (both + error), 0.5 * (both - error), error)
    rough = SampleSolution(y * alpha, y * margins, None, certificate, 1, True, 0.0, b=b)
    fine = polish(samples, hinge(bounds), Labelled(rough, y), free=True)
    assert fine.certificate.relative_gap < 1e-13 < rough.certificate.relative_gap
    assert abs(y @ fine.alpha) < 1e-12
    assert_allclose(fine.margins, Q @ fine.alpha, atol=1e-10)
    # Samples inside the box are at the kink.
    inside = (fine.alpha > 1e-9) & (fine.alpha < 1.0 - 1e-9)
    assert_allclose((fine.margins + y * fine.b)[inside], 1.0, atol=1e-10)
    exact = replace(fine.found, certificate=replace(fine.certificate, gap=0.0))
    assert polish(samples, hinge(bounds), Labelled(exact, y), free=True).found is exact


def test_weights_are_those_that_are_certified():
    """Far from the origin, margins that are updated step by step drift away from those of w."""
    far = np.random.default_rng(3).normal(size=(30, 1)) + 1e6
    signs = np.where(np.arange(30) % 2, 1.0, -1.0)
    samples, bounds = LinearSamples(far, signs, 1.0), np.full(30, 5.0)
    start = solve_linear(samples, hinge(bounds), tol=1e-2)
    found = polish(samples, hinge(bounds), start)
    margins = samples.margins(found.w)
    assert_allclose(found.margins, margins, rtol=0.0, atol=1e-12 * np.abs(margins).max())
    value = 0.5 * found.w @ found.w + bounds @ np.maximum(1.0 - margins, 0.0)
    assert_allclose(found.certificate.primal, value, rtol=1e-9)
    assert found.certificate.gap <= start.certificate.gap


def test_a_move_that_overflows_is_not_taken():
    samples = LinearSamples(1e38 * X[:10], y[:10], 1.0)
    start = solve_linear(samples, hinge(np.full(10, 1e70)), max_iter=2)
    assert polish(samples, hinge(np.full(10, 1e70)), start).certificate.gap <= start.certificate.gap


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("far", [4.0, 100.0])
def test_hard_margins_lack_no_rounding_error(kernel, intercept, far):
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = np.random.default_rng(0).normal(size=(60, 2)) * 0.5 + far * (y[:, None] > 0.0)
    models = [
        ScreenedSVC(C, kernel=kernel, intercept=intercept, tol=1e-7).fit(X, y) for C in (1e8, 1e10)
    ]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=3e-7)
    peer = SVC(C=1e8, kernel=kernel, tol=1e-6).fit(X, y)
    if intercept == "free":
        dual = np.abs(peer.dual_coef_).sum() / 2.0
        assert models[0].objective_ == pytest.approx(dual, rel=1e-4)


@pytest.mark.slow
def test_dual_variables_stay_within_their_bounds():
    # Beside a bound by a rounding error the gap of this problem came out as -1.8e-17.
    X = np.array([[0.34480493], [-0.8507363], [-0.21481102], [2.19346026]])
    for seed in range(200):
        weights = np.random.default_rng(seed).random(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = ScreenedSVC(kernel="linear", intercept="penalised", max_iter=1)
            model.fit(X, [0, 0, 1, 1], weights)
        assert model.dual_gap_ >= 0.0
        assert (np.abs(model.dual_coef_) <= weights[model.support_]).all()


@pytest.mark.parametrize("free", [False, True])
def test_rounding_errors_of_repeated_samples_move_nothing(free):
    """Slopes of equal samples differ by a rounding error, as some BLAS computes them."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(6, 10)), 4, axis=0)
    signs = np.repeat(rng.choice([-1.0, 1.0], 6), 4)
    samples = LinearSamples(rows, np.ones(24), 0.0)
    everyone, K = np.arange(24), rows @ rows.T
    slopes = K @ (1e-9 * signs) + rng.choice([0.0, 1.5e-16], 24)
    missing = np.zeros(1 if free else 0)
    x, b = _change(samples, everyone, slopes, np.zeros(24), np.ones((24, 1)), missing, 2.0**-52)
    assert_allclose(K @ x + b.sum(), slopes, atol=1e-15)
    assert np.abs(x).max() < 1e-7
