"""Metrics from quadruplets, bounds on pair distances, weights and target neighbours.

Whatever is compared, the problem is the one of explicit matrices: the tests build those by code
that shares nothing with the package and solve them by a conic solver.
"""

import warnings
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
import sklearn
from cases import some
from numpy.testing import assert_allclose, assert_array_equal
from rtlm_reference import Explicit, brute_force_triplets, screen, wrong_decisions
from sklearn.datasets import load_wine
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skscreen import RTLMTripletsClassifier, ScreenedRTLM, rtlm_path
from skscreen.metric_learning.parameters import Supervision
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, Proximal
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.solvers.interior_point import interior_point
from skscreen.metric_learning.supervision import check_lists

X, y = load_wine(return_X_y=True)
X, y = scale(X[::3, :5]), y[::3]
X.setflags(write=False)

KINDS = [
    {"loss": loss, "diagonal": diagonal}
    for loss in ("smoothed_hinge", "hinge")
    for diagonal in (False, True)
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))


def random_lists():
    """Comparisons that agree with the classes, but for a few."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(np.stack(np.triu_indices(len(X), 1), axis=1))
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    near, far = pairs[same][:150], pairs[~same][:150]
    # Some pairs the wrong way round: no metric meets all comparisons.
    near[::9], far[::9] = far[::9].copy(), near[::9].copy()
    T = rng.permutation(brute_force_triplets(X, y, 3))[:40]
    return T, np.hstack((near[:60], far[:60])), near[60:], far[60:]


T, Q, S, D = random_lists()
UPPER, LOWER = np.linspace(0.5, 1.5, len(S)), np.linspace(1.5, 4.0, len(D))


@dataclass(frozen=True)
class Lists:
    """Arguments of `fit`, and the same problem from explicit matrices."""

    name: str
    arguments: dict = field(hash=False)

    def __str__(self):
        return self.name

    def model(self, **options):
        return ScreenedRTLM(pull=0.02 if self.name == "pull" else 0.0, n_neighbors=2, **options)

    def explicit(self, model):
        return _explicit(self, model.diagonal, 0.0 if model.loss == "hinge" else model.width)

    def optimum(self, model, lam):
        return _optimum(self, model.diagonal, 0.0 if model.loss == "hinge" else model.width, lam)

    def problem(self, kind):
        loss = SmoothedHinge(1.0, 0.0 if kind["loss"] == "hinge" else 0.05)
        given = {name: value for name, value in self.arguments.items() if name != "y"}
        if "y" in self.arguments:
            given["triplets"] = brute_force_triplets(X, y, 2)
        found = check_lists(len(X), 1.0, Supervision(**given))
        items = comparisons_from_arrays(
            found.near, found.far, found.thresholds, found.weights, found.all_pairs
        )
        B = self.explicit(ScreenedRTLM(**kind)).linear_term
        if kind["diagonal"]:
            return Problem(DiagonalComparisons(X, items), loss, NonnegativeOrthant(), B)
        return Problem(Comparisons(X, items), loss, PSDCone(), B)


def squares(a, b, diagonal):
    u = X[a] - X[b]
    return u**2 if diagonal else u[:, :, None] * u[:, None, :]


@cache
def _explicit(lists, diagonal, gamma):
    given, A, thresholds, linear_term = lists.arguments, [], [], 0.0
    triplets = given.get("triplets")
    if "y" in given:
        triplets = brute_force_triplets(X, y, 2)
        # The target neighbours: each (i, j) once, however many triplets it is part of.
        i, j = np.unique(triplets[:, :2], axis=0).T
        linear_term = -0.02 * squares(i, j, diagonal).sum(axis=0)
    if triplets is not None:
        i, j, l = triplets.T
        A.append(squares(i, l, diagonal) - squares(i, j, diagonal))
        thresholds.append(np.ones(len(i)))
    if "quadruplets" in given:
        i, j, k, l = given["quadruplets"].T
        A.append(squares(k, l, diagonal) - squares(i, j, diagonal))
        thresholds.append(np.ones(len(i)))
    if "pairs" in given:
        similar, dissimilar, upper, lower = given["pairs"]
        A += [-squares(*similar.T, diagonal), squares(*dissimilar.T, diagonal)]
        thresholds += [np.zeros(len(similar)) - upper, np.zeros(len(dissimilar)) + lower]
    weights = given.get("comparison_weight", 1.0)
    return Explicit(np.concatenate(A), gamma, np.concatenate(thresholds), linear_term, weights)


@cache
def _optimum(lists, diagonal, gamma, lam):
    return _explicit(lists, diagonal, gamma).optimum(lam)


_n = len(T) + len(Q) + len(S) + len(D)
ALL = [
    Lists("quadruplets", {"quadruplets": Q}),
    Lists("pairs", {"pairs": (S, D, 1.0, 3.0)}),
    Lists("mixture", {"triplets": T, "quadruplets": Q, "pairs": (S, D, UPPER, LOWER)}),
    Lists(
        "weights",
        {
            "triplets": T,
            "quadruplets": Q,
            "pairs": (S, D, UPPER, LOWER),
            "comparison_weight": np.random.default_rng(1).choice([0.01, 0.3, 1.0, 2.7, 30.0], _n),
        },
    ),
    Lists("pull", {"y": y}),
]


def in_turn(lists):
    """Each list beside each loss and each kind of metric, not all three together."""
    # The kinds in the middle differ from the others in one of the two.
    places = [4 * k + at for k in range(len(lists)) for at in ((1, 2) if k % 2 else (0, 3))]
    cases = some(product(lists, KINDS), *places)
    return pytest.mark.parametrize(("lists", "kind"), cases, ids=str)


every = in_turn(ALL)
explicit_lists = in_turn(ALL[:-1])


def parameter(model):
    matrix = model.get_mahalanobis_matrix()
    return np.diag(matrix) if model.diagonal else matrix


def error_radius(model):
    return np.sqrt(2.0 * model.dual_gap_ * model.objective_ / model.lam_)


def assert_same_optimum(left, right):
    assert_allclose(left.lam_, right.lam_, rtol=1e-10)
    worst_gap = max(left.dual_gap_, right.dual_gap_)
    assert abs(left.objective_ - right.objective_) <= 1.001 * worst_gap * left.objective_
    distance = np.linalg.norm(left.get_mahalanobis_matrix() - right.get_mahalanobis_matrix())
    assert distance <= 1.001 * (error_radius(left) + error_radius(right))


# -- the problem that is solved ------------------------------------------------------------------


@pytest.mark.few(6)
@every
@pytest.mark.parametrize("lam", [0.1, 0.003])
def test_agrees_with_a_conic_solver(lists, kind, lam):
    model = lists.model(lam=lam, tol=1e-9, **kind).fit(X, **lists.arguments)
    explicit, M = lists.explicit(model), parameter(model)
    assert model.n_triplets_ == len(explicit.A)
    assert_allclose(model.lam_max_, explicit.lam_max(), rtol=1e-10)
    assert_allclose(model.objective_, explicit.primal(M, model.lam_), rtol=1e-10)
    best = lists.optimum(model, model.lam_)
    assert best.gap <= 1e-8 * best.primal
    assert abs(model.objective_ - best.primal) <= 1e-8 * best.primal
    assert model.dual_objective_ <= best.primal * (1.0 + 1e-12)
    assert np.linalg.norm(M - best.theta) <= error_radius(model) + best.radius


@every
def test_closed_form_from_lam_max_on(lists, kind):
    for factor in (1.0 + 1e-9, 3.0):
        model = lists.model(lam=factor, **kind).fit(X, **lists.arguments)
        explicit = lists.explicit(model)
        S0 = explicit.project(explicit.adjoint(explicit.dual_variables(0.0)))
        assert_allclose(parameter(model), S0 / model.lam_, rtol=0, atol=1e-12 * S0.max())
        assert model.dual_gap_ <= 1e-12
        assert model.n_iter_ == 0
    # Just below, an item has left the piece of the loss that it is in at zero.
    x = explicit.margins(S0 / (0.99 * model.lam_max_))
    assert not np.array_equal(explicit.dual_variables(x), explicit.dual_variables(0.0))


@pytest.mark.parametrize("lower", [0.02, 0.0499, 0.05, 0.0501, 0.1])
@pytest.mark.parametrize("upper", [1e-12, 0.01])
def test_lam_max_stays_moderate_for_bounds_near_the_ends_of_the_quadratic_piece(lower, upper):
    def lam_max(lower, upper):
        path = rtlm_path(X, pairs=(S, D, upper, lower), n_lams=2)
        assert path.converged.all()
        return path.lam_max

    # S at zero is proportional to min(lower / gamma, 1), and so is every margin of S.
    margin = lam_max(lower, upper) * lower / min(lower / 0.05, 1.0)
    assert margin <= 4.0 * 0.2 * lam_max(0.2, 0.2)


@pytest.mark.few(4)
@pytest.mark.slow
@every
def test_screening_does_not_change_the_solution(lists, kind):
    with_screening = lists.model(lam=0.003, tol=1e-8, bound=tuple(BOUNDS), screen_every=4, **kind)
    with_screening.fit(X, **lists.arguments)
    without = lists.model(lam=0.003, screening=False, **kind).fit(X, **lists.arguments)
    assert_same_optimum(with_screening, without)
    events = with_screening.screening_history_
    assert "repair" not in events["where"]
    known = events["zero"] + events["at_bound"]
    assert_array_equal(known + events["undecided"], with_screening.n_triplets_)
    assert events["rate"][-1] > 0.3
    assert events["zero"].max() > 0


@pytest.mark.few(8)
@every
def test_the_interior_point_solves_them_on_its_own(lists, kind):
    model, problem = lists.model(**kind), lists.problem(kind)
    lam = 0.02 * lists.explicit(model).lam_max()
    best = lists.optimum(model, lam)
    point, alpha, _ = next(interior_point(problem.at(lam), 1.0, 1e-10 * best.primal, 60))
    primal = lists.explicit(model).primal(point.value, lam)
    assert primal == pytest.approx(best.primal, rel=1e-8)
    numbers = problem.geometry.items.numbers(*problem.geometry.items.listed())
    dual = lists.explicit(model).dual(alpha[np.argsort(numbers)], lam)
    assert primal - dual <= 1e-8 * primal


@pytest.mark.few(4)
@every
def test_no_bound_decides_wrongly(lists, kind):
    model, problem, rng = lists.model(**kind), lists.problem(kind), np.random.default_rng(0)
    explicit, geometry = lists.explicit(model), problem.geometry
    lam, decided = 0.02 * explicit.lam_max(), dict.fromkeys(BOUNDS, 0)
    best = lists.optimum(model, lam)
    for noise in (0.0, 1e-6, 1e-2, 0.3):
        E = rng.normal(size=best.theta.shape)
        E = (E if E.ndim == 1 else E + E.T) * noise * np.abs(best.theta).max()
        proximal = None if problem.loss.width else Proximal(0.05, best.alpha)
        point = problem.domain.project(best.theta + E)
        evaluation = problem.at(lam, proximal).evaluate(point)
        for ratio in (0.7, 1.0, 1.3):
            target = lists.optimum(model, ratio * lam)
            for name, bound in BOUNDS.items():
                ball = bound(evaluation, ratio * lam, lam)
                decisions = np.zeros(geometry.n_items, dtype=np.int8)
                reduced = screen(problem.at(ratio * lam), [ball], decisions)
                assert wrong_decisions(explicit, target, decisions) == 0, name
                decided[name] += np.count_nonzero(decisions)
                # What is left out enters the value as it should.
                at_target = problem.domain.project(target.theta)
                if problem.loss.width:
                    value = reduced.evaluate(at_target).primal(ratio * lam)
                    assert value == pytest.approx(target.primal, rel=1e-8)
    # GB's ball is large; every other decides some.
    assert sorted(decided.values())[1] > 0


@pytest.mark.few(2)
@pytest.mark.slow
@explicit_lists
def test_paths_with_and_without_screening_agree(lists, kind):
    options = {"ratio": 0.5, "n_lams": 12, **lists.arguments, **kind}
    path, without = (rtlm_path(X, screening=on, **options) for on in (True, False))
    assert path.converged.all()
    assert_allclose(path.lams, without.lams)
    assert_allclose(path.objectives, without.objectives, rtol=1e-6)
    assert path.rates[-3:].mean() > 0.1
    assert path[-1].n_triplets_ == len(lists.explicit(path.model).A)


def test_path_with_pull():
    path = rtlm_path(X, y, pull=0.02, n_neighbors=2, ratio=0.5)
    assert path.converged.all()
    model = path[3]
    value = ALL[-1].explicit(model).primal(path.matrices[3], path.lams[3])
    assert_allclose(path.objectives[3], value, rtol=1e-10)


# -- what is the same as what --------------------------------------------------------------------


@pytest.mark.slow
@kinds
def test_a_triplet_is_a_quadruplet(kind):
    from_triplets = ScreenedRTLM(**kind).fit(X, triplets=T)
    from_quadruplets = ScreenedRTLM(**kind).fit(X, quadruplets=T[:, [0, 1, 0, 2]])
    assert_same_optimum(from_triplets, from_quadruplets)
    half = ScreenedRTLM(**kind).fit(X, triplets=T[:20], quadruplets=T[20:, [1, 0, 2, 0]])
    assert_same_optimum(from_triplets, half)


@pytest.mark.slow
@kinds
def test_farther_than_a_duplicate_is_a_bound_of_one(kind):
    doubled = np.concatenate((X, X))
    copies = np.stack((np.arange(len(D)) % 20, np.arange(len(D)) % 20 + len(X)), axis=1)
    bounded = ScreenedRTLM(**kind).fit(doubled, pairs=(S, D, 1.0, 1.0))
    compared = ScreenedRTLM(**kind)
    compared.fit(doubled, quadruplets=np.hstack((copies, D)), pairs=(S, [], 1.0, None))
    assert_same_optimum(bounded, compared)


@pytest.mark.few(2)
@pytest.mark.slow
@kinds
def test_integer_weights_are_repetitions_and_zeros_removals(kind):
    rng, options = np.random.default_rng(2), {"lam": 1.0, "relative_lam": False, **kind}
    w = rng.integers(4, size=_n)
    weighted = ScreenedRTLM(**options)
    weighted.fit(X, triplets=T, quadruplets=Q, pairs=(S, D, UPPER, LOWER), comparison_weight=w)
    t, q, s, d = np.split(w, np.cumsum([len(T), len(Q), len(S)]))
    repeated = ScreenedRTLM(**options).fit(
        X,
        triplets=np.repeat(T, t, axis=0),
        quadruplets=np.repeat(Q, q, axis=0),
        pairs=(
            np.repeat(S, s, axis=0),
            np.repeat(D, d, axis=0),
            np.repeat(UPPER, s),
            np.repeat(LOWER, d),
        ),
    )
    assert_same_optimum(weighted, repeated)
    assert_allclose(weighted.lam_max_, repeated.lam_max_, rtol=1e-10)
    assert (weighted.n_triplets_, repeated.n_triplets_) == (np.count_nonzero(w), w.sum())


@pytest.mark.few(3)
@pytest.mark.slow
@kinds
def test_common_weights_are_a_factor(kind):
    once = ScreenedRTLM(**kind).fit(X, quadruplets=Q)
    ones = ScreenedRTLM(**kind).fit(X, quadruplets=Q, comparison_weight=np.ones(len(Q)))
    assert_array_equal(ones.components_, once.components_)
    for factor in (1e-12, 7.0, 1e12):
        model = ScreenedRTLM(**kind).fit(
            X, quadruplets=Q, comparison_weight=np.full(len(Q), factor)
        )
        assert_allclose(model.lam_max_, factor * once.lam_max_, rtol=1e-10)
        assert_allclose(model.objective_, factor * once.objective_, rtol=2e-6)
        assert model.dual_gap_ <= model.tol


@kinds
def test_order_and_direction_of_comparisons_do_not_matter(kind):
    rng = np.random.default_rng(3)
    arguments = ALL[3].arguments
    model = ScreenedRTLM(**kind).fit(X, **arguments)
    t, q, s, d = np.split(arguments["comparison_weight"], np.cumsum([len(T), len(Q), len(S)]))
    orders = [rng.permutation(len(part)) for part in (T, Q, S, D)]
    other = ScreenedRTLM(**kind).fit(
        X,
        triplets=T[orders[0]].tolist(),
        quadruplets=Q[orders[1]][:, [1, 0, 3, 2]],
        pairs=[S[orders[2], ::-1], D[orders[3], ::-1], UPPER[orders[2]], LOWER[orders[3]]],
        comparison_weight=np.concatenate(
            [w[o] for w, o in zip((t, q, s, d), orders, strict=True)]
        ).tolist(),
    )
    assert_same_optimum(model, other)


# -- pull ----------------------------------------------------------------------------------------


def test_pull_draws_target_neighbours_together():
    triplets, distances = brute_force_triplets(X, y, 2), []
    neighbours = np.stack((X[triplets[:, 0]], X[triplets[:, 1]]), axis=1)
    for pull in (0.0, 0.1, 1.0):
        model = ScreenedRTLM(1.0, relative_lam=False, n_neighbors=2, pull=pull).fit(X, y)
        distances.append(np.sum(model.pair_distance(neighbours) ** 2))
    assert distances[0] > 1.1 * distances[1] > 1.1 * distances[2]


@kinds
def test_a_pull_that_outweighs_everything_gives_the_zero_metric(kind):
    with pytest.warns(UserWarning, match=r"\blam\b"):
        model = ScreenedRTLM(pull=1e6, **kind).fit(X, y)
    assert_array_equal(model.get_mahalanobis_matrix(), 0.0)
    assert model.dual_gap_ <= model.tol


def test_comparisons_have_no_target_neighbours_to_pull():
    for arguments in ({"triplets": T}, {"quadruplets": Q}, {"pairs": (S, D, 1.0, 3.0)}):
        pulled, plain = (ScreenedRTLM(pull=pull).fit(X, **arguments) for pull in (0.5, 0.0))
        assert_array_equal(pulled.components_, plain.components_)


# -- data of all sizes ---------------------------------------------------------------------------


@kinds
def test_similar_pairs_alone_give_the_zero_metric(kind):
    with pytest.warns(UserWarning, match=r"\blam\b"):
        model = ScreenedRTLM(**kind).fit(X, pairs=(S, [], 1.0, None))
    assert_array_equal(model.get_mahalanobis_matrix(), 0.0)
    assert (model.objective_, model.dual_gap_, model.n_triplets_) == (0.0, 0.0, len(S))


@pytest.mark.few(2)
@pytest.mark.slow
@kinds
def test_dissimilar_pairs_alone(kind):
    model = ScreenedRTLM(lam=1e-6, **kind).fit(X, pairs=(np.empty((0, 2), int), D, None, 3.0))
    assert model.dual_gap_ <= model.tol
    assert model.pair_distance(X[D]).min() ** 2 >= 2.9


@pytest.mark.few(4)
@kinds
@pytest.mark.parametrize("size", [1e-20, 1e-6, 1e4, 1e20])
@pytest.mark.slow
def test_bounds_of_any_size(size, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ScreenedRTLM(lam=1e-3, **kind).fit(X, pairs=(S, D, size, 3 * size))
        without = ScreenedRTLM(lam=1e-3, screening=False, **kind)
        without.fit(X, pairs=(S, D, size, 3 * size))
    assert model.dual_gap_ <= model.tol
    assert_same_optimum(model, without)
    if model.loss == "hinge":
        # The hinge has no scale of its own.
        unit = ScreenedRTLM(lam=1e-3, **kind).fit(X, pairs=(S, D, 1.0, 3.0))
        assert_allclose(model.objective_, size * unit.objective_, rtol=2e-6)


@pytest.mark.few(3)
@pytest.mark.slow
@kinds
def test_upper_and_lower_bounds_far_apart(kind):
    for upper, lower in ((1e-12, 3.0), (1e8, 1.0), (3.0, 1e-12), (1.0, 1e8)):
        model = ScreenedRTLM(lam=1e-3, **kind).fit(X, pairs=(S, D, upper, lower))
        assert model.dual_gap_ <= model.tol


@kinds
def test_duplicate_samples(kind):
    doubled = np.concatenate((X, X))
    n = len(X)
    quadruplets = np.array([[0, n, 1, 2], [0, 1, 2, n + 2], [3, n + 3, 4, n + 4], [5, 6, n + 5, 6]])
    pairs = ([[0, n], [1, 2]], [[3, n + 3], [4, 9]], 1.0, 2.0)
    model = ScreenedRTLM(**kind).fit(doubled, quadruplets=quadruplets, pairs=pairs)
    assert model.dual_gap_ <= model.tol


# -- arguments -----------------------------------------------------------------------------------


def test_arguments_are_not_modified():
    arguments = ALL[3].arguments
    before = [np.copy(part) for part in (T, Q, S, D, UPPER, LOWER, arguments["comparison_weight"])]
    ScreenedRTLM().fit(X, **arguments)
    after = (T, Q, S, D, UPPER, LOWER, arguments["comparison_weight"])
    for left, right in zip(before, after, strict=True):
        assert_array_equal(left, right)


def test_comparisons_are_routed_through_a_pipeline():
    arguments = ALL[3].arguments
    request = dict.fromkeys(arguments, True)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), ScreenedRTLM().set_fit_request(**request))
        mapped = routed.fit_transform(X, **arguments)
        asked_for = make_pipeline(StandardScaler(), ScreenedRTLM())
        with pytest.raises(UnsetMetadataPassedError, match="quadruplets"):
            asked_for.fit(X, quadruplets=Q)
    direct = ScreenedRTLM().fit(scale(X), **arguments)
    assert_array_equal(routed[-1].components_, direct.components_)
    assert_allclose(mapped, direct.transform(scale(X)), atol=1e-12)


@pytest.mark.slow
def test_bounds_in_large_units_take_no_more_steps_than_the_hinge():
    """There the default gamma is narrow: a quadratic piece that steps overshoot."""
    rng = np.random.default_rng(0)
    X, y = load_wine(return_X_y=True)
    X = 3.0 * scale(X)
    pairs = rng.integers(len(X), size=(3000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alike = y[pairs[:, 0]] == y[pairs[:, 1]]
    lists = pairs[alike], pairs[~alike]
    squares = ((X[lists[1][:, 0]] - X[lists[1][:, 1]]) ** 2).sum(axis=1)
    bounds = tuple(np.percentile(squares, [5, 95]))
    steps = [
        ScreenedRTLM(1e-4, loss=loss).fit(X, pairs=(*lists, *bounds)).n_iter_
        for loss in ("smoothed_hinge", "hinge")
    ]
    assert steps[0] <= 1.5 * steps[1]


def test_the_matrix_of_float32_data_in_small_units_is_finite():
    rng = np.random.default_rng(0)
    small = (1e-30 * rng.normal(size=(7, 3))).astype(np.float32)
    triplets = np.array([rng.choice(7, 3, replace=False) for _ in range(21)])
    matrix = ScreenedRTLM().fit(small, triplets=triplets).get_mahalanobis_matrix()
    assert np.all(np.isfinite(matrix)) and np.trace(matrix) > 1e55


def test_indices_are_places_of_rows_whatever_a_frame_calls_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3))).sample(frac=1.0, random_state=0)
    triplets = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    expected = ScreenedRTLM().fit(frame.to_numpy(), triplets=triplets)
    for found in (
        ScreenedRTLM().fit(frame, triplets=triplets),
        RTLMTripletsClassifier(preprocessor=frame).fit(triplets),
    ):
        np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-6)
    for fit in (
        lambda: ScreenedRTLM().fit(frame, triplets=triplets + 100),
        lambda: RTLMTripletsClassifier(preprocessor=frame).fit(triplets + 100),
    ):
        with pytest.raises(ValueError, match=r"^triplets\b"):
            fit()
