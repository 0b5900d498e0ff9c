"""Classes without weight stay among the classes, and nothing else depends on them."""

import numpy as np
import pandas as pd
import pytest
from cases import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import scale

from skscreen import (
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedSVC,
    ScreenedSVCCV,
    svc_path,
)

X, y = load_iris(return_X_y=True)
X = scale(X)
MODELS = [
    ScreenedSVC(),
    ScreenedSVC(kernel="linear"),
    ScreenedSVC(multi_class="ovr"),
    ScreenedSVC(decision_function_shape="ovo"),
    ScreenedSVC(break_ties=True),
    ScreenedLinearSVC(),
    PragamSVC(),
]


@pytest.mark.few(12)
@every_pair(by=["sample_weight", "class_weight"], model=MODELS, absent=[[0], [1], [2], [3], [0, 2]])
def test_predictions_are_those_without_them(model, absent, by):
    labels = np.where(np.arange(150) % 7 == 0, 3, y)
    there = ~np.isin(labels, absent)
    for data in (X, sparse.csr_array(X)) if by == "sample_weight" else (X,):
        expected = clone(model).fit(data[there], labels[there])
        if by == "sample_weight":
            found = clone(model).fit(data, labels, sample_weight=there.astype(float))
        else:
            found = clone(model).set_params(class_weight=dict.fromkeys(absent, 0.0))
            found.fit(data, labels)
        assert_array_equal(found.classes_, np.arange(4))
        assert_array_equal(found.predict(data), expected.predict(data))
        assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)
        scores = found.decision_function(data)
        if getattr(model, "decision_function_shape", "ovr") == "ovo":
            assert scores.shape == (150, 6) and found.n_support_.shape == (4,)
            continue
        assert scores.shape == (150, 4)
        assert_array_equal(np.isin(scores.argmax(axis=1), absent), False)
        if len(absent) == 1:
            rest = np.delete(np.arange(4), absent)
            assert_allclose(scores[:, rest], expected.decision_function(data), atol=1e-4)


def test_bagging_paths_and_searches_know_all_classes():
    model = BaggingClassifier(ScreenedSVC(kernel="linear"), n_estimators=9, random_state=0)
    assert model.fit(X[:101], y[:101]).score(X[:101], y[:101]) > 0.98
    weights = (y != 1).astype(float)
    path = svc_path(X, y, Cs=[0.1, 1.0], sample_weight=weights)[1]
    search = ScreenedSVCCV([0.1, 1.0], cv=3).fit(X, y, sample_weight=weights)
    for model in (path, search):
        assert_array_equal(model.classes_, [0, 1, 2])
        assert not np.any(model.predict(X) == 1)


def test_one_class_with_weight_is_an_error():
    with pytest.raises(ValueError, match=r"\by\b"):
        ScreenedSVC().fit(X, y, sample_weight=(y == 1).astype(float))


NAMES = np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("make", [PragamSVC, ScreenedLinearSVC, ScreenedRTLM, ScreenedSVC])
@pytest.mark.parametrize(
    "labels",
    [
        np.where(y > 0, NAMES, None),
        pd.Series(NAMES, dtype="string").where(y < 2),
        pd.Series(NAMES, dtype=object).where(y < 1),
        NAMES.astype("S"),
        NAMES.astype("S").astype(object),
        np.where(y > 1, None, y.astype(object)),
        pd.Series(y > 0).astype("boolean").where(y < 2),
        pd.PeriodIndex((2000 + y).astype(str), freq="Y"),
        y.astype(object),
        [*NAMES[1:].tolist(), np.nan],
        [*NAMES[1:].tolist(), 3],
    ],
)
def test_labels_that_are_neither_strings_nor_numbers_are_refused(make, labels):
    """Bytes are what ARFF and HDF5 files have; objects that are numbers come from mixed columns."""
    with pytest.raises((TypeError, ValueError), match=r"\by\b|labels represented as bytes"):
        make().fit(X, labels)


def test_advice_for_bytes_works():
    decoded = np.char.decode(np.asarray(NAMES.astype("S").astype(object), dtype=bytes))
    assert_array_equal(ScreenedSVC().fit(X, decoded).classes_, ["a", "b", "c"])
