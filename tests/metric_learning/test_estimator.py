"""ScreenedRTLM: the contract of scikit-learn, the problem that is solved, its parameters."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from metric_cases import (
    BOUNDS,
    IRIS_X,
    IRIS_Y,
    KINDS,
    RULES,
    T,
    X,
    assert_same_optimum,
    error_radius,
    explicit,
    history,
    rtlm,
    vector_or_matrix,
    y,
)
from numpy.testing import assert_allclose, assert_array_equal
from rtlm_reference import brute_force_triplets
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import (
    ConvergenceWarning,
    NotFittedError,
    UnsetMetadataPassedError,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.validation import check_is_fitted

from skscreen import ScreenedRTLM, rtlm_path
from skscreen.metric_learning.problem import triplets


def test_constructor_stores_its_arguments_untouched():
    bound = ["gap", "dgb"]
    model = ScreenedRTLM(0.5, bound=bound)
    assert model.lam == 0.5
    assert model.bound is bound
    model.fit(IRIS_X, IRIS_Y)
    assert model.bound is bound
    assert model.get_params()["lam"] == 0.5


def test_only_lam_is_positional():
    with pytest.raises(TypeError, match="positional"):
        ScreenedRTLM(0.1, True)
    with pytest.raises(TypeError, match="n_neighbours"):
        ScreenedRTLM(n_neighbours=3)


def test_clone_has_the_parameters_and_is_unfitted():
    model = rtlm(lam=0.3, bound="dgb").fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model.transform(X),
        lambda model: model.get_mahalanobis_matrix(),
        lambda model: model.pair_distance(np.zeros((1, 2, 13))),
        lambda model: model.get_metric(),
        lambda model: model.get_feature_names_out(),
    ],
)
def test_methods_need_a_fit(call):
    with pytest.raises(NotFittedError, match="ScreenedRTLM"):
        call(rtlm())


def test_pickle_of_a_fitted_model():
    model = rtlm().fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.dual_gap_ == model.dual_gap_
    assert_array_equal(loaded.screening_history_, model.screening_history_)


def test_metric_is_picklable_and_serves_nearest_neighbours():
    model = rtlm().fit(X[::2], y[::2])
    metric = pickle.loads(pickle.dumps(model.get_metric()))
    assert metric(X[0], X[1]) == model.get_metric()(X[0], X[1])
    by_metric = KNeighborsClassifier(metric=metric).fit(X[::2], y[::2])
    by_map = KNeighborsClassifier().fit(model.transform(X[::2]), y[::2])
    assert_array_equal(by_metric.predict(X), by_map.predict(model.transform(X)))
    pickle.dumps(by_metric)


def test_pipeline_and_grid_search_over_lam():
    pipeline = make_pipeline(StandardScaler(), rtlm(), KNeighborsClassifier())
    grid = {"screenedrtlm__lam": [1.0, 0.1, 0.01]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["screenedrtlm__lam"] in grid["screenedrtlm__lam"]
    assert search.score(X, y) > 0.95


def test_default_metric_classifies_well():
    wine_X, wine_y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), ScreenedRTLM(), KNeighborsClassifier())
    assert model.fit(wine_X[::2], wine_y[::2]).score(wine_X[1::2], wine_y[1::2]) > 0.95


def test_set_output_and_feature_names():
    names = [f"wine_{i}" for i in range(13)]
    frame = pd.DataFrame(X, columns=names)
    model = rtlm().set_output(transform="pandas").fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    out = model.transform(frame)
    assert isinstance(out, pd.DataFrame)
    r = len(model.components_)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert list(out.columns) == [f"screenedrtlm{i}" for i in range(r)]
    assert_array_equal(out.to_numpy(), frame.to_numpy() @ model.components_.T)
    assert isinstance(rtlm().set_output(transform="pandas").fit_transform(frame, y), pd.DataFrame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"wine_0": "beer_0"}))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(X)
    with pytest.raises(ValueError, match="12 features"):
        rtlm().fit(X, y).transform(X[:, 1:])


def test_triplets_are_routed_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), rtlm().set_fit_request(triplets=True))
        mapped = pipeline.fit_transform(X, triplets=T)
        asked_for = make_pipeline(StandardScaler(), rtlm())
        with pytest.raises(UnsetMetadataPassedError, match="triplets"):
            asked_for.fit(X, triplets=T)
    direct = rtlm().fit(scale(X), triplets=T)
    assert_array_equal(pipeline[-1].components_, direct.components_)
    assert_allclose(mapped, direct.transform(scale(X)), atol=1e-12)


# -- the problem that is solved ------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("lam", [0.3, 0.01])
def test_objective_and_certificate_of_the_explicit_problem(kind, lam):
    model = rtlm(lam=lam, **kind).fit(X, y)
    problem, M = explicit(X, T, model), vector_or_matrix(model)
    assert model.n_triplets_ == len(T)
    assert_allclose(model.lam_max_, problem.lam_max(), rtol=1e-10)
    assert_allclose(model.lam_, lam * model.lam_max_)
    assert_allclose(model.objective_, problem.primal(M, model.lam_), rtol=1e-10)
    gap = model.objective_ - model.dual_objective_
    assert_allclose(model.dual_gap_, gap / model.objective_, atol=1e-12)
    assert 0.0 <= model.dual_gap_ <= model.tol
    if kind["loss"] == "smoothed_hinge":
        # The dual variables are a function of the solution: an independent certificate.
        alpha = problem.dual_variables(problem.margins(M))
        assert problem.primal(M, model.lam_) - problem.dual(alpha, model.lam_) <= 1.1 * gap


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_agrees_with_a_conic_solver(kind):
    triplets = brute_force_triplets(X[:, :4], y, 1)
    model = rtlm(lam=0.02, tol=1e-9, **kind).fit(X[:, :4], triplets=triplets)
    optimum = explicit(X[:, :4], triplets, model).optimum(model.lam_)
    assert optimum.gap <= 1e-7 * optimum.primal
    assert model.objective_ <= optimum.primal * (1.0 + 1e-9)
    assert model.dual_objective_ <= optimum.primal * (1.0 + 1e-12)
    distance = np.linalg.norm(vector_or_matrix(model) - optimum.theta)
    assert distance <= error_radius(model) + optimum.radius


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_same_triplets_same_metric(kind):
    from_labels = rtlm(**kind).fit(X, y)
    from_rows = rtlm(**kind).fit(X, triplets=T)
    assert_same_optimum(from_labels, from_rows)
    assert_allclose(from_labels.lam_max_, from_rows.lam_max_, rtol=1e-10)
    order = np.random.default_rng(0).permutation(len(T))
    assert_same_optimum(from_labels, rtlm(**kind).fit(X, triplets=T[order].tolist()))


@pytest.mark.parametrize("loss", ["smoothed_hinge", "hinge"])
def test_repeated_triplets_count_twice(loss):
    once = rtlm(lam=50.0, relative_lam=False, loss=loss, tol=1e-8).fit(X, triplets=T)
    twice = rtlm(lam=100.0, relative_lam=False, loss=loss, tol=1e-8)
    twice.fit(X, triplets=np.concatenate((T, T)))
    assert twice.n_triplets_ == 2 * once.n_triplets_
    assert_allclose(twice.objective_, 2 * once.objective_, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("lam", [1.0, 3.0])
def test_closed_form_from_lam_max_on(kind, lam):
    model = rtlm(lam=lam, **kind).fit(X, y)
    problem = explicit(X, T, model)
    S = problem.project(problem.adjoint(np.ones(len(T))))
    assert_allclose(vector_or_matrix(model), S / model.lam_, rtol=0, atol=1e-12 * S.max())
    linear_below = 1.0 if model.loss == "hinge" else 1.0 - model.width
    largest = problem.margins(S / model.lam_).max()
    assert_allclose(largest, linear_below / lam, rtol=1e-10)
    assert model.n_iter_ <= 1


def test_relative_lam_is_a_fraction_of_lam_max():
    relative = rtlm(lam=0.05).fit(X, y)
    absolute = rtlm(lam=relative.lam_, relative_lam=False).fit(X, y)
    assert absolute.lam_ == relative.lam_ == 0.05 * relative.lam_max_
    assert_same_optimum(relative, absolute)


def test_relative_lam_does_not_depend_on_the_scale_of_the_data():
    pairs = np.stack((X[:-1], X[1:]), axis=1)
    model, scaled = rtlm().fit(X, y), rtlm().fit(1000.0 * X + 5.0, y)
    assert_allclose(scaled.objective_, model.objective_, rtol=1e-6)
    distances = scaled.pair_distance(1000.0 * pairs + 5.0)
    assert_allclose(distances, model.pair_distance(pairs), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_neighbours(kind):
    everyone = rtlm(n_neighbors=None, **kind).fit(IRIS_X, IRIS_Y)
    enough = rtlm(n_neighbors=len(IRIS_X) - 1, **kind).fit(IRIS_X, IRIS_Y)
    sizes = np.bincount(IRIS_Y)
    assert everyone.n_triplets_ == np.sum(sizes * (sizes - 1) * (len(IRIS_Y) - sizes))
    assert_same_optimum(everyone, enough)
    triplets = brute_force_triplets(IRIS_X, IRIS_Y, None)
    M = vector_or_matrix(everyone)
    problem = explicit(IRIS_X, triplets, everyone)
    assert_allclose(everyone.objective_, problem.primal(M, everyone.lam_), rtol=1e-10)


def test_small_classes_use_fewer_neighbours():
    rows = np.concatenate((np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]))
    n = rows.size - 3
    model = rtlm(n_neighbors=5).fit(X[rows], y[rows])
    assert model.n_triplets_ == n * 5 * 3 + 3 * 2 * 5


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_screening_does_not_change_the_solution(kind):
    with_screening = rtlm(lam=0.003, **kind).fit(X, y)
    without = rtlm(lam=0.003, screening=False, **kind).fit(X, y)
    assert_same_optimum(with_screening, without)
    assert without.screening_history_.size == 0
    events = with_screening.screening_history_
    assert events.size and with_screening.screening_parameter_ == "lam"
    assert set(events["where"]) <= {"path", "dynamic", "repair"}
    lams = events["parameter"]
    assert with_screening.lam_ <= lams.min() and lams.max() <= with_screening.lam_max_
    known = events["zero"] + events["at_bound"]
    assert_array_equal(known + events["undecided"], with_screening.n_triplets_)
    assert_allclose(events["rate"], known / with_screening.n_triplets_)
    assert events["iteration"].max() <= with_screening.n_iter_
    assert events["seconds"].min() >= 0.0
    # Most triplets are proved to be of no interest before the end.
    assert events["rate"][-1] > 0.5


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_history_of_the_last_solve(kind):
    model = rtlm(lam=0.01, **kind).fit(X, y)
    history = model.history_
    assert history.dtype.names == ("iteration", "seconds", "primal", "dual", "gap")
    assert np.all(np.diff(history["iteration"]) > 0) and np.all(np.diff(history["seconds"]) >= 0.0)
    assert history["primal"][-1] == model.objective_ and history["gap"][-1] == model.dual_gap_
    assert history["dual"].max() <= model.objective_ and history["iteration"][0] == 0


@pytest.mark.few(9)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bound", [*BOUNDS, ["rrpb", "pgb"], tuple(BOUNDS)], ids=str)
def test_every_bound_gives_the_same_solution(bound, kind):
    model = rtlm(bound=bound, **kind).fit(X, y)
    assert_same_optimum(model, rtlm(screening=False, **kind).fit(X, y))
    assert model.screening_history_.size


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("rule", RULES[1:])
def test_every_rule_gives_the_same_solution_and_leaves_fewer_triplets(rule, kind):
    model, weaker = rtlm(rule=rule, **kind).fit(X, y), rtlm(**kind).fit(X, y)
    assert_same_optimum(model, weaker)
    first, other = model.screening_history_[0], weaker.screening_history_[0]
    assert first["undecided"] <= other["undecided"]


def test_matrix_is_positive_semidefinite_or_diagonal():
    full = rtlm().fit(X, y).get_mahalanobis_matrix()
    assert_allclose(full, full.T, atol=1e-15)
    assert np.linalg.eigvalsh(full).min() >= -1e-14 * np.abs(full).max()
    assert np.abs(full - np.diag(np.diag(full))).max() > 0.0
    weights = rtlm(diagonal=True).fit(X, y).get_mahalanobis_matrix()
    assert_array_equal(weights, np.diag(np.diag(weights)))
    assert np.diag(weights).min() >= 0.0


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_components_are_sorted_and_as_many_as_the_rank(kind):
    model = rtlm(lam=0.3, **kind).fit(X, y)
    sizes = (model.components_**2).sum(axis=1)
    assert np.all(np.diff(sizes) <= 0.0)
    assert len(sizes) == np.linalg.matrix_rank(model.get_mahalanobis_matrix(), hermitian=True)
    assert model.diagonal or len(sizes) < 13
    assert model.transform(X).shape == (len(X), len(sizes))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_distances_are_the_same_distance(kind):
    model = rtlm(**kind).fit(X, y)
    pairs = np.stack((X[:-1], X[1:]), axis=1)
    difference = pairs[:, 0] - pairs[:, 1]
    by_matrix = np.sqrt(
        np.einsum("ni,ij,nj->n", difference, model.get_mahalanobis_matrix(), difference)
    )
    Z, metric = model.transform(X), model.get_metric()
    by_map = np.linalg.norm(Z[:-1] - Z[1:], axis=1)
    assert_allclose(by_map, by_matrix)
    assert_allclose(model.pair_distance(pairs), by_matrix)
    assert_allclose([metric(u, v) for u, v in pairs], by_matrix)
    assert_allclose(metric(list(X[0]), list(X[1])), by_matrix[0])


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("params", "observe"),
    [
        ({"lam": 0.1}, lambda model: model.lam_),
        ({"n_neighbors": 2}, lambda model: model.n_triplets_),
        ({"loss": "hinge"}, lambda model: model.objective_),
        ({"width": 0.5}, lambda model: model.objective_),
        ({"pull": 0.1}, lambda model: model.objective_),
        ({"diagonal": True}, lambda model: model.objective_),
        ({"bound": "dgb"}, history),
        ({"screening": False}, history),
        ({"screen_every": 2}, history),
        ({"tol": 1e-12}, lambda model: model.dual_gap_),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_every_parameter_has_an_effect(params, observe):
    assert observe(rtlm().fit(X, y)) != observe(rtlm(**params).fit(X, y))


def test_n_jobs_reaches_the_neighbour_search(monkeypatch):
    seen = set()

    class Spy(triplets.NearestNeighbors):
        def __init__(self, *, n_neighbors=5, n_jobs=None):
            super().__init__(n_neighbors=n_neighbors, n_jobs=n_jobs)
            seen.add(n_jobs)

    monkeypatch.setattr(triplets, "NearestNeighbors", Spy)
    # Few samples are searched without it, in no time.
    X, y = np.random.default_rng(0).normal(size=(1100, 3)), np.arange(1100) % 2
    model = rtlm(n_jobs=2).fit(X, y)
    assert seen == {2}
    assert_array_equal(model.components_, rtlm().fit(X, y).components_)


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_lambda_whose_inverse_is_infinite_is_refused(diagonal):
    """A start that has zeros, times infinity, was NaN."""
    data, triplets = 1e-3 * X, [[0, 1, 80], [2, 3, 70]]
    lam = 1e-310 / ScreenedRTLM(diagonal=diagonal).fit(data, triplets=triplets).lam_max_
    with pytest.raises(ValueError, match=r"^lam\b"):
        ScreenedRTLM(lam, diagonal=diagonal).fit(data, triplets=triplets)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("lam", value) for value in (0.0, -1.0, np.nan, np.inf, "a", None)],
        ("relative_lam", "yes"),
        *[("n_neighbors", value) for value in (0, -1, 2.5, "all")],
        *[("loss", value) for value in ("logistic", None)],
        *[("width", value) for value in (0.0, 1.0, -0.1, 1.5, np.nan, None)],
        ("diagonal", "no"),
        *[
            ("bound", value)
            for value in ("ball", "rpb", (), [], ["gap", "ball"], [["gap"]], 1, None)
        ],
        *[("rule", value) for value in ("cube", 1)],
        ("screening", "gap"),
        *[("screen_every", value) for value in (0, 1.5, None)],
        ("active_set", 7),
        *[("tol", value) for value in (0.0, -1e-6, np.nan)],
        *[("max_iter", value) for value in (0, 10.5)],
        ("n_jobs", "many"),
        *[("verbose", value) for value in (-1, "yes")],
    ],
)
def test_bad_parameter(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        ScreenedRTLM(**{name: value}).fit(IRIS_X, IRIS_Y)
    if name not in ("lam", "relative_lam"):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            rtlm_path(IRIS_X, IRIS_Y, **{name: value})


def test_bad_bound_lists_the_good_ones():
    with pytest.raises(ValueError, match=r"^bound\b"):
        ScreenedRTLM(bound=["gap", "ball"]).fit(IRIS_X, IRIS_Y)


@pytest.mark.parametrize(("lam", "size", "product"), [(1e300, 1e20, "inf"), (1e-300, 1e-20, "0")])
def test_a_fraction_of_lam_max_may_neither_vanish_nor_overflow(lam, size, product):
    with pytest.raises(ValueError, match=rf"\blam\b.*\b{product}\b"):
        ScreenedRTLM(lam).fit(size * X, y)


@pytest.mark.few(1)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_smaller_tolerance_is_no_worse_an_answer(weighted):
    """What the interior-point method has reached is kept where rounding errors allow no more."""
    X = scale(load_iris().data)
    triplets = np.array([[i, (i + 1) % 50, 60 + i % 30] for i in range(50)])
    weights = np.linspace(0.1, 3.0, 50) if weighted else None
    model = ScreenedRTLM(lam=0.1, relative_lam=False, loss="hinge", tol=1e-11)
    with pytest.warns(ConvergenceWarning, match=r"\btol\b"):
        model.fit(X, triplets=triplets, comparison_weight=weights)
    assert model.dual_gap_ < 1e-8 and model.n_iter_ < 1000


def test_a_narrow_quadratic_piece_is_no_harder_than_none():
    """One triplet, gamma = 1e-6: descent along it took thousands of steps and missed `tol`."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = ScreenedRTLM(width=1e-6, lam=6e-6, tol=0.1).fit(X, triplets=[[0, 1, 2]])
    assert model.dual_gap_ <= 0.1 and model.n_iter_ < 1000


