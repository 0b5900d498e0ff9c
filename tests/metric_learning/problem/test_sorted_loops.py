import numpy as np
import pytest
from cases import every_pair
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale as standardised

from skscreen import rtlm_path
from skscreen._compiled import metric_learning as loops
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.items import SORT_FROM
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem, extend
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays, triplets_from_labels

ALWAYS = (1, 0)


def one_class_of_many():
    """Wine with 34 samples of one class and 97 of others, each of its own: long rows, shared."""
    X, y = load_wine(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == 2)[:34], np.flatnonzero(y < 2)[:97]])
    return standardised(X[rows]), np.maximum(np.arange(131) - 33, 0)


def blocks_of_rows(rng, n_blocks, n_rows, n_places, part):
    """Rows of consecutive blocks of places: whole blocks, random parts, or some empty."""
    first = np.repeat(np.arange(n_blocks) * n_places, n_rows)
    start, stop = first.copy(), first + n_places
    if part != "whole":
        ends = np.sort(rng.integers(0, n_places + 1, size=(2, first.size)), axis=0)
        change = rng.random(first.size) < 0.7
        start[change], stop[change] = (first + ends[0])[change], (first + ends[1])[change]
    if part == "holes":
        empty = rng.random(first.size) < 0.5
        stop[empty] = start[empty]
    return start, stop


def distances(rng, kind, n_blocks, n_rows, n_places):
    """Distances of near pairs and places; places nearly in order, as they are stored."""
    near, far = rng.exponential(size=n_blocks * n_rows), rng.exponential(size=n_blocks * n_places)
    far = np.sort(far.reshape(n_blocks, n_places)).ravel() * rng.uniform(0.9, 1.1, size=far.size)
    if kind == "ties":
        near, far = np.round(near, 1), np.round(far, 1)
    elif kind == "equal":
        near[:], far[:] = 1.0, 1.5
    elif kind == "zero":
        near[:], far[:] = 0.0, 0.0
    elif kind == "outliers":
        near[::3], far[::5] = 1e8 * near[::3], 1e8 * far[::5]
    elif kind == "far anchor":
        near, far = 1e8 + near, 1e8 + far
    elif kind == "disorder":
        rng.shuffle(far)
    return near, far


def direct(start, stop, near, far, gamma):
    rows, places = np.zeros(near.size), np.zeros(far.size)
    ones = np.ones(near.size)
    return (
        loops.loss_pass(start, stop, near, far, ones, gamma, 1.0, ones, rows, places),
        rows,
        places,
    )


def in_order(start, stop, near, far, gamma, rows, places, sort_from=ALWAYS):
    ones = np.ones(near.size)
    levels = ones, gamma, 1.0, ones
    return loops.sorted_loss_pass(start, stop, near, far, *levels, rows, places, sort_from)


def exact(start, stop, near, far, gamma):
    """Sums over items in extended precision, of the levels that the passes round."""
    total = np.longdouble(0.0)
    for p in range(near.size):
        z = np.longdouble(1.0 + near[p]) - far[start[p] : stop[p]].astype(np.longdouble)
        alpha = np.clip(z / np.longdouble(gamma), 0.0, 1.0)
        total += np.sum(alpha * (z - np.longdouble(gamma) * alpha / 2))
    return total


KINDS = ["plain", "ties", "equal", "zero", "outliers", "far anchor", "disorder"]


@pytest.mark.few(6)
@every_pair(gamma=[0.05, 0.9, 1e-9], part=["whole", "parts", "holes"], kind=KINDS)
def test_sorted_pass_agrees_with_the_direct_one(kind, part, gamma):
    rng = np.random.default_rng(0)
    for shape in ((3, 40, 57), (2, 1, 30), (2, 50, 1), (1, 1, 1), (2, 2, 1000), (1500, 2, 2)):
        start, stop = blocks_of_rows(rng, *shape, part)
        near, far = distances(rng, kind, *shape)
        value, rows, places = direct(start, stop, near, far, gamma)
        found_rows, found_places = np.zeros(near.size), np.ones(far.size)
        found, error = in_order(start, stop, near, far, gamma, found_rows, found_places)
        assert found == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(found_rows, rows, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found_places - 1.0, places, rtol=1e-10, atol=1e-10)
        assert abs(found - exact(start, stop, near, far, gamma)) <= error
        # With no row long enough it is the direct one but for the order of sums.
        sums = np.zeros(near.size), np.zeros(far.size)
        plain, _ = in_order(start, stop, near, far, gamma, *sums, (10**9, 0))
        assert plain == pytest.approx(value, rel=1e-13)
        np.testing.assert_array_equal(sums[0], rows)
        np.testing.assert_array_equal(sums[1], places)


def test_the_dual_variables_sum_to_the_same_over_rows_and_places():
    rng = np.random.default_rng(1)
    start, stop = blocks_of_rows(rng, 5, 60, 200, "parts")
    near, far = distances(rng, "plain", 5, 60, 200)
    rows, places = np.zeros(near.size), np.zeros(far.size)
    in_order(start, stop, near, far, 0.05, rows, places)
    assert rows.sum() == pytest.approx(places.sum(), rel=1e-14)


