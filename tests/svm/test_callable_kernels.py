"""Kernels that are functions are called as `SVC` calls them, with samples of any kind."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from skscreen import (
    ScreenedOneClassSVM,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    ScreenedSVRCV,
    svc_certified_C,
    svc_path,
    svr_path,
)

rng = np.random.default_rng(0)
X, T = np.abs(rng.normal(size=(90, 4))), np.abs(rng.normal(size=(30, 4)))
TARGETS = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=90)
Y, Z = (TARGETS > 0.5).astype(int), np.digitize(TARGETS, [0.3, 0.9])


def squares(A, B):
    return ((A[:, None] - B) ** 2).sum(axis=-1)


# Each looks at all of its second argument.
KERNELS = {
    "centred": lambda A, B: (A - B.mean(0)) @ (B - B.mean(0)).T,
    "band width": lambda A, B: np.exp(-squares(A, B) / (5.0 * B.var())),
    "whitened": lambda A, B: (A / B.std(0)) @ (B / B.std(0)).T,
    "trace": lambda A, B: A @ B.T / (B**2).sum() * 90.0,
}


def scores(model, X):
    return model.predict(X) if isinstance(model, ScreenedSVR) else model.decision_function(X)


@pytest.mark.few(10)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (ScreenedSVC(), Y),
        (ScreenedSVC(intercept="penalised", cache_size=0.01), Y),
        (ScreenedSVC(), Z),
        (ScreenedSVC(multi_class="ovr"), Z),
        (ScreenedSVR(), TARGETS),
    ],
    ids=str,
)
def test_the_second_argument_is_all_training_samples(name, model, targets):
    kernel = KERNELS[name]
    known = clone(model).set_params(kernel="precomputed").fit(kernel(X, X), targets)
    weights = np.arange(90) % 4 > 0
    for given in (X, pd.DataFrame(X)):
        k = kernel if given is X else (lambda A, B: kernel(A.to_numpy(), B.to_numpy()))
        called = clone(model).set_params(kernel=k).fit(given, targets)
        assert_allclose(scores(called, type(given)(T) if given is not X else T),
                        scores(known, kernel(T, X)), atol=1e-10)  # fmt: skip
    # Samples without weight are seen too, as by SVC.
    called = clone(model).set_params(kernel=kernel).fit(X, targets, weights)
    known = known.fit(kernel(X, X), targets, weights)
    assert_allclose(scores(called, T), scores(known, kernel(T, X)), atol=1e-10)


def test_it_is_called_once_in_a_fit_and_with_what_was_given():
    calls = []

    def kernel(A, B):
        calls.append((type(A), len(A), type(B), len(B)))
        A, B = (np.asarray(part.todense() if sparse.issparse(part) else part) for part in (A, B))
        return A @ B.T

    for kind in (pd.DataFrame, np.asarray):
        calls.clear()
        model = ScreenedSVC(kernel=kernel).fit(kind(X), Z)
        model.predict(kind(T))
        kind = type(kind(X))
        assert calls == [(kind, 90, kind, 90), (kind, 30, kind, 90)]
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match=r"^X\b"):
        model.predict(T[:, :3])
    # Lists of numbers are arrays.
    calls.clear()
    same = ScreenedSVC(kernel=kernel).fit(X.tolist(), Z)
    assert_array_equal(same.support_vectors_, model.support_vectors_)
    assert calls[0][0] is np.ndarray


class Curve:
    """An object with a length that is no sequence of numbers."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        raise KeyError(place)


def means(A, B):
    a, b = ([np.mean(getattr(x, "values", x)) for x in part] for part in (A, B))
    return np.exp(-0.5 * np.subtract.outer(a, b) ** 2)


def words(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], float)


