import pickle
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from cases import every_pair, some
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    FitFailedWarning,
    NotFittedError,
)
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVCCV
from skscreen.inspection import CertifiedPathDisplay

LinearHingeSVC = partial(ScreenedLinearSVC, loss="hinge")

LINEAR = {"kernel": "linear", "intercept": "penalised"}
RBF = {"kernel": "rbf", "intercept": "penalised"}
CS = np.geomspace(0.01, 100.0, 7)


def data(name):
    X, y = {"cancer": load_breast_cancer, "wine": load_wine}[name](return_X_y=True)
    X = scale(X)
    return (X[::2], y[::2]) if name == "cancer" else (X, y)


@pytest.mark.few(1)
@every_pair(
    name=["cancer", "wine"],
    scoring=[None, "balanced_accuracy", "f1_macro"],
    options=[LINEAR, RBF, {}],
)
def test_same_as_a_grid_search(name, scoring, options):
    X, y = data(name)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    model = ScreenedSVCCV(CS, cv=cv, scoring=scoring, **options).fit(X, y)
    grid = GridSearchCV(ScreenedSVC(**options), {"C": CS}, cv=cv, scoring=scoring).fit(X, y)
    scores = [grid.cv_results_[f"split{k}_test_score"] for k in range(3)]
    assert_allclose(model.scores_, scores)
    assert model.scores_.shape == (3, 7)
    assert model.C_ == grid.best_params_["C"]
    assert_allclose(model.best_score_, grid.best_score_)
    # Both are within the tolerance of a fit, from different starts.
    assert_allclose(model.decision_function(X), grid.decision_function(X), rtol=1e-5, atol=1e-5)
    assert_array_equal(model.predict(X), grid.predict(X))
    assert_array_equal(model.classes_, np.unique(y))


GAMMAS = [0.3, "scale", 0.01, 0.01]


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    some(
        product(["cancer", "wine"], [{"kernel": "poly", "degree": 2}, {}, {"multi_class": "ovr"}]),
        0,
        4,
        5,
    ),
)
def test_C_and_gamma_as_a_grid_search(name, options):
    X, y = data(name)
    options = {"tol": 1e-8, **options}
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    model = ScreenedSVCCV(CS[::2], gammas=GAMMAS, cv=cv, **options).fit(X, y)
    grid = {"C": CS[::2], "gamma": [0.01, "scale", 0.3]}
    grid = GridSearchCV(ScreenedSVC(**options), grid, cv=cv).fit(X, y)
    scores = [grid.cv_results_[f"split{k}_test_score"] for k in range(3)]
    assert model.scores_.shape == (3, 3, 4)
    # A grid search has C outside.
    assert_allclose(model.scores_, np.reshape(scores, (3, 4, 3)).transpose(0, 2, 1))
    assert_allclose(model.gammas_, [0.01, 1.0 / (X.shape[1] * X.var()), 0.3])
    assert model.best_score_ == pytest.approx(grid.best_score_)
    # Equal scores go to the smallest C there, and the first gamma: the smallest.
    assert model.C_ == grid.best_params_["C"]
    assert model.gamma_ == pytest.approx(grid.best_estimator_.gamma_)
    assert_allclose(model.decision_function(X), grid.decision_function(X), atol=1e-5)


def test_of_equal_scores_the_smallest_C_then_the_smallest_gamma():
    X, y = data("wine")
    scores = {(1.0, 0.1): 1.0, (2.0, 0.05): 1.0, (1.0, 0.2): 1.0}
    model = ScreenedSVCCV(
        [2.0, 1.0, 0.5], gammas=[0.2, 0.1, 0.05], cv=2, refit=False,
        scoring=lambda model, X, y: scores.get((model.C, model.gamma), 0.0),
    ).fit(X, y)  # fmt: skip
    assert (model.C_, model.gamma_, model.best_score_) == (1.0, 0.1, 1.0)
    assert_array_equal(model.scores_[0], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr"}, LINEAR])
@pytest.mark.parametrize("name", ["cancer", "wine"])
def test_scorers_see_the_scores_of_the_solutions(name, options):
    def scoring(model, X, y):
        assert_allclose(model.decision_function(X), model.decision_function(X.copy()), atol=1e-10)
        assert_array_equal(model.predict(X), model.predict(X.copy()))
        return 0.0

    ScreenedSVCCV([0.1, 10.0, 1e3], cv=2, refit=False, scoring=scoring, **options).fit(*data(name))


def test_paths_over_gamma_save_steps():
    X, y = data("cancer")

    def steps(**options):
        found = []

        def scoring(model, X, y):
            found.append(model.n_iter_)
            return 0.0

        ScreenedSVCCV([1.0], cv=2, refit=False, scoring=scoring, **options).fit(X, y)
        return sum(found)

    gammas = np.geomspace(0.01, 0.02, 6)
    assert steps(gammas=gammas) < 0.9 * sum(steps(gammas=[gamma]) for gamma in gammas)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": [0.1], "certify": 0.1, "intercept": "penalised"}, r"^gammas\b"),
        ({"gammas": []}, r"^gammas\b"),
        ({"gammas": [0.1, -1.0]}, r"^gammas\b"),
        ({"gammas": [0.1, "auto", "small"]}, r"^gammas\b"),
        ({"gammas": [[0.1]]}, r"^gammas\b"),
        ({"gammas": [None]}, r"^gammas\b"),
        ({"gammas": 0.1}, "'gammas' parameter"),
    ],
)
def test_gammas_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ScreenedSVCCV(3, **options).fit(*data("wine"))


