"""Choices of C, epsilon and gamma by cross-validation, against scikit-learn's search."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.preprocessing import scale

from skscreen import ScreenedSVR, ScreenedSVRCV

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:120, :5], scale(y)[:120]
WEIGHTS = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 120)
CS, EPSILONS, GAMMAS = [0.1, 1.0, 10.0], [0.5, 0.0, 0.1], [0.3, 0.05]


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_scores_are_those_of_a_grid_search(loss):
    fixed = {"tol": 1e-9, "loss": loss}
    model = ScreenedSVRCV(CS, epsilons=EPSILONS, gammas=GAMMAS, cv=3, **fixed).fit(X, y)
    grid = {"gamma": sorted(GAMMAS), "epsilon": sorted(EPSILONS), "C": CS}
    search = GridSearchCV(ScreenedSVR(**fixed), grid, cv=3).fit(X, y)
    assert model.scores_.shape == (3, 2, 3, 3)
    for found in search.cv_results_["params"]:
        place = tuple(sorted(values).index(found[name]) for name, values in grid.items())
        means = search.cv_results_["mean_test_score"]
        wanted = means[search.cv_results_["params"].index(found)]
        assert model.scores_.mean(axis=0)[place] == pytest.approx(wanted, abs=1e-5)
    chosen = {"gamma": model.gamma_, "epsilon": model.epsilon_, "C": model.C_}
    assert chosen == search.best_params_
    assert model.best_score_ == pytest.approx(search.best_score_, abs=1e-5)
    np.testing.assert_allclose(model.predict(X), search.predict(X), atol=1e-4)


def test_axes_are_those_of_what_is_given():
    model = ScreenedSVRCV(CS, cv=2).fit(X, y)
    assert model.scores_.shape == (2, 3) and not hasattr(model, "epsilon_")
    model = ScreenedSVRCV(CS, epsilons=[0.1], cv=2, refit=False).fit(X, y)
    assert model.scores_.shape == (2, 1, 3) and model.epsilon_ == 0.1
    assert not hasattr(model, "gamma_") and not hasattr(model, "dual_coef_")
    model = ScreenedSVRCV(2, gammas=["scale", 0.1], cv=2).fit(X, y)
    assert model.scores_.shape == (2, 2, 2) and model.gamma_ in model.gammas_


def test_weights_groups_and_scores():
    groups = np.arange(120) % 4
    options = {"epsilons": [0.1, 0.3], "scoring": "neg_mean_absolute_error"}
    model = ScreenedSVRCV(CS, cv=GroupKFold(4), **options).fit(X, y, WEIGHTS, groups=groups)
    assert model.scores_.shape == (4, 2, 3) and (model.scores_ < 0.0).all()
    train, test = next(GroupKFold(4).split(X, y, groups))
    alone = ScreenedSVR(0.1, epsilon=0.1).fit(X[train], y[train], WEIGHTS[train])
    wanted = -np.average(np.abs(alone.predict(X[test]) - y[test]), weights=WEIGHTS[test])
    assert model.scores_[0, 0, 0] == pytest.approx(wanted, abs=1e-4)
    assert model.n_iter_ >= 1 and set(model.support_) <= set(np.flatnonzero(WEIGHTS))


def test_a_kernel_matrix_is_cut_along_both_axes():
    K = rbf_kernel(X, gamma=0.1)
    model = ScreenedSVRCV(CS, kernel="precomputed", cv=KFold(3)).fit(K, y)
    other = ScreenedSVRCV(CS, gamma=0.1, cv=KFold(3)).fit(X, y)
    np.testing.assert_allclose(model.scores_, other.scores_, atol=1e-5)


def test_wrong_arguments_are_named():
    for wrong, name in (({"epsilons": [-0.1]}, "epsilons"), ({"epsilons": []}, "epsilons"),
                        ({"gammas": [0.0]}, "gammas"), ({"Cs": [0.0]}, "Cs")):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            ScreenedSVRCV(**wrong).fit(X, y)


def test_folds_of_rows_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"^cv\b"):
        ScreenedSVRCV(cv=[([0, 1, 2], [3, 9])]).fit(np.eye(4), np.arange(4.0))
