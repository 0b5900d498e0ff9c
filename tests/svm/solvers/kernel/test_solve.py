"""Kernel SVM solvers against Clarabel, scikit-learn and each other."""

from functools import cache

import cvxpy as cp
import numpy as np
import pytest
from cases import every_pair
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.svm import SVC
from svm_labelled import KernelSamples, solve_kernel

from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.svm.dual import Dual
from tests.optima import Problem


def standardised(X):
    return (X - X.mean(0)) / X.std(0)


@cache
def case(name):
    """Return samples and weights."""
    rng = np.random.default_rng(3)
    if name in ("cancer", "cancer, bias", "cancer, weights"):
        X, y = load_breast_cancer(return_X_y=True)
        X, y = standardised(X)[:250], np.where(y[:250], 1.0, -1.0)
        weights = np.ones(250)
        if "weights" in name:
            weights = rng.integers(0, 3, 250) * 0.7
        return KernelSamples(
            Gram(X, Kernel("rbf", gamma=1 / 30)), y, bias=2.0 * ("bias" in name)
        ), weights
    if name == "wine, poly":
        X, y = load_wine(return_X_y=True)
        gram = Gram(standardised(X), Kernel("poly", gamma=1 / 13, degree=3, coef0=1.0))
        return KernelSamples(gram, np.where(y == 1, 1.0, -1.0)), np.ones(178)
    X = rng.normal(size=(90, 4))
    if name == "duplicates":
        X = np.vstack([X, X])
    y = np.where(rng.random(len(X)) < 0.5, 1.0, -1.0)
    gram = Gram(X @ X.T, Kernel("precomputed"))
    return KernelSamples(gram, y), np.ones(len(X))


CASES = ("cancer", "cancer, bias", "cancer, weights", "wine, poly", "precomputed", "duplicates")


@cache
def optimum(name, C, free=False):
    """Return the optimal value by Clarabel, from a factor of Q."""
    samples, weights = case(name)
    Q = samples.products(np.arange(samples.n))
    values, vectors = np.linalg.eigh(Q)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    # In units of C, so that the tolerances of Clarabel mean the same for every C.
    alpha = cp.Variable(samples.n)
    limits = [alpha >= 0, alpha <= weights]
    if free:
        limits.append(samples.y @ alpha == 0)
    objective = cp.Maximize(cp.sum(alpha) - 0.5 * C * cp.sum_squares(factor.T @ alpha))
    problem = Problem(objective, limits)
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    problem.solve(solver=cp.CLARABEL, **tight)
    return C * problem.value


def check_certificate(samples, C, solution, free):
    """Recompute everything from alpha."""
    Q = samples.products(np.arange(samples.n))
    alpha = solution.alpha
    assert np.all((alpha >= 0.0) & (alpha <= C))
    margins = Q @ alpha
    size = 1.0 + np.abs(Q).max() * alpha.sum()
    np.testing.assert_allclose(solution.margins, margins, rtol=0.0, atol=1e-13 * size)
    if free:
        assert abs(samples.y @ alpha) <= 1e-12 * alpha.sum()
        margins = margins + samples.y * solution.b
    else:
        assert solution.b == 0.0
    primal = 0.5 * alpha @ Q @ alpha + C @ np.maximum(1.0 - margins, 0.0)
    dual = alpha.sum() - 0.5 * alpha @ Q @ alpha
    # Every sample at the kink multiplies the rounding error of its margin by C.
    assert solution.certificate.primal == pytest.approx(primal, rel=1e-10, abs=1e-13 * C.sum())
    assert solution.certificate.dual == pytest.approx(dual, rel=1e-10, abs=1e-13 * C.sum())
    assert solution.certificate.gap >= 0.0


@pytest.mark.few(3)
@every_pair(C=[1e-3, 0.3, 20.0, 1e4], name=CASES, free=[False, True])
def test_optimum_is_that_of_clarabel(name, C, free):
    samples, weights = case(name)
    best = optimum(name, C, free)
    solution = solve_kernel(samples, hinge(C * weights), tol=5e-10, free=free)
    assert solution.converged
    assert solution.certificate.relative_gap <= 5e-10
    assert solution.certificate.primal == pytest.approx(best, rel=1e-9)
    check_certificate(samples, C * weights, solution, free)


