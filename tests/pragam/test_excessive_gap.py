from itertools import islice

import numpy as np
import pytest
from cases import some
from numpy.testing import assert_allclose, assert_array_equal
from pragam_reference import objective, optimum
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.iterates import follow
from skscreen.samples.rows import LinearSamples

CANCER_X, CANCER_Y = load_breast_cancer(return_X_y=True)
DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
DATA = {
    "cancer": (scale(CANCER_X), np.where(CANCER_Y == 1, 1.0, -1.0)),
    "digits": (sparse.csr_array(DIGITS_X / 16.0), np.where(DIGITS_Y == 8, 1.0, -1.0)),
}
# Rounding errors of primal - dual: both are at most 1.
ROUNDING = 1e-14


def problem(name, lam=0.01, free=True, weights=None):
    X, signs = DATA[name]
    weights = np.ones(len(signs)) if weights is None else weights
    return HingeRisk(LinearSamples(X, signs), weights, lam, free)


def global_constant(name, lam):
    X, _ = DATA[name]
    return np.linalg.norm(X.toarray() if sparse.issparse(X) else X, 2) ** 2 / lam


@pytest.mark.few(6)
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("lam", [1e-1, 1e-3])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("automatic", [False, True])
def test_the_promise_is_kept_at_every_iteration(name, lam, free, restart, automatic):
    risk = problem(name, lam, free)
    L = None if automatic else global_constant(name, lam)
    promises = []
    for iterate in islice(excessive_gap(risk, lipschitz=L, restart=restart), 400):
        assert iterate.primal - iterate.dual <= iterate.promise + ROUNDING
        promises.append(iterate.promise)
    if not restart and not automatic:
        # (26) with the larger mu of section 4: 4 L D2 / ((k + 1) (k + 2)), k counted from 0.
        k = np.arange(len(promises) - 1)
        published = 4.0 * L * risk.reach(risk.centre) / ((k + 1.0) * (k + 2.0))
        assert np.all(promises[1:] <= published * (1.0 + 1e-12))
        assert promises[-1] > 0.2 * published[-1]


def test_the_promise_holds_for_weights_and_from_a_start():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 5, len(CANCER_Y)).astype(float)
    risk = problem("cancer", 1e-3, True, weights)
    start = risk.start(rng.random(len(weights)) * risk.caps)
    for begin in (None, start):
        for iterate in islice(excessive_gap(risk, begin), 500):
            assert iterate.primal - iterate.dual <= iterate.promise + ROUNDING


def test_excessive_gap_condition():
    """J_mu(w) <= D(a) with mu = promise / reach, the invariant of the proof."""
    risk = problem("cancer", 1e-3, False)
    reach, caps = risk.reach(risk.centre), risk.caps
    for iterate in islice(excessive_gap(risk, restart=False), 1, 200):
        mu = iterate.promise / reach
        g = risk.gradient(iterate.w)
        a = np.clip(g / mu, 0.0, caps)
        smooth = 0.5 * risk.lam * iterate.w @ iterate.w + a @ g - 0.5 * mu * a @ a
        assert smooth <= iterate.dual + ROUNDING


@pytest.mark.few(5)
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("lam", [1e-1, 1e-3])
def test_conic_solver(name, free, lam):
    X, signs = DATA[name]
    X = X[::6].toarray() if sparse.issparse(X) else X[::4]
    signs = signs[::6] if name == "digits" else signs[::4]
    best = optimum(X, signs, lam, free)
    risk = HingeRisk(LinearSamples(X, signs), np.ones(len(signs)), lam, free)
    for tol in (1e-4, 1e-6):
        found = follow(excessive_gap(risk), tol, 100_000)
        assert found.converged and found.n_iter < 100_000
        assert found.dual <= best + 1e-10
        assert best - 1e-10 <= found.primal <= best + tol
        assert_allclose(objective(X, signs, lam, found.w, found.b), found.primal, rtol=1e-12)


def test_bounds_are_those_of_the_points():
    risk = problem("cancer", 1e-3, True)
    found = follow(excessive_gap(risk), 1e-6, 100_000)
    X, signs = DATA["cancer"]
    p = (signs * found.a) @ X
    assert_allclose(found.a.sum() - 0.5 * p @ p / 1e-3, found.dual, rtol=1e-12)
    assert abs(signs @ found.a) < 1e-15
    history = found.history
    assert_array_equal(history["iteration"], np.arange(found.n_iter + 1))
    assert np.all(np.diff(history["seconds"]) >= 0.0)
    assert np.all(np.diff(history["primal"]) <= 0.0) and np.all(np.diff(history["dual"]) >= 0.0)
    assert history[-1]["gap"] == found.gap <= 1e-6 < history[-2]["gap"]


@pytest.mark.proof
@pytest.mark.parametrize(("name", "tol"), some([("cancer", 1e-5), ("digits", 1e-7)], 0))
def test_automatic_constant_and_restarts_save_iterations(name, tol):
    lam = 1e-3
    risk = problem(name, lam, True)
    best = follow(excessive_gap(risk), 1e-6, 100_000).primal
    counts = []
    for L in (None, global_constant(name, lam)):
        history = follow(excessive_gap(risk, lipschitz=L, restart=False), 1e-5, 20_000).history
        counts.append(int(np.argmax(history["primal"] <= best * (1.0 + 1e-3))))
    assert 0 < counts[0] <= 0.5 * counts[1]
    fits = [follow(excessive_gap(risk, restart=r), tol, 100_000) for r in (True, False)]
    assert fits[0].n_iter < 0.5 * fits[1].n_iter


def test_a_solution_as_the_start_takes_no_iteration():
    risk = problem("cancer")
    first = follow(excessive_gap(risk), 1e-6, 10_000)
    assert follow(excessive_gap(risk, first.a), 1e-4, 10_000).n_iter == 0
    again = follow(excessive_gap(risk, first.a), 1e-7, 10_000)
    cold = follow(excessive_gap(risk), 1e-7, 10_000)
    assert 0 < again.n_iter < 0.5 * cold.n_iter


def test_iterates_end_where_rounding_does():
    risk = problem("cancer", 10.0)
    found = follow(excessive_gap(risk, restart=False), 0.0, 10**7)
    assert found.gap < 1e-13
    assert found.n_iter < 10**6


def test_data_without_any_length():
    for free in (False, True):
        samples = LinearSamples(np.zeros((4, 2)), [1.0, 1.0, 1.0, -1.0])
        found = follow(excessive_gap(HingeRisk(samples, np.ones(4), 1.0, free)), 1e-12, 100)
        assert_allclose([found.primal, found.dual], 0.5 if free else 1.0)
