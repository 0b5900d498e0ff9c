"""Formats of what an embedding says, as cblearn has them."""

import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_array_equal
from sklearn.model_selection import cross_val_score

from skscreen import OrdinalEmbedding, read_answers
from skscreen.preprocessing import triplets_from_tensor

POINTS = np.random.default_rng(0).normal(size=(20, 2))
T = triplets_of(POINTS, 800, 1)
TURNED = np.arange(800) % 3 == 0
ASKED = np.where(TURNED[:, None], T[:, [0, 2, 1]], T)
WORDS = np.array([f"word {k:02d}" for k in range(20)])


@pytest.fixture(scope="module")
def fitted():
    return OrdinalEmbedding(random_state=0).fit(T)


def test_the_formats_say_the_same(fitted):
    signs = fitted.predict(ASKED)
    assert_array_equal(fitted.predict(ASKED, "list-count"), signs)
    assert_array_equal(fitted.predict(ASKED, result_format="list-boolean"), signs == 1)
    order = fitted.predict(ASKED, result_format="list-order")
    assert_array_equal(fitted.predict(order), 1)
    assert_array_equal(np.sort(order, axis=1), np.sort(ASKED, axis=1))
    tensor = fitted.predict(ASKED, result_format="tensor-count")
    assert tensor.shape == (20, 400) and np.abs(tensor).sum() == 800
    assert fitted.score(triplets_from_tensor(tensor)) == 1.0
    Q = read_answers(ASKED[:, [0, 1, 0, 2]], kind="quadruplets")
    assert_array_equal(fitted.predict(Q, "list-order")[:, [0, 1, 3]], order)


def test_a_tie_is_no_agreement_in_a_format(fitted):
    assert fitted.predict([[0, 1, 50]], "list-count") == -1
    assert not fitted.predict([[0, 1, 50]], "list-boolean")


def test_rows_in_order_have_the_names_of_the_fit(fitted):
    named = OrdinalEmbedding(random_state=0).fit(WORDS[T])
    assert_array_equal(
        named.predict(WORDS[ASKED], "list-order"), WORDS[fitted.predict(ASKED, "list-order")]
    )


def test_wrong_formats_are_named(fitted):
    for wrong in ("list", 3, "list-order-count"):
        with pytest.raises(ValueError, match=r"^result_format\b"):
            fitted.predict(T, wrong)
    with pytest.raises(ValueError, match="'tensor-count' for quadruplets"):
        fitted.predict(read_answers(T[:, [0, 1, 0, 2]], kind="quadruplets"), "tensor-count")
    with pytest.raises(ValueError, match=r"^X\b"):
        fitted.predict([[0, 1, 50]], "tensor-count")
    trials = read_answers(T, kind="oddoneout", chosen=2)
    odd = OrdinalEmbedding(loss="oddoneout", random_state=0).fit(trials)
    assert set(odd.predict(trials, "list-boolean")) == {True, False}
    with pytest.raises(ValueError, match=r"^result_format\b"):
        odd.predict(trials, "list-order")


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_scorers_of_a_cross_validation(scoring):
    """With responses both are the share of agreement."""
    model = OrdinalEmbedding(random_state=0)
    y = np.where(TURNED, -1, 1)
    scores = cross_val_score(model, ASKED, y, cv=3, scoring=scoring, error_score="raise")
    assert_array_equal(scores, cross_val_score(model, ASKED, y, cv=3))
    assert scores.min() > 0.9


def test_the_start_may_be_given_by_position():
    start = np.random.default_rng(0).normal(size=(20, 2))
    by_position = OrdinalEmbedding(random_state=0).fit(T, None, start)
    by_name = OrdinalEmbedding(random_state=0).fit(T, init=start)
    assert_array_equal(by_position.embedding_, by_name.embedding_)
