"""What the driver keeps from one C to the next."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from skscreen import svc_path
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.solve import solve_linear

RNG = np.random.default_rng(1)


def test_the_closed_form_is_taken_where_it_is_certified_only():
    """The scores of a huge constant feature cancel: below C_min nothing may be promised."""
    samples = LinearSamples(1e-30 * RNG.normal(size=(4, 1)), np.ones(4), 1e8)
    dual = Dual.of(hinge(np.ones(4)), np.array([1.0, -1.0, 1.0, -1.0]), False)
    asked = []

    def solve(samples, dual, **how):
        asked.append(dual.high[0])
        return solve_linear(samples, dual, **how)

    solver = SamplePathSolver(samples, dual, solve, "intersection")
    solution = solver.solve(1.0, 1e-6)
    assert solution.converged == (solution.certificate.relative_gap <= 1e-6)
    assert (solver.C_min < 1.0) or asked


def test_a_start_with_few_samples_at_their_bound_is_the_best_multiple():
    rng = np.random.default_rng(0)
    gram = Gram(rng.normal(size=(30, 40)), Kernel("linear"))
    samples, y = KernelSamples(gram), np.where(rng.random(30) < 0.5, -1.0, 1.0)
    starts = []

    def solve(samples, dual, *, start, **how):
        starts.append(start)
        return solve_kernel(samples, dual, start=start, **how)

    def dual(beta):
        return np.abs(beta).sum() - 0.5 * beta @ samples.q_dot(beta)

    problem = Dual.of(hinge(np.ones(30)), y, False)
    solver = SamplePathSolver(samples, problem, solve, "")
    C = 0.05
    before = solver.solve(C, 1e-9).beta
    assert 0 < np.count_nonzero(np.abs(before) == C) < 0.5 * np.count_nonzero(before)
    after = solver.solve(4.0 * C, 1e-9)
    start, known, scores, _ = starts[-1]
    np.testing.assert_array_equal(start, known)
    np.testing.assert_allclose(scores, samples.q_dot(start), atol=1e-12)
    ratio = start[0] / before[0]
    assert 1.0 < ratio < 4.0 and np.allclose(start, ratio * before)
    assert dual(start) >= max(dual(t * before) for t in np.linspace(1.0, 4.0, 50)) - 1e-12
    assert after.converged


def test_scores_are_carried_along_a_path_within_their_errors():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    samples = KernelSamples(Gram(X, Kernel("rbf", gamma=0.2)))
    solver = SamplePathSolver(samples, Dual.of(hinge(np.ones(400)), y, True), solve_kernel, "")
    for C in np.geomspace(0.1, 100.0, 12):
        found = solver.solve(C, 1e-6)
        size = np.finfo(float).eps * np.abs(found.beta) @ samples.norms
        off = np.abs(found.scores - samples.exact_scores(np.arange(400), found.beta))
        assert found.converged and found.rounding == 0.0
        assert off.max() <= 4.0 * size and found.errors.max() <= 4.0 * size


def test_scores_that_have_gathered_errors_are_computed_anew():
    X, y = make_classification(300, 8, random_state=0)
    samples = KernelSamples(Gram(X, Kernel("rbf", gamma=0.1), cache_size=0))
    starts = []

    def solve(samples, dual, *, start, **how):
        starts.append(start)
        return solve_kernel(samples, dual, start=start, exact="some", **how)

    problem = Dual.of(hinge(np.ones(300)), np.where(y > 0, 1.0, -1.0), True)
    solver = SamplePathSolver(samples, problem, solve, "gap")
    for C, factor in ((1.0, 1.0), (2.0, 1.0), (3.0, 1e4)):
        found = solver.solve(C, 1e-6)
        assert found.converged
        solver._known[0].errors = factor * found.errors
    assert solver.solve(4.0, 1e-6).converged
    assert [start is None or start.scores is None for start in starts] == [True, False, False, True]


def test_scores_in_tiles_keep_bounds_from_one_C_to_the_next(monkeypatch):
    """They are handed on in single precision; what is decided is right all the same."""
    X, y = make_classification(1200, 8, flip_y=0.05, random_state=0)
    Cs = np.logspace(-1, 4, 11)
    K = rbf_kernel(X.astype(np.longdouble), gamma=0.1)
    kept = []
    keep = SamplePathSolver._keep

    def watched(solver, C, dual, found, *more):
        kept.append((dual, found))
        return keep(solver, C, dual, found, *more)

    options = {"Cs": Cs, "gamma": 0.1, "tol": 1e-6}
    with monkeypatch.context() as patched:
        patched.setattr(SamplePathSolver, "_keep", watched)
        in_tiles = svc_path(X, y, cache_size=1.0, **options)
    whole = svc_path(X, y, **options)
    assert len(kept) == Cs.size and any(found.rounding > 0.0 for _, found in kept)
    for dual, found in kept:
        apart = np.abs(K @ found.beta - found.scores)
        assert np.all(apart <= found.errors)
        exact = dual.view(found.beta, (K @ found.beta).astype(np.float64))
        assert exact.gap <= found.certificate.gap * (1.0 + 1e-9) <= 1e-6 * exact.primal * 1.001
    np.testing.assert_allclose(in_tiles.objectives, whole.objectives, rtol=1e-6)
    # Scores that matter for decisions are in double precision.
    assert np.mean(in_tiles.rates) > np.mean(whole.rates) - 0.03
