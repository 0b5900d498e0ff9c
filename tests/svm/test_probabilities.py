"""Probabilities of classes: folds of few samples in the problems of all."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedSVC
from skscreen.svm import probabilities


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "how",
    [{}, {"kernel": "linear"}, {"kernel": "poly", "intercept": "penalised"},
     {"class_weight": "balanced", "C": 10.0}],
)  # fmt: skip
def test_folds_of_few_samples_are_those_of_other_fits(classes, how, monkeypatch):
    X, y = load_iris(return_X_y=True)
    # Rows are not centred among those with a weight.
    X = StandardScaler().fit_transform(X)[y < classes] + 1.0
    y, rng = y[y < classes], np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, len(y)) * (rng.random(len(y)) < 0.8)
    model = ScreenedSVC(probability=True, random_state=0, **how).fit(X, y, weights)
    monkeypatch.setattr(probabilities, "_scores_of_few", lambda *known: None)
    other = ScreenedSVC(probability=True, random_state=0, **how).fit(X, y, weights)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_class_of_one_sample_is_held_out_as_a_whole():
    X, y = load_iris(return_X_y=True)
    X, y = X[:101], y[:101]
    found = ScreenedSVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
