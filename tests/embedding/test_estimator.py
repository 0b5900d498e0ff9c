"""OrdinalEmbedding: its contract with scikit-learn, and what it promises beyond."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from embedding_reference import share_right, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from skscreen import OrdinalEmbedding, read_answers
from skscreen.embedding.problem.losses import TRAITS
from skscreen.metrics import procrustes_distance

POINTS = np.random.default_rng(0).normal(size=(30, 2))
T = triplets_of(POINTS, 1500, 1)
UNSEEN = triplets_of(POINTS, 2000, 2)
SIGNS = np.where(np.arange(len(T)) % 3 == 0, -1, 1)
# The same answers, asked the other way round where SIGNS are -1.
ASKED = np.where(SIGNS[:, None] == 1, T, T[:, [0, 2, 1]])
Q = read_answers(np.insert(T, 2, T[:, 0], axis=1), kind="quadruplets")
LOSSES = ["soe", "ste", "tste", "gnmds", "ckl"]
SOLVERS = ["auto", "lbfgs", "svrg-sbb", "svrg", "sgd", "batch"]


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


def test_constructor_stores_and_only_n_components_is_positional():
    assert OrdinalEmbedding(3).get_params()["n_components"] == 3
    with pytest.raises(TypeError, match="positional"):
        OrdinalEmbedding(2, "ste")


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.transform(),
        lambda model: model.predict(T),
        lambda model: model.score(T),
        lambda model: model.fit_features(POINTS),
        lambda model: model.map_features(POINTS),
    ],
)
def test_methods_need_a_fit(call):
    with pytest.raises(NotFittedError, match="OrdinalEmbedding"):
        call(model())


def test_pickle_and_clone():
    fitted = model().fit(T)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.embedding_, fitted.embedding_)
    assert_array_equal(loaded.predict(UNSEEN), fitted.predict(UNSEEN))
    with pytest.raises(NotFittedError):
        clone(fitted).transform()


def test_set_output_and_pipelines():
    frame = model().set_output(transform="pandas").fit_transform(T)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["ordinalembedding0", "ordinalembedding1"]
    assert frame.shape == (30, 2)
    table = pd.DataFrame(T, columns=["head", "near", "far"])
    answers = read_answers(table, ["head", "near", "far"])
    assert_array_equal(model().fit(answers).transform(answers), frame)
    labels = make_pipeline(model(), KMeans(3, n_init=1, random_state=0)).fit_predict(T)
    assert labels.shape == (30,)


def test_grid_search_over_rows_of_answers():
    grid = {"loss": ["soe", "tste"], "n_components": [1, 2], "reg": ["auto", 0.01]}
    search = GridSearchCV(model(), grid, cv=3, error_score="raise").fit(T)
    assert search.best_params_["n_components"] == 2
    assert search.best_score_ > 0.9
    asked = GridSearchCV(model(), {"n_components": [1, 2]}, cv=3).fit(ASKED, SIGNS)
    assert asked.best_params_["n_components"] == 2
    assert asked.best_score_ > 0.9


# -- what is learned -----------------------------------------------------------------------------


@pytest.mark.few(6)
@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_loss_and_solver_orders_unseen_answers(loss, solver):
    fitted = model(loss=loss, solver=solver, max_iter=3000, n_init=4).fit(T)
    assert share_right(fitted.embedding_, UNSEEN) > (0.88 if loss == "ckl" else 0.9)
    assert_allclose(fitted.score(UNSEEN), share_right(fitted.embedding_, UNSEEN))
    assert_allclose(fitted.embedding_.mean(axis=0), 0.0, atol=1e-12)
    assert fitted.n_iter_ == len(fitted.history_)
    squares = np.mean((fitted.embedding_**2).sum(axis=1))
    # Centring can only lower the ridge.
    assert fitted.stress_ + fitted.reg_ * squares <= fitted.objective_ * (1.0 + 1e-12)


def test_the_shape_of_the_points_is_found():
    assert procrustes_distance(POINTS, model().fit_transform(T)) < 0.02


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["gnmds", "ste"])
def test_the_convex_formulation(loss):
    fitted = model(loss=loss, formulation="convex").fit(T)
    assert fitted.embedding_.shape == (30, 2)
    assert fitted.score(UNSEEN) > 0.8
    ignored = model(loss=loss, formulation="convex", solver="sgd").fit(T)
    assert_array_equal(ignored.embedding_, fitted.embedding_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_seeds_repeat_exactly_and_differ(solver):
    first, again = (model(solver=solver).fit(T) for _ in range(2))
    assert_array_equal(first.embedding_, again.embedding_)
    other = model(solver=solver, random_state=1).fit(T)
    assert not np.array_equal(first.embedding_, other.embedding_)


@pytest.mark.parametrize(
    "change",
    [
        {"alpha": 3.0, "loss": "tste"},
        {"mu": 0.5, "loss": "ckl"},
        {"margin": 0.5},
        {"smoothing": 0.1, "loss": "gnmds"},
        {"reg": 0.1},
        {"tol": 0.05},
        {"max_iter": 3},
        {"n_init": 3},
        {"sbb_epsilon": 1.0, "solver": "svrg-sbb"},
        {"eta0": 1e-3, "solver": "svrg-sbb"},
        {"eta0": 1e-3, "solver": "svrg"},
        {"eta0": 1e-3, "solver": "sgd"},
        {"eta0": 1e-3, "solver": "batch"},
        {"update_frequency": 50, "solver": "svrg-sbb"},
        {"update_frequency": 50, "solver": "svrg"},
        {"batch_size": 5, "solver": "svrg-sbb"},
        {"module_epochs": 2, "solver": "svrg-sbb"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_parameter_has_an_effect(change):
    same = {name: change[name] for name in ("loss", "solver") if name in change}
    # Twelve answers a coordinate, so that the lowest of three starts is another one.
    changed, plain = model(**change).fit(T[:700]), model(**same).fit(T[:700])
    if "n_init" in change:
        assert changed.objective_ <= plain.objective_
    else:
        assert not np.array_equal(changed.embedding_, plain.embedding_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_random_starts_never_end_in_nan(loss):
    """Few, contradictory answers are the hardest."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        rows = np.array([rng.permutation(6)[:3] for _ in range(15)])
        fitted = model(loss=loss, random_state=seed, n_init=1).fit(rows)
        assert np.isfinite(fitted.embedding_).all()
        assert np.isfinite(fitted.objective_)


