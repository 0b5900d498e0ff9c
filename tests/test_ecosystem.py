"""Every estimator inside the tools that scikit-learn users put them in."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedSVC,
)
from skscreen.datasets import make_triplets

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)[:300, :8]
y = y[:300]
WINE, CLASSES = load_wine(return_X_y=True)
TRIPLETS = make_triplets(scale(WINE)[::9, :2], 600, random_state=0)
SEQUENCES, LABELS = np.split(scale(WINE), [30, 70, 100]), np.split(CLASSES, [30, 70, 100])

CLASSIFIERS = {
    "ScreenedLinearSVC": ScreenedLinearSVC(),
    "ScreenedSVC": ScreenedSVC(),
    "PragamSVC": PragamSVC(),
}
CHAINS = {
    "MaxMarginChain": MaxMarginChain(),
    "ChainCRF": ChainCRF(),
    "KernelChainClassifier": KernelChainClassifier(),
}
classifiers = pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
chains = pytest.mark.parametrize("model", CHAINS.values(), ids=CHAINS)


@classifiers
def test_classifiers_survive_a_pickle_and_a_clone(model):
    model = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    fresh = clone(model)
    assert not hasattr(fresh, "classes_") and fresh.get_params() == model.get_params()


@pytest.mark.few(2)
@classifiers
def test_classifiers_inside_the_tools(model):
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85
    search = HalvingGridSearchCV(model, {"C": [0.01, 0.1, 1.0]}, cv=2, random_state=0).fit(X, y)
    assert search.best_params_["C"] in (0.01, 0.1, 1.0)
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    chances = calibrated.predict_proba(X)
    assert np.mean(chances.argmax(axis=1) == y) > 0.85
    stack = StackingClassifier(
        [("svm", model), ("neighbours", KNeighborsClassifier())], model, cv=2
    ).fit(X, y)
    assert stack.score(X, y) > 0.85
    assert OneVsOneClassifier(model).fit(scale(WINE), CLASSES).score(scale(WINE), CLASSES) > 0.9


@classifiers
def test_classifiers_take_frames(model):
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    fitted = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas")
    fitted.fit(frame, pd.Series(y).map({0: "ill", 1: "well"}))
    assert set(fitted.predict(frame)) == {"ill", "well"}
    assert list(fitted[-1].feature_names_in_) == list(frame.columns)


@pytest.mark.slow
def test_metrics_inside_the_tools():
    model = ScreenedRTLM(0.1).fit(WINE, CLASSES)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(WINE), model.transform(WINE))
    pipeline = make_pipeline(StandardScaler(), clone(model), KNeighborsClassifier())
    assert cross_val_score(pipeline, WINE, CLASSES, cv=3).mean() > 0.9
    grid = {"screenedrtlm__lam": [0.3, 0.1]}
    search = HalvingGridSearchCV(pipeline, grid, cv=2, random_state=0).fit(WINE, CLASSES)
    assert search.best_score_ > 0.8
    CalibratedClassifierCV(pipeline, cv=2).fit(WINE, CLASSES)
    StackingClassifier([("metric", pipeline)], cv=2).fit(WINE, CLASSES)
    frame = clone(model).set_output(transform="pandas").fit(WINE, CLASSES).transform(WINE)
    assert list(frame.columns) == [f"screenedrtlm{j}" for j in range(frame.shape[1])]


def test_embeddings_inside_the_tools():
    model = OrdinalEmbedding(random_state=0).fit(TRIPLETS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(), model.transform())
    n_objects = TRIPLETS.max() + 1
    fresh = clone(model)
    assert cross_val_score(fresh, TRIPLETS, cv=3).mean() > 0.8
    grid = {"loss": ["soe", "ste"], "n_components": [1, 2], "reg": ["auto", 0.01]}
    search = GridSearchCV(fresh, grid, cv=2).fit(TRIPLETS)
    assert search.best_params_["n_components"] == 2
    frame = fresh.set_output(transform="pandas").fit_transform(TRIPLETS)
    assert isinstance(frame, pd.DataFrame) and frame.shape == (n_objects, 2)


@chains
def test_chains_survive_a_pickle_a_clone_and_a_search(model):
    model = clone(model).fit(SEQUENCES, LABELS)
    again = pickle.loads(pickle.dumps(model))
    for ours, theirs in zip(again.predict(SEQUENCES), model.predict(SEQUENCES), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert cross_val_score(clone(model), SEQUENCES, LABELS, cv=2).shape == (2,)
