import warnings

import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from skscreen import ScreenedSVC
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import read_labels
from skscreen.samples.multiclass import OneVsOne, OneVsRest
from skscreen.svm.solvers.kernel.pairs import ClassPairs, SmallBlocks
from tests.svm_reference import dual, free_gap, free_optimum, optimum
from tests.svm_reference import gap as reference_gap

# Three classes that overlap, one of them rare; every fifth sample stands there twice.
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [60, 45, 9])
X = RNG.normal(size=(Y.size, 4)) + Y[:, None] * np.array([1.0, -0.5, 0.0, 0.5])
X[1::5] = X[::5][: len(X[1::5])]
FAR = X.copy()
FAR[::17] *= 1e3
WEIGHTS = RNG.uniform(0.5, 2.0, Y.size)
RBF, POLY = Kernel("rbf", 0.1, 3, 0.0), Kernel("poly", 0.2, 2, 1.0)
KERNELS = {
    "rbf": RBF, "flat": Kernel("rbf", 1e-7, 3, 0.0), "narrow": Kernel("rbf", 50.0, 3, 0.0),
    "poly": POLY,
}  # fmt: skip


def problems(data, labels, kernel, bias, max_iter=None):
    known = read_labels(labels, WEIGHTS[: len(labels)], None)
    division = OneVsOne(known) if known.present.size > 2 else OneVsRest(known)
    how = bias or 0.0, bias is None
    blocks = SmallBlocks(data, kernel, division, *how)
    return division, ClassPairs(blocks, division, *how, max_iter)


def solved(small, division, C, tol):
    """The solutions of all problems."""
    return [next(small.solve_path(k, [C], tol)) for k in range(division.n_problems)]


def extended(kernel, data):
    """Kernel values in extended precision, as sums of one that is constant and others."""
    Z = data.astype(np.longdouble)
    if kernel.name == "poly":
        return 0.0, (kernel.gamma * (Z @ Z.T) + kernel.coef0) ** kernel.degree
    return 1.0, np.expm1(-kernel.gamma * ((Z[:, None] - Z) ** 2).sum(axis=2))


def gap(K, division, problem, bias, found):
    """The gap and the primal value of a solution at its intercept."""
    rows, signs = division.rows(problem), division.signs(problem)
    C, beta = found.C * division.labels.weights[rows], (signs * found.alpha).astype(np.longdouble)
    assert np.all(found.alpha >= 0.0) and np.all(found.alpha <= C)
    if bias is None:
        assert abs(beta.sum()) <= 1e-15 * max(np.abs(beta).sum(), 1e-300)
    f = K[1][np.ix_(rows, rows)] @ beta + K[0] * beta.sum()
    square = beta @ f + ((bias or 0.0) * beta.sum()) ** 2
    short = 1.0 - signs * (f + found.b)
    primal = 0.5 * square + C @ np.maximum(short, 0.0)
    return np.where(short > 0.0, (C - found.alpha) * short, -found.alpha * short).sum(), primal


@pytest.mark.few(8)
@every_pair(classes=[3, 2], far=[False, True], kernel=KERNELS, bias=[None, 0.0, 2.0])
def test_the_gap_is_no_larger_than_said(classes, far, kernel, bias):
    labels, data, kernel = np.minimum(Y, classes - 1), FAR if far else X, KERNELS[kernel]
    division, small = problems(data, labels, kernel, bias)
    K = extended(kernel, data)
    for C in (1e-3, 1.0, 1e3, 1e6, 1e10):
        for tol in (1e-3, 1e-6):
            for problem, found in enumerate(solved(small, division, C, tol)):
                true, primal = gap(K, division, problem, bias, found)
                assert true <= found.certificate.gap + 1e-15 * primal
                if found.converged:
                    assert_allclose(found.certificate.primal, float(primal), rtol=2.0 * tol)
                if C <= 1e3 and not far:
                    assert found.converged


@pytest.mark.parametrize("kernel", [RBF, POLY], ids=["rbf", "poly"])
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_solutions_are_those_of_clarabel(C, kernel):
    labels = np.minimum(Y, 1)
    K, signs = sum(extended(kernel, X)).astype(np.float64), np.where(labels == 1, 1.0, -1.0)
    Q, caps = signs[:, None] * K * signs, C * WEIGHTS
    for bias in (None, 0.0, 2.0):
        division, small = problems(X, labels, kernel, bias)
        (found,) = solved(small, division, C, 1e-8)
        if bias is None:
            alpha = free_optimum(Q, caps, signs)[0]
            best, unsure = dual(Q, alpha), free_gap(Q, caps, signs, alpha)
        else:
            Q_bias = Q + bias**2 * np.outer(signs, signs)
            alpha = optimum(Q_bias, caps)
            best, unsure = dual(Q_bias, alpha), reference_gap(Q_bias, caps, alpha)
        assert found.converged
        above = (found.certificate.primal - best) / best
        assert -1e-8 <= above <= unsure / best + 1e-8
        assert unsure <= 1e-5 * best


def test_solutions_of_other_values_are_starts():
    division, small = problems(X, Y, RBF, None)
    for problem, found in enumerate(solved(small, division, 3.0, 1e-6)):
        (again,) = small.solve_path(problem, [3.0], 1e-6, found.alpha)
        assert again.converged and again.n_iter <= found.n_iter
        path = list(small.solve_path(problem, [0.1, 3.0], 1e-6))
        assert_allclose(path[1].certificate.primal, found.certificate.primal, rtol=2e-6)


