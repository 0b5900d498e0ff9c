from itertools import islice

import numpy as np
import pytest
from chain_reference import features, margin_objective
from numpy.testing import assert_allclose

from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import Sequences
from skscreen.sequence.risk import ChainRisk
from skscreen.sequence.solvers.entropic_gap import entropic_gap

M, P, LAM = 3, 2, 0.05
RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2, 1]
X = [RNG.normal(size=(length, P)) for length in LENGTHS]
Y = [RNG.integers(0, M, length) for length in LENGTHS]
FIRST = np.concatenate([[0], np.cumsum(LENGTHS)])
STACKED, CODES = np.concatenate(X), np.concatenate(Y)
N_WEIGHTS = M * P + M * M


SHARES = np.full(len(X), 1.0 / len(X))
CHAINS = Chains(Sequences(STACKED, FIRST), CODES, M, SHARES, np.ones(CODES.size), LAM)


def flat(w):
    """Return weights of the reference, a row for each label, in our order."""
    return np.concatenate([w[: M * P].reshape(M, P).T.ravel(), w[M * P :]])


def chain_risk():
    return ChainRisk(CHAINS)


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
        value, _ = risk.value(risk.gradient(flat(w)))
        assert_allclose(value + 0.5 * LAM * w @ w, margin_objective(X, Y, M, LAM, w), rtol=1e-12)
        assert_allclose(CHAINS.risk(flat(w)), value, rtol=1e-12)


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
        assert_allclose(risk.combine(a), flat(change), atol=1e-14)
        assert_allclose(risk.gradient(flat(w)) @ a, wrong - w @ change, rtol=1e-12)


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


def test_the_promise_of_the_entropy_is_kept_at_every_iteration():
    for iterate in islice(entropic_gap(CHAINS), 1, 300):
        assert -1e-13 <= iterate.primal - iterate.dual <= iterate.promise + 1e-13
    assert iterate.primal - iterate.dual < 1e-3
