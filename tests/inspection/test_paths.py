import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM, ScreenedSVC, ScreenedSVCCV, rtlm_path, svc_path
from skscreen.inspection import PathDisplay, ScreeningDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SCORES = [0.80, 0.90, 0.95, 0.95, 0.85]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def path():
    return SimpleNamespace(
        lams=np.geomspace(100.0, 0.01, 5),
        objectives=np.array([50.0, 30.0, 10.0, 4.0, 1.5]),
        dual_gaps=np.array([0.0, -1e-17, 5e-7, 9e-7, 2e-7]),
        n_iters=np.array([0, 12, 20, 31, 45]),
        path_rates=np.array([np.nan, 0.9, 0.8, 0.85, 0.7]),
        rates=np.array([1.0, 1.0, 0.97, 0.95, 0.93]),
        seconds=np.full(5, 0.01),
    )


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def assert_lambda_axis(ax):
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    assert left > right
    assert ax.get_xlabel() == "Regularisation parameter λ (log scale)"


def test_screening_display_draws_both_rates(path):
    display = ScreeningDisplay.from_path(path)

    np.testing.assert_array_equal(display.values, path.lams)
    np.testing.assert_array_equal(display.path_rates, path.path_rates)
    np.testing.assert_array_equal(display.rates, path.rates)
    assert display.figure_ is display.ax_.figure
    assert_lambda_axis(display.ax_)
    assert display.ax_.get_ylabel() == "Screening rate (% of comparisons)"
    assert display.ax_.yaxis.get_major_formatter()(0.5) == "50%"
    assert legend_texts(display.ax_) == ["path rule, at the start", "end of the solve"]
    path_line, end_line = display.lines_
    np.testing.assert_array_equal(path_line.get_ydata(), path.path_rates)
    np.testing.assert_array_equal(end_line.get_ydata(), path.rates)
    assert len(display.fills_) == 2


@pytest.mark.proof
def test_gaps_that_are_no_rounding_errors_are_in_the_panel():
    data, labels = load_wine(return_X_y=True)
    path = rtlm_path(scale(data), labels, ratio=0.8, n_neighbors=3)
    display = PathDisplay.from_path(path)
    counted = path.dual_gaps[path.dual_gaps > 1e-12]
    assert display.axes_[-1].get_ylim()[0] < counted.min()


def test_gaps_that_are_all_rounding_errors_are_in_the_panel():
    X, y = load_breast_cancer(return_X_y=True)
    display = PathDisplay.from_path(svc_path(scale(X), y, [0.01, 0.1, 1.0], tol=1e-13))
    assert display.dual_gaps.max() < 1e-12
    assert display.axes_[-1].get_ylim()[0] < display.gap_line_.get_ydata().min()


def test_screening_display_draws_decisions_for_several_values():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    found = [ScreenedSVC(C, gamma=0.1).fit(X, y).screened(X, y) for C in (1.0, 0.01, 0.1)]
    display = ScreeningDisplay.from_screenings(found)
    ordered = [found[1], found[2], found[0]]
    np.testing.assert_array_equal(display.values, [0.01, 0.1, 1.0])
    np.testing.assert_array_equal(display.rates, [one.rate_ for one in ordered])
    # A problem of two classes does not decide the samples of the third.
    parts = [one.codes_[np.isfinite(one.bounds_[..., 0])] for one in ordered]
    np.testing.assert_allclose(display.path_rates, [np.mean(codes == 1) for codes in parts])
    assert display.ax_.get_ylabel() == "Screening rate (% of samples)"
    assert legend_texts(display.ax_) == ["no loss", "all that is decided"]

    metrics = [ScreenedRTLM(lam).fit(X, y).screened(X, y) for lam in (1e-3, 1e-2)]
    display = ScreeningDisplay.from_screenings(metrics)
    assert_lambda_axis(display.ax_)
    np.testing.assert_array_equal(display.path_rates, [np.mean(m.codes_ == 1) for m in metrics])
    for wrong in ([], found[0], [*found, *metrics], svc_path(X, y == 1, Cs=[1.0])):
        with pytest.raises(TypeError, match="screen_samples"):
            ScreeningDisplay.from_screenings(wrong)


def test_screening_display_uses_given_axes_and_draws_again(path):
    _, (first, second) = plt.subplots(1, 2)
    display = ScreeningDisplay.from_path(path, ax=first)
    assert display.ax_ is first
    assert display.plot(ax=second) is display
    assert display.ax_ is second
    assert len(plt.get_fignums()) == 1


def test_drawing_twice_on_the_same_axes_keeps_the_direction(path):
    display = ScreeningDisplay.from_path(path)
    display.plot(ax=display.ax_)
    assert_lambda_axis(display.ax_)


def test_path_display_draws_objective_and_gap(path):
    display = PathDisplay.from_path(path)

    assert display.axes_.shape == (2,)
    objective_ax, gap_ax = display.axes_
    assert objective_ax.get_ylabel() == "Primal objective"
    assert gap_ax.get_ylabel() == "Relative duality gap"
    assert objective_ax.get_yscale() == gap_ax.get_yscale() == "log"
    assert_lambda_axis(gap_ax)
    assert objective_ax.get_xlabel() == ""
    assert objective_ax.get_xlim() == gap_ax.get_xlim()
    np.testing.assert_array_equal(display.objective_line_.get_ydata(), path.objectives)
    # Stored as they are, drawn where a logarithmic axis can show them.
    np.testing.assert_array_equal(display.dual_gaps, path.dual_gaps)
    drawn = display.gap_line_.get_ydata()
    assert np.all(drawn > 0)
    np.testing.assert_array_equal(drawn[2:], path.dual_gaps[2:])
    assert 5e-13 < gap_ax.get_ylim()[0] < drawn[drawn > 1e-12].min()
    assert display.tol_line_ is display.score_line_ is display.baseline_line_ is None
    assert display.best_index_ is display.best_point_ is None
    assert gap_ax.get_legend() is None


