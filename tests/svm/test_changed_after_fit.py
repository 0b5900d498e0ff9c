"""What was learned stays as it is when the user changes samples or parameters afterwards."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

from skscreen import (
    ScreenedLinearSVC,
    ScreenedSVC,
    ScreenedSVR,
    rtlm_path,
    screen_samples,
    svc_path,
    svr_path,
)
from skscreen.fitting.training_data import mark

X, y = load_iris(return_X_y=True)
X = scale(X)[::2]
y = y[::2]
TWO = np.flatnonzero(y > 0)
KINDS = {
    "array": np.array,
    "single": lambda A: np.array(A, dtype=np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
}


def products(A, B):
    A, B = (M.toarray() if sparse.issparse(M) else M for M in (A, B))
    return (A @ B.T) ** 3


def wipe(A):
    """Change samples in place, as a second script in the same session does."""
    values = A.data if sparse.issparse(A) else A
    values[...] = 7.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", products])
def test_fits_and_paths_do_not_depend_on_the_samples_any_more(kind, kernel):
    given = KINDS[kind](X)
    model = ScreenedSVC(kernel=kernel).fit(given, y)
    regression = ScreenedSVR(kernel=kernel).fit(given, X[:, 0])
    path = svc_path(given, y, [0.1, 1.0], kernel=kernel)
    values = svr_path(given, X[:, 0], [0.1, 1.0], kernel=kernel)
    shown = KINDS[kind](X)
    expected = [
        model.decision_function(shown), regression.predict(shown),
        path[0].decision_function(shown), values[0].predict(shown),
    ]  # fmt: skip
    codes = None if callable(kernel) else path.screened(0.1).codes_
    wipe(given)
    found = [
        model.decision_function(shown), regression.predict(shown),
        path[0].decision_function(shown), values[0].predict(shown),
    ]  # fmt: skip
    for a, b in zip(found, expected, strict=True):
        assert_array_equal(a, b)
    if codes is not None:
        assert_array_equal(path.screened(0.1).codes_, codes)


def test_a_path_of_a_kernel_matrix_has_its_own():
    K = X @ X.T
    given = K.copy()
    path = svc_path(given, y, [0.1, 1.0], kernel="precomputed")
    expected = path.screened(0.1)
    given[:] = 0.0
    assert_array_equal(path.screened(0.1).codes_, expected.codes_)
    assert_allclose(path.screened(0.1).bounds_, expected.bounds_)


def test_a_path_of_metrics_has_its_own_samples_and_labels():
    given, labels = X.copy(), y.copy()
    path = rtlm_path(given, labels, n_lams=3)
    lam = path.lams[1]
    expected = path.screened(lam).codes_
    given[:], labels[:] = 0.0, 0
    assert_array_equal(path.screened(lam).codes_, expected)


@pytest.mark.parametrize("kind", ["array", "csr"])
@pytest.mark.parametrize("make", [ScreenedSVC, ScreenedLinearSVC])
def test_what_is_decided_of_other_samples_is_an_error(make, kind):
    """A row that is no support vector is enough."""
    given = KINDS[kind](X)
    model = make().fit(given, y)
    (row,) = np.setdiff1d(np.arange(len(X)), model.support_)[:1]
    (given.data if kind == "csr" else given[row])[-1] += 1.0
    with pytest.raises(AttributeError, match="X was changed in place since; fit again, or ask"):
        _ = model.screened_


@pytest.mark.parametrize("axis", [0, 1])
def test_samples_in_another_order_are_other_samples(axis):
    for change in (np.random.default_rng(0).shuffle, np.ndarray.sort):
        given = X.copy()
        model = ScreenedSVC().fit(given, y)
        change(given, axis=axis)
        with pytest.raises(AttributeError, match="X was changed in place since"):
            _ = model.screened_


def test_reduced_problems_of_other_samples_are_an_error():
    for kernel in ("linear", "rbf"):
        given = X[TWO].copy()
        reference = ScreenedSVC(0.9, kernel=kernel).fit(given, y[TWO])
        found = screen_samples(given, y[TWO], 1.0, reference=reference)
        assert found.reduced_problem().rows.size
        given *= 2.0
        with pytest.raises(
            ValueError, match=r"X was changed in place .* call screen_samples again"
        ):
            found.reduced_problem()


def test_decisions_are_those_of_the_fit_whatever_parameters_are_set():
    for make, changes in (
        (ScreenedSVC, {"C": 1e4, "loss": "squared_hinge", "kernel": "linear", "gamma": 3.0}),
        (ScreenedLinearSVC, {"C": 1e-3, "loss": "hinge", "intercept_scaling": 9.0}),
    ):
        expected = make().fit(X, y).screened_
        found = make().fit(X, y).set_params(**changes).screened_
        assert found.C == 1.0
        assert_array_equal(found.codes_, expected.codes_)


def test_scores_do_not_follow_how_the_next_fit_will_divide_classes():
    model = ScreenedSVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)
    expected = model.decision_function(X)
    assert_array_equal(model.set_params(multi_class="ovo").decision_function(X), expected)


def test_what_has_no_decisions_says_why():
    """Not that there is no such attribute."""
    for options, text in (
        ({"multi_class": "crammer_singer"}, "one for all classes; use 'ovr'"),
        ({"penalty": "l1"}, "penalty='l1' drops features; use 'l2'"),
    ):
        with pytest.raises(AttributeError, match=text):
            _ = ScreenedLinearSVC(**options).fit(X, y).screened_
    with pytest.raises(AttributeError, match="This ScreenedSVC is not fitted: screened_ is of a"):
        _ = ScreenedSVC().screened_
    with pytest.raises(AttributeError, match="screened_ needs the training data"):
        _ = pickle.loads(pickle.dumps(ScreenedSVC().fit(X, y))).screened_


def test_marks_tell_samples_apart():
    for make in KINDS.values():
        first, second = make(X), make(X)
        assert mark(first) == mark(second)
        (second.data if sparse.issparse(second) else second.reshape(-1))[5] += 1e-6
        assert mark(first) != mark(second)
    dense = X.copy()
    dense[7, [0, 1]] = dense[7, [1, 0]]
    assert mark(dense) != mark(X)
