import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from skscreen import ScreenedLinearSVC, ScreenedSVC

X, y = load_iris(return_X_y=True)
X = scale(X)


def test_every_parameter_of_linear_svc_is_known():
    ours, theirs = (
        set(inspect.signature(kind).parameters) for kind in (ScreenedLinearSVC, LinearSVC)
    )
    assert theirs <= ours


def test_more_classes_are_those_of_linear_svc():
    model = ScreenedLinearSVC(0.3, tol=1e-10).fit(X, y)
    peer = LinearSVC(C=0.3, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
    assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)
    assert_array_equal(model.predict(X), peer.predict(X))
    assert isinstance(model.n_iter_, int)


def test_it_is_the_screened_svc_of_the_same_problem():
    model = ScreenedLinearSVC(0.3, intercept_scaling=2.0, tol=1e-9).fit(X, y)
    options = {"kernel": "linear", "intercept": "penalised", "multi_class": "ovr"}
    options["loss"] = "squared_hinge"
    other = ScreenedSVC(0.3, intercept_scaling=2.0, tol=1e-9, **options).fit(X, y)
    assert_array_equal(model.coef_, other.coef_)
    assert model.n_iter_ == other.n_iter_


def test_coef_can_be_sparse():
    model = ScreenedLinearSVC().fit(X, y)
    scores = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    assert_allclose(model.decision_function(X), scores)
    assert_allclose(model.decision_function(sparse.csr_array(X)), scores)
    assert isinstance(model.densify().coef_, np.ndarray)


@pytest.mark.parametrize("options", [{"loss": "log"}, {"multi_class": "ovo"}, {"dual": 3}])
def test_what_has_no_certificate_here_is_refused(options):
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter"):
        ScreenedLinearSVC(**options).fit(X, y)


@pytest.mark.parametrize("scaling", [1.0, 1e8])
def test_heavy_samples_whose_system_has_no_factor(scaling):
    """The first step of Newton's method fell through, and w = 0 was a solution in silence."""
    rng = np.random.default_rng(0)
    rows, labels, weights = (
        rng.normal(size=(19, 40)),
        np.arange(19) % 2,
        10.0 ** rng.uniform(-4, 10, 19),
    )
    model = ScreenedLinearSVC(1e6, intercept_scaling=scaling, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, labels, sample_weight=weights)
    assert np.isfinite(model.objective_)
    assert model.dual_gap_ <= 1e-6 or caught[0].category is ConvergenceWarning
    if scaling == 1.0:
        # All but a hard margin.
        hard = ScreenedSVC(np.inf, kernel="linear", intercept="penalised").fit(rows, labels)
        assert_allclose(model.objective_, hard.objective_, rtol=1e-4)
