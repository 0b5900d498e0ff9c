import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skscreen import OrdinalEmbedding, next_queries, read_answers

POINTS = np.random.default_rng(0).normal(size=(15, 2))
ROWS = triplets_of(POINTS, 300, 1, noise=0.1)
MODEL = OrdinalEmbedding(2, random_state=0).fit(ROWS)


def test_questions_are_different_and_about_three_objects():
    asked = next_queries(MODEL, 40, random_state=0)
    assert asked.shape == (40, 3)
    assert len({(i, *sorted((j, k))) for i, j, k in asked.tolist()}) == 40
    assert all(len(set(row)) == 3 for row in asked.tolist())
    assert_array_equal(asked, next_queries(MODEL, 40, random_state=0))
    assert not np.array_equal(asked, next_queries(MODEL, 40, random_state=1))


def test_only_candidates_about_the_wanted_objects():
    candidates = ROWS[:60]
    wanted = candidates[np.isin(candidates[:, 0], [3, 5])]
    allowed = {(i, *sorted((j, k))) for i, j, k in wanted.tolist()}
    asked = next_queries(MODEL, len(allowed), candidates=candidates, heads=[3, 5], random_state=0)
    assert set(map(tuple, asked.tolist())) == allowed
    with pytest.raises(ValueError, match=r"^n\b"):
        next_queries(MODEL, 61, candidates=candidates)


def test_new_objects_and_names():
    names = np.array([f"dish {k:02d}" for k in range(16)])
    model = OrdinalEmbedding(2, random_state=0).fit(read_answers(names[ROWS], objects=names))
    asked = next_queries(model, 8, heads=["dish 15"], random_state=0)
    assert set(asked[:, 0]) == {"dish 15"}
    assert set(asked.ravel()) <= set(names)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="n == 0"):
        next_queries(MODEL, 0)
    with pytest.raises(ValueError, match=r"^heads\b"):
        next_queries(MODEL, 3, heads=[])
    with pytest.raises(ValueError, match=r"^candidates\b"):
        next_queries(MODEL, 3, candidates=[[0, 1, 99]])
    with pytest.raises(NotFittedError):
        next_queries(OrdinalEmbedding(), 3)
