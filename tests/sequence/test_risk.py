from itertools import islice

import numpy as np
import pytest
from chain_reference import differences, features, labellings, log_loss, margin_objective
from joblib import Parallel
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.sequence.likelihood import ChainLikelihood
from skscreen.sequence.loops import best_labels, expectations
from skscreen.sequence.risk import ChainRisk

M, P, LAM = 3, 2, 0.05
RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2, 1]
X = [RNG.normal(size=(length, P)) for length in LENGTHS]
Y = [RNG.integers(0, M, length) for length in LENGTHS]
FIRST = np.concatenate([[0], np.cumsum(LENGTHS)])
STACKED, CODES = np.concatenate(X), np.concatenate(Y)
N_WEIGHTS = M * P + M * M


def chain_risk(**options):
    return ChainRisk(STACKED, CODES, FIRST, M, LAM, **options)


def marginals(labels, length):
    """Clique marginals of one labelling; that of a single label is spread over its pair."""
    out = np.zeros((max(length - 1, 1), M, M))
    if length == 1:
        out[0, labels[0]] = 1.0 / M
    for t in range(length - 1):
        out[t, labels[t], labels[t + 1]] = 1.0
    return out


def test_value_is_the_largest_over_all_labellings():
    risk = chain_risk()
    for _ in range(5):
        w = RNG.normal(size=N_WEIGHTS)
        value, _ = risk.value(risk.gradient(w))
        assert_allclose(value + 0.5 * LAM * w @ w, margin_objective(X, Y, M, LAM, w), rtol=1e-12)


def test_gradient_gain_and_combination_on_random_labellings():
    risk = chain_risk()
    for _ in range(5):
        w, labels = RNG.normal(size=N_WEIGHTS), [RNG.integers(0, M, n) for n in LENGTHS]
        a = np.concatenate(
            [marginals(part, n) for part, n in zip(labels, LENGTHS, strict=True)]
        ).ravel()
        wrong = np.mean([np.sum(p != q) for p, q in zip(labels, Y, strict=True)])
        change = np.mean(
            [
                features(x, truth, M) - features(x, part, M)
                for x, truth, part in zip(X, Y, labels, strict=True)
            ],
            axis=0,
        )
        assert_allclose(risk.gain(a), wrong)
        assert_allclose(risk.combine(a), change, atol=1e-14)
        assert_allclose(risk.gradient(w) @ a, wrong - w @ change, rtol=1e-12)


def test_combination_is_the_adjoint_of_the_gradient():
    risk = chain_risk()
    w, a = RNG.normal(size=N_WEIGHTS), RNG.normal(size=risk.centre.size)
    linear = risk.gradient(np.zeros(N_WEIGHTS)) - risk.gradient(w)
    assert_allclose(linear @ a, w @ risk.combine(a), rtol=1e-12)
    columns = [risk.gradient(np.zeros(N_WEIGHTS)) - risk.gradient(e) for e in np.eye(N_WEIGHTS)]
    exact = np.linalg.norm(np.stack(columns), 2) ** 2 / LAM
    assert risk.curvatures[0] <= exact <= risk.curvatures[1]


@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("restart", [True, False])
def test_the_promise_is_kept_at_every_iteration(automatic, restart):
    risk = chain_risk()
    L = None if automatic else risk.curvatures[1]
    assert_allclose(risk.reach(risk.centre), 0.5 * risk.n_cliques * (1.0 - 1.0 / M**2))
    for iterate in islice(excessive_gap(risk, lipschitz=L, restart=restart), 200):
        assert -1e-13 <= iterate.primal - iterate.dual <= iterate.promise + 1e-13
    assert iterate.primal - iterate.dual < 0.1


def test_threads_project_the_same():
    base, g = chain_risk().centre, RNG.normal(size=chain_risk().centre.size)
    expected = chain_risk().project(base, g, 7.0)
    with Parallel(2, require="sharedmem") as pool:
        assert_array_equal(chain_risk(pool=pool).project(base, g, 7.0), expected)


def scores(w):
    return STACKED @ w[: M * P].reshape(M, P).T, w[M * P :].reshape(M, M)


def test_best_labels_are_those_of_enumeration():
    for _ in range(5):
        w, out = RNG.normal(size=N_WEIGHTS), np.empty(len(CODES), np.int64)
        best_labels(*scores(w), FIRST, out)
        for x, found in zip(X, np.split(out, FIRST[1:-1]), strict=True):
            values = [w @ features(x, labels, M) for labels in labellings(len(x), M)]
            assert_array_equal(found, labellings(len(x), M)[int(np.argmax(values))])


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_expectations_are_those_of_enumeration(size):
    w = size * RNG.normal(size=N_WEIGHTS)
    nodes, edges = np.zeros((len(CODES), M)), np.zeros((M, M))
    total = expectations(*scores(w), FIRST, nodes, edges)
    expected, means = 0.0, np.zeros(N_WEIGHTS)
    for (_, rows), x, truth in zip(differences(X, Y, M), X, Y, strict=True):
        values = -rows @ w + w @ features(x, truth, M)
        expected += values.max() + np.log(np.sum(np.exp(values - values.max())))
        shares = np.exp(values - values.max())
        means += shares @ (features(x, truth, M) - rows) / shares.sum()
    assert_allclose(total, expected, rtol=1e-13)
    assert_allclose(np.concatenate([(nodes.T @ STACKED).ravel(), edges.ravel()]), means, atol=1e-10)


@pytest.mark.parametrize("eta", [1.0, 0.3])
def test_likelihood_by_enumeration_and_finite_differences(eta):
    problem = ChainLikelihood(STACKED @ STACKED.T, CODES, FIRST, M, LAM, eta)
    assert problem.rank == P
    for _ in range(3):
        x = RNG.normal(size=problem.size)
        value, gradient = problem.value_and_gradient(x)
        A, E = problem.coefficients(x), problem.scores(x)[1]
        W = A.T @ STACKED
        assert_allclose(STACKED @ W.T, problem.scores(x)[0], atol=1e-12)
        penalty = np.sum(W * W) + np.sum(E * E) / eta**2
        w = np.concatenate([W.ravel(), E.ravel()])
        assert_allclose(value, 0.5 * LAM * penalty + log_loss(X, Y, M, w), rtol=1e-12)
        error = check_grad(
            lambda x: problem.value_and_gradient(x)[0],
            lambda x: problem.value_and_gradient(x)[1],
            x,
        )
        assert error < 1e-5 * max(np.linalg.norm(gradient), 1.0)
