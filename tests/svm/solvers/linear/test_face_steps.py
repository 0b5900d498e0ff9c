import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from svm_labelled import solve_linear, state_of

from skscreen import ScreenedLinearSVC, ScreenedLinearSVR
from skscreen._compiled import svm as loops
from skscreen.samples.losses import hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.face_steps import FaceSteps

N, D = 300, 500


def text(seed=0):
    """Rows of few entries with signs that depend on them, as in texts."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.04))
    y = np.where(X @ rng.normal(size=D) + 0.2 * rng.normal(size=N) > 0.1, 1.0, -1.0)
    return X, y


def problem(bias, C=10.0, dense=False):
    X, y = text()
    samples = LinearSamples(X.toarray() if dense else X, y, bias)
    return samples, np.full(N, C)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
def test_a_move_stays_in_the_box_and_raises_the_dual(bias, dense):
    samples, caps = problem(bias, dense=dense)
    rng = np.random.default_rng(1)
    for _ in range(10):
        start = caps * np.clip(rng.normal(0.3, 0.5, N), 0.0, 1.0)
        fixed = (rng.random(N) < 0.1).astype(np.int8)
        state = state_of(samples, hinge(caps), start, fixed)
        state.evaluate()
        before = state.dual
        FaceSteps(state, np.ones(N, np.int64)).move(50)
        alpha = samples.y * state.beta
        assert (alpha >= 0.0).all() and (alpha <= caps).all()
        assert (state.beta[fixed == 1] == 0.0).all()
        state.evaluate()
        assert state.dual >= before - 1e-12 * abs(before)


@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
@pytest.mark.slow
def test_moves_solve_the_system_of_a_face(bias):
    samples, caps = problem(bias)
    best = solve_linear(samples, hinge(caps), tol=1e-12)
    inside = (best.alpha > 1e-6) & (best.alpha < caps - 1e-6)
    start = best.alpha * np.where(inside, np.random.default_rng(2).uniform(0.999, 1.001, N), 1.0)
    # As sweeps leave it: what carries the intercept is right.
    y, beta = samples.y, samples.y * start
    bounds = np.minimum(y * caps, 0.0), np.maximum(y * caps, 0.0)
    loops.spread(beta, *bounds, np.flatnonzero(inside), float(y @ best.alpha - beta.sum()))
    state = state_of(samples, hinge(caps), y * beta)
    first = state.evaluate()
    faces = FaceSteps(state, np.ones(N, np.int64))
    for _ in range(5):
        faces.move(N)
        state.evaluate()
    assert first > 1e-4
    assert state.relative_gap < 1e-3 * first


def test_most_steps_and_nothing_inside():
    samples, caps = problem(1.0)
    state = state_of(samples, hinge(caps))
    state.evaluate()
    faces = FaceSteps(state, np.ones(N, np.int64))
    faces.move(3)
    assert state.n_iter == 3
    state = state_of(samples, hinge(caps), fixed=np.ones(N, np.int8))
    state.evaluate()
    assert FaceSteps(state, np.ones(N, np.int64)).move(3) == 0.0
    assert state.n_iter == 0


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("bias", [1e-200, 1e-3, 1.0, 100.0, 1000.0])
def test_any_intercept(bias, shrinking):
    samples, caps = problem(bias)
    state = state_of(samples, hinge(caps))
    state.evaluate()
    assert coordinate_descent(state, 1e-8, 100_000, shrinking=shrinking)


def test_an_intercept_costs_few_epochs():
    epochs = {}
    for bias in (0.0, 1.0):
        samples, caps = problem(bias)
        state = state_of(samples, hinge(caps))
        state.evaluate()
        assert coordinate_descent(state, 1e-6, 100_000)
        epochs[bias] = state.n_iter
    assert epochs[1.0] < 3 * epochs[0.0]


@pytest.mark.few(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.slow
def test_many_samples_inside_a_large_box_end_at_bounds(first, fit_intercept):
    """With more free samples than features 100,000 sweeps ended at gaps of 0.9."""
    X, y = load_iris(return_X_y=True)
    X, y = X[first::4][:34], y[first::4][:34]
    options = {"C": 1e3, "fit_intercept": fit_intercept, "random_state": 0}
    found = ScreenedLinearSVR(solver="coordinate-descent", **options).fit(X, y)
    best = ScreenedLinearSVR(solver="second-order", **options).fit(X, y)
    assert found.objective_ == pytest.approx(best.objective_, rel=3e-6)
    labels = np.where(y == 1, 1, 0)
    found = ScreenedLinearSVC(loss="hinge", solver="coordinate-descent", **options).fit(X, labels)
    best = ScreenedLinearSVC(loss="hinge", solver="second-order", **options).fit(X, labels)
    assert found.objective_ == pytest.approx(best.objective_, rel=3e-6)