def test_a_far_place_among_the_first_spoils_no_sum_behind_it():
    """Prefix sums may hold it only where no row uses them."""
    near, far = np.zeros(40), np.linspace(0.0, 0.5, 100)
    far[3] = 1e12
    start, stop = np.full(40, 5), np.full(40, 100)
    start[0] = 0
    value, rows, places = direct(start, stop, near, far, 0.05)
    found_rows, found_places = np.zeros(40), np.zeros(100)
    found, error = in_order(start, stop, near, far, 0.05, found_rows, found_places)
    assert found == pytest.approx(value, rel=1e-14)
    assert error < 1e-13 * value
    np.testing.assert_allclose(found_rows, rows, rtol=1e-14)
    np.testing.assert_allclose(found_places, places, rtol=1e-14)


def test_the_switch_is_a_matter_of_work():
    """Long rows that share places switch; short rows, and few rows, do not."""
    rng = np.random.default_rng(0)
    sizes = {}
    for shape in ((1, 33, 96), (1, 32, 96), (1, 1000, 95)):
        start, stop = blocks_of_rows(rng, *shape, "whole")
        near, far = distances(rng, "plain", *shape)
        weights = np.zeros(near.size), np.zeros(far.size)
        _, error = in_order(start, stop, near, far, 0.05, *weights, SORT_FROM)
        # Prefix sums add to the errors of all other sums.
        _, plain = in_order(start, stop, near, far, 0.05, *weights, (10**9, 0))
        sizes[shape] = error > 1.01 * plain
    assert list(sizes.values()) == [True, False, False]


def test_largest_ratio_over_shared_and_other_ranges():
    rng = np.random.default_rng(0)
    for part in ("whole", "parts", "holes"):
        start, stop = blocks_of_rows(rng, 4, 9, 12, part)
        near, far = rng.random(36), rng.random(48)
        reaches = rng.choice([-2.0, 0.5], 36)
        ratios = [
            ((far[start[p] : stop[p]] - near[p]) / reaches[p]).max(initial=-np.inf)
            for p in range(36)
        ]
        assert loops.largest_ratio(start, stop, near, far, reaches) == max(ratios)


@pytest.mark.parametrize("geometry", [Comparisons, DiagonalComparisons])
@pytest.mark.slow
def test_evaluations_agree(geometry):
    """Triplets that are looked at in order, and the same from a list, which are not."""
    X, y = one_class_of_many()
    items, rng = triplets_from_labels(X, y, None), np.random.default_rng(0)
    assert items.has_long_ranges and items.covered.max() > SORT_FROM[1]
    listed = comparisons_from_arrays(*items.pairs(*items.listed()))
    assert listed.covered.max() == 1
    for scale in (1e-3, 1e-2, 1e-1):
        if geometry is Comparisons:
            point = PSDCone().project(scale * np.cov(rng.normal(size=(X.shape[1], 40))))
        else:
            point = NonnegativeOrthant().project(scale * rng.random(X.shape[1]))
        fulls = geometry(X, listed), geometry(X, items)
        results = [full.loss(full.margins(point), SmoothedHinge()) for full in fulls]
        (value, adjoint, error), (sorted_value, sorted_adjoint, sorted_error) = results
        assert sorted_value == pytest.approx(value, rel=1e-12)
        assert np.linalg.norm(sorted_adjoint - adjoint) <= error + sorted_error


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("diagonal", [False, True])
def test_paths_agree(diagonal):
    X, y = one_class_of_many()
    items = triplets_from_labels(X, y, None)
    near, far = items.pairs(*items.listed())
    settings = {"ratio": 0.5, "n_lams": 12, "stop": 0.0, "tol": 1e-11, "diagonal": diagonal}
    listed = rtlm_path(X, triplets=np.column_stack([near, far[:, 1]]), **settings)
    with pytest.warns(UserWarning, match=r"^97 of 98\b"):
        in_order = rtlm_path(X, y, n_neighbors=None, **settings)
    assert listed.converged.all() and in_order.converged.all()
    np.testing.assert_allclose(in_order.objectives, listed.objectives, rtol=1e-10)
    assert in_order.rates[4:].mean() > 0.5


def test_a_reduced_problem_is_not_better_than_the_full_one():
    """The gap that `extend` proves holds although either sum of losses is rounded."""
    X, y = one_class_of_many()
    problem = Problem(Comparisons(X, triplets_from_labels(X, y, None)), SmoothedHinge(), PSDCone())
    lam_max, first = problem.lam_max, problem.ray
    full = problem.at(0.1 * lam_max)
    evaluation = full.evaluate(first.scaled(1.0 / full.lam))
    extended = extend(evaluation, full)
    assert evaluation.gap(full.lam) <= extended.gap(full.lam)
    assert extended.gap(full.lam) <= evaluation.gap(full.lam) + 1e-12 * evaluation.loss
