import warnings

import numpy as np
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skscreen import OrdinalEmbedding, next_queries
from skscreen.embedding.tools.bootstrap import nearest_similar

POINTS = np.random.default_rng(0).normal(size=(15, 2))


def fitted(size, **options):
    rows = triplets_of(POINTS, size, 1, noise=0.1)
    return OrdinalEmbedding(2, random_state=0, **options).fit(rows)


def test_points_lie_about_the_embedding_and_nearer_with_more_answers():
    spreads = []
    for size in (300, 3000):
        model = fitted(size, reg=0.1)
        points, left_out = model.bootstrap(30, random_state=0)
        assert points.shape == (30, 15, 2)
        assert left_out.shape == (30, len(model.answers_.rows))
        assert_allclose(left_out.mean(), np.exp(-1.0), atol=0.02)
        off = np.linalg.norm(points.mean(axis=0) - model.embedding_, axis=1)
        assert np.mean(off) < 0.3 * np.std(model.embedding_)
        spreads.append(points.std(axis=0).mean() / model.embedding_.std())
    assert spreads[1] < 0.5 * spreads[0]


@pytest.mark.parametrize("loss", ["ste", "tste", "gnmds", "ckl"])
def test_the_sample_depends_on_the_seed_alone(loss):
    model = fitted(300, loss=loss)
    one, same = (model.bootstrap(4, n_jobs=jobs, random_state=3) for jobs in (None, 2))
    assert_array_equal(one.points, same.points)
    assert not np.array_equal(one.points, model.bootstrap(4, random_state=4).points)


def test_weights_are_repetitions_of_what_is_drawn():
    rows = triplets_of(POINTS, 300, 1, noise=0.1)
    weights = np.where(np.arange(300) < 200, 1.0, 1e-9)
    model = OrdinalEmbedding(2, reg=0.1, random_state=0).fit(rows, sample_weight=weights)
    few = OrdinalEmbedding(2, reg=0.1, random_state=0).fit(rows[:200])
    spreads = [m.bootstrap(40, random_state=0).points.std(axis=0).mean() for m in (model, few)]
    assert_allclose(spreads[0], spreads[1], rtol=0.2)


def test_a_similarity_is_undone():
    angle = 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    assert_allclose(nearest_similar(3.0 * POINTS @ turn + 5.0, POINTS), POINTS, atol=1e-12)
    assert_allclose(
        nearest_similar(np.ones((15, 2)), POINTS), np.tile(POINTS.mean(axis=0), (15, 1))
    )


def test_it_needs_a_fit_and_a_number():
    with pytest.raises(NotFittedError):
        OrdinalEmbedding().bootstrap()
    with pytest.raises(ValueError, match="n_samples == 0"):
        fitted(300).bootstrap(0)


@pytest.mark.filterwarnings("ignore:.* iterations of solver=")
def test_refits_take_the_iterations_of_the_fit_and_say_when_they_are_too_few():
    model = fitted(300, solver="lbfgs", tol=1e-12, max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        model.bootstrap(5, random_state=0)
    (warning,) = caught
    for told in ("5 of 5", "tol=1e-12", "max_iter"):
        assert told in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=5000).bootstrap(5, random_state=0)


def test_epochs_of_other_solvers_do_not_limit_refits():
    model = fitted(300, solver="sgd", max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.bootstrap(3, random_state=0)
    # Nothing is exact to so small a tolerance: the epochs of L-BFGS end.
    rough = fitted(300, solver="sgd", max_iter=2, loss="tste", reg=0.0, tol=1e-16)
    with pytest.warns(ConvergenceWarning, match=r"of 3 .*tol=1e-16"):
        rough.bootstrap(3, random_state=0)


def test_ellipses_hold_true_points_about_as_often_as_they_say():
    # Answers as likely as the loss takes them to be; else the fit has a bias that no answers mend.
    rng = np.random.default_rng(1)
    rows = np.array([rng.choice(15, 3, replace=False) for _ in range(1500)])
    near, far = (((POINTS[rows[:, 0]] - POINTS[rows[:, v]]) ** 2).sum(axis=1) for v in (1, 2))
    wrong = rng.random(1500) > 1.0 / (1.0 + np.exp(near - far))
    rows[wrong] = rows[wrong][:, [0, 2, 1]]
    model = OrdinalEmbedding(2, loss="ste", random_state=0).fit(rows)
    places = model.bootstrap(60, random_state=0).points
    away = nearest_similar(POINTS, model.embedding_) - model.embedding_
    squares = [off @ np.linalg.solve(np.cov(near.T), off)
               for off, near in zip(away, places.transpose(1, 0, 2), strict=True)]  # fmt: skip
    assert np.mean(np.array(squares) <= -2.0 * np.log(0.05)) >= 0.8


def test_an_embedding_of_zeros_has_a_bootstrap():
    rows = triplets_of(np.random.default_rng(0).normal(size=(20, 2)), 300, 1)
    fitted = OrdinalEmbedding(loss="tste", formulation="convex", reg=100.0, random_state=0)
    fitted.fit(rows)
    assert not fitted.embedding_.any()
    assert np.isfinite(fitted.bootstrap(2).points).all()
    with pytest.raises(ValueError, match=r"^heads\b"):
        next_queries(fitted, 2, heads=[-1])


def test_a_bootstrap_is_printed_in_a_line():
    found = fitted(300).bootstrap(3, random_state=0)
    assert repr(found) == "Bootstrap(3 maps of 15 objects in 2 dimensions)"
