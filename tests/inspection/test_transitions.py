import matplotlib.pyplot as plt
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skscreen import ChainCRF, SequenceTransformer
from skscreen.inspection import TransitionDisplay

WORDS = [["the", "cat", "ran"], ["a", "dog", "sat"]]
X, Y = [[{"w": word} for word in sentence] for sentence in WORDS], [["D", "N", "V"]] * 2
MODEL = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF())


def test_a_heat_map_of_transitions():
    model = MODEL.fit(X, Y)
    display = TransitionDisplay.from_estimator(model)
    assert_array_equal(display.image_.get_array(), model[-1].transition_)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["D", "N", "V"]
    figure, ax = plt.subplots()
    again = TransitionDisplay.from_estimator(model[-1], ax=ax)
    assert again.ax_ is ax and again.figure_ is figure
    plt.close("all")


def test_what_has_no_transitions():
    with pytest.raises(NotFittedError):
        TransitionDisplay.from_estimator(ChainCRF())
    with pytest.raises(ValueError, match=r"^estimator\b"):
        TransitionDisplay.from_estimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
