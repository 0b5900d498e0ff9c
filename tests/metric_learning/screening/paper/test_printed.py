"""Rules inside fits and paths, triplet by triplet, against the printed ones."""

import numpy as np
import pytest
from cases import every_pair
from metric_cases import IRIS_X, IRIS_Y, T, X, y
from rtlm_reference import Explicit, brute_force_triplets, item_matrices, screen

from skscreen import rtlm_path
from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES

# Wines and irises: few neighbours, and all of them.
SETS = {"wine": (X, y, 3), "iris": (IRIS_X, IRIS_Y, 4), "iris, all": (IRIS_X, IRIS_Y, None)}


def printed_ball(problem, name, M, reference_lam, lam):
    """Centre and radius of a bound as printed, alpha the subgradient at M."""
    alpha = problem.dual_variables(problem.margins(M))
    S = problem.adjoint(alpha)
    Q = 0.5 * (M + S / lam)
    square = np.vdot(M - S / lam, M - S / lam) / 4

    def distance(at):
        return np.sqrt(2 * max(problem.primal(M, at) - problem.dual(alpha, at), 0.0) / at)

    if name == "gb":
        return Q, np.sqrt(square)
    if name == "pgb":
        positive, negative = problem.split(Q)
        return positive, np.sqrt(max(square - np.vdot(negative, negative), 0.0))
    if name == "dgb":
        return M, distance(lam)
    scale = (reference_lam + lam) / (2 * lam)
    radius = abs(reference_lam - lam) / (2 * lam) * np.linalg.norm(M)
    radius += max(reference_lam, lam) / lam * distance(reference_lam)
    return scale * M, radius


def smallest_over_half_space(margin, norms, radius, along, depth):
    """Theorem J9: min <A, X> over the ball and {<P, X> >= 0}, |P| = 1."""
    sphere = margin - radius * norms
    cuts = depth - radius * along / np.maximum(norms, 1e-300) < 0.0
    reach = np.sqrt(np.maximum(radius**2 - depth**2, 0.0))
    cut = margin - depth * along - reach * np.sqrt(np.maximum(norms**2 - along**2, 0.0))
    return np.where(cuts, cut, sphere)


def printed_codes(problem, name, rule, M, reference_lam, lam):
    """What the sphere rule of section 4.1, or the linear rule with P = [-S]_K, decides."""
    Q, radius = printed_ball(problem, name, M, reference_lam, lam)
    margins = problem.margins(Q)
    low, high = margins - radius * problem.norms, margins + radius * problem.norms
    if rule == "linear":
        S = problem.adjoint(problem.dual_variables(problem.margins(M)))
        P = problem.split(S if name in ("dgb", "rrpb") else Q)[1]
        P = P / max(np.linalg.norm(P), 1e-300)
        along, depth = problem.margins(P), np.vdot(P, Q)
        low = smallest_over_half_space(margins, problem.norms, radius, along, depth)
        high = -smallest_over_half_space(-margins, problem.norms, radius, -along, depth)
    return np.where(low > 1.0, 1, np.where(high < 1.0 - problem.gamma, 2, 0))


@pytest.mark.few(4)
@pytest.mark.slow
@every_pair(data=SETS, name=["gb", "pgb", "dgb", "rrpb"], diagonal=[False, True])
def test_rates_of_paths_are_those_of_the_printed_rules(data, name, diagonal):
    X, y, k = SETS[data]
    T = brute_force_triplets(X - X.mean(axis=0), y, k or len(X))
    problem = Explicit(item_matrices(X, T, diagonal), 0.05)
    settings = {"n_neighbors": k, "diagonal": diagonal, "bound": name, "ratio": 0.8, "n_lams": 18}
    for rule in RULES[:2]:
        path = rtlm_path(X, y, rule=rule, **settings)
        for t in range(1, len(path), 3):
            M, (before, lam) = path.matrices[t - 1], path.lams[t - 1 : t + 1]
            printed = np.mean(printed_codes(problem, name, rule, M, before, lam) != 0)
            assert path.path_rates[t] == pytest.approx(printed, abs=1e-3)


@pytest.fixture(scope="module")
def followed():
    """A path, and optima of the explicit problem at some of its places."""
    problem = Explicit(item_matrices(X, T, False), 0.05)
    path = rtlm_path(X, y, n_neighbors=3, ratio=0.7, n_lams=12, tol=1e-4)
    return path, {t: problem.optimum(path.lams[t]) for t in (4, 8, 11)}


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDS)
def test_rules_decide_in_order_and_leave_pieces_of_rows(name, followed):
    """Item by item; what is left is the rest, whatever its place in the rows."""
    path, optima = followed
    geometry, counts = path.problem.geometry, []
    for t, best in optima.items():
        before, solution = path.solutions[t - 1 : t + 1]
        evaluation = path.problem.at(before.lam).evaluate(before.point)
        ball = BOUNDS[name](evaluation, solution.lam, before.lam)
        weaker = np.zeros(len(T), dtype=np.int8)
        for rule in (None, *RULES):
            codes = np.zeros(len(T), dtype=np.int8)
            reduced = screen(path.problem.at(solution.lam), [ball], codes, rule)
            assert np.all(codes[weaker != UNDECIDED] == weaker[weaker != UNDECIDED])
            left = reduced.geometry.items.numbers(*reduced.geometry.items.listed())
            assert np.array_equal(np.sort(left), np.flatnonzero(codes == UNDECIDED))
            assert reduced.n_zero == np.count_nonzero(codes == ZERO)
            point = path.problem.domain.project(best.theta)
            certificate = reduced.evaluate(point).certificate(solution.lam)
            assert certificate.primal == pytest.approx(best.primal, rel=1e-8)
            assert certificate.relative_gap < 1e-7
            counts.append(np.count_nonzero(codes))
            weaker = codes
        rows, places = geometry.items.listed()
        near, far = (u @ best.theta * u for u in geometry.differences(rows, places))
        margins, numbers = (far - near).sum(axis=1), geometry.items.numbers(rows, places)
        assert np.all(margins[codes[numbers] == ZERO] > 1.0 - 1e-6)
        assert np.all(margins[codes[numbers] == LINEAR] < 0.95 + 1e-6)
    counts = np.reshape(counts, (3, 4)).sum(axis=0)
    assert counts[0] < counts[1] <= counts[2] <= counts[3]
