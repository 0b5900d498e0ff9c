"""Newton's method on the primal of the squared hinge, whose matrix may be in single precision."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from svm_labelled import state_of

from skscreen import ScreenedLinearSVC
from skscreen._compiled import svm as loops
from skscreen.samples.losses import squared_hinge
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.solvers.linear.hessian import Hessian
from skscreen.svm.solvers.linear.newton import newton


def problem(scales, n=400, d=60):
    """Return noisy samples whose features have sizes from 1 to 1 / `scales`."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, d)) * np.logspace(0.0, -np.log10(scales), d)
    y = np.where(X[:, 0] + random.standard_normal(n) > 0.0, 1.0, -1.0)
    return X, y


def solved(X, y, C, tol, compressed=None):
    """Return the evaluated state of a solve from nothing."""
    samples = LinearSamples(X, y, 1.0, compressed)
    state = state_of(samples, squared_hinge(np.full(y.size, C)))
    state.evaluate()
    assert newton(state, tol, 100)
    return state


def in_double_precision(X, y, C, n_steps=100):
    """Return the minimum of the primal by Newton steps, each as short as is best."""
    Z = y[:, None] * np.hstack([X, np.ones((y.size, 1))])
    w, lengths = np.zeros(Z.shape[1]), 0.5 ** np.arange(30)

    def primal(w):
        return 0.5 * w @ w + C * np.sum(np.maximum(1.0 - Z @ w, 0.0) ** 2)

    for _ in range(n_steps):
        lost = Z[Z @ w < 1.0]
        gradient = w - 2.0 * C * lost.T @ (1.0 - lost @ w)
        step = np.linalg.solve(np.eye(w.size) + 2.0 * C * lost.T @ lost, -gradient)
        w = min((w + t * step for t in lengths), key=primal)
    return primal(w)


@pytest.mark.few(5)
@pytest.mark.parametrize("scales", [1.0, 1e3])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3, 1e5, 1e8])
def test_steps_by_sums_of_any_precision_reach_any_gap(C, scales):
    """Sums are in single precision up to C = 1,000."""
    X, y = problem(scales)
    found = solved(X, y, C, 1e-13 if C < 1e6 else 1e-9)
    assert found.n_iter <= 30
    assert found.primal <= (1.0 + 2e-9) * in_double_precision(X, y, C)


def test_a_sum_that_is_too_rough_is_summed_again():
    X, y = problem(1e3)
    samples, everyone = LinearSamples(X, y, 1.0), np.ones(y.size, np.bool_)
    Z, x = np.hstack([X, np.ones((y.size, 1))]), np.arange(1.0, X.shape[1] + 2.0)
    # As narrow as single precision allows.
    width = 0.11 * float(np.finfo(np.float32).eps) * float(np.sum(Z**2))
    exact = np.linalg.solve(np.eye(x.size) + Z.T @ Z / width, x)
    hessian = Hessian(samples, np.ones(y.size))
    hessian.begin(width)
    # The first solve should have left next to nothing for the second.
    errors = [np.linalg.norm(hessian.solve(x, everyone) - exact) for _ in range(2)]
    assert errors[1] <= 1e-11 * np.linalg.norm(exact) < errors[0]


def test_rows_without_zeros_give_the_same():
    X, y = problem(1.0)
    thin = np.where(np.abs(X) > 1.2, X, 0.0)
    dense, short = (solved(thin, y, 1.0, 1e-12, rows) for rows in (None, compress(thin)))
    assert abs(short.primal - dense.primal) <= 1e-11 * dense.primal


@pytest.mark.parametrize("curvature", [0.0, 5e-324, 1e-300, 1.0])
def test_lengths_of_lines_of_any_curvature_are_finite(curvature):
    losses = [np.array([part]) for part in (0.0, 1.0, 0.0, 1.0)]
    length = loops.line_length(losses, np.zeros(1), np.zeros(1), -1e20, curvature)
    assert 0.0 <= length < np.inf
    assert curvature < 1.0 or length == pytest.approx(1e20)


def test_a_tolerance_below_rounding_errors_does_not_take_all_steps():
    X, y = (
        np.array([[0.1685491657389809], [-0.21653197492417936], [1.7426697], [0.3267155]]),
        [0, 0, 1, 1],
    )
    with pytest.warns(ConvergenceWarning):
        model = ScreenedLinearSVC(tol=1e-300).fit(X, y)
    assert model.dual_gap_ < 1e-14
    assert model.n_iter_ < 10_000
