"""Class weights: the problems by enumeration, their limits, and that they find rare classes."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from chain_cases import CODES, X, Y, weights_of
from chain_reference import labellings
from numpy.testing import assert_allclose
from pragam_reference import TIGHT
from scipy.optimize import check_grad, minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skscreen import ChainCRF, MaxMarginChain
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import read_samples
from skscreen.sequence.likelihood import WeightedLogLoss
from tests.optima import Problem

SOLVERS = ["frank-wolfe", "smoothing", "pragam", "bmrm"]
COSTS = {"x": 3.0, "y": 0.5, "z": 1.0}


def costs_of(class_weight):
    labels = np.concatenate(Y)
    if class_weight == "balanced":
        return labels.size / (3 * np.array([np.sum(labels == name) for name in "xyz"]))
    return np.array([class_weight[name] for name in "xyz"])


def weighted_features(x, labels, k):
    """Sums of observations by label and numbers of steps, each times the weight of its place."""
    nodes, edges = np.zeros((3, x.shape[1])), np.zeros((3, 3))
    for row, label, weight in zip(x, labels, k, strict=True):
        nodes[label] += weight * row
    for (left, right), ends in zip(pairwise(labels), pairwise(k), strict=True):
        edges[left, right] += max(ends)
    return np.concatenate([nodes.ravel(), edges.ravel()])


def weighted_differences(costs):
    for x, truth in zip(X, CODES, strict=True):
        k, paths = costs[truth], labellings(len(x), 3)
        losses = np.array([np.sum(k * (path != truth)) for path in paths])
        rows = [weighted_features(x, truth, k) - weighted_features(x, path, k) for path in paths]
        yield losses, np.stack(rows)


@pytest.mark.few(7)
@pytest.mark.parametrize("class_weight", ["balanced", COSTS, {"x": 0.0, "y": 1.0, "z": 2.0}])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_weighted_margin_problem_by_a_conic_solver(solver, class_weight):
    C, costs, w = 1.0, costs_of(class_weight), cp.Variable(15)
    parts, lam = list(weighted_differences(costs)), 1.0 / (C * len(X))
    risk = sum(cp.max(losses - rows @ w) for losses, rows in parts) / len(X)
    best = Problem(cp.Minimize(0.5 * lam * cp.sum_squares(w) + risk)).solve(**TIGHT)
    model = MaxMarginChain(
        C, class_weight=class_weight, solver=solver, fit_intercept=False, random_state=0
    ).fit(X, Y)
    v = weights_of(model, False, False)
    value = 0.5 * lam * v @ v + sum(np.max(losses - rows @ v) for losses, rows in parts) / len(X)
    assert_allclose(model.objective_, value, rtol=1e-9)
    assert model.dual_gap_ <= 1e-3
    assert model.objective_ * (1.0 - model.dual_gap_) <= best + 1e-8
    assert best - 1e-8 <= model.objective_


def nested_loss(w, costs):
    """Minus the weighted log-likelihood, by the definition, from the last position on."""
    W, E, total = w[:6].reshape(3, 2), w[6:].reshape(3, 3), 0.0
    for x, truth in zip(X, CODES, strict=True):
        U, k, later = x @ W.T, costs[truth], np.zeros(3)
        for t in range(len(x) - 1, -1, -1):
            s = max(k[t], k[t - 1]) if t else 0.0
            inner = U[t] + (s / k[t] * E if t else 0.0) + later / k[t]
            inner = np.atleast_2d(inner)
            sums = np.log(np.exp(inner).sum(axis=1))
            row = truth[t - 1] if t else 0
            total -= k[t] * (inner[row, truth[t]] - sums[row])
            later = k[t] * sums
    return total


@pytest.mark.parametrize("class_weight", ["balanced", COSTS])
def test_the_weighted_likelihood_by_its_definition(class_weight):
    C, costs = 0.7, costs_of(class_weight)
    model = ChainCRF(C, class_weight=class_weight, fit_intercept=False, tol=1e-8).fit(X, Y)
    w, lam = weights_of(model, False, False), 1.0 / (C * len(X))

    def objective(v):
        return 0.5 * lam * v @ v + nested_loss(v, costs) / len(X)

    assert_allclose(model.objective_, objective(w), rtol=1e-10)
    best = minimize(objective, np.zeros(15), tol=1e-10).fun
    assert best - 1e-7 <= model.objective_ <= best / (1.0 - 1e-8) + 1e-7
    assert model.objective_ * (1.0 - model.dual_gap_) <= best + 1e-9


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_the_gradient_of_the_weighted_likelihood(size):
    rng, codes = np.random.default_rng(0), np.concatenate(CODES)
    sequences = read_samples(ChainCRF(), X, reset=True)
    k = rng.uniform(0.1, 5.0, codes.size)
    scales = np.maximum(k, np.r_[1.0, k[:-1]])
    problem = WeightedLogLoss(
        Chains(sequences, codes, 3, rng.dirichlet(np.ones(len(X))), k, 0.1, scales)
    )
    for _ in range(5):
        w = size * rng.normal(size=problem.size)
        gradient = problem.value_and_gradient(w)[1]
        error = check_grad(lambda v: problem.value_and_gradient(v)[0],
                           lambda v: problem.value_and_gradient(v)[1], w,
                           epsilon=1e-6 * size)  # fmt: skip
        assert error < 1e-4 * np.linalg.norm(gradient)
        # It is convex: above its tangents.
        v = w + size * rng.normal(size=w.size)
        below = problem.value_and_gradient(w)[0] + gradient @ (v - w)
        assert problem.value_and_gradient(v)[0] >= below - 1e-9 * size**2


@pytest.mark.parametrize("model", [MaxMarginChain(tol=1e-6, random_state=0), ChainCRF(tol=1e-8)])
def test_equal_weights_are_a_factor_of_C(model):
    equal = type(model)(**{**model.get_params(), "class_weight": dict.fromkeys("xyz", 4.0)})
    plain = type(model)(**{**model.get_params(), "C": 4.0})
    equal.fit(X, Y), plain.fit(X, Y)
    assert_allclose(equal.objective_, 4.0 * plain.objective_, rtol=1e-5)
    assert_allclose(equal.transition_, plain.transition_, atol=1e-2)


def test_sequences_of_length_one_are_weighted_logistic_regression():
    rng = np.random.default_rng(0)
    t = (rng.random(500) < 0.1).astype(int)
    x = t[:, None] + rng.normal(size=(500, 2))
    peer = LogisticRegression(C=2.0, class_weight="balanced", fit_intercept=False, tol=1e-10)
    peer.fit(x, t)
    # Two weights that differ by w have half the penalty of w.
    model = ChainCRF(1.0, class_weight="balanced", fit_intercept=False, tol=1e-10)
    model.fit(list(x[:, None]), list(t[:, None]))
    assert_allclose(model.coef_[1] - model.coef_[0], peer.coef_[0], atol=1e-3)


def rare(rng, n, length, share, runs):
    """Sequences with a rare label, alone or in runs."""
    y = []
    for _ in range(n):
        labels = np.zeros(length, int)
        for t in np.flatnonzero(rng.random(length) < share / runs):
            labels[t : t + rng.integers(1, 2 * runs)] = 1
        y.append(labels)
    return [labels[:, None] * 2.0 + rng.normal(size=(length, 1)) for labels in y], y


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(("length", "runs"), [(1, 1), (30, 1), (30, 3)])
@pytest.mark.parametrize("kind", [MaxMarginChain, ChainCRF])
def test_a_class_of_one_in_a_hundred_is_found(kind, length, runs):
    rng = np.random.default_rng(0)
    n = 12_000 // length
    (X, y), (X_test, y_test) = (rare(rng, n, length, 0.01, runs) for _ in range(2))
    truth = np.concatenate(y_test)
    peer = LinearSVC(class_weight="balanced").fit(np.concatenate(X), np.concatenate(y))
    wanted = np.mean(peer.predict(np.concatenate(X_test))[truth == 1])
    model = kind(class_weight="balanced", tol=1e-2).fit(X, y)
    found = np.concatenate(model.predict(X_test))
    assert np.mean(found[truth == 1]) >= wanted - 0.05
    assert model.dual_gap_ <= 1e-2
    assert np.mean(found == truth) > 0.75


@pytest.mark.parametrize("kind", [MaxMarginChain, ChainCRF])
def test_bad_class_weights(kind):
    for class_weight, message in (
        ({"x": -1.0, "y": 1.0, "z": 1.0}, "class_weight must hold"),
        ({"q": 1.0}, r"^class_weight\b"),
        ("even", "'class_weight' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(class_weight=class_weight).fit(X, Y)
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        ChainCRF(class_weight={"x": 0.0, "y": 1.0, "z": 1.0}).fit(X, Y)
