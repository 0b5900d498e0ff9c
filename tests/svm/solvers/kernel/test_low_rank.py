"""Kernel matrices of low rank, by rows of a factor."""

import numpy as np
import pytest

from skscreen import ScreenedSVC
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.svm.dual import Dual
from skscreen.svm.solvers.kernel.low_rank import factor, solve_factored
from skscreen.svm.solvers.kernel.solve import solve_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = np.where(X[:, 0] + RNG.normal(size=400) > 0.0, 1.0, -1.0)


@pytest.mark.parametrize(("kernel", "rank"), [("linear", 4), ("poly", 15), ("precomputed", 4)])
def test_the_factor_has_the_rank_of_the_matrix(kernel, rank):
    gram = Gram(X @ X.T if kernel == "precomputed" else X, Kernel(kernel, degree=2, coef0=1.0))
    L, K = factor(gram), gram.compute(np.arange(400), np.arange(400))
    assert L.shape == (400, rank)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-6 * np.trace(K))


def test_a_matrix_of_high_rank_has_no_factor():
    assert factor(Gram(X, Kernel("rbf", gamma=1.0))) is None


@pytest.mark.parametrize("free", [False, True])
def test_what_the_factor_finds_is_the_optimum(free):
    gram = Gram(X, Kernel("poly", degree=2, coef0=1.0))
    samples = KernelSamples(gram, bias=0.0 if free else 2.0)
    C = np.full(400, 10.0)
    dual = Dual.of(hinge(C), Y, free)
    found = solve_factored(samples, dual, np.zeros(400), 1e-8, 10**6)
    other = solve_kernel(samples, dual, tol=1e-8)
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=3e-8)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_contradictions_in_few_directions_and_a_huge_C(C, intercept):
    """SMO alone takes millions of steps here."""
    twice, labels = np.vstack([X, X[:200]]), np.append(Y, -Y[:200])
    model = ScreenedSVC(C, kernel="precomputed", intercept=intercept).fit(twice @ twice.T, labels)
    rows = ScreenedSVC(C, kernel="linear", intercept=intercept).fit(twice, labels)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(rows.objective_, rel=2e-6)


@pytest.mark.slow
def test_repeated_rows_with_both_labels_of_many_samples():
    """In tiles: three million steps ended in a false alarm."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(100, 3))
    rows = base[rng.integers(0, 100, 2050)]
    labels = np.where(rng.random(2050) < 0.5, 1.0, -1.0)
    model = ScreenedSVC(1e3, kernel="rbf", gamma=0.3, intercept="free").fit(rows, labels)
    assert model.dual_gap_ <= 1e-6
