"""Where paths begin: solutions proportional to C, against paths solved from there."""

from functools import partial

import numpy as np
import pytest

from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.samples.rows import LinearSamples
from skscreen.samples.targets import BothSides, Targets
from skscreen.svm.dual import Dual
from skscreen.svm.first_piece import FirstPiece
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.solve import solve_linear

RNG = np.random.default_rng(3)
X, WEIGHTS = RNG.normal(size=(25, 3)), RNG.uniform(0.5, 2.0, 25)
Y = X[:, 0] + RNG.normal(size=25)


def regression(targets, epsilon, free=True):
    gram = Gram(X, Kernel("rbf", gamma=0.5))
    gram = Places.twice(gram)
    samples = KernelSamples(gram, bias=0.0 if free else 1.0)
    return samples, tube(targets, epsilon, free)


def tube(targets, epsilon, free=False):
    both = BothSides(Targets(np.arange(25), targets, WEIGHTS), epsilon, free=False)
    return Dual.of(both.losses(0, "epsilon_insensitive"), both.signs(0), free)


def classification():
    signs = np.where(Y > 0.3, 1.0, -1.0)
    dual = Dual.of(hinge(WEIGHTS), signs, True)
    return KernelSamples(Gram(X, Kernel("rbf", gamma=0.5))), dual


CASES = {
    "regression": regression(Y, 0.1),
    "ties": regression(Y.round(), 0.1),
    "epsilon = 0": regression(Y, 0.0),
    "wide": regression(Y, 0.5 * np.ptp(Y) - 0.05),
    "classes": classification(),
}


@pytest.mark.parametrize("samples, dual", CASES.values(), ids=CASES)
def test_solutions_are_proportional_to_C_up_to_where_the_path_starts(samples, dual):
    piece = FirstPiece(samples, dual)
    assert piece.C_min == 0.0 and 0.0 < piece.C_start < np.inf
    solve = partial(solve_kernel, samples, tol=1e-11)
    end, before = (solve(dual.at(C)) for C in (piece.C_start, 0.01 * piece.C_start))
    assert end.converged and before.converged
    scale = np.sqrt(end.beta @ end.scores)
    np.testing.assert_allclose(100.0 * before.scores, end.scores, atol=1e-3 * scale)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_closed_form_of_small_C(epsilon):
    samples = LinearSamples(X, np.ones(25), 1.0).twice()
    dual = tube(Y, epsilon)
    piece = FirstPiece(samples, dual)
    assert not piece.ends_before(piece.C_min) and piece.ends_before(1.001 * piece.C_min)
    assert piece.C_start == piece.C_min
    for factor, exact in ((1.0, True), (1.05, False)):
        C = factor * piece.C_min
        found = solve_linear(samples, dual.at(C), tol=1e-12)
        same = np.allclose(found.w, C * samples.combine(piece.beta), rtol=1e-6, atol=1e-9)
        assert same == exact


def test_thresholds_of_zero_that_are_passed_at_once():
    targets = Y.copy()
    targets[0] = 0.0
    samples, dual = regression(targets, 0.0, free=False)
    piece = FirstPiece(samples, dual)
    assert piece.C_min == 0.0 < piece.C_start < np.inf
    end, before = (
        solve_kernel(samples, dual.at(share * piece.C_start), tol=1e-11) for share in (1.0, 0.01)
    )
    np.testing.assert_allclose(100.0 * before.scores, end.scores, atol=1e-6)


def test_nothing_to_learn_has_no_end():
    samples, dual = regression(0.05 * np.sign(Y), 0.1, free=False)
    piece = FirstPiece(samples, dual)
    assert piece.C_min == piece.C_start == np.inf and not piece.beta.any()