SERIES = [rng.normal(size=3 + k % 5) + 2.0 * (k % 2) for k in range(20)]
LABELS = np.arange(20) % 2
ARRAY = np.empty(20, object)
ARRAY[:] = SERIES
INPUTS = {
    "arrays": (means, SERIES),
    "lists": (means, [list(x) for x in SERIES]),
    "tuples": (means, [tuple(x) for x in SERIES]),
    "Series": (means, [pd.Series(x) for x in SERIES]),
    "object array": (means, ARRAY),
    "Series of arrays": (means, pd.Series(SERIES)),
    "equal length": (means, [list(x[:3]) for x in SERIES]),
    "objects": (means, [Curve(x) for x in SERIES]),
    "tokens": (words, [["a", "b", "c"][: 1 + k % 2 + (k % 3 > 0)] for k in range(20)]),
    "tensors": (lambda A, B: means(A, B), np.stack([np.outer(x[:3], x[:2]) for x in SERIES])),
    "numbers": (means, np.array([x.sum() for x in SERIES])),
}


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", INPUTS)
def test_samples_of_any_kind(name):
    kernel, samples = INPUTS[name]
    few = samples[:2] if name != "Series of arrays" else samples.iloc[:2]
    peer = SVC(kernel=kernel, tol=1e-8).fit(samples, LABELS)
    expected = peer.decision_function(samples)
    path = svc_path(samples, LABELS, Cs=[0.5, 1.0], kernel=kernel)
    for model in (ScreenedSVC(kernel=kernel).fit(samples, LABELS), path[1]):
        assert_allclose(model.decision_function(samples), expected, atol=1e-3)
        assert_allclose(model.decision_function(few), expected[:2], atol=1e-3)
    grid = GridSearchCV(ScreenedSVC(kernel=kernel), {"C": [0.1, 1.0]}, cv=3, error_score="raise")
    own = ScreenedSVCCV([0.1, 1.0], kernel=kernel, cv=3).fit(samples, LABELS)
    assert_allclose(own.best_score_, grid.fit(samples, LABELS).best_score_)
    targets = np.sin(np.arange(20.0))
    expected = SVR(kernel=kernel, tol=1e-8).fit(samples, targets).predict(samples)
    path = svr_path(samples, targets, Cs=[1.0], kernel=kernel)
    for model in (ScreenedSVR(kernel=kernel).fit(samples, targets), path[0]):
        assert_allclose(model.predict(samples), expected, atol=1e-3)
    own = ScreenedSVRCV([0.1, 1.0], kernel=kernel, cv=3).fit(samples, targets)
    assert own.predict(few).shape == (2,)


def test_asymmetric_matrices_are_told_what_svc_does():
    K = X @ X.T
    K[3, 5] += 1.0
    for model, samples in ((ScreenedSVC(kernel="precomputed"), K),
                           (ScreenedSVR(kernel=lambda A, B: K), X)):  # fmt: skip
        where = r"symmetric, got .* in row (3, column 5|5, column 3)"
        with pytest.raises(ValueError, match=where + r".*SVC.*\(K \+ K\.T\) / 2"):
            model.fit(samples, Y)


def test_a_certified_choice_asks_for_the_diagonal_of_what_is_no_kernel_of_two_samples():
    args = X[:60], Y[:60], X[60:], Y[60:], (0.1, 1.0), 0.2
    kernel = KERNELS["band width"]
    with pytest.raises(ValueError, match=r"^diagonal_val\b"):
        svc_certified_C(*args, kernel=kernel)
    found = svc_certified_C(*args, kernel=kernel, diagonal_val=np.ones(30))
    K = kernel(X, X[:60])
    known = svc_certified_C(K[:60], Y[:60], K[60:], Y[60:], (0.1, 1.0), 0.2,
                            kernel="precomputed", diagonal_val=np.ones(30))  # fmt: skip
    assert found.C == known.C and found.lower_bound == known.lower_bound


@pytest.mark.parametrize("kind", [ScreenedSVC, ScreenedSVR])
def test_values_that_overflow_are_told(kind):
    rows = np.array([[1e200], [-1e200], [3.0]])
    model = kind(kernel=lambda A, B: np.multiply.outer(A[:, 0], B[:, 0]))
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"\bkernel\b"):
            model.fit(rows, [0, 1, 1])