@pytest.mark.parametrize("diagonal", [False, True])
def test_components_are_cut_off_and_what_that_costs_is_known(diagonal):
    whole = ScreenedRTLM(diagonal=diagonal).fit(X, y)
    sizes = np.sum(whole.components_**2, axis=1)
    assert whole.truncated_objective_ == whole.objective_
    for n_components, kept in ((2, 2), (13, len(sizes)), (0.9, None), (1e-9, 1)):
        model = ScreenedRTLM(diagonal=diagonal, n_components=n_components).fit(X, y)
        if kept is None:
            kept = int(np.sum(np.cumsum(sizes) < 0.9 * sizes.sum())) + 1
            assert kept < len(sizes)
        assert_array_equal(model.components_, whole.components_[:kept])
        assert model.transform(X).shape == (len(X), kept)
        assert len(model.get_feature_names_out()) == kept
        assert model.dual_gap_ == whole.dual_gap_ and model.objective_ == whole.objective_
        assert model.truncated_objective_ >= whole.dual_objective_
    assert model.truncated_objective_ > 1.01 * model.objective_
    for wrong in (0, -1, 1.0, 1.5, "all"):
        with pytest.raises(ValueError, match="n_components"):
            ScreenedRTLM(n_components=wrong).fit(X, y)


def test_the_objective_of_a_truncated_metric_is_that_of_its_formula():
    """Also in coordinates of few samples."""
    rng = np.random.default_rng(0)
    for n_features in (6, 60):
        Z, labels = rng.normal(size=(30, n_features)), np.arange(30) % 2
        Z[labels == 1, :2] += 1.0
        model = ScreenedRTLM(n_components=1, n_neighbors=None).fit(Z, labels)
        mapped = model.transform(Z)[:, 0]
        D, same = (mapped[:, None] - mapped) ** 2, labels[:, None] == labels
        loss = 0.0
        for i in range(30):
            near, far = D[i, same[i] & (np.arange(30) != i)], D[i, ~same[i]]
            z = 1.0 + near[:, None] - far
            c = np.clip(z / 0.05, 0.0, 1.0)
            loss += np.sum(c * (z - 0.5 * 0.05 * c))
        M = model.get_mahalanobis_matrix()
        expected = loss + 0.5 * model.lam_ * np.sum(M * M)
        assert_allclose(model.truncated_objective_, expected, rtol=1e-9)


