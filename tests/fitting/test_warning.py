"""Warnings point at the line that called the package."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscreen import PragamSVC, ScreenedRTLM, ScreenedSVC, ScreenedSVCCV, Store
from skscreen.fitting.warning import warn_user

SVC = ScreenedSVC(kernel="rbf", C=100.0, max_iter=1, intercept="penalised")


def test_the_line_of_the_caller_and_the_category():
    with pytest.warns(UserWarning, match="text") as record:
        warn_user("text")
    assert [warning.filename for warning in record] == [__file__]
    with pytest.warns(ConvergenceWarning, match="other"):
        warn_user("other", ConvergenceWarning)


@pytest.mark.parametrize(
    "model",
    [
        SVC,
        make_pipeline(StandardScaler(), SVC),
        GridSearchCV(SVC, {"gamma": [0.1, 1.0]}, cv=2),
        ScreenedSVCCV(Cs=2, cv=2, max_iter=1, kernel="linear", intercept="penalised"),
        PragamSVC(max_iter=1, tol=1e-9),
        ScreenedRTLM(max_iter=1, tol=1e-9),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_warns_at_the_line_of_the_user(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert caught and {warning.filename for warning in caught} == {__file__}


def test_a_store_warns_at_the_line_of_the_user(tmp_path):
    path = tmp_path / "key" / "1.0.npz"
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="damaged") as record:
        assert Store(tmp_path).neighbours("key", 1.0) == []
    assert record[0].filename == __file__
