from dataclasses import replace

import numpy as np
import pytest
from rtlm_reference import (
    Case,
    Explicit,
    brute_force_triplets,
    item_margins,
    item_matrices,
    small_data,
    triplets_from_array,
)

from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays, triplets_from_labels

LOSS = SmoothedHinge(1.0, 0.05)
GEOMETRY = {False: Comparisons, True: DiagonalComparisons}
both = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


def random_point(d, diagonal, rng, scale=1.0):
    if diagonal:
        return NonnegativeOrthant().project(scale * rng.normal(size=d))
    A = rng.normal(size=(d, d))
    return PSDCone().project(scale * (A + A.T))


def data(name="wine", seed=0):
    X, _, triplets = small_data(name)
    return X, triplets, np.random.default_rng(seed)


def numbers(items):
    """Item numbers, row by row."""
    rows = range(len(items.start))
    return np.concatenate(
        [items.base[p] + items.rank[items.start[p] : items.stop[p]] for p in rows]
        or [np.empty(0, dtype=int)]
    )


def margins_by_number(geometry, margins):
    """Margin of every item of a full or reduced geometry, keyed by item number."""
    items, found = geometry.items, {}
    for p in range(len(items.start)):
        for s in range(items.start[p], items.stop[p]):
            found[int(items.base[p] + items.rank[s])] = margins.far[s] - margins.near[p]
    return found


def shrink_at_random(geometry, rng):
    start, stop = geometry.items.start.copy(), geometry.items.stop.copy()
    for p in range(start.size):
        start[p], stop[p] = np.sort(rng.integers(start[p], stop[p] + 1, size=2))
    return start, stop