@pytest.mark.slow
def test_attributes():
    X, y = data("cancer")
    model = ScreenedSVCCV(5, kernel="linear", intercept="penalised").fit(X, y)
    assert_allclose(model.Cs_, np.geomspace(0.01, 100.0, 5))
    single = LinearHingeSVC(model.C_).fit(X, y)
    assert_allclose(model.coef_, single.coef_)
    assert not np.isin(model.support_, np.flatnonzero(single.screened(X, y).codes_ == 1)).any()
    assert not hasattr(model, "bounds_")
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_allclose(copy.decision_function(X), model.decision_function(X))
    assert (
        cross_val_score(
            ScreenedSVCCV(3, cv=2, kernel="linear", intercept="penalised"), X, y, cv=2
        ).mean()
        > 0.9
    )
    # The order in which values are given does not count, nor how often.
    other = ScreenedSVCCV([1.0, 0.01, 1.0], kernel="linear", intercept="penalised").fit(X, y)
    assert_array_equal(other.Cs_, [0.01, 1.0])


def test_without_refit():
    X, y = data("cancer")
    model = ScreenedSVCCV(3, refit=False, kernel="linear", intercept="penalised").fit(X, y)
    assert model.C_ in model.Cs_
    with pytest.raises(NotFittedError, match="refit=False"):
        model.predict(X)


@pytest.mark.slow
def test_jobs_weights_groups_and_sparse():
    X, y = data("cancer")
    one = ScreenedSVCCV(4, cv=3, kernel="linear", intercept="penalised").fit(X, y)
    with parallel_config("threading"):
        two = ScreenedSVCCV(4, cv=3, n_jobs=2, kernel="linear", intercept="penalised").fit(
            sparse.csr_array(X), y
        )
    assert_allclose(one.scores_, two.scores_)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weighted = ScreenedSVCCV(4, cv=3, kernel="linear", intercept="penalised").fit(X, y, weights)
    # Before scikit-learn 1.7 a grid search weighs its scores only by metadata routing.
    with config_context(enable_metadata_routing=True):
        single = LinearHingeSVC().set_fit_request(sample_weight=True)
        single.set_score_request(sample_weight=True)
        grid = GridSearchCV(single, {"C": weighted.Cs_}, cv=3).fit(X, y, sample_weight=weights)
    assert_allclose(weighted.best_score_, grid.best_score_)
    assert_allclose(weighted.coef_, grid.best_estimator_.coef_, atol=1e-9)
    proved = ScreenedSVCCV(4, cv=3, certify=0.05, kernel="linear", intercept="penalised").fit(
        X, y, weights
    )
    assert_allclose(proved.scores_, weighted.scores_)
    unweighted = ScreenedSVCCV(
        4,
        cv=3,
        scoring=lambda model, X, y: model.score(X, y),
        kernel="linear",
        intercept="penalised",
    ).fit(X, y, weights)
    assert np.any(unweighted.scores_ != weighted.scores_)
    groups = np.arange(len(y)) % 5
    grouped = ScreenedSVCCV(4, cv=GroupKFold(5), kernel="linear", intercept="penalised").fit(
        X, y, groups=groups
    )
    assert grouped.scores_.shape == (5, 4)


@pytest.mark.slow
def test_precomputed_kernel():
    X, y = data("cancer")
    for certify in (None, 0.03):
        by_rows = ScreenedSVCCV(
            6, cv=3, certify=certify, kernel="linear", intercept="penalised"
        ).fit(X, y)
        model = ScreenedSVCCV(
            6, cv=3, certify=certify, kernel="precomputed", intercept="penalised"
        ).fit(X @ X.T, y)
        assert_allclose(model.scores_, by_rows.scores_)
        assert_allclose(model.best_score_, by_rows.best_score_, atol=0.03)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("options", [LINEAR, RBF])
