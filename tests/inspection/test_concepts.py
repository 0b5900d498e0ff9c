from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from skscreen import ConceptEmbedding
from skscreen.inspection import ConceptDisplay
from tests.concept_cases import answer, draw_trials

rng = np.random.default_rng(0)
N = 12
TRUTH = np.repeat(3.0 * np.eye(3), 4, axis=0)
TRIALS = draw_trials(N, 3000, rng)
MODEL = ConceptEmbedding(5, l1=0.05, random_state=0).fit(TRIALS, answer(TRUTH, TRIALS, rng))
MODEL.objects_ = np.array([f"thing {k}" for k in range(N)])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_rows_hold_the_objects_with_the_most():
    display = ConceptDisplay.from_estimator(MODEL, n_objects=3)
    assert len(display.texts_) == 3
    for d, text in enumerate(display.texts_):
        names = MODEL.top_objects(3)[:, d].tolist()
        assert display.objects[d] == names and text.get_text() == ",  ".join(names)
    np.testing.assert_allclose(display.mass, MODEL.embedding_.sum(axis=0), rtol=1e-12)
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, widths[0] * display.mass / display.mass[0])
    assert len(display.discs_) == 3
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["0", "1", "2"]


def test_objects_without_a_dimension_are_not_shown():
    display = ConceptDisplay.from_estimator(MODEL, n_objects=N)
    for d, names in enumerate(display.objects):
        assert len(names) == np.sum(MODEL.embedding_[:, d] > 0.0)


def test_some_dimensions_with_names_of_their_own():
    display = ConceptDisplay.from_estimator(
        MODEL, dimensions=[2, 0], labels=["animals $", "tools"], ax=plt.subplots()[1]
    )
    assert display.objects[1] == MODEL.top_objects(8)[: len(display.objects[1]), 0].tolist()
    np.testing.assert_array_equal(display.support, MODEL.support_[[2, 0]])
    display.figure_.canvas.draw()


def test_names_that_have_no_room_are_left_out():
    display = ConceptDisplay(
        objects=[["a" * 60, "b" * 60, "c"], ["d"]], labels=["0", "1"], mass=np.array([2.0, 1.0])
    ).plot()
    assert [text.get_text() for text in display.texts_] == ["a" * 60, "d"]
    assert display.discs_ == []


def test_pictures(tmp_path):
    pictures = [np.full((4, 6, 3), k, dtype=np.uint8) for k in range(N)]
    display = ConceptDisplay.from_estimator(MODEL, images=pictures, n_objects=2)
    best = MODEL.embedding_.argmax(axis=0)
    for d, cells in enumerate(display.images_):
        assert cells[0].get_array()[0, 0, 0] == best[d] and len(cells) == 2
        left, right, bottom, top = cells[0].get_extent()
        assert (right - left) / abs(top - bottom) == pytest.approx(1.5)
    # Only those that are shown are read.
    for name in MODEL.top_objects(2).ravel():
        plt.imsave(tmp_path / f"{name}.png", np.zeros((3, 3)))
    ConceptDisplay.from_estimator(MODEL, images=tmp_path, n_objects=2)
    with pytest.raises(ValueError, match="`images`"):
        ConceptDisplay.from_estimator(MODEL, images=tmp_path, n_objects=4)
    with pytest.raises(ValueError, match=r"^`images`"):
        ConceptDisplay.from_estimator(MODEL, images=pictures[:2])


@pytest.mark.proof
def test_many_dimensions_are_readable():
    draws = np.random.default_rng(1)
    model = ConceptEmbedding()
    model.embedding_ = draws.gamma(0.1, size=(1854, 40))
    model.support_ = draws.choice([0.67, 1.0], size=40)
    model.objects_ = np.array([f"object{k}" for k in range(1854)])
    display = ConceptDisplay.from_estimator(model)
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.texts_]
    # No row reaches into the next one, or into the bars.
    assert all(a.y0 >= b.y1 for a, b in pairwise(boxes))
    assert max(box.x1 for box in boxes) < display.bars_[0].get_window_extent().x0
    assert min(text.get_fontsize() for text in display.texts_) >= 8.0


def test_wrong_arguments():
    with pytest.raises(NotFittedError):
        ConceptDisplay.from_estimator(ConceptEmbedding())
    for dimensions in ([3], [-1], [], [0.5], "all"):
        with pytest.raises(ValueError, match="`dimensions` must"):
            ConceptDisplay.from_estimator(MODEL, dimensions=dimensions)
    with pytest.raises(ValueError, match="`labels` must"):
        ConceptDisplay.from_estimator(MODEL, labels=["one"])
    with pytest.raises(ValueError, match="n_objects"):
        ConceptDisplay.from_estimator(MODEL, n_objects=0)