def test_an_embedding_is_right_in_used_memory_too():
    """Features without weight are left out and the padding is zero, whatever the memory held."""
    rng = np.random.default_rng(0)
    X, items = rng.normal(size=(600, 9)), triplets_from_array(np.array([[0, 1, 2]]))
    geometry = DiagonalComparisons(X, items)
    for used in ([0, 3, 4, 7, 8], [1], [], range(9)):
        # Its memory is used again, full of what must not be seen.
        np.full((600, 4 * -(-len(used) // 4)), np.nan)
        factor = np.zeros(9)
        factor[list(used)] = rng.uniform(0.5, 2.0, len(used))
        Z = geometry._embed(factor)
        expected = np.linalg.norm((X[:50] - X[50:100]) * factor, axis=1)
        assert Z.shape[1] % 4 == 0
        np.testing.assert_allclose(
            np.linalg.norm(Z[:50] - Z[50:100], axis=1), expected, rtol=1e-14, atol=0.0
        )


@both
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_margins_are_inner_products_with_the_item_matrices(name, diagonal):
    X, triplets, rng = data(name)
    explicit = Explicit(item_matrices(X, triplets, diagonal), 0.05)
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    for scale in (1e-5, 1.0, 1e5):
        point = random_point(X.shape[1], diagonal, rng, scale)
        found = item_margins(geometry, geometry.margins(point))
        size = np.linalg.norm(point.value) * explicit.norms.max()
        np.testing.assert_allclose(found, explicit.margins(point.value), atol=1e-13 * size)


@both
def test_margins_under_the_zero_metric_are_zero(diagonal):
    X, triplets, rng = data()
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    zero = random_point(X.shape[1], diagonal, rng, 0.0)
    assert np.all(item_margins(geometry, geometry.margins(zero)) == 0.0)


@both
def test_loss_and_adjoint_are_sums_over_items(diagonal):
    X, triplets, rng = data()
    explicit = Explicit(item_matrices(X, triplets, diagonal), 0.05)
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        point = random_point(X.shape[1], diagonal, rng, scale)
        value, adjoint, error = geometry.loss(geometry.margins(point), LOSS)
        x = explicit.margins(point.value)
        expected = explicit.adjoint(explicit.dual_variables(x))
        assert value == pytest.approx(explicit.losses(x).sum(), rel=1e-12)
        np.testing.assert_allclose(adjoint, expected, atol=1e-11 * np.abs(expected).max())
        assert error < 1e-9 * np.linalg.norm(adjoint)


@both
def test_adjoint_at_zero_is_the_sum_of_all_items(diagonal):
    X, triplets, _ = data()
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    expected = item_matrices(X, triplets, diagonal).sum(axis=0)
    np.testing.assert_allclose(
        geometry.adjoint_at_zero(LOSS)[0], expected, atol=1e-12 * np.abs(expected).max()
    )


@both
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_adjoint_error_bounds_the_rounding_error(offset, diagonal):
    X, triplets, rng = data()
    # Shifted data are rounded once here; from then on they are exact in both computations.
    X = X + offset
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    exact = item_matrices(X.astype(np.longdouble), triplets, diagonal)
    for _ in range(5):
        point = random_point(X.shape[1], diagonal, rng, 0.05)
        margins = geometry.margins(point)
        alpha = np.clip((1.0 - item_margins(geometry, margins)) / 0.05, 0.0, 1.0)
        _, adjoint, error = geometry.loss(margins, LOSS)
        expected = np.tensordot(alpha.astype(np.longdouble), exact, axes=1)
        assert np.linalg.norm((adjoint - expected).astype(float)) <= error


@both
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_intervals_hold_the_exact_distances(offset, diagonal):
    X, triplets, rng = data()
    X = X + offset
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    items, points = geometry.items, [random_point(X.shape[1], diagonal, rng) for _ in range(3)]
    coefficients = (0.5, 0.7, -0.4)
    exact = np.zeros(X.shape[1:] * (1 if diagonal else 2), dtype=np.longdouble)
    for coefficient, point in zip(coefficients, points, strict=True):
        factor = point.factor.astype(np.longdouble)
        exact += coefficient * (factor**2 if diagonal else factor @ factor.T)
    terms = [(c, geometry.margins(p)) for c, p in zip(coefficients, points, strict=True)]
    near_low, near_high, far_low, far_high = geometry.intervals(terms)
    for low, high, pairs in (
        (near_low, near_high, items.near),
        (far_low, far_high, items.far[items.places]),
    ):
        u = X[pairs[:, 0]].astype(np.longdouble) - X[pairs[:, 1]]
        distance = u**2 @ exact if diagonal else np.einsum("pi,ij,pj->p", u, exact, u)
        assert np.all((low <= distance) & (distance <= high))
        if offset == 0.0:
            assert np.all(high - low < 1e-11 * (1.0 + np.abs(high)))


@both
def test_sizes_bound_the_norms_of_the_items(diagonal):
    X, triplets, _ = data("iris")
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    items = geometry.items
    for sizes, pairs in (
        (geometry.near_sizes, items.near),
        (geometry.far_sizes, items.far[items.places]),
    ):
        u = X[pairs[:, 0]].astype(np.longdouble) - X[pairs[:, 1]]
        exact = np.sqrt((u**4).sum(axis=1)) if diagonal else (u**2).sum(axis=1)
        assert np.all(sizes >= exact)
        np.testing.assert_allclose(sizes, exact.astype(float), rtol=1e-11)
    norms = np.linalg.norm(item_matrices(X, triplets, diagonal).reshape(len(triplets), -1), axis=1)
    bound = np.empty(len(triplets))
    for p in range(len(items.near)):
        for s in range(items.start[p], items.stop[p]):
            bound[items.base[p] + items.rank[s]] = np.hypot(
                geometry.near_sizes[p], geometry.far_sizes[s]
            )
    assert np.all(bound >= norms * (1 - 1e-14))


@both
def test_labels_and_the_same_explicit_triplets_are_the_same_problem(diagonal):
    X, y, _ = small_data("breast_cancer")
    rng = np.random.default_rng(0)
    triplets = brute_force_triplets(X, y, 3)
    first = GEOMETRY[diagonal](X, triplets_from_labels(X, y, 3))
    second = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    point = random_point(X.shape[1], diagonal, rng, 0.05)
    one, two = first.margins(point), second.margins(point)
    np.testing.assert_allclose(item_margins(first, one), item_margins(second, two), atol=1e-12)
    (value, adjoint, _), (other_value, other_adjoint, _) = (
        first.loss(one, LOSS),
        second.loss(two, LOSS),
    )
    assert value == pytest.approx(other_value, rel=1e-12)
    np.testing.assert_allclose(adjoint, other_adjoint, atol=1e-10 * np.abs(adjoint).max())


@both
@pytest.mark.parametrize("labels", [True, False])
def test_restriction_keeps_item_numbers_and_margins(labels, diagonal):
    X, triplets, rng = data("iris")
    items = triplets_from_array(triplets)
    if labels:
        _, y, _ = small_data("iris")
        items = triplets_from_labels(X, y, 4)
    full = GEOMETRY[diagonal](X, items)
    point = random_point(X.shape[1], diagonal, rng)
    expected = item_margins(full, full.margins(point))
    geometry, left = full, np.arange(full.n_items)
    for _ in range(4):
        start, stop = shrink_at_random(geometry, rng)
        kept = numbers(replace(geometry.items, start=start, stop=stop))
        geometry = geometry.restrict(start, stop)
        assert np.all(np.isin(kept, left))
        left = kept
        assert geometry.n_items == left.size
        np.testing.assert_array_equal(numbers(geometry.items), left)
        found = margins_by_number(geometry, geometry.margins(point))
        np.testing.assert_allclose(
            [found[t] for t in left], expected[left], atol=1e-12 * np.abs(expected).max()
        )
    np.testing.assert_allclose(item_margins(full, full.margins(point)), expected)


@both
def test_restriction_keeps_the_adjoint_of_what_is_left(diagonal):
    X, triplets, rng = data()
    H = item_matrices(X, triplets, diagonal)
    full = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    geometry = full.restrict(*shrink_at_random(full, rng))
    expected = H[numbers(geometry.items)].sum(axis=0)
    np.testing.assert_allclose(geometry.adjoint_at_zero(LOSS)[0], expected, atol=1e-10)


@both
def test_restriction_to_nothing_is_an_empty_problem(diagonal):
    X, triplets, rng = data()
    full = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    empty = full.restrict(full.items.stop.copy(), full.items.stop.copy())
    margins = empty.margins(random_point(X.shape[1], diagonal, rng))
    value, adjoint, _ = empty.loss(margins, LOSS)
    assert (empty.n_items, value) == (0, 0.0)
    assert adjoint.shape == full.shape
    assert np.all(adjoint == 0.0)


@both
@pytest.mark.parametrize("labels", [True, False])
def test_sorting_places_keeps_item_numbers_and_margins(labels, diagonal):
    X, triplets, rng = data("iris")
    items = triplets_from_array(triplets)
    if labels:
        _, y, _ = small_data("iris")
        items = triplets_from_labels(X, y, 6)
    geometry = GEOMETRY[diagonal](X, items)
    for _ in range(3):
        point = random_point(X.shape[1], diagonal, rng)
        margins = geometry.margins(point)
        expected = item_margins(geometry, margins)
        ordered, moved = geometry.sort_places(margins)
        np.testing.assert_array_equal(item_margins(ordered, moved), expected)
        np.testing.assert_allclose(item_margins(ordered, ordered.margins(point)), expected)
        for first, last in zip(ordered.items.blocks[:-1], ordered.items.blocks[1:], strict=True):
            assert np.all(np.diff(moved.far[first:last]) >= 0.0)
        value, adjoint, _ = ordered.loss(moved, LOSS)
        same_value, same_adjoint, _ = geometry.loss(margins, LOSS)
        assert value == pytest.approx(same_value, rel=1e-12)
        np.testing.assert_allclose(
            adjoint, same_adjoint, atol=1e-11 * np.abs(same_adjoint).max() + 1e-300
        )
        geometry = ordered


@both
def test_duplicate_samples_have_margins_of_exactly_zero(diagonal):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    X[4] = X[1]
    X[5] = X[0]
    geometry = GEOMETRY[diagonal](
        X, triplets_from_array(np.array([(0, 1, 4), (0, 5, 2), (0, 2, 5)]))
    )
    margins = item_margins(geometry, geometry.margins(random_point(3, diagonal, rng)))
    assert margins[0] == 0.0
    assert margins[1] >= 0.0
    assert margins[2] == -margins[1]


@both
def test_largest_ratio_and_number_of_decidable_items(diagonal):
    X, triplets, rng = data()
    geometry = GEOMETRY[diagonal](X, triplets_from_array(triplets))
    margins = geometry.margins(random_point(X.shape[1], diagonal, rng, 0.05))
    x = item_margins(geometry, margins)
    assert geometry.largest_ratio(margins, LOSS) == x.max() / LOSS.linear_below
    assert geometry.count_decidable(margins, LOSS) == np.sum((x > 1.0) | (x < LOSS.linear_below))


@both
def test_proximal_loss_is_the_maximum_over_dual_variables(diagonal):
    case = Case("iris", "hinge", diagonal)
    X, triplets, rng = data("iris")
    geometry, explicit = GEOMETRY[diagonal](X, triplets_from_array(triplets)), case.explicit
    width, centre = 0.3, rng.random(len(triplets))
    point = random_point(X.shape[1], diagonal, rng, 0.2)
    known = geometry.margins(point), SmoothedHinge(1.0, 0.0), width, centre
    smoothed, value, gap, slack, adjoint, _ = geometry.proximal_loss(*known)
    alpha = geometry.proximal_duals(*known)
    z = 1.0 - explicit.margins(point.value)
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    model = grid * z - 0.5 * width * (grid - centre) ** 2 + 0.5 * width * centre**2
    assert smoothed == pytest.approx(model.max(axis=0).sum(), rel=1e-4)
    assert np.all(np.abs(alpha - grid[model.argmax(axis=0), 0]) < 1e-3)
    assert value == pytest.approx(np.maximum(z, 0.0).sum(), rel=1e-12)
    exact = explicit.fenchel_young(1.0 - z, alpha).sum()
    assert abs(gap - exact) <= slack + 1e-12 * exact
    np.testing.assert_allclose(adjoint, explicit.adjoint(alpha), atol=1e-10)


@both
@pytest.mark.parametrize("labels", [True, False])
def test_listed_items_have_their_numbers_and_differences(labels, diagonal):
    X, triplets, rng = data("iris")
    items = triplets_from_array(triplets)
    if labels:
        _, y, _ = small_data("iris")
        items, triplets = triplets_from_labels(X, y, 4), brute_force_triplets(X, y, 4)
    full = GEOMETRY[diagonal](X, items)
    for geometry in (full, full.restrict(*shrink_at_random(full, rng))):
        rows, places = geometry.items.listed()
        listed = geometry.items.numbers(rows, places)
        np.testing.assert_array_equal(listed, numbers(geometry.items))
        near, far = geometry.differences(rows, places)
        H = far**2 - near**2
        if not diagonal:
            H = far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]
        # Ties in distance may swap equal items of the brute-force list.
        expected = item_matrices(X, triplets[listed], diagonal)
        norms = [np.sort(np.linalg.norm(A.reshape(len(A), -1), axis=1)) for A in (H, expected)]
        np.testing.assert_allclose(*norms, atol=1e-12)
        if not labels:
            np.testing.assert_allclose(H, expected, atol=1e-12)


# -- thresholds and weights of the items' own ----------------------------------------------------


def general(diagonal, gamma=0.05):
    """Random comparisons, bounds on single distances among them, and their explicit problem."""
    X, _, rng = data("iris")
    m = 200
    near, far = rng.integers(len(X), size=(2, m, 2))
    near[:60], far[60:90] = near[:60, [0, 0]], far[60:90, [0, 0]]
    # Few values, so that some rows have several places.
    near[90:150] = near[rng.integers(90, 95, size=60)]
    thresholds = rng.choice([-0.7, 0.02, 1.0, 2.5], m)
    weights = rng.choice([0.25, 1.0, 3.0], m)
    geometry = GEOMETRY[diagonal](X, comparisons_from_arrays(near, far, thresholds, weights))
    u, v = X[near[:, 0]] - X[near[:, 1]], X[far[:, 0]] - X[far[:, 1]]
    A = v**2 - u**2
    if not diagonal:
        A = v[:, :, None] * v[:, None, :] - u[:, :, None] * u[:, None, :]
    return geometry, Explicit(A, gamma, thresholds, weights=weights), rng


def parts(geometry, rng, point):
    """The geometry, and what restricting and sorting make of it, with item numbers."""
    for _ in range(2):
        yield geometry, numbers(geometry.items)
        geometry = geometry.sort_places(geometry.margins(point))[0]
        geometry = geometry.restrict(*shrink_at_random(geometry, rng))
    yield geometry, numbers(geometry.items)


def part_of(explicit, left):
    return Explicit(
        explicit.A[left], explicit.gamma, explicit.threshold[left], weights=explicit.weights[left]
    )


@both
def test_sums_with_thresholds_and_weights(diagonal):
    full, explicit, rng = general(diagonal)
    assert full.items.near.shape[0] < full.n_items == len(explicit.A)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        point = random_point(full.n_features, diagonal, rng, scale)
        for geometry, left in parts(full, rng, point):
            part, margins = part_of(explicit, left), geometry.margins(point)
            x = part.margins(point.value)
            value, adjoint, _ = geometry.loss(margins, LOSS)
            expected = part.adjoint(part.dual_variables(x))
            assert value == pytest.approx(part.weights @ part.losses(x), rel=1e-12)
            assert geometry.loss_value(margins, LOSS)[0] == value
            size = np.abs(part.A).max() * part.weights.sum()
            np.testing.assert_allclose(adjoint, expected, atol=1e-13 * size)
            decidable = np.sum((x > part.threshold) | (x < part.threshold - part.gamma))
            assert geometry.count_decidable(margins, LOSS) == decidable
            at_zero = part.adjoint(part.dual_variables(0.0))
            np.testing.assert_allclose(
                geometry.adjoint_at_zero(LOSS)[0], at_zero, atol=1e-13 * size
            )


@both
def test_proximal_sums_with_thresholds_and_weights(diagonal):
    full, explicit, rng = general(diagonal, 0.0)
    hinge, width, centre = SmoothedHinge(1.0, 0.0), 0.3, rng.random(len(explicit.A))
    point = random_point(full.n_features, diagonal, rng, 0.2)
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    for geometry, left in parts(full, rng, point):
        part, known = part_of(explicit, left), (geometry.margins(point), hinge, width, centre)
        smoothed, value, gap, slack, adjoint, _ = geometry.proximal_loss(*known)
        alpha = geometry.proximal_duals(*known)
        x, c = part.margins(point.value), centre[left]
        model = grid * (part.threshold - x) - 0.5 * width * ((grid - c) ** 2 - c**2)
        assert smoothed == pytest.approx(part.weights @ model.max(axis=0), rel=1e-4)
        assert value == pytest.approx(part.weights @ part.losses(x), rel=1e-12)
        exact = part.weights @ part.fenchel_young(x, alpha[left])
        assert abs(gap - exact) <= slack + 1e-12 * exact
        np.testing.assert_allclose(adjoint, part.adjoint(alpha[left]), atol=1e-10)
        others = np.setdiff1d(np.arange(alpha.size), left)
        np.testing.assert_array_equal(alpha[others], centre[others])


@both
def test_linear_part_with_thresholds_and_weights(diagonal):
    full, explicit, rng = general(diagonal)
    point = random_point(full.n_features, diagonal, rng)
    for geometry, left in parts(full, rng, point):
        part = part_of(explicit, left)
        rows, places = geometry.items.listed()
        counts = [geometry.no_weights()[0], geometry.no_weights()[1]]
        some = rng.random(rows.size) < 0.5
        np.add.at(counts[0], rows[some], 1.0)
        np.add.at(counts[1], places[some], 1.0)
        adjoint, _, constant = geometry.linear_part(*counts, LOSS)
        # `left` and the listed items are both row by row.
        np.testing.assert_allclose(adjoint, part.adjoint(some), atol=1e-10)
        expected = (part.weights * (part.threshold - 0.5 * LOSS.width)) @ some
        assert constant == pytest.approx(expected, rel=1e-12)


def test_duals_at_zero_are_in_the_order_of_item_numbers():
    full, explicit, _ = general(False)
    for loss in (LOSS, SmoothedHinge(1.0, 0.0)):
        explicit.gamma = loss.width
        np.testing.assert_allclose(full.duals_at_zero(loss), explicit.dual_variables(0.0))
