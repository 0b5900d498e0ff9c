import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM
from skscreen.inspection import LearnedSpaceDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

X, y = load_wine(return_X_y=True)
X = scale(X)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def learned(components):
    model = ScreenedRTLM()
    model.components_ = np.asarray(components)
    return model


def test_samples_before_and_after():
    model = ScreenedRTLM().fit(X, y)
    display = LearnedSpaceDisplay.from_estimator(model, X, y)
    assert_allclose(display.after, model.transform(X)[:, :2], atol=1e-12)
    # Principal directions: uncorrelated, the widest first.
    assert_allclose(display.before[:, 0] @ display.before[:, 1], 0.0, atol=1e-9)
    assert display.before[:, 0].var() > display.before[:, 1].var() > X.var(axis=0).max()
    assert [len(part) for part in display.scatters_] == [3, 3]
    assert display.axes_[0].get_title(loc="left") == "before"
    fig, axes = plt.subplots(1, 2)
    assert display.plot(ax=axes).figure_ is fig


@pytest.mark.parametrize("rank", [1, 2, 13])
def test_the_ellipse_is_at_one_learned_distance(rank):
    rng = np.random.default_rng(0)
    model = learned(rng.normal(size=(rank, 13)))
    display = LearnedSpaceDisplay.from_estimator(model, X)
    directions = np.linalg.svd(X, full_matrices=False)[2][:2]
    distances = np.linalg.norm(display.ellipse @ directions @ model.components_.T, axis=1)
    mean_square = np.mean(np.sum((display.before @ directions @ model.components_.T) ** 2, axis=1))
    if rank > 1:
        assert_allclose(distances, np.sqrt(mean_square), rtol=1e-9)
    else:
        # Two lines, as far as anybody sees: the ends of the ellipse are far away.
        reach = np.linalg.norm(display.ellipse, axis=1)
        inner = reach < 0.1 * reach.max()
        assert inner.sum() > 5
        assert_allclose(distances[inner], np.sqrt(mean_square), rtol=1e-2)
    assert distances.max() == pytest.approx(np.sqrt(mean_square))
    assert_array_equal(display.ellipse_.get_xydata(), display.ellipse)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_classes_are_refused(missing):
    classes = [missing, *y[1:]]
    with pytest.raises((TypeError, ValueError), match=r"\by\b"):
        LearnedSpaceDisplay.from_estimator(learned(np.eye(13)), X, classes)


def test_one_feature_and_no_metric():
    display = LearnedSpaceDisplay.from_estimator(learned([[2.0]]), X[:, :1], y)
    assert np.all(display.after[:, 1] == 0.0) and np.all(display.before[:, 1] == 0.0)
    display = LearnedSpaceDisplay.from_estimator(learned(np.zeros((1, 13))), X)
    assert np.all(display.after == 0.0) and np.all(np.isfinite(display.ellipse))


def test_wrong_arguments_are_named():
    with pytest.raises(NotFittedError):
        LearnedSpaceDisplay.from_estimator(ScreenedRTLM(), X)
    with pytest.raises(ValueError, match=r"^estimator\b"):
        LearnedSpaceDisplay.from_estimator(make_pipeline(ScreenedRTLM()).fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"^X\b"):
        LearnedSpaceDisplay.from_estimator(learned(np.eye(13)), X[:, :2])
    with pytest.raises(ValueError, match=r"^y\b"):
        LearnedSpaceDisplay.from_estimator(learned(np.eye(13)), X, y[:3])


def test_long_names_of_classes_leave_room_for_the_axes():
    names = np.array([f"a class with a rather long name {i}" for i in range(10)])
    display = LearnedSpaceDisplay.from_estimator(
        learned(np.eye(13)), X, names[np.arange(len(X)) % 10]
    )
    display.figure_.draw_without_rendering()
    legend = display.axes_[0].get_legend()
    assert legend.get_window_extent().width < display.axes_[0].bbox.width
    assert all(ax.bbox.width > 0.35 * display.figure_.bbox.width for ax in display.axes_)


def test_features_in_another_order_are_refused():
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(13)])
    model = ScreenedRTLM().fit(frame, y)
    LearnedSpaceDisplay.from_estimator(model, frame, y)
    with pytest.raises(ValueError, match="same order"):
        LearnedSpaceDisplay.from_estimator(model, frame[frame.columns[::-1]], y)


def test_targets_of_a_regression_and_axes_that_are_none_are_named():
    model = learned(np.eye(13))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        LearnedSpaceDisplay.from_estimator(model, X, X[:, 0])
    with pytest.raises(TypeError, match=r"^`ax`"):
        LearnedSpaceDisplay.from_estimator(model, X, y, ax=[1, 2])