def test_path_display_draws_tolerance_scores_and_baseline(path):
    display = PathDisplay.from_path(
        path,
        tol=1e-6,
        scores=SCORES,
        score_name="5-NN accuracy",
        baseline=0.875,
        baseline_name="Euclidean",
    )

    assert display.axes_.shape == (3,)
    _, gap_ax, score_ax = display.axes_
    assert set(display.tol_line_.get_ydata()) == {1e-6}
    assert legend_texts(gap_ax) == ["tolerance 1e-06"]
    assert score_ax.get_ylabel() == "5-NN accuracy"
    assert_lambda_axis(score_ax)
    np.testing.assert_array_equal(display.scores, SCORES)
    np.testing.assert_array_equal(display.score_line_.get_ydata(), SCORES)
    assert set(display.baseline_line_.get_ydata()) == {0.875}
    # Of two equal scores the larger λ, the simpler model, is the best.
    assert display.best_index_ == 2
    assert display.best_point_.get_xdata()[0] == path.lams[2]
    assert display.best_point_.get_ydata()[0] == 0.95
    assert legend_texts(score_ax) == ["Euclidean (0.875)", "best (0.95 at λ = 1)"]


def test_path_display_ignores_missing_scores(path):
    display = PathDisplay.from_path(path, scores=[np.nan, 0.5, 0.7, 0.6, np.nan])
    assert display.best_index_ == 2


def test_path_display_shows_objectives_that_are_not_positive(path):
    path.objectives = path.objectives - 20.0
    assert PathDisplay.from_path(path).axes_[0].get_yscale() == "linear"


def test_path_display_uses_given_axes(path):
    figure, axes = plt.subplots(3)
    display = PathDisplay.from_path(path, scores=SCORES, ax=axes)
    assert display.figure_ is figure
    assert list(display.axes_) == list(axes)
    # These axes do not share x, and still run the same way.
    assert len({panel.get_xlim() for panel in axes}) == 1
    with pytest.raises(ValueError, match=r"^`ax`"):
        display.plot(ax=axes[:2])


@pytest.mark.slow
def test_a_path_of_one_point_is_visible(path):
    one = SimpleNamespace(**{name: values[:1] for name, values in vars(path).items()})
    for display in [ScreeningDisplay.from_path(one), PathDisplay.from_path(one, scores=[0.5])]:
        display.figure_.canvas.draw()
    assert display.objective_line_.get_marker() == "o"


def test_lengths_are_checked(path):
    with pytest.raises(ValueError, match=r"^`scores`"):
        PathDisplay.from_path(path, scores=SCORES[:3])
    path.rates = path.rates[:4]
    with pytest.raises(ValueError, match=r"^`path\.rates`"):
        ScreeningDisplay.from_path(path)


def test_baseline_without_scores_is_an_error(path):
    with pytest.raises(ValueError, match=r"^`baseline`"):
        PathDisplay.from_path(path, baseline=0.9)


@pytest.mark.parametrize("display", [ScreeningDisplay, PathDisplay])
def test_missing_matplotlib_says_how_to_install_it(path, display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf"^{display.__name__}\b.*matplotlib"):
        display.from_path(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": "small"}, "^`tol`"),
        ({"tol": 0.0}, "^`tol`"),
        ({"scores": SCORES, "baseline": np.nan}, "^`baseline`"),
        ({"scores": ["a"] * 5}, "^`scores`"),
        ({"scores": [np.nan] * 5}, "^`scores`"),
        ({"scores": [np.inf] * 5}, "^`scores`"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(path, options, message):
    with pytest.raises(ValueError, match=message):
        PathDisplay.from_path(path, **options)
    assert not plt.get_fignums()


def test_gaps_have_no_holes(path):
    path.dual_gaps[1] = np.nan
    with pytest.raises(ValueError, match=r"^`path\.dual_gaps`"):
        PathDisplay.from_path(path)


@pytest.mark.parametrize("display", [ScreeningDisplay, PathDisplay])
def test_what_is_no_path(display):
    with pytest.raises(TypeError, match=r"^`path`"):
        display.from_path(3)


def test_an_l1_penalty_screens_features():
    data, labels = load_wine(return_X_y=True)
    path = svc_path(scale(data), labels == 1, [0.01, 0.1], penalty="l1")
    assert ScreeningDisplay.from_path(path).ax_.get_ylabel() == "Screening rate (% of features)"
    path = svc_path(scale(data), labels == 1, [0.01, 0.1])
    assert ScreeningDisplay.from_path(path).ax_.get_ylabel() == "Screening rate (% of samples)"


@pytest.mark.parametrize("display", [PathDisplay, ScreeningDisplay])
def test_a_search_is_no_path(display):
    X, y = load_iris(return_X_y=True)
    search = ScreenedSVCCV([0.1, 1.0], cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"^`path`"):
        display.from_path(search)
