"""PragamSVCCV: the scores of a grid search, and scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscreen import PragamSVC, PragamSVCCV, ScreenedSVCCV

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
CS = [0.003, 0.03, 0.3]


@parametrize_with_checks([PragamSVCCV(Cs=[0.1, 1.0], cv=2)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("data", ["cancer", "wine"])
def test_scores_are_those_of_a_grid_search(data):
    features, labels = (X, y) if data == "cancer" else load_wine(return_X_y=True)
    features = scale(features)
    model = PragamSVCCV(Cs=CS, tol=1e-6).fit(features, labels)
    search = GridSearchCV(PragamSVC(tol=1e-6), {"C": CS}).fit(features, labels)
    np.testing.assert_allclose(model.scores_.mean(axis=0), search.cv_results_["mean_test_score"])
    assert model.C_ == search.best_params_["C"] and model.best_score_ == search.best_score_
    np.testing.assert_allclose(model.coef_, search.best_estimator_.coef_, atol=1e-3)
    assert model.dual_gap_ <= 1e-6


def test_options_reach_the_folds():
    model = PragamSVCCV(
        Cs=CS, cv=GroupKFold(3), scoring="roc_auc", algorithm="bmrm", refit=False, n_jobs=2
    )
    model.fit(X, y, np.ones(len(y)), groups=np.arange(len(y)) % 3)
    assert model.scores_.shape == (3, 3) and not hasattr(model, "coef_")
    assert model.best_score_ > 0.99
    plain = PragamSVCCV(Cs=CS, algorithm="pegasos", fit_intercept=False, max_iter=300, tol=0.5)
    assert plain.fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="Cs must be a number of values"):
        PragamSVCCV(Cs=[1.0, -1.0]).fit(X, y)


@pytest.mark.parametrize("algorithm", ["pragam", "bmrm"])
def test_the_refit_starts_from_a_fold(algorithm):
    data, labels = load_breast_cancer(return_X_y=True)
    model = PragamSVCCV(Cs=[0.1], algorithm=algorithm, cv=5).fit(scale(data), labels)
    cold = PragamSVC(C=0.1, algorithm=algorithm).fit(scale(data), labels)
    assert model.n_iter_[0] < cold.n_iter_[0]
    assert abs(model.objective_[0] - cold.objective_[0]) <= 2e-4


@pytest.mark.parametrize("search", [PragamSVCCV, ScreenedSVCCV])
def test_a_value_without_a_score_is_not_chosen(search):
    def score(model, *_):
        return np.nan if model.C in unknown else model.C

    unknown = {CS[0], CS[-1]}
    with pytest.warns(UserWarning, match="2 of 3 values have the score NaN") as record:
        assert search(Cs=CS, cv=2, scoring=score).fit(X, y).C_ == sorted(CS)[1]
    assert record[0].filename == __file__
    unknown = set(CS)
    with pytest.raises(ValueError, match="scoring must give a number"):
        search(Cs=CS, cv=2, scoring=score).fit(X, y)


def test_a_fold_without_a_class_is_no_start():
    data, labels = load_iris(return_X_y=True)
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(0, 150, 2), np.arange(1, 150, 2))]
    model = PragamSVCCV(Cs=[0.1], cv=splits).fit(scale(data), labels)
    assert model.classes_.size == 3
    assert model.dual_gap_ <= model.tol


def test_a_search_without_refit_keeps_nothing_of_an_old_fit():
    X, y = load_breast_cancer(return_X_y=True)
    search = PragamSVCCV([0.01, 0.1]).fit(scale(X), y)
    search.set_params(refit=False).fit(scale(X), y)
    assert not hasattr(search, "coef_") and not hasattr(search, "dual_gap_")
    assert search.C_ in search.Cs_


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_folds_that_miss_the_tolerance_are_warned_of_once(n_jobs):
    X, y = load_breast_cancer(return_X_y=True)
    search = PragamSVCCV([0.01, 0.1], cv=2, max_iter=1, refit=False, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match="1 iterations of 'pragam'") as caught:
        search.fit(scale(X), y)
    assert [warning.filename for warning in caught] == [__file__]
