import functools

import cvxpy
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_labelled import decide, unlabelled
from svm_reference import dome, dual, gap, optimum, primal, sloppy, smallest_in_dome, three_cases

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge, squared_hinge
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import (
    SampleBall,
    Segment,
    gap_ball,
    intersection_target,
    reference,
    scaled_gap_ball,
    segment,
)
from skscreen.svm.screening.rules import (
    BOUNDS,
    ball_test,
    intersection_test,
)
from skscreen.svm.solvers.kernel.solve import solve_kernel

KS = ("cancer", "wine", "rbf", "weighted", "blobs")
RATIOS = (0.5, 0.9, 1.0, 1.1, 2.0, 10.0, 100.0)
TESTS = ("ball1", "ball2", "intersection", "gradient")


@functools.cache
def problem(name):
    """Q, and sample weights."""
    rng = np.random.default_rng(0)
    if name == "blobs":
        X, labels = rng.normal(size=(60, 2)), np.arange(60) % 2
        X += 0.7 * (2 * labels - 1)[:, None]
        # Repeated rows, and one without any length.
        X[10:14], X[20] = X[10], 0.0
    else:
        X, labels = (load_wine if name == "wine" else load_breast_cancer)(return_X_y=True)
        X, labels = scale(X)[::6], (labels == 1)[::6]
    y = np.where(labels, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.3 / X.shape[1]) if name in ("rbf", "weighted") else X @ X.T
    if name == "weighted":
        # The augmented intercept.
        K = K + 1.0
    weights = rng.choice([0.3, 1.0, 2.5], len(y)) if name == "weighted" else np.ones(len(y))
    return y[:, None] * K * y, weights


@functools.cache
def solved(name, C):
    Q, weights = problem(name)
    alpha = optimum(Q, C * weights)
    alpha.setflags(write=False)
    return alpha


def lowest_C(name):
    Q, weights = problem(name)
    return 1.0 / (Q @ weights).max()


def reference_at(name, C, relative_gap=0.0, seed=0):
    Q, weights = problem(name)
    alpha = solved(name, C)
    if relative_gap:
        alpha = sloppy(Q, C * weights, alpha, relative_gap, np.random.default_rng(seed))
    return reference(np.sqrt(np.diag(Q)), Q @ alpha, alpha, unlabelled(C * weights))


def path_ball(ref, rho):
    """BT1 as printed: for references that are optimal."""
    return SampleBall(0.5 * (1.0 + rho) * ref.f, 0.5 * abs(rho - 1.0) * np.sqrt(ref.square))


def gradient_target(ref, rho):
    """C_i s_i for a subgradient s at w0: BT2 is then GB, w0 - g/2 and |g|/2."""
    return np.where(ref.f < 1.0, rho * ref.dual.high, 0.0)


def extremes(name, ref, rho, test):
    Q, _ = problem(name)
    if test in BOUNDS:
        return BOUNDS[test](ref, rho, lambda a: (Q @ a, float(np.abs(a) @ ref.norms)))
    target = gradient_target(ref, rho)
    balls = segment(ref, rho, target, Q @ (target - rho * ref.beta))
    return ball_test(balls.ball(1.0), ref.norms)


def wrong(codes, name, C):
    """Number of wrong decisions; samples on the kink as well as the reference knows count too."""
    Q, weights = problem(name)
    alpha = solved(name, C)
    accuracy = 1e-9 + np.sqrt(np.diag(Q)) * np.sqrt(gap(Q, C * weights, alpha))
    excess = Q @ alpha - 1.0
    # The margin must be on its side of 1, or indistinguishable from it.
    return np.count_nonzero(
        ((codes == ZERO) & (excess < -accuracy)) | ((codes == LINEAR) & (excess > accuracy))
    )


def test_the_references_are_exact():
    for name in KS:
        Q, weights = problem(name)
        for factor in (20.0, 500.0):
            C = factor * lowest_C(name)
            alpha = solved(name, C)
            assert gap(Q, C * weights, alpha) <= 1e-9 * primal(Q, C * weights, alpha)


