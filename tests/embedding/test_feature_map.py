import numpy as np
import pandas as pd
import pytest
from embedding_reference import share_right, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from skscreen import OrdinalEmbedding, read_answers
from skscreen.metrics import procrustes_distance

POINTS = np.random.default_rng(0).normal(size=(30, 2))
T = triplets_of(POINTS, 1500, 1)
UNSEEN = triplets_of(POINTS, 2000, 2)


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


def test_new_objects_are_mapped_by_their_features():
    features = np.hstack([POINTS @ [[1.0, 2.0], [-1.0, 1.0]], POINTS**2])
    rows = triplets_of(POINTS[:25], 1500, 5)
    fitted = model().fit(rows).fit_features(features[:25])
    mapped = fitted.map_features(features)
    assert mapped.shape == (30, 2)
    assert procrustes_distance(POINTS[:25], mapped[:25]) < 0.1
    new = UNSEEN[(UNSEEN >= 25).any(axis=1)]
    assert share_right(mapped, new) > 0.8


def test_features_of_objects_without_answers_are_not_learned_from():
    answers = read_answers(T, objects=range(31))
    near, far = (
        model().fit(answers).fit_features(np.vstack([POINTS, stranger])).map_features(POINTS)
        for stranger in ([[0.0, 0.0]], [[1e6, -1e6]])
    )
    assert_array_equal(near, far)
    with pytest.raises(ValueError, match=r"^F\b"):
        model().fit(T).fit_features(POINTS[:5])
    with pytest.raises(ValueError, match=r"^alpha\b"):
        model().fit(T).fit_features(POINTS, alpha=0)
    with pytest.raises(ValueError, match=r"^F\b"):
        model().fit(T).fit_features(POINTS).map_features(POINTS[:, :1])
    with pytest.raises(NotFittedError, match="fit_features"):
        model().fit(T).map_features(POINTS)


def test_new_points_have_no_map_yet():
    """The map of features led to the points before."""
    fitted = model(max_iter=3).fit(T)
    fitted.fit_features(np.random.default_rng(0).normal(size=(len(fitted.embedding_), 2)))
    fitted.fit(T)
    with pytest.raises(NotFittedError, match=r"\bfit_features\b"):
        fitted.map_features(np.zeros((2, 2)))


def test_features_in_frames_go_by_the_names_of_objects():
    names = np.array([f"o{k}" for k in range(30)])
    frame = pd.DataFrame(POINTS, index=names, columns=["x", "y"])
    fitted = model(max_iter=3).fit(names[T])
    expected = fitted.fit_features(frame.loc[fitted.objects_]).map_features(frame)
    assert_array_equal(fitted.fit_features(frame).map_features(frame), expected)


def test_features_of_any_size():
    fitted = model(max_iter=3).fit(T)
    F = np.random.default_rng(0).normal(size=(len(fitted.embedding_), 2))
    for size in (0.0, 1e-200, 1e100):
        assert np.isfinite(fitted.fit_features(size * F).map_features(size * F)).all()
    with pytest.raises(ValueError, match=r"^F\b"):
        fitted.fit_features(1e200 * F)


@pytest.mark.parametrize(("shift", "size"), [(1e8, 1.0), (0.0, 1e-170), (0.0, 1e100)])
def test_the_map_of_features_wherever_they_are(shift, size):
    fitted = model().fit(T)
    expected = fitted.fit_features(POINTS).map_features(POINTS)
    F = size * (POINTS + shift)
    assert_allclose(fitted.fit_features(F).map_features(F), expected, atol=1e-6)
    with_gamma = fitted.fit_features(POINTS, gamma=0.5).map_features(POINTS)
    assert_allclose(
        fitted.fit_features(4.0 * POINTS + 9.0, gamma=0.5 / 16.0).map_features(4.0 * POINTS + 9.0),
        with_gamma,
        atol=1e-12,
    )


def test_names_of_features_are_those_of_the_map():
    features = pd.DataFrame(POINTS, columns=list("ab"))
    fitted = model().fit(T).fit_features(features)
    assert fitted.map_features(features).shape == (30, 2)
    with pytest.raises(ValueError, match="feature names"):
        fitted.map_features(features[["b", "a"]])


def test_features_by_name_are_those_of_all_objects():
    fitted = model().fit(T)
    features = pd.DataFrame(POINTS)
    for index in ([5, *range(1, 30)], [40, *range(1, 30)]):
        with pytest.raises(ValueError, match=r"^F\b"):
            fitted.fit_features(features.set_axis(index))
    more = pd.concat([features[::-1], features[:1].set_axis([30])])
    expected = fitted.fit_features(POINTS).map_features(POINTS)
    assert_allclose(fitted.fit_features(more).map_features(POINTS), expected)
