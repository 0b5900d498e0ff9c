"""Products with values of polynomial kernels in tiles against extended precision."""

import numpy as np
import pytest
from scipy import sparse

from skscreen import ScreenedSVC
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.kernels.poly_blocks import PolyBlocks, PolyRows
from skscreen.svm.roads import BY_BLOCKS


def samples(kind, n=700):
    rng = np.random.default_rng(5)
    # More features than one product of matrices adds up, or a few.
    X = rng.normal(size=(n, 150 if kind == "wide" else 7))
    if kind == "lengths":
        X *= 10.0 ** rng.uniform(-9.0, 9.0, size=(n, 1))
        X[5] = 0.0
    elif kind == "sparse":
        X = np.where(rng.random((n, 40)) < 0.1, rng.normal(size=(n, 40)), 0.0)
    return X


def extended(A, B, degree, coef0):
    """The kernel for gamma = 0.2 in extended precision."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    return (np.longdouble(0.2) * (A @ B.T) + np.longdouble(coef0)) ** degree


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["plain", "wide", "lengths", "sparse"])
@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 1.0), (3, 0.0), (3, 1.0), (6, 0.5)])
@pytest.mark.slow
def test_sums_are_as_exact_as_said(kind, degree, coef0):
    X, rng = samples(kind), np.random.default_rng(1)
    rows = PolyRows(sparse.csr_array(X) if kind == "sparse" else X, 0.2, degree, coef0)
    blocks = PolyBlocks(rows, rows)
    index, columns = np.flatnonzero(rng.random(700) < 0.8), rng.permutation(700)[:613]
    weights = rng.normal(size=index.size) + 0.3
    K = extended(X[index], X[columns], degree, coef0)
    lengths = np.sqrt(0.2 * (X**2).sum(axis=1) + coef0) ** degree
    sizes = (np.abs(weights) @ lengths[index]) * lengths[columns]
    exact = weights @ K
    for double in (False, True):
        found, errors = blocks.dot(index, weights, columns, double)
        assert np.all(np.abs(found - exact) <= errors)
        assert np.all(errors <= (1e-12 if double else 1e-4) * sizes)
    # Powers of 1e9 are beyond single precision.
    if kind == "lengths" and degree > 2:
        return
    out = np.zeros((index.size, 640), np.float32)
    blocks.block(index, columns, out)
    bound = 1e-4 * np.multiply.outer(lengths[index], lengths[columns])
    assert np.all(np.abs(out[:, :613] - K) <= bound + 1e-37)
    assert not out[:, 613:].any()


def test_errors_add_up_and_stay_below_the_bound():
    # Equal rows and weights of one sign: roundings are all to the same side, for any BLAS.
    X = np.full((640, 20), 0.7)
    rows = PolyRows(X, 0.2, 3, 0.1)
    blocks, everyone = PolyBlocks(rows, rows), np.arange(640)
    weights = np.full(640, 1.0 / 3.0)
    found, errors = blocks.dot(everyone, weights, everyone[:5])
    wrong = np.abs(found - weights @ extended(X, X[:5], 3, 0.1))
    assert np.all((wrong > 1e-3 * errors) & (wrong <= errors))


def test_nothing_to_add():
    rows = PolyRows(samples("plain"), 1.0, 2, 0.0)
    blocks, none, some = PolyBlocks(rows, rows), np.empty(0, np.int64), np.arange(5)
    for double in (False, True):
        assert np.array_equal(blocks.dot(none, np.empty(0), some, double), np.zeros((2, 5)))
        assert blocks.dot(some, np.ones(5), none, double)[0].size == 0


def test_other_powers_have_no_blocks():
    assert Kernel("poly", 0.1, 3, 0.0).is_power
    assert Kernel("poly", 0.1, 2.0, 1.0).is_power
    for settings in ((0.1, 2.5, 1.0), (0.1, 0, 1.0), (-0.1, 2, 1.0), (0.1, 2, -1.0), (0.1, 99, 0)):
        assert not Kernel("poly", *settings).is_power


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.slow
def test_scores_of_new_samples(make):
    X, rng = samples("plain"), np.random.default_rng(3)
    new, coef = X[::-1] + 0.1, rng.normal(size=(700, 3))
    expected = np.array(extended(X, new, 3, 1.0).T @ coef, np.float64)
    # More than one batch.
    new, expected = np.tile(new, (13, 1)), np.tile(expected, (13, 1))
    kernel = Kernel("poly", 0.2, 3, 1.0)
    found = kernel.scores(make(new), make(X), coef)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    # An intercept that brings scores as near to zero as single precision cannot tell.
    for k in range(3):
        b = 1e-9 - expected[57, k]
        signs = np.sign(kernel.decisive_scores(make(new), make(X), coef[:, k], b))
        assert np.array_equal(signs, np.sign(expected[:, k] + b))


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("degree", "coef0", "C", "tol"), [(2, 1.0, 1.0, 1e-7), (3, 0.0, 10.0, 1e-3)]
)
def test_gaps_of_large_fits_are_as_small_as_said(degree, coef0, C, tol):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(BY_BLOCKS + 300, 6))
    # A few long rows: kernel values spread over eight orders of magnitude.
    X[::200] *= 20.0
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    settings = {"kernel": "poly", "gamma": 0.2, "degree": degree, "coef0": coef0, "cache_size": 10}
    assert isinstance(Gram(X, Kernel("poly", 0.2, degree, coef0)).blocks, PolyBlocks)
    model = ScreenedSVC(C, **settings, intercept="free", tol=tol).fit(X, y)
    beta = np.zeros(len(X), np.longdouble)
    beta[model.support_] = model.dual_coef_.ravel()
    f = extended(X, X, degree, coef0) @ beta
    square, b = beta @ f, np.longdouble(model.intercept_[0])
    primal = 0.5 * square + C * np.maximum(1.0 - y * (f + b), 0.0).sum()
    gap = (primal - (np.abs(beta).sum() - 0.5 * square)) / primal
    assert abs(beta.sum()) < 1e-9
    assert gap <= model.dual_gap_ * (1.0 + 1e-6) + 1e-12
    assert model.dual_gap_ <= tol


def test_outliers_do_not_keep_a_fit_from_its_gap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(BY_BLOCKS + 100, 5))
    X[[3, 700, 1900]] *= 1e6
    noise = 0.5 * rng.normal(size=len(X))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + noise > 0.0, 1, -1)
    settings = {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0, "cache_size": 10}
    model = ScreenedSVC(1.0, **settings, max_iter=200_000).fit(X, y)
    assert model.dual_gap_ <= 1e-4
