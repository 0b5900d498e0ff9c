"""Problems of few samples, solved in one compiled call: solutions, gaps, and the rows asked for."""

import warnings

import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR

from skscreen import ScreenedSVC, ScreenedSVR
from skscreen.samples.kernels.kernel import Kernel
from skscreen.svm.dual import Dual
from skscreen.svm.problem import build
from skscreen.svm.solvers.kernel.few import few_values, in_memory, solve_few

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)) * np.array([2.0, 1.0, 0.5, 0.1]) + 3.0
X[1::6] = X[::6]
SCORES = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.normal(size=90)
WEIGHTS = RNG.uniform(0.0, 2.0, 90) * (RNG.random(90) < 0.9)
KERNELS = {
    "rbf": {"gamma": 0.3},
    "near one": {"kernel": "rbf", "gamma": 1e-4},
    "poly": {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 1.0},
    "linear": {"kernel": "linear"},
}
# Of the same problems in scikit-learn: kernels next to 1 need large C there too.
C = {"near one": 1e3}


@every_pair(kernel=list(KERNELS), intercept=["free", "penalised"], rows=["dense", "sparse"])
def test_the_gap_of_a_regression_is_true(kernel, intercept, rows):
    data = sparse.csr_array(X) if rows == "sparse" else X
    options, cost = KERNELS[kernel], C.get(kernel, 1.0)
    model = ScreenedSVR(cost, epsilon=0.2, intercept=intercept, tol=1e-5, **options)
    assert build(model, data, SCORES, WEIGHTS).road.solver == "class pairs"
    model.fit(data, SCORES, WEIGHTS)
    assert model.dual_gap_ <= 1e-5
    known = {"metric": "rbf", **options}
    known["metric"] = known.pop("kernel", "rbf")
    wide = np.longdouble
    K = pairwise_kernels(X, **known).astype(wide)
    beta = np.zeros(90, wide)
    coefs = model.dual_coef_.toarray() if rows == "sparse" else model.dual_coef_
    beta[model.support_] = coefs[0]
    caps, b = cost * WEIGHTS, wide(model.intercept_[0])
    assert np.all(np.abs(beta) <= caps)
    short = np.maximum(np.abs(SCORES - K @ beta - b) - 0.2, 0.0)
    square = beta @ K @ beta + (0.0 if intercept == "free" else b * b)
    primal = 0.5 * square + caps @ short
    bound = SCORES @ beta - 0.2 * np.abs(beta).sum() - 0.5 * square
    # Kernel values of scikit-learn have rounding errors.
    assert (primal - bound) / primal <= model.dual_gap_ + 1e-8
    assert_allclose(model.objective_, float(primal), rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_decisions_are_those_of_scikit_learn(kernel):
    options, cost = KERNELS[kernel], C.get(kernel, 1.0)
    # LIBSVM has kernel values in single precision.
    near = {"atol": 2e-3 if kernel == "near one" else 2e-4}
    labels = np.digitize(SCORES, [0.5, 2.0])
    for y in (labels > 0, labels):
        model = ScreenedSVC(cost, tol=1e-9, decision_function_shape="ovo", **options).fit(X, y)
        peer = SVC(C=cost, tol=1e-9, decision_function_shape="ovo", **options).fit(X, y)
        assert_allclose(model.decision_function(X), peer.decision_function(X), **near)
    model = ScreenedSVR(cost, tol=1e-9, **options).fit(X, SCORES)
    peer = SVR(C=cost, tol=1e-9, **options).fit(X, SCORES)
    assert_allclose(model.predict(X), peer.predict(X), **near)


def test_sums_of_two_groups_are_kept():
    n = len(X)
    y = np.where(SCORES > 1.0, 1.0, -1.0)
    values = few_values(X, Kernel("rbf", 0.3, 3, 0.0), 0.0, True)
    group = (y < 0.0).astype(np.int8)
    sums = np.array([0.15 * n, -0.15 * n])
    empty = np.zeros(n)
    box = Dual(empty, np.minimum(y, 0.0), np.maximum(y, 0.0), True, np.empty(0), sums, group)
    beta = np.zeros(n)
    found = solve_few(values, np.arange(n), box, beta, (1e-8, 1.0, 100_000))
    assert found.gap <= 1e-8 * found.primal
    assert_allclose(box.sums_of(beta), sums, rtol=1e-12)
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    f = K @ beta
    assert_allclose(found.f, f, atol=1e-9)
    # Inside their bounds all samples of a group have its intercept.
    free = (beta > box.low + 1e-9) & (beta < box.high - 1e-9)
    assert np.count_nonzero(free) > 5
    assert_allclose((-f)[free], np.array(found.b)[group[free]], atol=1e-6)


@pytest.mark.parametrize("whole", [True, False])
def test_some_samples_are_a_problem_of_their_own(whole):
    kernel, y = Kernel("rbf", 0.3, 3, 0.0), np.where(SCORES > 1.0, 1.0, -1.0)
    samples = np.r_[2:12, 20 : len(X)]
    some, found = np.arange(samples.size), []
    for rows, places in ((X, samples), (X[samples], some)):
        values, signs = few_values(rows, kernel, 0.0, True, whole), y[samples]
        box = Dual(signs, np.minimum(signs, 0.0), np.maximum(signs, 0.0), True, np.empty(0))
        beta = np.zeros(samples.size)
        solve_few(values, places, box, beta, (1e-10, 1.0, 100_000))
        found.append(beta)
    assert np.count_nonzero(found[1]) > 5
    assert_allclose(found[0], found[1], atol=1e-7)


@pytest.mark.parametrize("name", ["rbf", "linear", "poly"])
def test_values_in_memory_are_the_same(name):
    kernel = Kernel(name, 0.3, 2, 1.0)
    options = {"linear": {}, "rbf": {"gamma": 0.3}}.get(
        name, {"gamma": 0.3, "degree": 2, "coef0": 1.0}
    )
    values = few_values(X, kernel, 2.0, True)
    known = in_memory(values)
    assert_allclose(known.X, pairwise_kernels(X, metric=name, **options), rtol=1e-9)
    assert in_memory(known) is known
    y = np.where(SCORES > 1.0, 1.0, -1.0)
    box = Dual(y, np.minimum(y, 0.0), np.maximum(y, 0.0), True, np.empty(0))
    found = []
    for each in (values, known):
        beta = np.zeros(len(X))
        result = solve_few(each, np.arange(len(X)), box, beta, (1e-8, 1.0, 100_000))
        assert result.gap <= 1e-8 * result.primal
        found.append((beta, result.f, result.errors))
    for first, second in zip(*found, strict=True):
        assert_allclose(first, second, atol=1e-9)


def test_equal_samples_and_constant_targets():
    Z, same = np.ones((12, 2)), np.arange(12) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("rbf", "linear", "poly"):
            assert ScreenedSVC(kernel=kernel, gamma=1.0).fit(Z, same).dual_gap_ <= 1e-6
            assert ScreenedSVR(kernel=kernel, gamma=1.0).fit(Z, same).dual_gap_ <= 1e-6
            model = ScreenedSVR(kernel=kernel, gamma=1.0).fit(X, np.full(90, 7.0))
            assert_allclose(model.predict(X), 7.0)
            assert model.support_.size == 0