@pytest.mark.parametrize("seed", [1, 17, 25, 44, 57])
def test_free_intercept_converges_in_any_order_of_the_samples(seed):
    """The last steps gain less than the rounding errors of y'alpha = 0 times an intercept."""
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    gram = Gram(standardised(X)[order], Kernel("poly", gamma=1 / 13, degree=3, coef0=1.0))
    samples = KernelSamples(gram, np.where(y[order] == 1, 1.0, -1.0))
    solution = solve_kernel(samples, hinge(np.full(samples.n, 1e4)), tol=5e-10, free=True)
    assert solution.converged


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_decision_values_with_free_intercept_are_those_of_svc(C):
    samples, _ = case("cancer")
    X = samples.gram.X
    svc = SVC(C=C, gamma=1 / 30, tol=1e-10).fit(X, samples.y)
    solution = solve_kernel(samples, hinge(np.full(samples.n, C)), free=True, tol=1e-13)
    np.testing.assert_allclose(
        samples.y * solution.margins + solution.b, svc.decision_function(X), rtol=0.0, atol=1e-5
    )


def reference(name, C, free):
    samples, weights = case(name)
    return solve_kernel(samples, hinge(C * weights), free=free, tol=1e-13)


def shown(samples, solution):
    """Margins with the intercept."""
    return solution.margins + samples.y * solution.b


@pytest.mark.parametrize("free", [False, True], ids=["no intercept", "free intercept"])
def test_fixed_samples_stay_where_they_are(free):
    samples, weights = case("cancer, weights")
    C = 2.0 * weights
    exact = reference("cancer, weights", 2.0, free)
    exact_margins = shown(samples, exact)
    fixed = np.where(exact_margins > 1.01, 1, np.where(exact_margins < 0.99, 2, 0)).astype(np.int8)
    fixed[::5] = 0
    solution = solve_kernel(
        samples,
        hinge(C),
        start=np.zeros(samples.n),
        fixed=fixed,
        tol=1e-9,
        free=free,
    )
    assert solution.converged
    assert np.all(solution.alpha[fixed == 1] == 0.0)
    assert np.all(solution.alpha[fixed == 2] == C[fixed == 2])
    assert solution.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-9)


def test_codes_that_do_not_hold_are_found_out():
    samples, weights = case("cancer")
    fixed = np.zeros(samples.n, np.int8)
    fixed[np.argmax(reference("cancer", 1.0, False).alpha)] = 1
    solution = solve_kernel(samples, hinge(weights), fixed=fixed, tol=1e-9)
    best = optimum("cancer", 1.0)
    assert not solution.converged and solution.certificate.dual < best * (1.0 - 1e-6)
    assert solution.certificate.primal >= best * (1.0 - 1e-9)


@pytest.mark.parametrize("free", [False, True], ids=["no intercept", "free intercept"])
def test_a_cache_smaller_than_the_gram_gives_the_same(free):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = standardised(X), np.where(y, 1.0, -1.0)
    C, results = np.full(len(y), 3.0), []
    for cache_size in (100, 1):
        gram = Gram(X, Kernel("rbf", gamma=1 / 30), cache_size=cache_size)
        assert (gram.whole is None) == (cache_size == 1)
        samples = KernelSamples(gram, y)
        results.append(solve_kernel(samples, hinge(C), free=free, tol=1e-10))
        assert results[-1].converged
    np.testing.assert_allclose(results[0].margins, results[1].margins, rtol=0.0, atol=1e-4)
    assert results[0].certificate.primal == pytest.approx(results[1].certificate.primal, rel=1e-9)


@pytest.mark.proof
def test_path_by_scaled_starts_with_known_margins_costs_few_steps():
    samples, weights = case("cancer")
    solution, previous = None, None
    for C in np.geomspace(1e-2, 1e3, 11):
        start, margins = None, None
        if solution is not None:
            start, margins = solution.alpha * (C / previous), solution.margins * (C / previous)
        solution = solve_kernel(
            samples, hinge(C * weights), start=start, margins=margins, tol=5e-10
        )
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(optimum("cancer", C), rel=1e-9)
        previous = C
    again = solve_kernel(
        samples, hinge(C * weights), start=solution.alpha, margins=solution.margins
    )
    assert again.n_iter == 0