def test_a_certified_choice(options):
    X, y = data("cancer")
    cv = StratifiedKFold(2, shuffle=True, random_state=1)
    model = ScreenedSVCCV(8, cv=cv, certify=0.02, **options).fit(X, y)
    bounds = model.bounds_
    assert bounds.eps <= 0.02 + 1e-10
    assert_allclose(model.best_score_, 1.0 - bounds.errors[bounds.best])
    assert model.C_ == bounds.Cs[bounds.best]
    assert bounds.edges[0] == model.Cs_[0] and bounds.edges[-1] == model.Cs_[-1]
    fine = ScreenedSVCCV(
        np.geomspace(0.01, 100.0, 60), cv=cv, tol=1e-10, refit=False, **options
    ).fit(X, y)
    errors = 1.0 - fine.scores_.mean(axis=0)
    for C, error in zip(fine.Cs_, errors, strict=True):
        parts = (bounds.edges[:-1] <= C) & (bounds.edges[1:] >= C)
        assert np.all(bounds.lower[parts] <= error + 1e-12)
        assert np.all(bounds.upper[parts] >= error - 1e-12)
    assert 1.0 - model.best_score_ <= errors.min() + 0.02 + 1e-12
    plain = ScreenedSVCCV(8, cv=cv, **options).fit(X, y)
    assert_allclose(model.scores_, plain.scores_, atol=0.015)
    assert_allclose(
        model.decision_function(X),
        ScreenedSVC(model.C_, **options).fit(X, y).decision_function(X),
    )
    assert CertifiedPathDisplay.from_estimator(model).C == model.C_
    assert not hasattr(model.set_params(certify=None).fit(X, y), "bounds_")


def test_few_steps_warn_once():
    X, y = data("cancer")
    with pytest.warns(ConvergenceWarning, match="tol=1e-06") as record:
        ScreenedSVCCV(
            [100.0, 1000.0],
            max_iter=2,
            solver="coordinate-descent",
            kernel="linear",
            intercept="penalised",
        ).fit(X, y)
    assert record[0].filename == __file__


def test_progress(capsys):
    X, y = data("cancer")
    ScreenedSVCCV(3, verbose=1, kernel="linear", intercept="penalised").fit(X, y)
    assert "5 of 5 folds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, r"^Cs\b"),
        ({"Cs": [1.0, -1.0]}, r"^Cs must be an int, how many values to try, or a list of pos"),
        ({"Cs": [[1.0]]}, r"^Cs\b"),
        ({"Cs": 0}, "'Cs' parameter"),
        ({"certify": 1.5}, "'certify' parameter"),
        ({"certify": 0.1, "scoring": "f1"}, r"^scoring\b"),
        ({"certify": 0.1, "Cs": 1}, r"^Cs\b"),
        ({"certify": 0.1, "intercept": "free"}, r"^intercept\b"),
        ({"scoring": "speed"}, "'scoring' parameter"),
        ({"kernel": "gauss"}, "'kernel' parameter"),
    ],
)
def test_bad_arguments(options, message):
    X, y = data("cancer")
    with pytest.raises(ValueError, match=message):
        ScreenedSVCCV(**options).fit(X, y)


@pytest.mark.parametrize("score", [None, "0.5", [0.5, 0.5], {"f1": 0.5}])
def test_scores_that_are_no_numbers_are_named(score):
    X, y = data("cancer")
    with pytest.raises(TypeError, match=r"^scoring must"):
        ScreenedSVCCV([1.0], cv=2, scoring=lambda *args: score).fit(X, y)


@pytest.mark.proof
def test_more_classes_with_proof():
    X, y = data("wine")
    options = {"kernel": "linear", "intercept": "penalised"}
    with pytest.raises(ValueError, match=r"^multi_class\b"):
        ScreenedSVCCV(certify=0.1, **options).fit(X, y)
    options["multi_class"] = "ovr"
    model = ScreenedSVCCV([0.01, 1.0], cv=2, certify=0.02, **options).fit(X, y)
    assert model.bounds_.eps <= 0.02 + 1e-10
    other = ScreenedSVCCV(np.geomspace(0.01, 1.0, 30), cv=2, tol=1e-9, **options).fit(X, y)
    assert np.all(1.0 - other.scores_.mean(axis=0) >= model.bounds_.lower.min() - 1e-12)
    assert_allclose(model.scores_, other.scores_[:, [0, -1]], atol=1e-12)
    assert model.coef_.shape == (3, X.shape[1])


