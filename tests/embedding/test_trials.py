"""Embedding from choices of the odd one out of three, by their own likelihood."""

import numpy as np
import pytest
from embedding_reference import share_right, trials_of, triplets_of
from numpy.testing import assert_array_equal

from skscreen import OrdinalEmbedding, read_answers
from skscreen.metrics import procrustes_distance
from skscreen.preprocessing import triplets_from_oddoneout

POINTS = np.random.default_rng(0).normal(size=(30, 2))
NAMES = np.array([f"stimulus {k:02d}" for k in range(30)])


TRIALS, COLUMNS = trials_of(POINTS, 1500, 1)
UNSEEN = trials_of(POINTS, 1500, 2)


def model(**options):
    return OrdinalEmbedding(**{"loss": "oddoneout", "random_state": 0, **options})


@pytest.mark.few(3)
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "svrg-sbb", "svrg", "sgd", "batch"])
def test_every_solver_finds_the_odd_one_in_unseen_trials(solver):
    fitted = model(solver=solver, max_iter=2000, n_init=3).fit(TRIALS, COLUMNS)
    assert fitted.score(*UNSEEN) > 0.9
    assert procrustes_distance(POINTS, fitted.embedding_) < 0.02


def test_the_convex_formulation_finds_it_too():
    assert model(formulation="convex").fit(TRIALS, COLUMNS).score(*UNSEEN) > 0.7


def test_it_is_as_good_as_triplets_made_of_the_trials():
    """With a fifth of the choices at random; the errors are of both fits on true triplets."""
    trials, columns = trials_of(POINTS, 1500, 3, noise=0.2)
    direct = model().fit(trials, columns)
    answers = read_answers(trials, kind="oddoneout", chosen=columns, response="position")
    made = model(loss="ste").fit(triplets_from_oddoneout(answers))
    true = triplets_of(POINTS, 4000, 4)
    assert share_right(direct.embedding_, true) > share_right(made.embedding_, true) - 0.01 > 0.85


def test_trials_in_every_form_are_the_same():
    expected = model().fit(TRIALS, COLUMNS)
    chosen = NAMES[TRIALS[np.arange(len(TRIALS)), COLUMNS]]
    for answers in (
        read_answers(NAMES[TRIALS], kind="oddoneout", chosen=chosen),
        read_answers(TRIALS, kind="oddoneout", chosen=COLUMNS, response="position"),
    ):
        fitted = model().fit(answers)
        assert abs(fitted.objective_ - expected.objective_) < 1e-3 * expected.objective_
        assert fitted.score(answers) > 0.97
    assert len(fitted.objects_) == 30


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_agreement_is_about_the_odd_one():
    fitted = model(max_iter=1).fit([[2, 0, 1], [3, 0, 1]], [0, 0])
    fitted.embedding_ = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]])
    # The last: 3 is as far from 0 as 1 is.
    answers = read_answers([[0, 1, 2], [1, 2, 0], [0, 1, 3]], kind="oddoneout", chosen=2)
    assert_array_equal(fitted.predict(answers), [1, -1, 0])
    assert fitted.score([[0, 1, 2]], [2]) == 1.0
    assert fitted.score([[0, 1, 2], [0, 1, 2]], [2, 1], sample_weight=[3.0, 1.0]) == 0.75


def test_kinds_and_losses_go_together():
    odd = read_answers(TRIALS, kind="oddoneout", chosen=0)
    with pytest.raises(ValueError, match=r"^X\b"):
        OrdinalEmbedding().fit(odd)
    with pytest.raises(ValueError, match=r"^X\b"):
        model().fit(triplets_from_oddoneout(odd))