def test_weights_are_repetitions():
    samples, _ = case("cancer")
    repeats = np.random.default_rng(0).integers(0, 3, samples.n)
    rows = np.repeat(np.arange(samples.n), repeats)
    repeated = KernelSamples(
        Gram(samples.gram.X[rows], Kernel("rbf", gamma=1 / 30)), samples.y[rows]
    )
    one = solve_kernel(samples, hinge(2.0 * repeats), tol=1e-10)
    other = solve_kernel(repeated, hinge(np.full(rows.size, 2.0)), tol=1e-10)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-9)


def test_running_out_of_steps_is_reported():
    samples, weights = case("cancer")
    solution = solve_kernel(samples, hinge(100.0 * weights), max_iter=3, tol=1e-9)
    assert not solution.converged
    assert solution.n_iter == 3
    assert solution.certificate.gap > 1e-9 * solution.certificate.primal
    check_certificate(samples, 100.0 * weights, solution, False)


@pytest.mark.parametrize("free", [False, True])
def test_a_matrix_of_low_rank_is_not_left_to_smo(free):
    """From nothing it would take hundreds of steps a sample even to a crude gap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.0, 1.0, -1.0)
    samples = KernelSamples(Gram(X, Kernel("linear")), y)
    solution = solve_kernel(samples, hinge(np.full(300, 1e3)), free=free)
    assert solution.converged
    assert solution.n_iter < 100 * 300


@pytest.mark.parametrize("free", [False, True])
def test_nothing_to_solve(free):
    samples, weights = case("cancer")
    solution = solve_kernel(samples, hinge(0.0 * weights), free=free)
    assert solution.converged and solution.certificate.gap == 0.0 and solution.n_iter == 0
    one_class = KernelSamples(samples.gram, np.ones(samples.n))
    solution = solve_kernel(one_class, hinge(weights), free=free)
    assert solution.converged
    if free:
        assert np.all(solution.alpha == 0.0)


def test_an_indefinite_kernel_that_was_not_noticed_is_reported():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 40))
    gram = Gram(np.eye(40), Kernel("precomputed"))
    gram.whole = A + A.T
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        solve_kernel(KernelSamples(gram, np.sign(A[0])), hinge(np.full(40, 10.0)))


@pytest.mark.few(6)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1e-170, 1e-300, 1e30])
def test_samples_that_hardly_differ_or_enormously(scale, free):
    """Kernel values that underflow to 0 are nothing to divide by; of large ones digits are lost."""
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(12, 2)), np.where(np.arange(12) % 2, 1.0, -1.0)
    X[0] = 1e150 * X[0] if scale == 1e-170 else X[0]
    samples = KernelSamples(Gram(X, Kernel("linear")), y)
    solution = solve_kernel(samples, hinge(np.ones(12)), free=free)
    found = solution.certificate
    assert np.isfinite([found.primal, found.dual, found.gap]).all()
    assert solution.converged or scale == 1e30


def test_what_is_at_a_bound_stays_there_exactly():
    """It must not leave by rounding errors: steps would go there for nothing."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        C, signs = rng.uniform(0.1, 2.0, 30), np.where(np.arange(30) < 15, 1.0, -1.0)
        box = Dual(signs, np.minimum(signs * C, 0.0), np.maximum(signs * C, 0.0), True)
        beta = signs * C * rng.choice([0.0, 1.0, 0.3], 30)
        moved = box.balanced(beta)
        assert abs(moved.sum()) <= 1e-13 * C.sum()
        assert np.all(moved >= box.low) and np.all(moved <= box.high)
        inside = (box.low < beta) & (beta < box.high)
        if abs(beta.sum()) <= np.minimum(beta - box.low, box.high - beta).sum():
            np.testing.assert_array_equal(moved[~inside], beta[~inside])
