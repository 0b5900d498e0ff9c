"""What was learned stays as it is when the user changes samples or parameters afterwards."""

import pickle
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from skscreen import (
    ScreenedLinearSVC,
    ScreenedLinearSVR,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
    rtlm_path,
    screen_samples,
    svc_path,
    svr_path,
)
from skscreen.svm.training_data import mark

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


@pytest.mark.few(7)
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


def test_reduced_problems_of_other_samples_are_an_error():
    for kernel in ("linear", "rbf"):
        given = X[TWO].copy()
        reference = ScreenedSVC(0.9, kernel=kernel).fit(given, y[TWO])
        found = screen_samples(given, y[TWO], 1.0, reference=reference)
        assert found.reduced_problem().rows.size
        given *= 2.0
        with pytest.raises(ValueError, match=r"^X\b"):
            found.reduced_problem()


def test_scores_do_not_follow_how_the_next_fit_will_divide_classes():
    model = ScreenedSVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)
    expected = model.decision_function(X)
    assert_array_equal(model.set_params(multi_class="ovo").decision_function(X), expected)


def test_what_is_not_fitted_has_no_decisions():
    for model in (ScreenedSVC(), ScreenedLinearSVC()):
        with pytest.raises(NotFittedError):
            model.screened(X, y)


MODELS = [
    ScreenedSVC(), ScreenedSVC(kernel="linear"), ScreenedSVC(multi_class="ovr"),
    ScreenedSVC(kernel=products), ScreenedLinearSVC(), ScreenedLinearSVC(loss="hinge"),
    ScreenedLinearSVC(multi_class="crammer_singer"), ScreenedSVCCV([0.1, 1.0], cv=2),
    ScreenedSVR(), ScreenedLinearSVR(),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_no_reference_to_the_samples_outlives_a_fit(model):
    given, labels = X.copy(), y.copy()
    before = sys.getrefcount(given), sys.getrefcount(labels)
    model = clone(model).fit(given, labels)
    assert (sys.getrefcount(given), sys.getrefcount(labels)) == before
    kept = [array for array in arrays_of(vars(model)) if array.shape == X.shape]
    # A function needs the samples that it was fitted on.
    assert callable(model.kernel) or not kept


def arrays_of(values):
    """All arrays in what an estimator or a path holds."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict | list | tuple):
            yield from arrays_of(value)
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            yield from arrays_of(vars(value))


def test_solutions_of_a_path_share_one_copy_of_the_samples():
    path = svc_path(X, y == 1, [0.01, 0.1, 1.0], kernel="linear")
    assert sum(array.shape == X.shape for array in arrays_of(vars(path))) == 1


def test_files_are_as_large_as_those_of_the_peers():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(600, 20)), rng.integers(0, 3, 600)
    peers = {
        ScreenedSVC(): SVC(), ScreenedSVC(kernel="linear"): SVC(kernel="linear"),
        ScreenedLinearSVC(): LinearSVC(), ScreenedLinearSVC(multi_class="crammer_singer"):
        LinearSVC(multi_class="crammer_singer"), ScreenedSVR(): SVR(),
        ScreenedLinearSVR(): LinearSVR(),
    }  # fmt: skip
    for model, peer in peers.items():
        sizes = [len(pickle.dumps(each.fit(rows, labels))) for each in (model, peer)]
        # Parameters, certificates and the table of steps.
        assert sizes[0] <= 1.05 * sizes[1] + 3000, model


def test_marks_tell_samples_apart():
    for make in KINDS.values():
        first, second = make(X), make(X)
        assert mark(first) == mark(second)
        (second.data if sparse.issparse(second) else second.reshape(-1))[5] += 1e-6
        assert mark(first) != mark(second)
    dense = X.copy()
    dense[7, [0, 1]] = dense[7, [1, 0]]
    assert mark(dense) != mark(X)