def test_the_refit_starts_from_a_fold():
    X, y = load_breast_cancer(return_X_y=True)
    # Hinges of few samples are solved from nothing.
    X, y = np.vstack([scale(X) + 0.1 * k for k in range(3)]), np.tile(y, 3)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], y.size)
    options = {"kernel": "rbf", "intercept": "penalised", "loss": "squared_hinge"}
    model = ScreenedSVCCV(Cs=[0.3, 3.0], cv=3, **options).fit(X, y, weights)
    cold = ScreenedSVC(model.C_, **options).fit(X, y, weights)
    assert model.n_iter_ < 0.95 * cold.n_iter_
    assert_allclose(model.objective_, cold.objective_, rtol=2e-6)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_starts_of_other_weights_end_at_the_optimum(intercept):
    """Balanced weights of a fold are not those of all: starts are clipped, with their margins."""
    X, y = load_breast_cancer(return_X_y=True)
    X, gamma = scale(X), 0.5 / X.shape[1]
    model = ScreenedSVCCV(
        Cs=[1.0, 10.0, 100.0], cv=5, class_weight="balanced", kernel="rbf", gamma=gamma,
        intercept=intercept,
    ).fit(X, y)  # fmt: skip
    options = {"kernel": "rbf", "gamma": gamma, "class_weight": "balanced", "intercept": intercept}
    single = ScreenedSVC(model.C_, tol=1e-9, **options).fit(X, y)
    assert_allclose(model.objective_, single.objective_, rtol=2e-6)
    assert_allclose(model.decision_function(X), single.decision_function(X), atol=5e-3)


def test_a_first_fold_without_a_class_is_no_start():
    X, y = data("wine")
    # The first training part lacks the last class.
    order = np.argsort(-y, kind="stable")
    X, y = X[order], y[order]
    folds = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2)), (np.arange(0, 178, 2), [1, 3])]
    model = ScreenedSVCCV(Cs=[0.1, 1.0], cv=folds, kernel="linear", intercept="penalised").fit(X, y)
    single = ScreenedSVC(model.C_, **LINEAR).fit(X, y)
    assert_allclose(model.objective_, single.objective_, rtol=2e-6)


def test_more_jobs_than_numbers_are_for_are_refused():
    X, y = data("cancer")
    with pytest.raises(ValueError, match="n_jobs"):
        ScreenedSVCCV(Cs=2, n_jobs=10**30, kernel="linear", intercept="penalised").fit(X, y)


def test_splits_as_masks():
    X, y = data("wine")
    even = np.arange(len(y)) % 2 == 0
    masks = [(even, ~even), (~even, even)]
    places = [tuple(map(np.flatnonzero, split)) for split in masks]
    first, second = (
        ScreenedSVCCV([0.01, 1.0], cv=cv, kernel="linear", intercept="penalised").fit(X, y)
        for cv in (masks, places)
    )
    assert_array_equal(first.scores_, second.scores_)
    assert_allclose(first.coef_, second.coef_)


def test_labels_in_a_column_warn_once():
    X, y = data("wine")
    with pytest.warns(DataConversionWarning) as caught:
        ScreenedSVCCV([0.01, 1.0], kernel="linear", intercept="penalised").fit(X, y[:, None])
    assert len(caught) == 1


def test_the_warning_of_the_refit_points_at_the_call():
    X, y = data("wine")
    with pytest.warns(ConvergenceWarning) as caught:
        ScreenedSVCCV([100.0], tol=1e-9, max_iter=1, kernel="linear", intercept="penalised").fit(
            X, y
        )
    assert {warning.filename for warning in caught} == {__file__}


def test_a_kernel_matrix_as_a_table():
    X, y = data("wine")
    K = pd.DataFrame(X @ X.T)
    found = [
        ScreenedSVCCV([0.01, 0.1], kernel="precomputed", intercept="penalised")
        .fit(kernel, y)
        .scores_
        for kernel in (K, K.to_numpy())
    ]
    assert_array_equal(*found)


def test_classes_that_a_fold_lacks_are_named_with_certify():
    X, y = data("wine")
    options = {**LINEAR, "certify": 0.1, "multi_class": "ovr"}
    with pytest.raises(ValueError, match=r"^cv\b.*fold 0"):
        ScreenedSVCCV(3, cv=GroupKFold(3), **options).fit(X, y, groups=y)
    weights = np.where(y == 2, 0.0, 1.0)
    found = ScreenedSVCCV(3, **options).fit(X, y, weights)
    assert found.classes_.tolist() == [0, 1, 2] and found.bounds_.eps <= 0.1


