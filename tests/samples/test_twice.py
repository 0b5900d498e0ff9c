"""Samples that stand twice, against the explicit matrix of their vectors."""

import numpy as np
import pytest
from scipy import sparse

from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.rows import LinearSamples

RNG = np.random.default_rng(0)
N = 30
X = RNG.normal(size=(N, 7)) * (RNG.random((N, 7)) < 0.5)
INDEX, OTHERS = np.array([4, 34, 0, 17, 59]), np.array([29, 4, 30, 47])


@pytest.mark.parametrize("make", [np.ascontiguousarray, sparse.csr_array])
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_products_are_those_of_the_explicit_vectors(make, bias):
    half = np.c_[X, np.full(N, bias)] if bias else X
    Z = np.r_[half, half]
    samples = LinearSamples(make(X), np.ones(N), bias).twice()
    w, alpha = RNG.normal(size=Z.shape[1]), RNG.random(2 * N)
    close = {"rtol": 1e-12, "atol": 1e-12}
    assert (samples.n, samples.n_features) == Z.shape
    np.testing.assert_allclose(samples.norms, np.linalg.norm(Z, axis=1), **close)
    np.testing.assert_allclose(samples.margins(w), Z @ w, **close)
    np.testing.assert_allclose(samples.combine(alpha), alpha @ Z, **close)
    np.testing.assert_allclose(samples.q_dot(alpha), Z @ (alpha @ Z), **close)
    np.testing.assert_allclose(samples.some_scores(INDEX, alpha), Z[INDEX] @ (alpha @ Z), **close)
    np.testing.assert_allclose(samples.restrict(INDEX).margins(w), Z[INDEX] @ w, **close)
    np.testing.assert_allclose(samples.block(INDEX, OTHERS), Z[INDEX] @ Z[OTHERS].T, **close)
    rows = samples.scaled_rows(INDEX, np.arange(5.0))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_allclose(rows, np.arange(5.0)[:, None] * Z[INDEX], **close)
    np.testing.assert_allclose(samples.products(INDEX), Z[INDEX] @ Z.T, **close)
    assert samples.row_lengths.sum() == samples.n_entries
    assert samples.X.shape == X.shape


def kernel_samples(kind, bias=0.7):
    gram = Gram(X, Kernel("rbf", gamma=0.3), cache_size=1000 if kind == "whole" else 0)
    return KernelSamples(Places.twice(gram), bias=bias)


@pytest.mark.parametrize("kind", ["whole", "blocks"])
def test_kernel_values_are_those_of_a_matrix_of_all(kind):
    samples = kernel_samples(kind)
    K = np.tile(np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2)), (2, 2))
    Q = K + 0.7**2
    alpha = RNG.random(2 * N) * (RNG.random(2 * N) < 0.4)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(samples.q_dot(alpha), Q @ alpha, **close)
    np.testing.assert_allclose(samples.products(INDEX), Q[INDEX], **close)
    np.testing.assert_allclose(samples.block(INDEX, OTHERS), Q[np.ix_(INDEX, OTHERS)], **close)
    np.testing.assert_allclose(samples.some_scores(INDEX, alpha), (Q @ alpha)[INDEX], **close)
    gram, own = samples.gram, np.tile(RNG.random(N), 2)
    out = np.empty((INDEX.size, OTHERS.size), np.float32)
    gram.block(INDEX, OTHERS, out, (own[INDEX], own[OTHERS]), 0.5)
    moved = 0.5 * (K - own[:, None] - own)
    np.testing.assert_allclose(out, moved[np.ix_(INDEX, OTHERS)], atol=1e-6)
    beta = RNG.normal(size=INDEX.size)
    expected = K[np.ix_(OTHERS, INDEX)] @ beta
    for double, error in ((True, 1e-12), (False, 1e-4)):
        values, errors = gram.dot(INDEX, beta, OTHERS, double)
        assert np.all(np.abs(values - expected) <= errors) and errors.max() <= error
    gram.block(INDEX, OTHERS, out)
    np.testing.assert_allclose(out, K[np.ix_(INDEX, OTHERS)], atol=1e-6)
