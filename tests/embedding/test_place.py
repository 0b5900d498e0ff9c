"""New objects from answers alone."""

import numpy as np
import pytest
from embedding_reference import share_right, trials_of, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skscreen import OrdinalEmbedding, read_answers
from skscreen.embedding.tools import place
from skscreen.metrics import procrustes_distance

N_OLD, N = 30, 34
POINTS = np.random.default_rng(5).normal(size=(N, 2))
ROWS = triplets_of(POINTS, 3000, 1)
NEW = (ROWS >= N_OLD).any(axis=1)
OLD_ROWS, NEW_ROWS = ROWS[~NEW], ROWS[NEW][:400]
UNSEEN = triplets_of(POINTS, 4000, 2)
UNSEEN = UNSEEN[(UNSEEN >= N_OLD).any(axis=1)]
NAMES = np.array([f"{(5 * k) % N:02d} name" for k in range(N)])


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


@pytest.mark.parametrize("loss", ["soe", "ste", "tste", "gnmds", "ckl"])
def test_new_points_are_where_the_answers_say(loss):
    fitted = model(loss=loss).fit(OLD_ROWS)
    before = fitted.embedding_.copy()
    placed = fitted.place(NEW_ROWS)
    assert placed.shape == (N - N_OLD, 2)
    assert_array_equal(fitted.embedding_, before)
    both = np.vstack([before, placed])
    assert share_right(both, UNSEEN) > 0.9
    assert procrustes_distance(POINTS, both) < 0.05
    assert_array_equal(placed, fitted.place(NEW_ROWS))


def test_no_other_place_of_a_new_object_is_better():
    """A grid over the plane, for one object, against the objective written down."""
    rows = ROWS[(ROWS == N_OLD).any(axis=1) & (ROWS <= N_OLD).all(axis=1)][:60]
    fitted = model(loss="ste", tol=1e-8).fit(OLD_ROWS)
    placed = fitted.place(rows)

    def objective(point):
        Z = np.vstack([fitted.embedding_, point])
        i, j, k = rows.T
        z = ((Z[i] - Z[j]) ** 2).sum(axis=1) - ((Z[i] - Z[k]) ** 2).sum(axis=1)
        return np.mean(np.logaddexp(0.0, z)) + fitted.reg_ / 3.0 * np.sum(np.square(point))

    spread = 1.5 * np.abs(fitted.embedding_).max()
    axis = np.linspace(-spread, spread, 60)
    best = min(objective(np.array([[x, y]])) for x in axis for y in axis)
    assert objective(placed) <= best * (1.0 + 1e-9)


def test_objects_by_name_come_in_sorted_order():
    fitted = model().fit(NAMES[OLD_ROWS])
    frame = model().set_output(transform="pandas").fit(NAMES[OLD_ROWS]).place(NAMES[NEW_ROWS])
    assert frame.index.tolist() == sorted(NAMES[N_OLD:])
    order = np.argsort(NAMES[N_OLD:])
    by_number = model().fit(read_answers(OLD_ROWS, objects=np.argsort(NAMES[:N_OLD])))
    by_number = by_number.place(NEW_ROWS)
    assert_allclose(fitted.place(NAMES[NEW_ROWS]), by_number[order], atol=1e-2)
    # Known, but never compared: no point yet.
    listed = model().fit(read_answers(NAMES[OLD_ROWS], objects=NAMES))
    assert listed.place(NAMES[NEW_ROWS]).shape == (N - N_OLD, 2)


def test_numbers_of_new_objects_may_have_gaps():
    far = np.where(NEW_ROWS == N - 1, 99, NEW_ROWS)
    fitted = model().fit(OLD_ROWS)
    assert_allclose(fitted.place(far), fitted.place(NEW_ROWS), atol=1e-8)


def test_responses_weights_and_trials():
    fitted = model().fit(OLD_ROWS)
    expected = fitted.place(NEW_ROWS)
    assert_allclose(
        fitted.place(NEW_ROWS[:, [0, 2, 1]], -np.ones(len(NEW_ROWS))), expected, atol=1e-8
    )
    twice = fitted.place(np.repeat(NEW_ROWS, 2, axis=0))
    assert_allclose(fitted.place(NEW_ROWS, sample_weight=np.full(400, 2.0)), twice, atol=1e-3)
    trials, columns = trials_of(POINTS, 3000, 3)
    new = (trials >= N_OLD).any(axis=1)
    odd = model(loss="oddoneout").fit(trials[~new], columns[~new])
    placed = odd.place(trials[new], columns[new])
    assert share_right(np.vstack([odd.embedding_, placed]), UNSEEN) > 0.9


def test_what_names_nothing_new_is_refused():
    fitted = model().fit(OLD_ROWS)
    with pytest.raises(ValueError, match=r"^X\b"):
        fitted.place(OLD_ROWS[:10])
    with pytest.raises(ValueError, match="no answer"):
        fitted.place([[40, 40, 1]])
    with pytest.raises(NotFittedError):
        model().place(NEW_ROWS)


def test_answers_that_do_not_count_place_nothing():
    fitted = model().fit(OLD_ROWS)
    expected = fitted.place([[N_OLD, 0, 1], [N_OLD, 2, 3]])
    rows = [[N_OLD, 0, 1], [N_OLD, 2, 3], [N_OLD + 1, 0, 1]]
    assert_allclose(fitted.place(rows, sample_weight=[1, 1, 0]), expected, rtol=1e-7)
    rows[2] = [N_OLD + 1, N_OLD + 1, 1]
    assert_allclose(fitted.place(rows), expected, rtol=1e-7)


@pytest.mark.parametrize("limit", ["maxiter", "maxfun"])
def test_a_search_that_ran_out_of_steps_is_said(limit, monkeypatch):
    def cut_short(*arguments, options, **others):
        return minimize(*arguments, options={**options, limit: 2}, **others)

    fitted = model().fit(OLD_ROWS)
    monkeypatch.setattr(place, "minimize", cut_short)
    with pytest.warns(ConvergenceWarning, match=r"^2 .*\b4 new\b"):
        fitted.place(NEW_ROWS)
