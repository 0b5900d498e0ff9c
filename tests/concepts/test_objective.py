import numpy as np
import pytest
from scipy.optimize import check_grad

from skscreen._compiled import concepts as loops
from skscreen.concepts.problem import trials as arrangement
from skscreen.concepts.problem.objective import Objective
from skscreen.concepts.problem.trials import Pairs, Trials
from skscreen.concepts.tools.errors import count_significant, standard_errors
from tests.concept_cases import draw_trials

rng = np.random.default_rng(0)
N, D = 9, 3
ROWS = {
    "odd": draw_trials(N, 60, rng),
    "triplets": draw_trials(N, 60, rng),
    "pairs": np.concatenate([draw_trials(N, 60, rng), draw_trials(N, 60, rng)], axis=1)[:, :4],
}
# Pairs of two objects, and not the same pair twice.
P = ROWS["pairs"]
P[:, 2] = np.where(P[:, 2] == P[:, 3], (P[:, 2] + 1) % N, P[:, 2])
ROWS["pairs"] = P[[set(row[:2]) != set(row[2:]) and row[2] != row[3] for row in P.tolist()]]
WEIGHTS = rng.integers(1, 4, size=60).astype(float)


def trials_of(kind, weights=None):
    rows = ROWS[kind].astype(np.int32)
    return Trials(rows, None if weights is None else weights[: len(rows)], kind == "odd", N)


def by_hand(X, trials, l1, l2):
    """F, trial by trial."""
    total, count = 0.0, 0.0
    for q, row in enumerate(trials.rows.tolist()):
        a, b, *rest = row
        if trials.is_odd:
            pairs = [(a, b), (a, rest[0]), (b, rest[0])]
        else:
            pairs = [(a, b), (a, rest[0]) if len(rest) == 1 else tuple(rest)]
        powers = [np.exp(X[i] @ X[j]) for i, j in pairs]
        w = 1.0 if trials.weights is None else trials.weights[q]
        total -= w * np.log(powers[0] / sum(powers))
        count += w
    return total / count + (l1 * np.abs(X).sum() + l2 * np.sum(X**2)) / len(X)


@pytest.fixture(params=["table", "list"])
def stored(request, monkeypatch):
    """Pairs in a table, or listed."""
    if request.param == "list":
        monkeypatch.setattr(arrangement, "is_listed", lambda n, n_trials: True)
    return request.param


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_value_and_gradient_are_those_of_the_formula(kind, weights, stored):
    trials = trials_of(kind, weights)
    objective = Objective(trials, 0.3, 0.1)
    assert (objective.pairs.listed is not None) == (stored == "list")
    X = np.random.default_rng(1).gamma(1.0, 0.6, size=(N, D))
    value, gradient = objective.evaluate(X)
    assert value == pytest.approx(by_hand(X, trials, 0.3, 0.1), rel=1e-12)
    error = check_grad(
        lambda x: by_hand(x.reshape(N, D), trials, 0.3, 0.1), lambda _: gradient.ravel(), X.ravel()
    )
    assert error < 1e-6
    plain = by_hand(X, trials, 0.0, 0.0)
    assert objective.log_likelihood(X) == pytest.approx(-plain * trials.total, rel=1e-12)


def test_many_objects_in_tiles_are_as_few(monkeypatch):
    n = 3 * arrangement.TILE + 5
    rows = draw_trials(n, 500, np.random.default_rng(2)).astype(np.int32)
    trials = Trials(rows, None, True, n)
    X = np.random.default_rng(3).gamma(1.0, 0.5, size=(n, 2))
    for listed in (True, False):
        monkeypatch.setattr(arrangement, "is_listed", lambda n, n_trials, listed=listed: listed)
        value, gradient = Objective(trials, 0.0, 0.0).evaluate(X)
        assert value == pytest.approx(by_hand(X, trials, 0.0, 0.0), rel=1e-12)
        # The sum over a dimension of moves along itself.
        moved = Objective(trials, 0.0, 0.0).evaluate(X * (1.0 + 1e-6))[0]
        assert (moved - value) / 1e-6 == pytest.approx(np.vdot(gradient, X), rel=1e-4)


def test_few_trials_of_many_objects_are_listed():
    few = Trials(draw_trials(1000, 100, rng).astype(np.int32), None, True, 1000)
    assert Pairs.of(few).listed is not None
    assert Pairs.of(trials_of("odd")).listed is None


def test_no_dimension_makes_all_choices_alike(stored, capfd):
    value, gradient = Objective(trials_of("odd"), 0.3, 0.1).evaluate(np.empty((N, 0)))
    assert value == pytest.approx(np.log(3.0)) and gradient.shape == (N, 0)
    # BLAS would write to it.
    assert capfd.readouterr().err == ""


