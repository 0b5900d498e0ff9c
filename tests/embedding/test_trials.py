"""Embedding from choices of the odd one out of three, by their own likelihood."""

import numpy as np
import pandas as pd
import pytest
from embedding_reference import share_right, trials_of, triplets_of
from numpy.testing import assert_array_equal
from scipy import sparse

from skscreen import OrdinalEmbedding
from skscreen.metrics import procrustes_distance
from skscreen.preprocessing import triplets_from_oddoneout

POINTS = np.random.default_rng(0).normal(size=(30, 2))
NAMES = np.array([f"stimulus {k:02d}" for k in range(30)])


TRIALS, COLUMNS = trials_of(POINTS, 1500, 1)
UNSEEN = trials_of(POINTS, 1500, 2)


def model(**options):
    return OrdinalEmbedding(**{"loss": "oddoneout", "random_state": 0, **options})


@pytest.mark.slow
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
    made = model(loss="ste").fit(triplets_from_oddoneout(trials, columns))
    true = triplets_of(POINTS, 4000, 4)
    assert share_right(direct.embedding_, true) > share_right(made.embedding_, true) - 0.01 > 0.85


def test_trials_in_every_form_are_the_same():
    odd_first = np.take_along_axis(TRIALS, (COLUMNS[:, None] + np.arange(3)) % 3, axis=1)
    expected = model().fit(odd_first)
    chosen = NAMES[TRIALS[np.arange(len(TRIALS)), COLUMNS]]
    frame = pd.DataFrame(NAMES[TRIALS], columns=["left", "middle", "right"])
    # The order of the two others differs, and so the sums.
    for X, y in ((TRIALS, COLUMNS), (frame, COLUMNS), (frame, pd.Series(chosen)),
                 (NAMES[TRIALS].tolist(), chosen.tolist())):  # fmt: skip
        fitted = model().fit(X, y)
        assert abs(fitted.objective_ - expected.objective_) < 1e-3 * expected.objective_
        assert fitted.score(X, y) > 0.97
    assert_array_equal(fitted.objects_, NAMES)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_agreement_is_about_the_odd_one():
    fitted = model(objects=4, max_iter=1).fit([[2, 0, 1], [3, 0, 1]])
    fitted.embedding_ = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]])
    # The last: 3 is as far from 0 as 1 is.
    assert_array_equal(fitted.predict([[2, 0, 1], [0, 1, 2], [3, 0, 1]]), [1, -1, 0])
    assert fitted.score([[0, 1, 2]], [2]) == 1.0
    assert fitted.score([[0, 1, 2], [0, 1, 2]], [2, 1], sample_weight=[3.0, 1.0]) == 0.75


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (
            [[0, 1, 2, 3]],
            None,
            "X must have 3 columns with loss='oddoneout', got 4: pass .* Make triplets",
        ),
        ([[0, 1, 2]], [4], "y must hold columns of X that can be chosen, 0, 1, 2\\. .* and y 4"),
        ([[0, 1, 2]], [-1], "y must hold columns of X"),
        ([[0, 1, 2]] * 2, [1, 3], "got 1 to 3: pass y - 1 if columns are counted from 1"),
        ([[0, 1, 2]], [0, 1], "y must have one response or choice for each of the 1 rows"),
        ([[0, 1, 1]], None, "none of its 1 rows"),
        (sparse.csr_array((3, 9)), None, "X must be a table of trials"),
    ],
)
def test_wrong_trials_are_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, y)
