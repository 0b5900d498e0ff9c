import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from skscreen import OrdinalEmbedding, next_queries, read_answers
from skscreen.embedding.tools.queries import STRATEGIES

POINTS = np.random.default_rng(0).normal(size=(15, 2))
ROWS = triplets_of(POINTS, 300, 1, noise=0.1)
MODEL = OrdinalEmbedding(2, random_state=0).fit(ROWS)
strategies = pytest.mark.parametrize("strategy", STRATEGIES)


@pytest.mark.slow
@strategies
def test_questions_are_different_and_about_three_objects(strategy):
    asked = next_queries(MODEL, 40, strategy, random_state=0)
    assert asked.shape == (40, 3)
    assert len({(i, *sorted((j, k))) for i, j, k in asked.tolist()}) == 40
    assert all(len(set(row)) == 3 for row in asked.tolist())
    assert_array_equal(asked, next_queries(MODEL, 40, strategy, random_state=0))
    assert not np.array_equal(asked, next_queries(MODEL, 40, strategy, random_state=1))


@pytest.mark.slow
@strategies
def test_only_candidates_about_the_wanted_objects(strategy):
    candidates = ROWS[:60]
    wanted = candidates[np.isin(candidates[:, 0], [3, 5])]
    allowed = {(i, *sorted((j, k))) for i, j, k in wanted.tolist()}
    asked = next_queries(
        MODEL, len(allowed), strategy, candidates=candidates, heads=[3, 5], random_state=0
    )
    assert set(map(tuple, asked.tolist())) == allowed
    with pytest.raises(ValueError, match="n must be at most"):
        next_queries(MODEL, 61, strategy, candidates=candidates)


def test_what_is_certain_is_not_asked():
    """Objects at a point and one far away: who is nearer to whom is known."""
    points = np.random.default_rng(1).normal(size=(12, 2))
    points[:3] *= 0.1
    points[11] = 12.0
    model = OrdinalEmbedding(2, random_state=0).fit(triplets_of(points, 1500, 1, noise=0.05))
    clear = [(i, j, 11) for i in range(3) for j in range(3) if i != j]
    near = triplets_of(points[3:11], 100, 3)[:40] + 3
    candidates = np.concatenate([np.array(clear), near])
    for strategy in STRATEGIES[:2]:
        asked = next_queries(model, 10, strategy, candidates=candidates, random_state=0)
        assert np.mean((asked == 11).any(axis=1)) < 0.2


def test_new_objects_and_names():
    names = np.array([f"dish {k:02d}" for k in range(16)])
    model = OrdinalEmbedding(2, random_state=0).fit(read_answers(names[ROWS], objects=names))
    asked = next_queries(model, 8, heads=["dish 15"], random_state=0)
    assert set(asked[:, 0]) == {"dish 15"}
    assert set(asked.ravel()) <= set(names)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="strategy must be one of"):
        next_queries(MODEL, 3, "best")
    with pytest.raises(ValueError, match="strategy must be one of"):
        next_queries(MODEL, 3, np.array(["random", "information"]))
    with pytest.raises(ValueError, match="n == 0"):
        next_queries(MODEL, 0)
    with pytest.raises(ValueError, match="n_samples == 1"):
        next_queries(MODEL, 3, n_samples=1)
    with pytest.raises(ValueError, match="heads must be"):
        next_queries(MODEL, 3, heads=[])
    with pytest.raises(ValueError, match="candidates must be objects of the fit"):
        next_queries(MODEL, 3, candidates=[[0, 1, 99]])
    with pytest.raises(NotFittedError):
        next_queries(OrdinalEmbedding(), 3)