def test_the_hinge_can_be_cut_to_few_components():
    data, labels = load_wine(return_X_y=True)
    model = ScreenedRTLM(loss="hinge", n_components=2, tol=1e-4).fit(scale(data), labels)
    assert model.components_.shape == (2, 13)
    assert model.truncated_objective_ >= model.objective_ * (1.0 - 1e-9)
    full = ScreenedRTLM(loss="hinge", n_components=13, tol=1e-4).fit(scale(data), labels)
    np.testing.assert_allclose(full.truncated_objective_, full.objective_, rtol=1e-6)


def test_distances_of_small_integers_do_not_wrap_around():
    data, labels = load_wine(return_X_y=True)
    metric = ScreenedRTLM().fit(scale(data)[:, :2], labels).get_metric()
    u, v = np.array([1, 2]), np.array([3, 1])
    assert metric(u.astype(np.uint8), v.astype(np.uint8)) == metric(u.astype(float), v)


def test_a_mark_of_another_type_than_the_labels_is_refused():
    data, labels = load_wine(return_X_y=True)
    names = [-1, *np.array(["a", "b", "c"])[labels[1:]]]
    with pytest.raises(TypeError, match=r"^unlabelled\b"):
        ScreenedRTLM(unlabelled=-1).fit(scale(data), np.asarray(names))
    with pytest.raises(TypeError, match=r"^unlabelled\b"):
        ScreenedRTLM(unlabelled="-1").fit(scale(data), [-1, *labels[1:]])


def test_a_lambda_far_below_rounding_ends_soon_if_steps_are_few():
    """Each of 50 values of lambda on the way took all of its steps."""
    data = 1e8 * np.random.default_rng(0).integers(-2, 4, (6, 6))
    model = ScreenedRTLM(relative_lam=False, n_neighbors=1, loss="squared_hinge", max_iter=30)
    with pytest.warns(ConvergenceWarning, match="tol"):
        model.fit(data, [0, 0, 1, 2, 2, 1])
    assert model.n_iter_ <= 10 * 30


@pytest.mark.slow
def test_a_gap_beyond_the_largest_number_is_infinite_on_the_way():
    data = 1e30 * np.random.default_rng(2).normal(size=(13, 1))
    quadruplets = [[9, 2, 10, 0], [4, 6, 12, 1], [5, 2, 1, 6], [5, 0, 7, 4], [2, 9, 12, 11]]
    model = ScreenedRTLM(0.01, relative_lam=False, loss="squared_hinge", screen_every=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(
            data, quadruplets=quadruplets, comparison_weight=[840.0, 0.03, 0.05, 0.002, 221.0]
        )
    assert np.isfinite(model.objective_)
