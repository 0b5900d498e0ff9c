"""Starts of all classes at once: near the solutions, and fits from there are those of LinearSVC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.svm import LinearSVC
from svm_labelled import state_of

from skscreen import ScreenedLinearSVC
from skscreen.samples.losses import squared_hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.classes_together import LANES, start_together


def texts(n, d, k, seed=0):
    """Rows of few entries, also of none, and classes that they tell apart more or less."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.03, format="csr", random_state=rng)
    classes = np.arange(n) % k
    X = sparse.csr_array(X + sparse.csr_array((np.ones(n), (np.arange(n), classes)), X.shape))
    X = sparse.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    X = sparse.csr_array(sparse.vstack([X[1:], sparse.csr_array((1, d))]))
    rows = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array(rows, X.shape), np.roll(classes, -1)


@pytest.mark.parametrize("k", [3, LANES, LANES + 7])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_starts_are_near_the_solutions(k, bias):
    X, classes = texts(400, 150, k)
    losses = squared_hinge(np.random.default_rng(1).choice([0.05, 0.1, 0.2], 400))
    norms = LinearSamples(X, np.ones(400), bias).norms
    alphas, n_sweeps = start_together(X, bias, norms, classes, losses.shifts, 1e-5)
    assert alphas.shape == (k, 400) and n_sweeps.shape == (k,) and np.all(n_sweeps > 1)
    for c in range(k):
        samples = LinearSamples(X, np.where(classes == c, 1.0, -1.0), bias)
        assert state_of(samples, losses, alphas[c]).evaluate() < 2e-5


def test_numbers_beyond_single_precision_are_left_alone():
    X, classes = texts(50, 20, 3)
    norms, shifts = np.ones(50), np.full(50, 0.5)
    for factors in ((1e30, 1.0), (1.0, 1e-20), (1.0, 1e20), (np.nan, 1.0)):
        assert (
            start_together(X, 1.0, factors[0] * norms, classes, factors[1] * shifts, 1e-3) is None
        )


@pytest.mark.few(4)
@pytest.mark.slow
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_are_those_of_linear_svc(C, dtype):
    X, classes = texts(300, 5000, 5)
    X, weights = X.astype(dtype), np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], 300)
    ours = ScreenedLinearSVC(C, tol=1e-10, random_state=0).fit(X, classes, weights)
    theirs = LinearSVC(C=C, tol=1e-9, max_iter=100_000).fit(sparse.csr_matrix(X), classes, weights)
    assert ours.dual_gap_ <= 1e-10 and ours.n_iter_ >= 1
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    again = ScreenedLinearSVC(C, tol=1e-10, n_jobs=2, random_state=0).fit(X, classes, weights)
    assert np.array_equal(again.coef_, ours.coef_)


def few_full_rows():
    """Return 30 classes of 4 rows of 110 full columns, and weights."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 110)), 4, axis=0) + rng.normal(size=(120, 110))
    return X, np.repeat(np.arange(30), 4), rng.choice([0.5, 1.0, 2.0], 120)


def test_many_classes_of_a_few_full_rows():
    X, classes, weights = few_full_rows()
    ours = ScreenedLinearSVC(0.1, tol=1e-10, random_state=0).fit(X, classes, weights)
    theirs = LinearSVC(C=0.1, tol=1e-9, max_iter=100_000).fit(X, classes, weights)
    assert ours.dual_gap_ <= 1e-10
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


# LIBLINEAR takes 48 s here at the tolerance that tells a fault.
@pytest.mark.slow
def test_many_classes_of_a_few_full_rows_and_a_large_C_are_those_of_one_class():
    X, classes, weights = few_full_rows()
    ours = ScreenedLinearSVC(100.0, tol=1e-10, random_state=0).fit(X, classes, weights)
    assert ours.dual_gap_ <= 1e-10
    for k in range(0, 30, 3):
        alone = ScreenedLinearSVC(100.0, tol=1e-10).fit(X, classes == k, weights)
        assert_allclose(ours.coef_[k], alone.coef_[0], atol=1e-5)