@pytest.mark.few(11)
@pytest.mark.slow
@pytest.mark.parametrize("name", KS)
@pytest.mark.parametrize("relative_gap", [0.0, 1e-6, 1e-3, 0.1])
def test_no_decision_is_wrong(name, relative_gap):
    """Against optima of Clarabel, from references of any accuracy."""
    decided = 0
    for factor in (5.0, 100.0):
        C0 = factor * lowest_C(name)
        ref = reference_at(name, C0, relative_gap, seed=int(factor))
        for rho in RATIOS:
            for test in TESTS:
                lower, upper = extremes(name, ref, rho, test)
                codes = decide(lower, upper)
                decided += np.count_nonzero(codes)
                assert wrong(codes, name, rho * C0) == 0
                # The intervals hold the margins themselves, decided or not.
                Q, weights = problem(name)
                alpha = solved(name, rho * C0)
                slack = 1e-9 + ref.norms * np.sqrt(gap(Q, rho * C0 * weights, alpha))
                margins = Q @ alpha
                assert np.all(lower <= margins + slack) and np.all(margins <= upper + slack)
    assert decided > 0


@pytest.mark.parametrize("name", KS)
def test_exact_path_ball_from_exact_references(name):
    C0 = 20.0 * lowest_C(name)
    ref = reference_at(name, C0)
    for rho in RATIOS:
        exact, ball = path_ball(ref, rho), scaled_gap_ball(ref, rho)
        assert wrong(decide(*ball_test(exact, ref.norms)), name, rho * C0) == 0
        assert_allclose(ball.scores, exact.scores)
        assert exact.radius <= ball.radius <= exact.radius + 1e-4 * (1.0 + exact.radius)


def test_exact_path_ball_is_unsafe_from_loose_references():
    """Why the relaxed form is the one to use."""
    count = 0
    for seed in range(10):
        ref = reference_at("cancer", 20.0 * lowest_C("cancer"), 1e-2, seed)
        C = 1.001 * 20.0 * lowest_C("cancer")
        count += wrong(decide(*ball_test(path_ball(ref, 1.001), ref.norms)), "cancer", C)
    assert count > 0


@pytest.mark.parametrize("name", KS)
def test_radii_are_those_of_the_formulas(name):
    Q, weights = problem(name)
    C0 = 20.0 * lowest_C(name)
    ref = reference_at(name, C0, 1e-3)
    g0 = gap(Q, C0 * weights, ref.beta)
    for rho in (0.7, 1.0, 1.5):
        C = rho * C0 * weights
        square = 0.25 * (rho - 1.0) ** 2 * (ref.beta @ ref.f) + rho * g0
        assert_allclose(scaled_gap_ball(ref, rho).radius, np.sqrt(square), rtol=1e-6)
        # Equation 25, and the radius of BT2 in the variables of the paper (Corollary 7).
        target = intersection_target(ref, rho)
        s = (0.5 * (1.0 + rho) * ref.f < 1.0).astype(float)
        assert_allclose(target, C * s)
        ball = segment(ref, rho, target, Q @ (target - rho * ref.beta)).ball(1.0)
        u, v = ref.beta, target
        centre_square = 0.25 * (u + v) @ Q @ (u + v)
        xi = C @ np.maximum(1.0 - ref.f, 0.0)
        assert_allclose(ball.radius, np.sqrt(centre_square + xi - C @ s), rtol=1e-5)
        assert_allclose(ball.scores, 0.5 * Q @ (u + v), rtol=1e-8, atol=1e-9)
        # GB: centre w - g/2, radius |g|/2.
        target = gradient_target(ref, rho)
        ball = segment(ref, rho, target, Q @ (target - rho * ref.beta)).ball(1.0)
        g = u - target
        assert_allclose(ball.radius, 0.5 * np.sqrt(g @ Q @ g), rtol=1e-6)
        assert_allclose(ball.scores, ref.f - 0.5 * Q @ g, rtol=1e-8, atol=1e-8)
    assert_allclose(gap_ball(ref).radius, np.sqrt(g0), rtol=1e-6)


