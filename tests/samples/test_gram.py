import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel, KernelFunction

rng = np.random.default_rng(0)
N = 700
X = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < 0.7)
y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
SETTINGS = {"gamma": 0.3, "degree": 2, "coef0": 0.5}


def reference(kernel):
    return pairwise_kernels(X, metric=kernel, filter_params=True, **SETTINGS)


def laplacian(A, B):
    return pairwise_kernels(A, B, metric="laplacian", gamma=0.2)


def signed(K, bias):
    return y[:, None] * y * (K + bias**2)


@pytest.mark.few(7)
@pytest.mark.parametrize("cache_size", [1000, 2])
@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_everything_agrees_with_the_explicit_matrix(kernel, as_csr, cache_size):
    data = sparse.csr_array(X) if as_csr else X
    gram = Gram(data, Kernel(kernel, **SETTINGS), cache_size=cache_size)
    assert (gram.whole is None) == (cache_size == 2)
    check_samples(gram, signed(reference(kernel), 1.5))


@pytest.mark.parametrize("cache_size", [1000, 2])
def test_precomputed(cache_size):
    K = laplacian(X, X)
    check_samples(Gram(K, Kernel("precomputed"), cache_size=cache_size), signed(K, 1.5))


def check_samples(gram, Q):
    # Q has the signs of labels.
    samples, Q = KernelSamples(gram, bias=1.5), np.outer(y, y) * Q
    scale = np.abs(Q).max()
    close = {"rtol": 0.0, "atol": 1e-13 * scale}
    assert samples.n == N
    np.testing.assert_allclose(samples.norms, np.sqrt(np.diag(Q)), rtol=1e-13)
    beta = y * np.where(rng.random(N) < 0.5, rng.random(N), 0.0)
    np.testing.assert_allclose(samples.q_dot(beta), Q @ beta, rtol=0.0, atol=1e-11 * scale)
    for _ in range(3):
        rows, columns = rng.permutation(N)[:300], rng.permutation(N)[:50]
        np.testing.assert_allclose(samples.products(rows), Q[rows], **close)
        np.testing.assert_allclose(samples.block(rows, columns), Q[np.ix_(rows, columns)], **close)
        for some in (columns, rng.permutation(N)[:600]):
            values, errors = gram.dot(rows, beta[rows], some, double=True)
            found = values + 1.5**2 * beta[rows].sum()
            expected = Q[np.ix_(some, rows)] @ beta[rows]
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-11 * scale)
            assert errors.max() <= 1e-11 * scale


def test_duplicates_have_exactly_the_same_kernel_values():
    gram = Gram(np.vstack([X[:50], X[:50]]), Kernel("rbf", gamma=0.3))
    K = gram.whole
    np.testing.assert_allclose(np.diag(K[:50, 50:]), 1.0, atol=1e-14)
    assert np.all(K <= 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, "sigmoid"), r"\bkernel\b"),
        ((-np.eye(5), "precomputed"), r"\bkernel\b"),
        ((np.triu(np.ones((5, 5))), "precomputed"), "symmetric"),
        ((np.ones((5, 4)), "precomputed"), "square"),
        ((np.full((5, 5), np.nan), "precomputed"), "not finite"),
        ((1e41 * X, "linear"), r"\bX\b"),
        ((1e200 * X, "linear"), r"\bkernel\b"),
        ((1e41 * X, "rbf"), r"^X\b"),
    ],
)
def test_what_is_no_kernel_is_refused(arguments, message):
    data, kernel = arguments
    with pytest.raises(ValueError, match=message):
        Gram(data, Kernel(kernel))


def test_a_sigmoid_that_is_definite_is_accepted():
    Gram(np.eye(3), Kernel("sigmoid", gamma=0.1))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_distances_far_from_the_origin_keep_their_digits(far):
    # Multiples of 2^-20 lose nothing when they are shifted.
    near = np.round(X * 2**20) / 2**20
    expected = rbf_kernel(near, gamma=0.3)
    np.testing.assert_allclose(
        Gram(near + far, Kernel("rbf", gamma=0.3)).whole, expected, atol=1e-12
    )


@pytest.mark.parametrize("wrong", [lambda A, B: None, lambda A, B: np.ones(len(A))])
def test_a_callable_that_returns_no_matrix_is_named(wrong):
    with pytest.raises(ValueError, match=r"^kernel\b"):
        KernelFunction(wrong, X).matrix()