def test_lifting_reaches_the_best_optimum():
    """In the plane a start in four dimensions finds what one in the plane often misses."""
    points = np.random.default_rng(3).normal(scale=0.5, size=(50, 2))
    rows = triplets_of(points, 2500, 4, noise=0.1)

    def objectives(solver):
        return np.array(
            [
                model(loss="tste", solver=solver, reg=0.003, random_state=seed).fit(rows).objective_
                for seed in range(10)
            ]
        )

    lifted, flat = objectives("auto"), objectives("lbfgs")
    best = min(lifted.min(), flat.min())
    assert np.mean(lifted < 1.02 * best) >= 0.9
    assert np.mean(lifted < 1.02 * best) > np.mean(flat < 1.02 * best)


def test_a_start_is_taken():
    fitted = model().fit(T)
    again = model(reg=fitted.reg_).fit(T, init=fitted.embedding_)
    assert again.n_iter_ <= 10
    assert again.objective_ <= fitted.objective_
    several = model(reg=fitted.reg_).fit(T, init=np.stack([POINTS, fitted.embedding_]))
    assert several.objective_ <= again.objective_
    with pytest.raises(ValueError, match=r"^init\b"):
        model().fit(T, init=POINTS[:5])
    with pytest.raises(ValueError, match=r"^init\b"):
        model().fit(T, init=POINTS * 1e50)
    # Where points are equal there is no direction to go.
    with pytest.raises(ValueError, match=r"^init\b"):
        model().fit(T, init=POINTS * [1.0, 0.0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_objective_is_that_of_the_points_wherever_a_start_is(solver):
    near, far = (model(solver=solver).fit(T, init=POINTS + shift) for shift in (0.0, 5e5))
    ridge = far.reg_ / len(POINTS) * np.square(far.embedding_).sum()
    assert_allclose(far.objective_, far.stress_ + ridge, rtol=1e-12)
    assert_allclose(far.objective_, near.objective_, rtol=0.05)


def test_a_power_beyond_integers_ends():
    assert np.isfinite(model(loss="tste", alpha=1e20).fit(T).objective_)


def test_restarts_in_threads_are_those_in_turn():
    alone, threads = (model(n_components=1, n_jobs=n_jobs).fit(T) for n_jobs in (None, 2))
    assert_array_equal(alone.embedding_, threads.embedding_)


def test_verbose_writes_to_stderr_only(capsys):
    model(verbose=1).fit(T)
    out, err = capsys.readouterr()
    assert out == ""
    assert "objective=" in err and "nan" not in err
    model().fit(T)
    assert capsys.readouterr() == ("", "")


def test_sgd_that_diverges_says_so(monkeypatch):
    monkeypatch.setitem(TRAITS, "gnmds", replace(TRAITS["gnmds"], first_step=1e9))
    with pytest.warns(ConvergenceWarning, match="solver='sgd'"):
        model(loss="gnmds", solver="sgd", reg=0.0).fit(T)


def test_too_few_epochs_are_said():
    with pytest.warns(ConvergenceWarning, match=r"\bmax_iter\b"):
        model(solver="batch", max_iter=2).fit(T)


def test_weights_are_repetitions_and_zero_leaves_out():
    options = {"solver": "lbfgs", "reg": 0.01, "tol": 1e-12, "max_iter": 3000}
    counts = np.arange(len(T)) % 3
    init = POINTS + 0.1
    weighted = model(**options).fit(T, sample_weight=counts, init=init)
    repeated = model(**options).fit(np.repeat(T, counts, axis=0), init=init)
    by_counts = model(**options).fit(read_answers(T, weights=counts), init=init)
    for other in (repeated, by_counts):
        assert_allclose(weighted.objective_, other.objective_, rtol=1e-8)
        assert procrustes_distance(weighted.embedding_, other.embedding_) < 1e-6
    assert_allclose(
        model().fit(T).score(T, sample_weight=counts),
        model().fit(T).score(np.repeat(T, counts, axis=0)),
    )


# -- better than the peer ------------------------------------------------------------------------


def test_quadruplets_can_be_predicted_and_scored():
    by_pairs, by_triplets = model().fit(Q), model().fit(T)
    for fitted in (by_pairs, by_triplets):
        assert_array_equal(fitted.predict(Q), fitted.predict(T))
        assert fitted.score(Q) == fitted.score(T) > 0.95
    far = np.random.default_rng(0).permuted(np.tile(np.arange(30), (500, 1)), axis=1)[:, :4]
    right = by_pairs.predict(read_answers(far, kind="quadruplets"))
    told = read_answers(far, kind="quadruplets", chosen=right, response="sign")
    assert by_pairs.score(told) == 1.0
    assert set(right) == {-1, 1}


def test_cross_validation_where_a_fold_lacks_the_last_object():
    rows = np.vstack([T[(T < 29).all(axis=1)], [[0, 1, 29]]])
    for answers in (rows, read_answers(rows, objects=range(30))):
        scores = cross_val_score(model(), answers, cv=5)
        assert np.isfinite(scores).all()
        assert scores.min() > 0.85


def test_objects_that_were_never_compared_are_finite_and_tie():
    fitted = model().fit(read_answers(T, objects=range(33)))
    assert fitted.embedding_.shape == (33, 2)
    assert_array_equal(fitted.compared_, np.arange(33) < 30)
    assert_array_equal(fitted.embedding_[30:], 0.0)
    unknown = [[0, 1, 31], [0, 31, 1], [31, 0, 1], [0, 1, 500]]
    assert_array_equal(fitted.predict(unknown), 0)
    assert fitted.score(unknown) == fitted.score(unknown, [-1, -1, -1, -1]) == 0.0


def test_degenerate_rows_change_nothing():
    bad = np.vstack([T, [[0, 0, 1], [0, 1, 1], [2, 3, 2]]])
    for loss in LOSSES:
        fitted = model(loss=loss).fit(bad)
        assert fitted.score(UNSEEN) > 0.9


def test_a_tie_is_wrong_whatever_was_asked():
    fitted = model().fit(T)
    fitted.embedding_ = np.zeros_like(fitted.embedding_)
    assert_array_equal(fitted.predict(T), 0)
    assert fitted.score(T) == fitted.score(T, -np.ones(len(T))) == 0.0


def test_transform_knows_its_objects():
    fitted = model().fit(T)
    assert_array_equal(fitted.transform(), fitted.transform(UNSEEN))
    fitted.transform()[0] = 99.0
    assert fitted.embedding_.max() < 99.0


def test_a_failed_fit_leaves_no_old_points():
    fitted = model().fit(T)
    with pytest.raises(ValueError, match=r"^X must have"):
        fitted.fit(T[:, :2])
    with pytest.raises(NotFittedError):
        fitted.transform()


@pytest.mark.slow
def test_no_matrix_of_all_pairs_is_formed():
    n = 4000
    rng = np.random.default_rng(0)
    rows = np.stack([rng.permutation(n)[:3] for _ in range(2000)])
    task = model(n_components=2, loss="tste").fit(T).set_params(max_iter=2)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning):
        task.fit(read_answers(rows, objects=range(n)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # L-BFGS keeps twenty arrays of the size of the points; n^2 floats would be 128 MB.
    assert peak < 40 * 8 * 2 * n + 200 * len(rows)


def test_retrieval_by_mapped_features():
    from skscreen.metrics import mean_average_precision_of

    relevant = np.random.default_rng(0).uniform(size=(4, 20)) < 0.4
    distances = np.random.default_rng(1).uniform(size=(4, 20))
    expected = [average_precision_score(r, -d) for r, d in zip(relevant, distances, strict=True)]
    assert_allclose(mean_average_precision_of(relevant, distances), np.mean(expected))


def test_numbers_whose_products_overflow_are_refused():
    with pytest.raises(ValueError, match="'margin'"):
        model(margin=1e200).fit(T)


def test_a_tolerance_may_be_anything():
    for formulation in ("convex", "nonconvex"):
        fitted = model(tol=1e300, margin=1e6, formulation=formulation).fit(T[:50])
        assert np.isfinite(fitted.objective_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-6, 1e-300])
def test_a_start_next_to_zero(loss, size):
    """Zero is stationary: a solver's first short steps from there look like its last."""
    start = size * np.random.default_rng(0).normal(size=(30, 2))
    fitted = model(loss=loss, solver="batch", max_iter=3000).fit(T, init=start)
    assert fitted.score(UNSEEN) > 0.85


def test_numbers_of_other_kinds_and_sizes():
    rows = triplets_of(POINTS, 100, 0)
    one = OrdinalEmbedding(tol=np.float32(1e-4), random_state=0).fit(rows)
    other = OrdinalEmbedding(tol=float(np.float32(1e-4)), random_state=0).fit(rows)
    assert_array_equal(one.embedding_, other.embedding_)
    with pytest.raises(ValueError, match="'n_init' parameter"):
        OrdinalEmbedding(n_init=10**30).fit(rows)


def test_a_start_by_names_is_that_of_the_objects():
    names = np.array(["c", "a", "b", "d"])
    triplets = names[[[0, 1, 2], [1, 2, 3], [3, 0, 1], [2, 3, 0]]]
    start = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 2)), index=sorted(names))
    triplets = read_answers(triplets, objects=names)
    model = OrdinalEmbedding(max_iter=1, tol=1.0)
    wanted = model.fit(triplets, init=start.loc[names].to_numpy()).embedding_
    for given in (start, dict(zip(start.index, start.to_numpy(), strict=True))):
        np.testing.assert_array_equal(model.fit(triplets, init=given).embedding_, wanted)
    with pytest.raises(ValueError, match=r"^init\b"):
        model.fit(triplets, init=start.rename({"a": "A"}))
