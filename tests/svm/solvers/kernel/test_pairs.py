import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from skscreen import ScreenedSVC
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import read_labels
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.roads import LARGEST_CLASS
from skscreen.svm.solvers.kernel.pairs import ClassBlocks, ClassPairs

# Three classes that overlap, one of them rare; some rows far from the others.
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [200, 150, 12])
X = RNG.normal(size=(Y.size, 5)) + Y[:, None] * np.array([1.0, -0.5, 0.0, 0.0, 0.5])
FAR, VERY_FAR = X.copy(), X.copy()
FAR[::17] *= 8.0
VERY_FAR[::17] *= 1e3
WEIGHTS = RNG.uniform(0.5, 2.0, Y.size)


def solved(data, kernel, C, bias, tol, problem, whole=LARGEST_CLASS, **options):
    division = OneVsOne(read_labels(Y, WEIGHTS, None))
    gram = Gram(data, kernel, cache_size=0.0)
    blocks = ClassBlocks(gram, division, bias or 0.0, whole=whole)
    pairs = ClassPairs(blocks, division, bias or 0.0, bias is None, None)
    Cs = np.atleast_1d(C)
    return division, list(pairs.solve_path(problem, Cs, tol, **options))


def gap(K, division, problem, bias, found):
    """The gap and the primal value of a solution at its intercept, in double precision."""
    rows, signs = division.rows(problem), division.signs(problem)
    C, beta = found.C * division.labels.weights[rows], signs * found.alpha
    assert np.all(found.alpha >= 0.0) and np.all(found.alpha <= C)
    if bias is None:
        assert abs(beta.sum()) <= 1e-13 * np.abs(beta).sum()
    f = K[np.ix_(rows, rows)] @ beta + (found.b if bias is None else bias**2 * beta.sum())
    short = 1.0 - signs * f
    square = beta @ (f - (found.b if bias is None else 0.0))
    primal = 0.5 * square + C @ np.maximum(short, 0.0)
    return np.where(short > 0.0, (C - found.alpha) * short, -found.alpha * short).sum(), primal


@every_pair(
    C_and_tol=[(1.0, 1e-3), (30.0, 1e-6), (0.01, 1e-8)],
    data=["plain", "far", "very far"],
    bias=[None, 0.0, 2.0],
    whole=[LARGEST_CLASS, 100],
)
def test_the_gap_is_no_larger_than_said(C_and_tol, data, bias, whole):
    (C, tol), data = C_and_tol, {"plain": X, "far": FAR, "very far": VERY_FAR}[data]
    K = rbf_kernel(data, gamma=0.1)
    for problem in range(3):
        division, (found,) = solved(data, Kernel("rbf", 0.1, 3, 0.0), C, bias, tol, problem, whole)
        true, primal = gap(K, division, problem, bias, found)
        assert found.converged
        assert true <= found.certificate.gap * (1.0 + 1e-9) + 1e-13 * primal
        assert found.certificate.gap <= tol * primal * (1.0 + 1e-6)
        assert_allclose(found.certificate.primal, primal, rtol=1e-5)


def test_other_kernels_are_certified_in_double_precision():
    division, (found,) = solved(X, Kernel("poly", 0.2, 2, 1.0), 1.0, None, 1e-8, 0)
    K = polynomial_kernel(X, degree=2, gamma=0.2, coef0=1.0)
    true, primal = gap(K, division, 0, None, found)
    assert found.converged and true <= 1e-8 * primal


def test_solutions_of_other_values_are_starts():
    kernel, Cs = Kernel("rbf", 0.1, 3, 0.0), np.geomspace(0.1, 10.0, 8)
    _, path = solved(X, kernel, Cs, None, 1e-6, 0)
    alone = [solved(X, kernel, C, None, 1e-6, 0)[1][0] for C in Cs]
    objectives = [[found.certificate.primal for found in part] for part in (path, alone)]
    assert_allclose(*objectives, rtol=3e-6)
    assert sum(found.n_iter for found in path) < sum(found.n_iter for found in alone)
    _, (again,) = solved(X, kernel, Cs[-1], None, 1e-6, 0, start=path[-1].beta)
    assert again.n_iter < alone[-1].n_iter / 4


@pytest.mark.parametrize("bias", [None, 0.0, 2.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_a_hard_margin_is_the_solution_for_all_larger_C(tol, bias):
    data, Cs = X + 4.0 * Y[:, None], np.geomspace(1.0, 1e6, 7)
    K = rbf_kernel(data, gamma=0.1)
    _, path = solved(data, Kernel("rbf", 0.1, 3, 0.0), Cs, bias, tol, 0)
    division = OneVsOne(read_labels(Y, WEIGHTS, None))
    for found in path:
        true, primal = gap(K, division, 0, bias, found)
        assert true <= found.certificate.gap * (1.0 + 1e-9) + 1e-13 * primal
        assert found.converged and found.certificate.gap <= tol * primal * (1.0 + 1e-6)
    assert [found.n_iter for found in path[-3:]] == [0, 0, 0]
    assert_allclose(path[-1].alpha, path[-2].alpha, rtol=1e-12)


def test_few_steps_are_not_enough():
    division = OneVsOne(read_labels(Y, WEIGHTS, None))
    gram = Gram(X, Kernel("rbf", 0.1, 3, 0.0), cache_size=0.0)
    blocks = ClassBlocks(gram, division, 0.0)
    (found,) = ClassPairs(blocks, division, 0.0, True, 5).solve_path(0, [1.0], 1e-6)
    assert not found.converged and found.n_iter <= 5
    assert found.certificate.gap > 1e-6 * found.certificate.primal


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_a_linear_kernel_has_weights_and_an_intercept_anywhere(shift):
    # Some rows are zero, and have no curvature of their own.
    data = np.where(np.arange(Y.size)[:, None] % 9, X, 0.0) + shift
    model = ScreenedSVC(0.1, kernel="linear", tol=1e-7).fit(data, Y, WEIGHTS)
    # With a tenth of the default C the peer takes a thousandth of the time.
    peer = SVC(C=0.1, kernel="linear", tol=1e-6).fit(data - shift, Y, WEIGHTS)
    assert_allclose(model.coef_, peer.coef_, atol=2e-3)
    shown = model.set_params(decision_function_shape="ovo").decision_function(data)
    expected = peer.set_params(decision_function_shape="ovo").decision_function(data - shift)
    assert_allclose(shown, expected, atol=5e-3)