def test_a_callable_may_return_sparse_matrices():
    data = sparse.csr_array(X)
    K = KernelFunction(lambda A, B: A @ B.T, data).matrix()
    np.testing.assert_allclose(K, X @ X.T, atol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_a_kernel_between_a_set_and_no_samples(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for A, B in ((X, X[:0]), (X[:0], X)):
            assert Kernel(kernel, gamma=1.0).between(A, B).shape == (len(A), len(B))


@pytest.mark.parametrize("far", [1e3, 1e6, 1e9])
def test_distances_that_no_shift_brings_near_the_origin_keep_their_digits(far):
    apart = np.array(X)
    apart[::2, 0] += far
    apart[1::2, 0] -= far
    expected = np.exp(-0.3 * cdist(apart, apart, "sqeuclidean"))
    np.testing.assert_allclose(Gram(apart, Kernel("rbf", gamma=0.3)).whole, expected, atol=1e-9)
    values = Kernel("rbf", gamma=0.3).between(apart[:7], apart)
    np.testing.assert_allclose(values, expected[:7], atol=1e-9)
    rows = sparse.csr_array(apart)
    if far < 1e4:
        np.testing.assert_allclose(Gram(rows, Kernel("rbf", gamma=0.3)).whole, expected, atol=1e-8)
    else:
        with pytest.raises(ValueError, match=r"^X\b"):
            Gram(rows, Kernel("rbf", gamma=0.3))
    # One row that is far away is near to no other.
    alone = np.array(X)
    alone[3] += far
    expected = np.exp(-0.3 * cdist(alone, alone, "sqeuclidean"))
    found = Gram(sparse.csr_array(alone), Kernel("rbf", gamma=0.3)).whole
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_sample_far_from_all_others_is_near_itself(seed, container):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 8))
    X[0] *= 1e8
    gram = Gram(container(X), Kernel("rbf", gamma=1.0), cache_size=0.01)
    index = np.array([3, 0])
    np.testing.assert_array_equal(np.diagonal(gram.compute(index, index)), 1.0)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("outlier", [1.0, 1e3, 1e6])
def test_errors_of_values_are_bounded(kernel, outlier):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    X[3] *= outlier
    gram = Gram(X, Kernel(kernel, gamma=0.02 if kernel == "rbf" else 1e-3, coef0=1.0))
    c, everyone = rng.normal(size=200), np.arange(200)
    apart = np.abs(gram.exact_dot(everyone, c.astype(np.longdouble), everyone) - gram.whole @ c)
    summed = 2.0 * np.finfo(float).eps * np.linalg.norm(c * np.sqrt(gram.diagonal))
    for bounds in Gram.sum_errors, Gram.sum_errors_of_values:
        assert np.all(apart <= bounds(gram, np.abs(c)) + summed * np.sqrt(gram.diagonal))
    twice = Places.twice(gram).sum_errors(np.append(np.abs(c), 0.0 * c))
    np.testing.assert_allclose(twice, np.tile(gram.sum_errors(np.abs(c)), 2))


@pytest.mark.parametrize("cache_size", [200, 1e-9])
@pytest.mark.parametrize("coef0", [-1.0, -1e10])
def test_errors_beside_a_diagonal_with_zeros_are_infinite(coef0, cache_size):
    """Zero times infinity was NaN, with a RuntimeWarning."""
    X = np.random.default_rng(0).normal(size=(9, 3)) * 10.0 ** np.arange(-9.0, 9.0, 2.0)[:, None]
    X[4] /= np.linalg.norm(X[4])
    kernel = Kernel("poly", gamma=1.0, degree=3, coef0=coef0)
    gram = Gram(X, kernel, cache_size=cache_size)
    c, everyone = np.full(9, 1e3), np.arange(9)
    with np.errstate(all="raise"):
        assert np.all(gram.sum_errors(c) == np.inf)
        errors = gram.dot(everyone, c, everyone)[1]
    # Given values are what they are; computed ones are not known.
    assert np.all(np.isfinite(errors) if gram.whole is not None else errors == np.inf)


def test_small_values_have_small_errors():
    X = np.random.default_rng(0).normal(size=(200, 20)) * 10.0
    gram = Gram(X, Kernel("rbf", gamma=1.0))
    # Next to a unit matrix each sample is wrong for itself alone.
    far, close = gram.sum_errors(np.ones(200)), gram.sum_errors_of_values(np.ones(200))
    assert np.all(close < 0.02 * far)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 16, 17])
def test_powers_are_those_of_numpy_to_rounding_errors_of_products(degree):
    kernel = Kernel("poly", gamma=0.7, degree=degree, coef0=1.0)
    inner = np.linspace(-3.0, 3.0, 101)[None]
    wanted = (0.7 * inner + 1.0) ** degree
    np.testing.assert_allclose(kernel.of_products(inner.copy()), wanted, rtol=1e-14)