@pytest.mark.parametrize("certify", [None, 0.1])
def test_folds_without_weight_are_refused(certify):
    X, y = data("cancer")
    groups = np.arange(len(y)) % 3
    search = ScreenedSVCCV(3, cv=GroupKFold(3), certify=certify, **LINEAR)
    with pytest.raises(ValueError, match=r"^sample_weight\b"):
        search.fit(X, y, np.where(groups == 1, 0.0, 1.0), groups=groups)


def test_an_iterator_of_folds_that_is_used_up_is_named():
    X, y = data("cancer")
    search = ScreenedSVCCV(2, cv=StratifiedKFold(3).split(X, y), **LINEAR).fit(X, y)
    with pytest.raises(ValueError, match=r"^cv\b"):
        search.fit(X, y)


def test_a_fold_of_one_class_has_no_scores_and_is_named():
    X, y = data("cancer")
    order = np.r_[np.flatnonzero(y == 1)[:60], np.arange(len(y))]
    X, y = X[order], y[order]
    cv = [(np.arange(50), np.arange(50, 90)), *StratifiedKFold(3).split(X, y)]
    model = ScreenedSVCCV([0.1, 1.0], cv=cv)
    with pytest.warns(FitFailedWarning, match=r"\bcv\b"):
        model.fit(X, y)
    assert np.isnan(model.scores_[0]).all() and not np.isnan(model.scores_[1:]).any()
    plain = ScreenedSVCCV([0.1, 1.0], cv=cv[1:]).fit(X, y)
    assert_array_equal(model.scores_[1:], plain.scores_)
    assert model.C_ == plain.C_ and model.best_score_ == plain.best_score_
    with pytest.raises(ValueError, match=r"\bcv\b"):
        ScreenedSVCCV([0.1, 1.0], cv=cv[:1]).fit(X, y)


def test_scores_of_probabilities_say_what_has_them():
    X, y = data("wine")
    for scoring in ("neg_log_loss", "roc_auc", "roc_auc_ovr"):
        with pytest.raises(ValueError, match=r"GridSearchCV\(ScreenedSVC\(probability=True\)"):
            ScreenedSVCCV([0.1, 1.0], cv=3, scoring=scoring).fit(X, y)
    assert ScreenedSVCCV([0.1, 1.0], cv=3, scoring="roc_auc").fit(X, y == 1).best_score_ > 0.9


def test_what_grid_search_has():
    X, y = data("wine")
    grid = {"gamma": [0.01, "scale"], "C": [0.1, 1.0, 10.0]}
    own = ScreenedSVCCV(grid["C"], gammas=grid["gamma"], cv=3).fit(X, y)
    peer = GridSearchCV(ScreenedSVC(), grid, cv=3).fit(X, y)
    assert own.n_splits_ == peer.n_splits_ == 3
    assert set(own.cv_results_) == set(peer.cv_results_)
    assert own.cv_results_["params"] == peer.cv_results_["params"]
    for name in ("split1_test_score", "mean_test_score", "std_test_score", "rank_test_score"):
        assert_allclose(own.cv_results_[name], peer.cv_results_[name])
    assert_array_equal(own.cv_results_["param_C"], peer.cv_results_["param_C"])
    assert own.best_index_ == peer.best_index_ and list(own.best_params_) == ["C", "gamma"]
    assert own.cv_results_["params"][own.best_index_] == own.best_params_
    assert own.cv_results_["mean_test_score"][own.best_index_] == own.best_score_
    assert own.cv_results_["rank_test_score"][own.best_index_] == 1
    best = own.best_estimator_
    assert type(best) is ScreenedSVC and (best.C, best.gamma) == (own.C_, own.gamma_)
    assert_array_equal(best.decision_function(X), own.decision_function(X))
    assert not hasattr(best, "scores_") and not hasattr(best, "cv_results_")


def test_a_fold_without_validation_samples_is_named():
    X, y = data("cancer")
    rows = np.arange(len(X))
    folds = [(rows[::2], rows[1::2]), (rows, rows[:0])]
    for options in ({}, {"certify": 0.1, "intercept": "penalised"}):
        with pytest.raises(ValueError, match=r"^cv\b.*fold 1"):
            ScreenedSVCCV([0.1, 1.0], cv=folds, **options).fit(X, y)


def test_a_search_knows_what_its_fit_decided():
    X, y = data("cancer")
    search = ScreenedSVCCV([0.1, 1.0], cv=2).fit(X, y)
    alone = ScreenedSVC(search.C_).fit(X, y).screened(X, y)
    for found in (search.screened(X, y), search.best_estimator_.screened(X, y)):
        assert found.C == search.C_ and np.mean(found.codes_ == alone.codes_) > 0.9
