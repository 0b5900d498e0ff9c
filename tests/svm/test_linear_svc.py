import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
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
