"""Heat maps and curves of searches."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skscreen import ScreenedRTLMCV, ScreenedSVC, ScreenedSVCCV
from skscreen.inspection import SearchDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

X, y = load_wine(return_X_y=True)
CS, GAMMAS = [0.1, 1.0, 10.0], [0.001, 0.01, 0.1, 1.0]


@pytest.mark.slow
def test_the_cell_chosen_is_marked_and_named():
    search = ScreenedSVCCV(CS, gammas=GAMMAS, cv=3, refit=False).fit(scale(X), y)
    display = SearchDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.mesh_.get_array(), search.scores_.mean(axis=0))
    row, column = GAMMAS.index(search.gamma_), CS.index(search.C_)
    assert display.best_cell_.get_xy() == (column, row)
    assert display.scores[row, column] == search.best_score_
    ax = display.ax_
    title = ax.get_title(loc="left")
    assert title.startswith(f"Best: C = {search.C_:g}, gamma = {search.gamma_:g}, score 0.9")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10"]
    assert ax.get_ylabel() == "gamma of the kernel"
    again = display.plot(ax=plt.subplots()[1])
    assert again is display
    assert display.ax_ is not ax
    plt.close("all")


def test_a_grid_search_in_a_pipeline_has_the_same_map():
    grid = {"screenedsvc__C": CS[::-1], "screenedsvc__gamma": [0.1, 0.001, "scale"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), ScreenedSVC()), grid, cv=3).fit(X, y)
    display = SearchDisplay.from_estimator(search)
    assert display.parameters["gamma"] == [0.001, 0.1, "scale"]
    assert display.scores[display.best] == search.best_score_
    assert display.parameters["C"][display.best[1]] == search.best_params_["screenedsvc__C"]
    assert display.parameters["gamma"][display.best[0]] == search.best_params_["screenedsvc__gamma"]
    plt.close("all")


def test_the_end_of_the_grid_is_named():
    scores = np.array([[0.5, 0.6, np.nan], [0.6, 0.7, 0.9]])
    values = {"C": np.array(CS), "gamma": [0.1, 1.0]}
    display = SearchDisplay(parameters=values, scores=scores, best=(1, 2)).plot()
    assert "The grid ends there: try larger C and larger gamma" in display.ax_.get_title("left")
    plt.close("all")


@pytest.mark.parametrize(
    "search, name, values",
    [
        (ScreenedSVCCV(CS, cv=3), "C", CS),
        (ScreenedSVCCV([1.0], gammas=[0.1, "scale"], cv=3), "gamma", [0.1, "scale"]),
        (ScreenedRTLMCV([0.1, 0.3], n_neighbors=2, cv=3), "lam", None),
        (GridSearchCV(ScreenedSVC(), {"kernel": ["rbf", "linear"], "C": [1.0]}, cv=2), "kernel",
         ["linear", "rbf"]),
    ],
    ids=["SVC", "gamma", "RTLM", "names"],
)  # fmt: skip
def test_one_parameter_is_a_curve(search, name, values):
    display = SearchDisplay.from_estimator(search.fit(scale(X), y))
    assert list(display.parameters) == [name] and values in (None, display.parameters[name])
    results, (best,) = search.cv_results_, display.best
    assert display.parameters[name][best] == search.best_params_[name]
    assert display.best_point_.get_ydata() == display.scores[best] == search.best_score_
    np.testing.assert_array_equal(
        np.sort(display.line_.get_ydata()), np.sort(results["mean_test_score"])
    )
    assert display.deviations[best] == results["std_test_score"][search.best_index_]
    assert display.ax_.get_title("left").startswith(f"Best: {name} = ")
    plt.close("all")


def test_two_parameters_of_other_names():
    search = ScreenedRTLMCV([0.1, 0.3], n_neighbors=[1, 2], cv=3).fit(scale(X), y)
    display = SearchDisplay.from_estimator(search)
    assert list(display.parameters) == ["lam", "n_neighbors"]
    np.testing.assert_array_equal(display.scores[:, ::-1], search.scores_.mean(axis=0))
    plt.close("all")


@pytest.mark.parametrize(
    "search",
    [
        ScreenedSVC().fit(X, y),
        GridSearchCV(
            ScreenedSVC(), {"C": [1.0, 2.0], "gamma": [0.1, 0.2], "degree": [2, 3]}, cv=2
        ).fit(scale(X), y),
        GridSearchCV(ScreenedSVC(), {"class_weight": [None, {0: 2.0}]}, cv=2).fit(scale(X), y),
    ],
)
def test_other_searches_are_refused(search):
    with pytest.raises(ValueError, match=r"^estimator\b"):
        SearchDisplay.from_estimator(search)


def test_several_scores_are_refused():
    grid = {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}
    search = GridSearchCV(
        ScreenedSVC(), grid, cv=2, scoring=["accuracy", "balanced_accuracy"], refit="accuracy"
    )
    with pytest.raises(ValueError, match="one score"):
        SearchDisplay.from_estimator(search.fit(scale(X), y))


def test_a_certified_search_is_told_its_display():
    X, y = load_wine(return_X_y=True)
    model = ScreenedSVCCV(
        [0.1, 1.0], cv=2, certify=0.2, intercept="penalised", multi_class="ovr"
    ).fit(scale(X), y)
    with pytest.raises(ValueError, match=r"^estimator\b"):
        SearchDisplay.from_estimator(model)
