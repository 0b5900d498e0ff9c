from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skscreen.inspection import DimensionTestDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULT = SimpleNamespace(
    dimension_=2,
    dimensions_=np.array([1, 2, 4]),
    scores_=np.array([[0.6, 0.62], [0.8, 0.82], [0.79, 0.8]]),
    train_scores_=np.array([[0.7, 0.72], [0.85, 0.86], [0.9, 0.92]]),
    corrected_p_values_=np.array([0.01, 0.4]),
    alpha=0.05,
    cv=2,
)


def test_means_errors_and_stars():
    display = DimensionTestDisplay.from_result(RESULT)
    for container, scores in zip(
        display.lines_, (RESULT.scores_, RESULT.train_scores_), strict=True
    ):
        line, _, (bars,) = container.lines
        assert_allclose(line.get_xydata(), np.c_[[1, 2, 4], scores.mean(axis=1)])
        low, high = np.array(bars.get_segments())[0, :, 1]
        assert_allclose(high - low, 2 * scores[0].std(ddof=1) * np.sqrt(1.5))
    (star,) = display.stars_
    assert_allclose(star.xy, [1.5, 0.71])
    ax = display.ax_
    assert [float(tick) for tick in ax.get_xticks()] == [1, 2, 4]
    assert ax.get_xlabel() == "Dimensions of the embedding"
    again = display.plot(ax=plt.subplots()[1])
    assert again is display
    assert display.ax_ is not ax
    plt.close("all")


def test_repetitions_do_not_make_training_sets_larger():
    scores = np.hstack([RESULT.scores_, RESULT.scores_])
    repeated = SimpleNamespace(**vars(RESULT) | {"scores_": scores})
    _, _, (bars,) = DimensionTestDisplay.from_result(repeated).lines_[0].lines
    low, high = np.array(bars.get_segments())[0, :, 1]
    # Nadeau and Bengio: 1 / number of scores + test samples / training samples.
    assert_allclose(high - low, 2 * scores[0].std(ddof=1) * np.sqrt(1 / 4 + 1 / 1))
    plt.close("all")


def test_only_results_of_the_test():
    with pytest.raises(TypeError, match=r"^`result`"):
        DimensionTestDisplay.from_result({"dimension_": 2})
