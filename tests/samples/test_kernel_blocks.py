"""Products with kernel values in tiles against kernel matrices in extended precision."""

import numpy as np
import pytest
from scipy import sparse

from skscreen._compiled import LEVELS
from skscreen._compiled import samples as loops
from skscreen.core import threads
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.kernels.kernel_blocks import ComputedBlocks, RBFBlocks, RBFRows
from tests.awkward_data import HARD


def extended(A, B, gamma):
    """The RBF kernel, by differences in extended precision."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    squares = np.stack([((B - a) ** 2).sum(axis=1) for a in A])
    return np.exp(-np.longdouble(gamma) * squares)


def samples(kind, n=700, d=7):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    if kind in HARD:
        X, _ = HARD[kind](X, np.zeros(n), rng)
    elif kind == "spread":
        X[::9] *= 8.0
    elif kind == "constant":
        X[:] = X[0]
    elif kind == "zeros":
        X = np.where(rng.random((n, 40)) < 0.1, rng.normal(size=(n, 40)), 5.0)
        X[::50] = 5.0 + 9.0 * rng.normal(size=(n // 50, 40))
        X[3, 2] = 1e6
    elif kind == "wide":
        # More features than `tile_rows` takes: products of matrices, with far rows too.
        X = rng.normal(scale=0.5, size=(n, 33))
        X[::9] *= 4.0
        X[[3, 400]] *= 1e6
    return X


KINDS = ["plain", "off centre", "outliers", "spread", "constant", "sparse", "zeros", "wide"]


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_sums_are_as_exact_as_said(kind):
    X = samples(kind)
    rows = RBFRows(sparse.csr_array(X) if kind == "sparse" else X, 0.2)
    blocks, rng = RBFBlocks(rows, rows), np.random.default_rng(1)
    index, columns = np.flatnonzero(rng.random(700) < 0.8), rng.permutation(700)[:613]
    weights = rng.normal(size=index.size) + 0.3
    K = extended(X[index], X[columns], 0.2)
    exact = np.array(weights @ K, np.float64)
    for double in (False, True):
        found, errors = blocks.dot(index, weights, columns, double)
        assert np.all(np.abs(found - exact) <= errors)
        assert errors.max() <= (1e-9 if double else 1e-3) * np.abs(weights).sum()
    out = np.zeros((index.size, 640), np.float32)
    blocks.block(index, columns, out)
    relative = np.add.outer(
        rows.relative_errors(index, False), rows.relative_errors(columns, False)
    )
    # Next to samples very far away there is no relative bound, but a small absolute error.
    bound = np.where(np.isfinite(relative), relative, 0.0) * K + 2.0**-125
    bound[np.isinf(relative)] = 1e-6
    assert np.all(np.abs(out[:, :613] - K) <= bound)
    assert not out[:, 613:].any()
    assert rows.is_sparse == (kind in ("constant", "zeros"))
    assert (rows.tiles is None) == (kind == "wide")


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["plain", "outliers", "zeros", "wide"])
def test_results_do_not_depend_on_the_number_of_threads(kind, monkeypatch):
    monkeypatch.setattr(threads, "threads_pay", lambda n_values: True)
    rows, rng = RBFRows(samples(kind, 1500), 0.2), np.random.default_rng(4)
    blocks, I, J = RBFBlocks(rows, rows), rng.permutation(1500)[:1100], rng.permutation(1500)
    weights, columns, found = rng.normal(size=1100), rng.normal(size=(1500, 2)), {}
    for n in (1, 3):
        monkeypatch.setattr(threads, "n_threads", lambda n=n: n)
        single = np.zeros((1100, 1504), np.float32)
        blocks.block(I, J, single)
        sums = *blocks.dot(I, weights, J), *blocks.dot(I, weights, J, True)
        found[n] = *sums, single, blocks.block_double(I, J), blocks.combine(columns)
    for one, three in zip(found[1], found[3], strict=True):
        assert np.array_equal(one, three)


def test_nothing_to_add():
    rows = RBFRows(samples("plain"), 1.0)
    blocks, none, some = RBFBlocks(rows, rows), np.empty(0, np.int64), np.arange(5)
    for double in (False, True):
        assert np.array_equal(blocks.dot(none, np.empty(0), some, double), np.zeros((2, 5)))
        assert blocks.dot(some, np.ones(5), none, double)[0].size == 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("dtype", "least"), [(np.float32, -125.0), (np.float64, -1021.0)])
def test_powers_of_two_are_as_exact_as_said(level, dtype, least):
    """Six units of rounding errors (doc/maths/svm.md), whether products are fused or not."""
    loops = LEVELS[level].samples
    halves = np.arange(2.0 * least, 2.0) / 2.0
    near = [np.nextafter(dtype(halves), dtype(side)) for side in (-np.inf, np.inf)]
    grid = np.concatenate([halves, *near, np.linspace(least, 0.5, 30_001), -np.geomspace(1e-9, 1)])
    t = np.clip(grid, least, 0.5).astype(dtype)[None]
    out = t.copy()
    if dtype == np.float32:
        loops.powers(t, out, 0, 0)
    else:
        loops.powers_double(out)
    exact = np.exp2(t.astype(np.longdouble))
    assert np.abs(out / exact - 1).max() <= 6.0 * 0.5 * np.finfo(dtype).eps


def test_powers_too_small_for_normal_numbers_are_cut_off():
    tiny = np.array([[-1e3, -1e30]], np.float32)
    loops.powers(tiny, tiny, 0, 0)
    assert np.all(tiny == 2.0**-125)
    tinier = np.array([[-2e3, -1e300]])
    loops.powers_double(tinier)
    np.testing.assert_allclose(tinier, 2.0**-1021, rtol=1e-15)


def test_any_kernel():
    X, weights = samples("plain"), np.random.default_rng(0).normal(size=700)
    K = (X @ X.T + 1.0) ** 2
    blocks = ComputedBlocks(lambda rows, columns: K[np.ix_(rows, columns)], np.diagonal(K))
    everyone, columns = np.arange(700), np.arange(100, 690)
    expected = weights @ K[:, columns]
    found, errors = blocks.dot(everyone, weights, columns)
    assert np.all(np.abs(found - expected) <= errors)
    assert np.all(errors < 1e-12 * np.abs(weights).sum() * K.max())
    out = np.zeros((700, 640), np.float32)
    blocks.block(everyone, columns, out)
    np.testing.assert_allclose(out[:, :590], K[:, columns], rtol=1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_values_without_a_matrix(wide):
    rng, n = np.random.default_rng(2), 1001
    X = sparse.random_array((n, 5000 if wide else 30), density=0.01, random_state=rng).tocsr()
    gram = Gram(X, Kernel("rbf", gamma=0.05), cache_size=0)
    assert gram.whole is None
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    beta = y * rng.random(n) * (rng.random(n) < 0.1)
    some = np.arange(0, n, 97)
    problem = KernelSamples(gram, bias=1.5)
    expected = problem.block(some, np.arange(problem.n)) @ beta
    np.testing.assert_allclose(problem.q_dot(beta)[some], expected, atol=1e-10)


def test_a_matrix_next_to_the_unit_matrix_is_not_wide():
    X = np.random.default_rng(2).normal(size=(1000, 30))
    assert not Gram(X, Kernel("rbf", gamma=0.5), cache_size=0).is_wide
    assert Gram(X, Kernel("rbf", gamma=0.02), cache_size=0).is_wide


def test_a_matrix_is_filled_later():
    X = np.random.default_rng(2).normal(size=(60, 4))
    gram, whole = Gram(X, Kernel("rbf", gamma=0.5), cache_size=0), Gram(X, Kernel("rbf", gamma=0.5))
    gram.fill()
    np.testing.assert_array_equal(gram.whole, whole.whole)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["plain", "outliers", "sparse"])
@pytest.mark.slow
def test_scores_of_new_samples(kind):
    X, rng = samples(kind), np.random.default_rng(3)
    new, coef = samples(kind)[::-1] + 0.1, rng.normal(size=(700, 3))
    expected = np.array(extended(X, new, 0.2).T @ coef, np.float64)
    # More than one batch.
    new, expected = np.tile(new, (13, 1)), np.tile(expected, (13, 1))
    make = sparse.csr_array if kind == "sparse" else np.asarray
    kernel = Kernel("rbf", 0.2, 3, 0.0)
    found = kernel.scores(make(new), make(X), coef)
    np.testing.assert_allclose(
        found, expected, rtol=0.0, atol=1e-7 if kind == "outliers" else 1e-11
    )
    # An intercept that brings scores as near to zero as single precision cannot tell.
    for k in range(3):
        b = 1e-9 - expected[57, k]
        signs = np.sign(kernel.decisive_scores(make(new), make(X), coef[:, k], b))
        assert np.array_equal(signs, np.sign(expected[:, k] + b))
