"""Rows, labels and weights as people have them: dask arrays and frames of all kinds."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skscreen import ScreenedLinearSVC
from skscreen.distributed import DistributedLinearSVC, DistributedRTLM, distributed_svc_path
from skscreen.distributed.rows import as_vector, classes_of

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
dd = pytest.importorskip("dask.dataframe")

N = 90
pytestmark = pytest.mark.slow

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
y = (X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.normal(size=N) > 0.0).astype(int)
WORDS = np.array(["no", "yes"])[y]
SOME = np.arange(N) >= 30
SORTED = np.argsort(y, kind="stable")
ROWS, LABELS = da.from_array(X, chunks=(30, -1)), da.from_array(y, chunks=30)
FRAME = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=y, word=WORDS), npartitions=3)
COLUMNS = FRAME[list("abcd")]
THIN = np.where(X > 0.5, X, 0.0)
WEIGHTS = rng.random(N)


def csr(rows, make=sparse.csr_array):
    return da.from_array(rows, chunks=(30, -1)).map_blocks(make)


def halves_twice(block):
    """Return CSR in which every entry is the sum of two."""
    once = sparse.csr_array(block)
    data, columns = np.repeat(once.data / 2.0, 2), np.repeat(once.indices, 2)
    return sparse.csr_array((data, columns, 2 * once.indptr), shape=once.shape)


def far(block):
    """Return CSR with 64-bit places."""
    once = sparse.csr_array(block)
    places = once.indices.astype(np.int64), once.indptr.astype(np.int64)
    return sparse.csr_array((once.data, *places), shape=once.shape)


EMPTY = da.from_array(SOME, chunks=30)
FEWER = FRAME[FRAME.a > 0.0]

# What is given, and the same in memory.
GIVEN = {
    "single precision": (ROWS.astype(np.float32), LABELS, X.astype(np.float32).astype(float), y),
    "half precision": (ROWS.astype(np.float16), y, X.astype(np.float16).astype(float), y),
    "integers": ((10 * ROWS).astype(np.int32), y, (10 * X).astype(np.int32), y),
    "booleans": (ROWS > 0, LABELS == 1, 1.0 * (X > 0), y == 1),
    "columns in chunks": (ROWS.rechunk((20, 2)), LABELS, X, y),
    "CSR": (csr(THIN), y, THIN, y),
    "CSC": (csr(THIN, sparse.csc_matrix), y, THIN, y),
    "entries that are repeated": (csr(THIN, halves_twice), y, THIN, y),
    "64-bit places": (csr(THIN, far), y, THIN, y),
    "CSR before dense": (da.concatenate([csr(THIN[:30]), ROWS[30:]]), y,
                         np.concatenate([THIN[:30], X[30:]]), y),
    "CSR after dense": (da.concatenate([ROWS[:30], csr(THIN[30:])]), y,
                        np.concatenate([X[:30], THIN[30:]]), y),
    "a block of one class": (da.from_array(X[SORTED], chunks=(30, -1)),
                             da.from_array(y[SORTED], chunks=30), X[SORTED], y[SORTED]),
    "an empty block": (da.concatenate([ROWS[:30], ROWS[:0], ROWS[30:]]), y, X, y),
    "unknown sizes": (ROWS[EMPTY], LABELS[EMPTY], X[SOME], y[SOME]),
    "unknown sizes, labels here": (ROWS[EMPTY], y[SOME], X[SOME], y[SOME]),
    "words": (ROWS, da.from_array(WORDS, chunks=45), X, WORDS),
    "words as objects": (ROWS, WORDS.astype(object), X, WORDS),
    "a frame": (COLUMNS, FRAME.y, X, y),
    "a frame of fewer rows": (FEWER[list("abcd")], FEWER.y, X[X[:, 0] > 0], y[X[:, 0] > 0]),
    "a column of words": (COLUMNS, FRAME.word, X, WORDS),
    "categories": (COLUMNS, FRAME.word.astype("category"), X, WORDS),
    "integers that may be missing": (COLUMNS, FRAME.y.astype("Int64"), X, y),
    "a column of booleans": (COLUMNS.assign(e=COLUMNS.a > 0), y,
                             np.column_stack([X, X[:, 0] > 0]), y),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", GIVEN)
def test_the_fit_is_that_in_memory(client, kind):
    rows, labels, X, y = GIVEN[kind]
    model = DistributedLinearSVC(tol=1e-10).fit(rows, labels)
    expected = ScreenedLinearSVC(tol=1e-12).fit(X, y)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-5)
    scores = X @ model.coef_[0] + model.intercept_
    assert_allclose(model.decision_function(rows).compute(), scores, rtol=1e-4, atol=1e-5)
    predicted = model.classes_[(scores > 0.0).astype(int)]
    assert_array_equal(model.predict(rows).compute(), predicted)
    assert_allclose(model.score(rows, labels), np.mean(predicted == y))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "weights",
    [da.from_array(WEIGHTS, chunks=7), dd.from_pandas(pd.Series(WEIGHTS), npartitions=3)],
)
def test_weights_of_samples_on_workers(client, weights):
    model = DistributedLinearSVC(tol=1e-10, class_weight="balanced")
    model.fit(COLUMNS, WORDS, sample_weight=weights)
    expected = ScreenedLinearSVC(tol=1e-12, class_weight="balanced").fit(X, WORDS, WEIGHTS)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-5)


def test_names_of_columns(client):
    path = distributed_svc_path(COLUMNS, FRAME.y, [0.1, 1.0])
    model = DistributedLinearSVC().fit(COLUMNS, FRAME.y)
    assert list(model.feature_names_in_) == list(path[0].feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match=r"^X\b"):
        model.predict(COLUMNS[list("dcba")])
    metric = DistributedRTLM(tol=1e-2).fit(COLUMNS, FRAME.word)
    assert list(metric.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="same order as they were in fit"):
        metric.transform(COLUMNS[list("dcba")].compute())


NONE = FRAME.y.astype("Int64").where(FRAME.a > 0.0)
MIXED = np.where(y == 1, "yes", y.astype(object))


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (FRAME[["a", "word"]], y, r"^X\b"),
        (COLUMNS.assign(e=FRAME.a.where(FRAME.a > 0.0)), y, r"\bX\b"),
        (FRAME.a, FRAME.y, r"^X\b"),
        (1e200 * ROWS, y, r"^X\b"),
        (ROWS, LABELS[:, None], r"^y\b"),
        (ROWS, da.from_array(np.where(y, "yes", None), chunks=30), r"\by\b"),
        (ROWS, da.from_array(MIXED, chunks=30), r"\by\b"),
        (COLUMNS, NONE, r"\by\b"),
        (ROWS, X[:, 0], "continuous"),
    ],
)  # fmt: skip
def test_what_cannot_be_worked_with(client, rows, labels, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DistributedLinearSVC().fit(rows, labels)


def test_labels_and_weights_in_memory_are_read_as_they_are():
    masked = np.ma.masked_equal([1.0, 2.0, 3.0], 2.0)
    for name in ("y", "sample_weight"):
        with pytest.raises(ValueError, match=rf"^{name}\b"):
            as_vector(name, masked)
    for labels in ([np.nan, "a"], [True, "a"], [None, "a"]):
        with pytest.raises((TypeError, ValueError), match=r"\by\b"):
            classes_of(as_vector("y", labels), 0)
    assert classes_of(as_vector("y", ["b", "a"]), 0).tolist() == ["a", "b"]