def test_huge_similarities_do_not_overflow():
    X = np.full((N, D), 100.0)
    value, gradient = Objective(trials_of("odd"), 0.0, 0.0).evaluate(X)
    assert value == pytest.approx(np.log(3.0)) and np.isfinite(gradient).all()


def test_drawn_trials_are_repeated_ones():
    trials, times = trials_of("odd", WEIGHTS), np.arange(60) % 3
    drawn = Objective(trials, 0.3, 0.1).drawn(times, 0.2, 0.0)
    repeated = Trials(np.repeat(trials.rows, times, axis=0), np.repeat(WEIGHTS, times), True, N)
    X = np.random.default_rng(1).gamma(1.0, 0.6, size=(N, D))
    expected = Objective(repeated, 0.2, 0.0)
    assert drawn.total == expected.total
    for mine, other in zip(drawn.evaluate(X), expected.evaluate(X), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-10)


@pytest.mark.parametrize("kind", ROWS)
def test_standard_errors_are_of_the_hessian_of_a_row(kind):
    trials = trials_of(kind, WEIGHTS)
    X = np.random.default_rng(4).gamma(1.0, 0.6, size=(N, D))
    X[0, 1] = X[2, 2] = 0.0
    errors = standard_errors(X, trials, 0.4)
    objective = Objective(trials, 0.0, 0.4)
    for i in (0, 2, 5):
        on = np.flatnonzero(X[i])
        hessian = np.empty((len(on), len(on)))
        for k, d in enumerate(on):
            sides = []
            for step in (-1e-5, 1e-5):
                moved = X.copy()
                moved[i, d] += step
                sides.append(objective.evaluate(moved)[1][i, on])
            hessian[k] = (sides[1] - sides[0]) / 2e-5 * trials.total
        expected = np.sqrt(np.diag(np.linalg.inv(hessian)))
        np.testing.assert_allclose(errors[i, on], expected, rtol=1e-5)
    assert np.isnan(errors[X == 0.0]).all()


def test_significant_objects_by_hand():
    X = np.array([[1.0, 0.0], [1.0, 0.02], [0.03, 0.0], [0.0, 0.0]])
    errors = np.where(X > 0.0, 0.1, np.nan)
    # p-values about 0, 0, .38 and 1 beside .0125, .025, .0375 and .05; none in the second column.
    assert count_significant(X, errors).tolist() == [2, 0]


def parts(column=1, size=1):
    """One positive entry of each of two rows."""
    columns = np.array([0, column], np.int32)
    return np.arange(3), columns, size * np.arange(3), np.ones(2 * size)


WRONG = {
    "slopes": lambda c: c.choice_pass(np.ones(4), np.zeros(3), np.zeros((1, 3), np.int32), EMPTY),
    "pairs": lambda c: c.choice_pass(np.ones(4), np.zeros(4), np.full((1, 3), 4, np.int32), EMPTY),
    "weights": lambda c: c.choice_pass(
        np.ones(4), np.zeros(4), np.zeros((1, 3), np.int32), np.ones(2)
    ),
    "out": lambda c: c.pair_similarities(np.ones((2, 2)), np.zeros((1, 2), np.int32), EMPTY),
    "gradient": lambda c: c.pair_gradient(
        np.ones((2, 2)), np.zeros((1, 2), np.int32), np.ones(1), np.ones((2, 1))
    ),
    "ages": lambda c: c.bounded_direction(
        np.ones(2), np.ones(2), np.ones((1, 2)), np.ones((1, 2)), np.array([1]), np.ones(2)
    ),
    "changes": lambda c: c.bounded_direction(
        np.ones(2), np.ones(2), np.ones((1, 2)), np.ones((2, 2)), np.array([0]), np.ones(2)
    ),
    "rows": lambda c: c.add_row_information(
        np.ones((2, 2)), parts(), np.array([[0, 1, -1]], np.int32), EMPTY, True
    ),
    "columns": lambda c: c.add_row_information(
        np.ones((2, 2)), parts(column=2), np.zeros((1, 3), np.int32), EMPTY, True
    ),
    "at": lambda c: c.row_errors(np.ones((2, 2)), parts(size=2), 0.0, np.ones((2, 2))),
    "errors": lambda c: c.row_errors(np.ones((2, 2)), parts(), 0.0, np.ones((2, 1))),
    "first": lambda c: c.sum_over_thirds(np.ones((2, 2)), 2, np.ones((2, 2))),
    "sums": lambda c: c.sum_over_thirds(np.ones((2, 2)), 0, np.ones((2, 1))),
    "powers": lambda c: c.sum_over_thirds(np.ones((2, 1)), 0, np.ones((2, 1))),
}
EMPTY = np.empty(0)


@pytest.mark.parametrize("name", WRONG)
def test_loops_refuse_what_does_not_fit(name):
    with pytest.raises(ValueError, match=rf"^{name} must"):
        WRONG[name](loops)
