"""Samples against the explicit matrix of their vectors z_i."""

import numpy as np
import pytest
from scipy import sparse

from skscreen.samples.labels import check_bounds
from skscreen.samples.rows import LinearSamples, compress, sparse_products

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 7)) * (RNG.random((30, 7)) < 0.5)
Y = np.where(RNG.random(30) < 0.5, -1.0, 1.0)


def wide_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMATS = {
    "dense": np.ascontiguousarray,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int64": wide_indices,
}
formats = pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
biases = pytest.mark.parametrize("bias", [0.0, 1.0, -2.5])


@formats
@biases
def test_products_are_those_of_the_explicit_vectors(make, bias):
    data = make(X)
    exact = np.asarray(data.todense() if sparse.issparse(data) else data, dtype=np.float64)
    Z = Y[:, None] * (np.c_[exact, np.full(30, bias)] if bias else exact)
    samples = LinearSamples(data, Y, bias)
    w, alpha = RNG.normal(size=Z.shape[1]), RNG.random(30) * (RNG.random(30) < 0.3)
    close = {"rtol": 1e-13, "atol": 1e-13}
    assert (samples.n, samples.n_features) == Z.shape
    np.testing.assert_allclose(samples.norms, np.linalg.norm(Z, axis=1), **close)
    np.testing.assert_allclose(samples.margins(w), Z @ w, **close)
    for weights in (alpha, alpha + 1.0):
        np.testing.assert_allclose(samples.combine(weights), weights @ Z, **close)
        np.testing.assert_allclose(samples.q_dot(weights), Z @ (weights @ Z), rtol=1e-12)
    index = np.array([4, 0, 17])
    part = samples.restrict(index)
    np.testing.assert_allclose(part.margins(w), Z[index] @ w, **close)
    np.testing.assert_allclose(part.norms, samples.norms[index])
    rows = samples.scaled_rows(index, np.array([1.0, 2.0, 3.0]))
    rows = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_allclose(rows, np.array([[1.0], [2.0], [3.0]]) * Z[index], **close)


def test_data_are_not_copied():
    dense, csr = np.ascontiguousarray(X), sparse.csr_array(X)
    assert LinearSamples(dense, Y).X is dense
    assert np.shares_memory(LinearSamples(csr, Y).X.data, csr.data)
    assert np.shares_memory(LinearSamples(csr, Y).X.indices, csr.indices)


def test_repeated_entries_are_summed_in_a_copy():
    data = sparse.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    samples = LinearSamples(data, [1.0, -1.0])
    np.testing.assert_allclose(samples.norms, [2.0, 1.0])
    assert data.nnz == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, Y[:-1]), r"^y\b"),
        ((X, np.zeros(30)), "-1 and"),
        ((X[0], Y), "two dimensions"),
        ((X, Y, np.inf), r"^bias\b"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearSamples(*arguments)


def test_mostly_zero_dense_data_have_short_rows():
    assert compress(X) is None and compress(sparse.csr_array(X)) is None
    thin = np.where(RNG.random(X.shape) < 0.2, X, 0.0)
    short = compress(thin)
    np.testing.assert_array_equal(short.toarray(), thin)
    samples = LinearSamples(thin, Y, 1.0, short)
    assert samples.row_lengths.sum() == short.nnz < thin.size
    w = RNG.standard_normal(8)
    np.testing.assert_allclose(samples.margins(w), Y * (thin @ w[:7] + w[7]), rtol=1e-13)


@pytest.mark.parametrize(("scale", "bias"), [(1e41, 0.0), (1e200, 1.0), (1.0, 1e60), (1.0, 1e300)])
def test_vectors_whose_products_overflow_are_refused(scale, bias):
    with pytest.raises(ValueError, match=r"^X\b"):
        LinearSamples(scale * X, Y, bias)
    LinearSamples(1e-300 * X, Y, min(bias, 1.0))


def test_bounds_whose_products_overflow_are_refused():
    check_bounds(1.0, np.array([1e-70, 1e70]))
    for C, weights in ((1e300, [1.0]), (1e-300, [1.0]), (1.0, [1.0, 1e90]), (np.nan, [1.0])):
        with pytest.raises(ValueError, match=r"^C\b"):
            check_bounds(C, np.array(weights))


@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_pairs_of_entries_that_meet_in_a_column_are_counted(bias):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 12), density=0.2, format="csr", rng=rng)
    samples = LinearSamples(X, rng.choice([-1.0, 1.0], 30), bias)
    filled = np.hstack([X.toarray() != 0.0, np.full((30, 1), bias != 0.0)]).astype(float)
    for one in (samples.signed(-samples.y), samples.twice(), samples.with_bias(bias)):
        assert one.n_meetings() * 30 == pytest.approx((filled @ filled.T).sum())
    few = filled[:7]
    assert samples.restrict(np.arange(7)).n_meetings() * 7 == pytest.approx((few @ few.T).sum())


@pytest.mark.parametrize("make", [sparse.csr_array, wide_indices], ids=["int32", "int64"])
def test_products_of_few_sparse_rows(make):
    # Of 2^20 columns some are the same but for their last bits; one row is empty.
    far = sparse.csr_array((len(X), 2**20))
    rows = sparse.hstack([make(X), far, make(X[:, ::-1])]).tocsr()
    few = make(rows[[0, 3, 7]].multiply(RNG.random((3, 1))).tocsr())
    few.data[few.indptr[1] : few.indptr[2]] = 0.0
    few.eliminate_zeros()
    found = sparse_products(few, rows)
    np.testing.assert_allclose(found, (few @ rows.T).toarray(), rtol=1e-13, atol=1e-15)
    assert not found[1].any()