def test_gap_ball_holds_the_optimum_from_any_point_and_multiple():
    rng = np.random.default_rng(1)
    for name in KS:
        Q, weights = problem(name)
        C = 20.0 * lowest_C(name) * weights
        best = solved(name, 20.0 * lowest_C(name))
        norms, accuracy = np.sqrt(np.diag(Q)), np.sqrt(gap(Q, C, best))
        for _ in range(40):
            noise = rng.choice([0.0, 0.1, 0.5])
            alpha = np.clip(best + noise * rng.normal(size=len(C)) * C, 0.0, C)
            scale = rng.choice([0.0, 0.5, 0.99, 1.0, 1.2])
            ball = gap_ball(reference(norms, Q @ alpha, alpha, unlabelled(C)), scale)
            away = best - 0.5 * (1.0 + scale) * alpha
            assert np.sqrt(max(away @ Q @ away, 0.0)) <= ball.radius + accuracy
            assert_allclose(ball.scores, 0.5 * (1.0 + scale) * (Q @ alpha), atol=1e-8)
            # The duality gap at the multiple, less a quarter of the squared distance.
            square = (1.0 - scale) ** 2 * (alpha @ Q @ alpha)
            losses = C @ np.maximum(1.0 - scale * (Q @ alpha), 0.0)
            primal_value = 0.5 * scale**2 * (alpha @ Q @ alpha) + losses
            expected = primal_value - dual(Q, alpha) - 0.25 * square
            assert_allclose(ball.radius, np.sqrt(max(expected, 0.0)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("relative_gap", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("name", KS)
def test_intersection_is_never_below_its_balls_and_equals_the_printed_formula(name, relative_gap):
    Q, _ = problem(name)
    C0 = 50.0 * lowest_C(name)
    ref = reference_at(name, C0, relative_gap)
    for rho in RATIOS:
        target = intersection_target(ref, rho)
        step = target - rho * ref.beta
        balls = segment(ref, rho, target, Q @ step)
        lower, upper = intersection_test(balls, ref.norms)
        one, two = balls.ball(0.0), balls.ball(1.0)
        for ball in (one, two, scaled_gap_ball(ref, rho)):
            low, high = ball_test(ball, ref.norms)
            slack = 1e-7 * (1.0 + ball.radius)
            assert np.all(lower >= low - slack) and np.all(upper <= high + slack)
        d = 0.5 * np.sqrt(max(step @ Q @ step, 0.0))
        if d < 1e-6 or min(one.radius, two.radius) < 1e-6 or ref.norms.min() == 0.0:
            continue
        if one.radius + two.radius < d * (1.0 + 1e-3):
            continue  # nearly tangent: the printed formula loses its digits
        phi = one.scores - two.scores
        arguments = (one.radius, two.scores, two.radius, phi, d)
        expected = three_cases(ref.norms, one.scores, *arguments)
        assert_allclose(lower, expected, rtol=1e-4, atol=1e-4 * (1.0 + one.radius))
        arguments = (one.radius, -two.scores, two.radius, -phi, d)
        expected = -three_cases(ref.norms, -one.scores, *arguments)
        assert_allclose(upper, expected, rtol=1e-4, atol=1e-4 * (1.0 + one.radius))


def test_degenerate_segments():
    norms, margins = np.array([1.0, 2.0, 0.0]), np.array([0.5, 3.0, 0.0])
    zeros = np.zeros(3)
    # Concentric balls: the smaller one. A point: nothing to add.
    for squares, radius in (((4.0, -3.0, 0.0), 1.0), ((0.0, 0.0, 0.0), 0.0)):
        lower, upper = intersection_test(Segment(margins, zeros, squares, 0.0), norms)
        assert_allclose(lower, margins - radius * norms, atol=1e-6)
        assert_allclose(upper, margins + radius * norms, atol=1e-6)
    # Disjoint by rounding errors: still the better ball, and no NaN.
    broken = Segment(margins, np.array([0.5, -0.5, 0.0]), (0.01, -1.0, 0.9), 0.0)
    assert np.all(np.isfinite(intersection_test(broken, norms)))


def test_a_separable_problem_is_decided_as_a_whole():
    """Once no margin is below 1 the solution stays, and the two balls touch at it."""
    Q, _ = problem("rbf")
    norms = np.sqrt(np.diag(Q))
    C0 = 1e5
    alpha = optimum(Q, np.full(len(Q), C0))
    assert (Q @ alpha).min() > 1.0 - 1e-6
    ref = reference(norms, Q @ alpha, alpha, unlabelled(np.full(len(Q), C0)))
    target = intersection_target(ref, 2.0)
    balls = segment(ref, 2.0, target, Q @ (target - 2.0 * ref.beta))
    both = [decide(*intersection_test(balls, norms)), decide(*ball_test(balls.ball(0.0), norms))]
    away = Q @ alpha > 1.01
    assert np.mean(both[0][away] == ZERO) >= np.mean(both[1][away] == ZERO)
    assert not np.any(both[0] == LINEAR)


def test_kink_samples_are_never_decided():
    for name in KS:
        _, weights = problem(name)
        C = 20.0 * lowest_C(name)
        alpha = solved(name, C)
        inside = (alpha > 1e-6 * C) & (alpha < (1.0 - 1e-6) * C * weights)
        ref = reference_at(name, C)
        for ball in (gap_ball(ref), path_ball(ref, 1.0)):
            codes = decide(*ball_test(ball, ref.norms))
            assert not codes[inside].any()
            assert codes.any()


def test_decisions():
    lower = np.array([1.0, 1.0 + 1e-8, -5.0, -5.0, np.nan, 2.0])
    upper = np.array([1.0, 3.0, 1.0 - 1e-8, 2.0, np.nan, 3.0])
    codes = decide(lower, upper)
    assert_array_equal(codes, [UNDECIDED, ZERO, LINEAR, UNDECIDED, UNDECIDED, ZERO])
    assert codes.dtype == np.int8
    earlier = np.array([ZERO, UNDECIDED, UNDECIDED, LINEAR, ZERO, ZERO], dtype=np.int8)
    assert_array_equal(decide(lower, upper, earlier), [ZERO, ZERO, LINEAR, LINEAR, ZERO, ZERO])


def test_samples_without_length_are_at_their_bound():
    ref = reference_at("blobs", 20.0 * lowest_C("blobs"), 1e-2)
    nothing = ref.norms == 0.0
    assert nothing.any()
    for test in TESTS:
        assert np.all(decide(*extremes("blobs", ref, 3.0, test))[nothing] == LINEAR)


def test_dome_against_cone_programmes_and_optima():
    rng = np.random.default_rng(2)
    X, labels = load_wine(return_X_y=True)
    Z = scale(X)[::8, :5] * np.where(labels[::8] == 1, 1.0, -1.0)[:, None]
    Q, norms = Z @ Z.T, np.linalg.norm(Z, axis=1)
    alphas = [optimum(Q, np.full(len(Q), C)) for C in (0.1, 0.3, 1.0)]
    w_a, w, w_b = (alpha @ Z for alpha in alphas)
    smallest, largest = w_a @ w_a, (np.linalg.norm(w_b) + 1e-6) ** 2
    # The wide dome meets the first case of the theorem too.
    for size in (largest, 20.0 * largest):
        lower, upper = dome(Z @ w_a, norms, smallest, size)
        for i in rng.permutation(len(Z))[:15]:
            assert_allclose(lower[i], smallest_in_dome(Z[i], w_a, smallest, size), atol=1e-5)
            assert_allclose(upper[i], -smallest_in_dome(-Z[i], w_a, smallest, size), atol=1e-5)
        assert np.all(lower <= Z @ w + 1e-7) and np.all(Z @ w <= upper + 1e-7)
    whole = np.isclose(upper, np.sqrt(size) * norms)
    assert whole.any() and not whole.all()


def test_the_reference_counts_the_full_gap_and_its_rounding():
    for name in KS:
        Q, weights = problem(name)
        C = 20.0 * lowest_C(name) * weights
        ref = reference_at(name, 20.0 * lowest_C(name), 1e-3)
        assert ref.gap >= gap(Q, C, ref.beta) > 0.0
        assert_allclose(ref.gap, primal(Q, C, ref.beta) - dual(Q, ref.beta), rtol=1e-6)
        exact = reference_at(name, 20.0 * lowest_C(name))
        # At a kink there is rounding: a radius of nothing would decide it.
        assert exact.gap > 0.0


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-2])
def test_one_pass_decides_what_the_gap_ball_does(squared, free, error):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.4, -1.0, 1.0)
    A = rng.normal(size=(80, 4))
    K, norms = A @ A.T, np.linalg.norm(A, axis=1)
    problem = Dual.of((squared_hinge if squared else hinge)(rng.uniform(0.5, 2.0, 80)), y, free)
    beta = np.zeros(80)
    for _ in range(30):
        # Coarse steps: a point that is near the optimum, or not.
        f = K @ beta
        best = problem.best(problem.target - f - problem.best_intercept(f))
        beta = problem.balanced(beta + 0.05 * (best - beta))
        f = K @ beta
        b = problem.best_intercept(f)
        known = reference(norms, f, beta, problem, b, rounding=error)
        expected = problem.decided(ball_test(gap_ball(known), norms))
        assert_array_equal(problem.decided_by_gap(norms, beta, f, b, error), expected)
    assert_array_equal(problem.decided_by_gap(norms, np.full(80, np.nan), f, b, error), 0)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_scores_with_errors_of_their_own_decide_less_and_nothing_wrong(squared, free):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 4))
    y = np.where(A[:, 0] + 0.7 * rng.normal(size=80) < 0.3, -1.0, 1.0)
    norms = np.linalg.norm(A, axis=1)
    problem = Dual.of((squared_hinge if squared else hinge)(rng.uniform(0.5, 2.0, 80)), y, free)
    found = cvxpy.Variable(80)
    value = problem.target @ found - 0.5 * cvxpy.sum_squares(A.T @ found)
    value -= 0.5 * cvxpy.sum(cvxpy.multiply(problem.all_shifts, found**2))
    conditions = [cvxpy.multiply(y, found) >= 0.0]
    if not squared:
        conditions.append(cvxpy.multiply(y, found) <= problem.width)
    if free:
        conditions.append(cvxpy.sum(found) == 0.0)
    cvxpy.Problem(cvxpy.Maximize(value), conditions).solve("CLARABEL")
    # Strict sides of the targets at an independent optimum, and a point of this package.
    slopes = problem.target - A @ (A.T @ found.value)
    slopes -= problem.best_intercept(A @ (A.T @ found.value))
    side = np.where(y * slopes < -1e-5, ZERO, np.where(y * slopes > 1e-5, LINEAR, UNDECIDED))
    point = solve_kernel(KernelSamples(Gram(A, Kernel("linear"))), problem, tol=1e-10)
    beta, f, b = point.beta, point.scores, point.b
    right = problem.decided_by_gap(norms, beta, f, b, 0.0)
    decided = right != UNDECIDED
    assert np.count_nonzero(decided) > 10 and np.array_equal(right[decided], side[decided])
    for size in (1e-9, 1e-6, 1e-3):
        errors = size * rng.uniform(0.0, 1.0, 80) * (rng.random(80) < 0.5)
        wrong = f + rng.uniform(-1.0, 1.0, 80) * errors
        codes = problem.decided_by_gap(norms, beta, wrong, b, 0.0, errors)
        assert np.all((codes == UNDECIDED) | (codes == right))
        assert np.any(codes != UNDECIDED) or size > 1e-6