@pytest.mark.parametrize("bias", [None, 0.0, 2.0])
def test_a_hard_margin_is_the_solution_for_all_larger_C(bias):
    data = X + 6.0 * Y[:, None]
    division, small = problems(data, Y, RBF, bias)
    known = solved(small, division, 1e5, 1e-9)
    for C in (1e7, 1e10):
        for one, other in zip(known, solved(small, division, C, 1e-9), strict=True):
            assert other.converged
            assert_allclose(one.certificate.primal, other.certificate.primal, rtol=1e-8)


def test_a_flat_kernel_is_the_linear_one():
    """exp(-t) = 1 - t for small t, and an intercept takes up what is constant."""
    gamma, C = 1e-9, 1e9
    Z, labels = load_iris(return_X_y=True)
    Z = scale(Z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ScreenedSVC(C, gamma=gamma, decision_function_shape="ovo").fit(Z, labels)
    peer = SVC(C=2.0 * gamma * C, kernel="linear", tol=1e-8, decision_function_shape="ovo")
    peer.fit(Z, labels)
    assert_allclose(model.decision_function(Z), peer.decision_function(Z), atol=1e-5)


@pytest.mark.parametrize("gamma", [1e-5, 1e-3, 0.1, 10.0])
def test_large_C_is_no_trouble(gamma):
    Z, labels = load_iris(return_X_y=True)
    for C in (1e4, 1e6, 1e8, 1e10):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ScreenedSVC(C, gamma=gamma, tol=1e-5).fit(scale(Z), labels)
        assert model.dual_gap_ <= 1e-5


def test_few_steps_are_not_enough():
    division, small = problems(X, Y, RBF, None, 5)
    for found in solved(small, division, 1.0, 1e-6):
        assert not found.converged and found.n_iter == 5
        assert found.certificate.gap > 1e-6 * found.certificate.primal


def test_more_samples_with_few_support_vectors_are_solved_in_one_call():
    Z, labels = make_blobs(1200, centers=2, n_features=5, random_state=0)
    model = ScreenedSVC().fit(Z, labels)
    assert model.n_iter_ < 300 and model.dual_gap_ <= 1e-6
    found = SVC(tol=1e-8).fit(Z, labels)
    assert_allclose(model.decision_function(Z), found.decision_function(Z), atol=1e-3)


@pytest.mark.slow
def test_more_samples_that_take_many_steps_are_solved_elsewhere():
    Z, labels = make_classification(1200, 10, n_informative=5, flip_y=0.1, random_state=0)
    model = ScreenedSVC(100.0).fit(Z, labels)
    # What has been found is a start.
    assert model.n_iter_ > 4000 and model.dual_gap_ <= 1e-6
    found = SVC(C=100.0, tol=1e-8).fit(Z, labels)
    assert_allclose(model.decision_function(Z), found.decision_function(Z), atol=0.01)
    # A limit by the user is one for both.
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert ScreenedSVC(100.0, max_iter=5000).fit(Z, labels).n_iter_ <= 5000


@pytest.mark.parametrize("options", [{}, {"kernel": "poly", "degree": 0}])
def test_duplicates_of_two_classes_have_no_curvature(options):
    rows, labels = [[0.0], [0.0], [5.0], [6.0]], [0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ScreenedSVC(1e9, **options).fit(rows, labels)
    # The two equal samples cost a loss of 2 at least.
    assert model.objective_ >= 2e9 * (1.0 - 1e-6)
    assert np.isfinite(model.decision_function(rows)).all()


@pytest.mark.parametrize("options", [{}, {"intercept": "penalised"}, {"fit_intercept": False}])
def test_matrices_and_functions_of_few_samples_are_as_their_kernel(options):
    """In any order of the samples; a pair at a time they took a hundred times as long."""
    order = np.random.default_rng(1).permutation(Y.size)
    data, labels = X[order], Y[order]
    options = {"decision_function_shape": "ovo", "tol": 1e-9, "C": 3.0, **options}
    named = ScreenedSVC(kernel="poly", gamma=0.2, degree=2, coef0=1.0, **options)
    named.fit(data, labels, sample_weight=WEIGHTS)
    scores = named.decision_function(data)

    def function(A, B):
        return (0.2 * A @ B.T + 1.0) ** 2

    for kernel, given in ((function, data), ("precomputed", function(data, data))):
        model = ScreenedSVC(kernel=kernel, **options).fit(given, labels, sample_weight=WEIGHTS)
        assert np.max(model.dual_gap_) <= 1e-9
        assert_allclose(model.objective_, named.objective_, rtol=1e-8)
        assert_allclose(model.decision_function(given), scores, rtol=1e-4, atol=1e-4)
    # Some samples take part, and a matrix of no kernel is no such problem.
    K, some = function(data, data), np.where(np.arange(Y.size) % 3, WEIGHTS, 0.0)
    part = ScreenedSVC(kernel="precomputed", **options).fit(K, labels, sample_weight=some)
    alone = ScreenedSVC(kernel="precomputed", **options)
    kept = np.flatnonzero(some)
    alone.fit(K[np.ix_(kept, kept)], labels[kept], sample_weight=some[kept])
    assert_allclose(part.objective_, alone.objective_, rtol=1e-8)
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        ScreenedSVC(kernel="precomputed", indefinite="error", **options).fit(-K, labels)
