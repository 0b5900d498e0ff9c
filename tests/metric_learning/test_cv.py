import pickle

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM, ScreenedRTLMCV

LAMS = [0.2, 0.05, 0.01]
X, y = load_wine(return_X_y=True)
X = scale(X)
X.setflags(write=False)
CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No metric brings the near samples")
@pytest.mark.filterwarnings("ignore:.* classes in y have a single member")
@pytest.mark.parametrize("options", [{}, {"diagonal": True}, {"n_neighbors": 2}])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_same_as_a_grid_search(scoring, options):
    model = ScreenedRTLMCV(LAMS, cv=CV, scoring=scoring, tol=1e-8, **options).fit(X, y)
    pipeline = make_pipeline(ScreenedRTLM(tol=1e-8, **options), KNeighborsClassifier())
    names = {"screenedrtlm__lam": LAMS}
    grid = GridSearchCV(pipeline, names, cv=CV, scoring=scoring).fit(X, y)
    scores = [grid.cv_results_[f"split{k}_test_score"] for k in range(3)]
    # Neighbours of one sample may change places between two solutions.
    assert_allclose(model.scores_, scores, atol=0.025)
    assert model.scores_.shape == (3, 3)
    assert_allclose(model.best_score_, model.scores_.mean(axis=0).max())
    single = ScreenedRTLM(model.best_lam_, tol=1e-8, **options).fit(X, y)
    # Two starts end at two points of that gap.
    assert_allclose(model.objective_, single.objective_, rtol=2e-8)
    M, expected = model.get_mahalanobis_matrix(), single.get_mahalanobis_matrix()
    assert_allclose(M, expected, atol=1e-3 * np.abs(expected).max())
    assert model.lam_ == single.lam_ and model.lam_max_ == single.lam_max_
    assert_allclose(model.lam_, model.best_lam_ * model.lam_max_)


@pytest.mark.slow
def test_attributes():
    model = ScreenedRTLMCV(3, cv=CV).fit(X, y)
    assert_allclose(model.lams_, np.geomspace(0.3, 1e-3, 3) * model.lam_max_)
    assert model.best_lam_ in np.geomspace(0.3, 1e-3, 3)
    assert model.dual_gap_ <= 1e-6 and model.n_triplets_ > 0
    assert model.get_feature_names_out()[0] == "screenedrtlmcv0"
    alone = ScreenedRTLM(model.best_lam_).fit(X, y).screened(X, y)
    assert model.screened(X, y).lam_ == alone.lam_
    assert np.mean(model.screened(X, y).codes_ == alone.codes_) > 0.9
    for copy in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_allclose(copy.transform(X), model.transform(X))
    once = ScreenedRTLMCV([0.1, 0.3, 0.1], cv=CV).fit(X, y)
    assert_allclose(once.lams_, np.array([0.3, 0.1]) * once.lam_max_)
    with parallel_config("threading"):
        parallel = ScreenedRTLMCV(3, cv=CV, n_jobs=2).fit(X, y)
    assert_allclose(parallel.scores_, model.scores_)


def test_classifier_groups_and_refit():
    groups = np.arange(len(y)) % 4
    model = ScreenedRTLMCV(
        LAMS, cv=GroupKFold(4), classifier=LogisticRegression(), scoring="neg_log_loss",
        refit=False,
    ).fit(X, y, groups=groups)  # fmt: skip
    assert model.scores_.shape == (4, 3) and np.all(model.scores_ < 0.0)
    with pytest.raises(NotFittedError, match="refit=False"):
        model.transform(X)


def test_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X[::3]), y[::3]
    pipeline = make_pipeline(ScreenedRTLMCV(2, cv=2), KNeighborsClassifier())
    assert pipeline.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


def test_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match=r"tol=0\.01") as record:
        ScreenedRTLMCV([1e-3], cv=CV, max_iter=2, refit=False).fit(X, y)
    assert record[0].filename == __file__


def test_progress(capsys):
    ScreenedRTLMCV([0.1], cv=CV, verbose=1).fit(X, y)
    assert "3 of 3 folds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": []}, r"^lams\b"),
        ({"lams": [0.1, -0.1]}, r"^lams\b"),
        ({"lams": "many"}, "'lams'"),
        ({"lams": 0}, "'lams' parameter"),
        ({"classifier": 3}, "'classifier' parameter"),
        ({"scoring": "speed"}, "'scoring' parameter"),
        ({"bound": "none"}, "'bound' parameter"),
        ({"bound": ["none"]}, r"^bound\b"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        ScreenedRTLMCV(**options).fit(X, y)


def test_the_refit_starts_from_a_fold():
    model = ScreenedRTLMCV(lams=[0.1, 0.03, 0.01]).fit(X, y)
    cold = ScreenedRTLM(model.best_lam_).fit(X, y)
    assert model.n_iter_ < cold.n_iter_
    assert abs(model.objective_ - cold.objective_) <= 2e-6 * cold.objective_


def test_a_search_without_refit_keeps_nothing_of_an_old_fit():
    X, y = load_wine(return_X_y=True)
    search = ScreenedRTLMCV([0.1, 0.3], cv=3).fit(scale(X), y)
    search.set_params(refit=False).fit(scale(X), y)
    assert not hasattr(search, "components_") and not hasattr(search, "dual_gap_")


def test_the_warning_of_the_refit_points_at_the_call():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        ScreenedRTLMCV([0.01], cv=2, max_iter=1).fit(scale(X), y)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.slow
def test_the_number_of_neighbours_is_chosen_too():
    counts = [2, None, 5]
    model = ScreenedRTLMCV(LAMS, cv=CV, n_neighbors=counts).fit(X, y)
    assert model.scores_.shape == (3, 3, 3)
    singles = [ScreenedRTLMCV(LAMS, cv=CV, n_neighbors=count).fit(X, y) for count in counts]
    assert_allclose(model.scores_, np.stack([one.scores_ for one in singles], axis=1), atol=0.02)
    best = singles[counts.index(model.best_n_neighbors_)]
    assert model.best_score_ == pytest.approx(max(one.best_score_ for one in singles), abs=0.01)
    assert model.n_triplets_ == best.n_triplets_
    assert singles[0].best_n_neighbors_ == 2
    for wrong in ([], [0], [2.5], ["all"]):
        with pytest.raises(ValueError, match="n_neighbors must"):
            ScreenedRTLMCV(LAMS, n_neighbors=wrong).fit(X, y)


def test_the_fold_is_named_where_none_can_be_learned_from():
    alone = np.unique(y, return_index=True)[1]
    with pytest.raises(ValueError, match=r"\bcv\b.*Fold 0"):
        ScreenedRTLMCV(LAMS, cv=[(alone, np.arange(9))]).fit(X, y)
    with pytest.raises(ValueError, match=r"\bn_neighbors\b"):
        ScreenedRTLMCV(LAMS, cv=[(np.arange(5) * 30, np.arange(9))]).fit(X, y)