def test_what_is_no_matrix_of_real_numbers_is_named():
    for kernel, text in (
        (lambda A, B: A @ B.T + 0j, "complex128"),
        (lambda A, B: (A @ B.T).astype(str), "<U"),
        (
            lambda A, B: np.full((len(A), len(B)), "x", dtype=object),
            "array",
        ),
    ):
        with pytest.raises(TypeError, match=r"^kernel\b.*" + text):
            ScreenedSVC(kernel=kernel).fit(X, Y)
    with pytest.raises(ValueError, match=r"^kernel\b"):
        ScreenedSVC(kernel=lambda A, B: None).fit(X, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", [ScreenedSVC(), ScreenedSVR(), ScreenedSVCCV([1.0, 10.0], cv=3)])
def test_values_that_are_no_numbers_are_no_predictions(model, value):
    def kernel(A, B):
        K = A @ B.T
        # The last row of the new samples, which is not in a fit or its folds.
        K[A[:, 0] < 0.0, 7] = value
        return K

    new = np.vstack([T[:4], -T[:1]])
    model = clone(model).set_params(kernel=kernel).fit(X, Y)
    for ask in (model.predict, getattr(model, "decision_function", model.predict)):
        with pytest.raises(ValueError, match=r"\bkernel\b.*row 4 .*row 7"):
            ask(new)
    assert model.predict(T).shape == (30,)
    with pytest.raises(ValueError, match=r"\bkernel\b.*row 4 .*row 7"):
        clone(model).fit(np.vstack([new, X[:50]]), Y[:55])


def test_values_beyond_double_precision_are_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"\bkernel\b"):
            ScreenedSVC(kernel=lambda A, B: np.longdouble(10) ** 400 * (A @ B.T)).fit(
                X, np.arange(90) % 2
            )


def test_a_certified_choice_takes_lists_as_a_fit_does():
    how = {"kernel": lambda A, B: A @ B.T, "intercept": "penalised", "eps": 0.3}
    lists, arrays = (
        svc_certified_C(
            as_given(X[:40]), Y[:40], as_given(X[40:]), Y[40:], C_range=(0.1, 1.0), **how
        )
        for as_given in (np.ndarray.tolist, np.asarray)
    )
    assert lists.C == arrays.C
    assert lists.validation_error == arrays.validation_error


@pytest.mark.parametrize("kind", [ScreenedSVC, SVC])
def test_lists_that_hold_more_than_numbers_stay_lists(kind):
    seen = []

    def kernel(A, B):
        seen.append(type(A))
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    rows = [["a", 1], ["b", 2], ["a", 2], ["b", 1]]
    model = kind(kernel=kernel).fit(rows, [0, 1, 0, 1])
    assert_array_equal(model.predict(rows), [0, 1, 0, 1])
    assert set(seen) == {list}


@pytest.mark.parametrize(
    "given",
    ["text", b"text", dict.fromkeys("abcd"), set("abcd")],
    ids=["str", "bytes", "dict", "set"],
)
@pytest.mark.parametrize("model", [ScreenedSVC(), ScreenedSVR(), ScreenedOneClassSVM()], ids=str)
def test_what_has_a_length_is_not_samples_yet(model, given):
    """The kernel was called with it: an AttributeError of the user's own function."""
    own = clone(model).set_params(kernel=lambda A, B: np.ones((len(A), len(B))))
    arguments = (given,) if isinstance(model, ScreenedOneClassSVM) else (given, [0, 1, 0, 1])
    with pytest.raises(TypeError, match=r"^X must"):
        own.fit(*arguments)
    right = [["a"], ["b"], ["c"], ["d"]]
    own.fit(right, *arguments[1:])
    with pytest.raises(TypeError, match=r"^X must"):
        own.predict(given)


def test_validation_samples_are_named_by_their_own_argument():
    with pytest.raises(TypeError, match=r"^X_val must"):
        svc_certified_C(X, Y, "text", Y[:4], (0.1, 1.0), kernel=KERNELS["trace"])


def test_a_list_of_texts_is_a_list_of_samples():
    texts = ["a", "bb", "ccc", "dddd"]
    model = ScreenedOneClassSVM(
        kernel=lambda A, B: np.outer([len(a) for a in A], [len(b) for b in B])
    )
    assert model.fit(texts).predict(texts[:3]).shape == (3,)
