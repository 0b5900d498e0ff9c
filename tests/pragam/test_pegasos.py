from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pragam_reference import objective, optimum
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen import PragamSVC
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.pegasos import pegasos, stochastic_pegasos
from skscreen.samples.rows import LinearSamples

X, y = load_breast_cancer(return_X_y=True)
X, SIGNS = scale(X)[::8], np.where(y[::8] == 1, 1.0, -1.0)
X = np.where(np.abs(X) > 0.3, X, 0.0)
Z, N, LAM = SIGNS[:, None] * X, len(SIGNS), 0.02
WEIGHTS = np.random.default_rng(0).integers(1, 4, N).astype(float)


def step(w, t, active, shares, projection):
    """One step of the figure in the paper."""
    w = (1.0 - 1.0 / t) * w + (active * shares) @ Z / (LAM * t)
    return w * min(1.0, 1.0 / (np.sqrt(LAM) * np.linalg.norm(w))) if projection else w


@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS])
def test_all_samples_a_step(projection, weights):
    samples = LinearSamples(X, SIGNS)
    risk = HingeRisk(samples, weights, LAM, False)
    best = optimum(X, SIGNS, LAM, False, weights)
    w = np.zeros(X.shape[1])
    for t, iterate in enumerate(islice(pegasos(risk, projection), 60)):
        if t > 0:
            w = step(w, t, Z @ w < 1.0, weights / weights.sum(), projection)
        assert iterate.iteration == t
        assert_allclose(iterate.w, w, atol=1e-12)
        assert_allclose(iterate.primal, objective(X, SIGNS, LAM, w, 0.0, weights), rtol=1e-12)
        assert iterate.dual <= best + 1e-10
    assert iterate.dual > best - 0.1


def test_all_samples_a_step_with_an_intercept():
    risk = HingeRisk(LinearSamples(X, SIGNS), np.ones(N), LAM, True)
    best = optimum(X, SIGNS, LAM, True)
    for iterate in islice(pegasos(risk), 3000):
        assert iterate.dual <= best + 1e-10 and iterate.primal >= best - 1e-10
    assert iterate.primal - iterate.dual < 0.01


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("projection", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_random_samples_a_step(container, projection, batch_size):
    samples = LinearSamples(container(X), SIGNS)
    risk = HingeRisk(samples, WEIGHTS, LAM, False)
    best = optimum(X, SIGNS, LAM, False, WEIGHTS)
    rng, w, t = np.random.default_rng(5), np.zeros(X.shape[1]), 0
    cumulative = np.cumsum(WEIGHTS) / WEIGHTS.sum()
    iterates = stochastic_pegasos(risk, samples, batch_size, 5, projection)
    for k, iterate in enumerate(islice(iterates, 4)):
        if k > 0:
            draws = rng.random((-(-N // batch_size), batch_size))
            for drawn in np.searchsorted(cumulative, draws, side="right"):
                t += 1
                counts = np.bincount(drawn, minlength=N) / batch_size
                w = step(w, t, Z @ w < 1.0, counts, projection)
        assert iterate.iteration == t
        assert_allclose(iterate.w, w, atol=1e-10)
        assert iterate.dual <= best + 1e-10 and iterate.primal >= best - 1e-10
    for _ in range(300):
        iterate = next(iterates)
    assert iterate.primal - iterate.dual < 0.1 * best


def test_seeds():
    samples = LinearSamples(X, SIGNS)
    risk = HingeRisk(samples, np.ones(N), LAM, False)
    runs = [next(islice(stochastic_pegasos(risk, samples, 1, s), 2, None)).w for s in (0, 0, 1)]
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize("most", [1, 5, N + 3])
def test_small_batches_end_in_the_middle_of_a_pass(most):
    samples = LinearSamples(X, SIGNS)
    risk = HingeRisk(samples, np.ones(N), LAM, False)
    *_, last = stochastic_pegasos(risk, samples, 1, 0, most=most)
    assert last.iteration == most


def test_batches_larger_than_memory_are_refused():
    model = PragamSVC(solver="pegasos", fit_intercept=False, batch_size=10**13)
    with pytest.raises(MemoryError, match=r"\bbatch_size\b"):
        model.fit(X, SIGNS)
