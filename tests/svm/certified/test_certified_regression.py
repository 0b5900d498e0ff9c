"""`svr_certified_C` against optima of Clarabel and fine grids."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_absolute_error
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_reference import box_qp, squared_hinge_qp

from skscreen import ScreenedSVR, svr_certified_C, svr_path
from skscreen.inspection import CertifiedPathDisplay
from skscreen.svm.certified.errors import smallest_sum

X, y = load_diabetes(return_X_y=True)
X, y = scale(X), scale(y)
PARTS = X[:80], y[:80], X[80:140], y[80:140]
RANGE = (0.02, 5.0)
PENALISED = {"intercept": "penalised", "epsilon": 0.2}
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
KERNELS = {"linear": {}, "rbf": {"gamma": 0.05}}


def at(bounds, C):
    """Return the parts that C lies in, as indices: two on an edge."""
    return np.flatnonzero((bounds.edges[:-1] <= C) & (bounds.edges[1:] >= C))


def clarabel_error(C, loss, kernel):
    """Return the mean absolute error of the optimum that Clarabel finds."""
    A, targets, B, wanted = PARTS

    def between(left, right):
        return 1.0 + (left @ right.T if kernel == "linear" else rbf_kernel(left, right, gamma=0.05))

    n, K = targets.size, between(A, A)
    Q = np.block([[K, -K], [-K, K]])
    t = np.concatenate([targets - 0.2, -targets - 0.2])
    if loss == LOSSES[0]:
        alpha = box_qp(Q, np.full(2 * n, C), t)
    else:
        alpha = squared_hinge_qp(Q, np.full(2 * n, C), t=t)[0]
    return mean_absolute_error(wanted, between(B, A) @ (alpha[:n] - alpha[n:]))


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_independent_optima_are_never_outside_the_bounds(loss, kernel):
    options = {"kernel": kernel, "loss": loss, **PENALISED, **KERNELS[kernel]}
    best = svr_certified_C(*PARTS, RANGE, 0.01, **options)
    assert best.converged and best.eps <= 0.01
    assert best.upper_bound - best.lower_bound == pytest.approx(best.eps)
    # Clarabel's errors.
    off = 1e-6
    path = svr_path(*PARTS[:2], Cs=np.geomspace(*RANGE, 61), tol=1e-11, **options)
    errors = [mean_absolute_error(PARTS[3], path[k].predict(PARTS[2])) for k in range(61)]
    for C, error in [
        *zip(path.Cs, errors, strict=True),
        *((C, clarabel_error(C, loss, kernel)) for C in np.geomspace(*RANGE, 7)),
    ]:
        for part in at(best.bounds, C):
            assert best.bounds.lower[part] - off <= error <= best.bounds.upper[part] + off
    assert best.upper_bound <= min(errors) + 0.01 + off


@pytest.mark.slow
def test_the_result_and_its_display():
    best = svr_certified_C(*PARTS, RANGE, 0.02, kernel="linear", epsilon=0.2)
    model = best.estimator
    assert isinstance(model, ScreenedSVR) and best.C == model.C
    error = mean_absolute_error(PARTS[3], model.predict(PARTS[2]))
    assert_allclose(error, best.validation_error, rtol=1e-10)
    assert best.lower_bound <= best.validation_error <= best.upper_bound
    assert best.bounds.name == "mean absolute error" and best.n_solved >= 20
    display = CertifiedPathDisplay.from_result(best)
    assert display.ax_.get_ylabel() == "Mean absolute error"
    assert "%" not in display.lower_line_.get_label()


@pytest.mark.proof
def test_data_of_all_kinds_agree():
    A, targets, B, wanted = PARTS
    linear = svr_certified_C(*PARTS, RANGE, 0.02, kernel="linear", **PENALISED)
    thin = svr_certified_C(
        sparse.csr_array(A), targets, sparse.csr_array(B), wanted, RANGE, 0.02, kernel="linear",
        **PENALISED,
    )  # fmt: skip
    known = svr_certified_C(
        A @ A.T, targets, B @ A.T, wanted, RANGE, 0.02, kernel="precomputed",
        diagonal_val=(B**2).sum(axis=1), **PENALISED,
    )  # fmt: skip
    for other in (thin, known):
        assert_allclose(other.bounds.errors[[0, -1]], linear.bounds.errors[[0, -1]], atol=1e-6)
        assert abs(other.lower_bound - linear.lower_bound) <= 0.02


@pytest.mark.slow
def test_weights_of_validation_samples_are_repetitions():
    A, targets, B, wanted = PARTS
    counts = np.random.default_rng(0).integers(0, 3, wanted.size)
    options = {"kernel": "linear", **PENALISED}
    one = svr_certified_C(*PARTS, RANGE, 0.02, sample_weight_val=counts, **options)
    two = svr_certified_C(
        A, targets, np.repeat(B, counts, axis=0), np.repeat(wanted, counts), RANGE, 0.02, **options
    )
    assert_allclose(one.bounds.errors, two.bounds.errors, atol=1e-12)


@pytest.mark.slow
def test_rows_of_weight_zero_are_left_out():
    A, targets, B, wanted = PARTS
    weights = np.random.default_rng(0).integers(0, 2, targets.size)
    options = {"kernel": "rbf", "gamma": 0.05, **PENALISED}
    one = svr_certified_C(*PARTS, RANGE, 0.02, sample_weight=weights, **options)
    kept = weights > 0
    two = svr_certified_C(A[kept], targets[kept], B, wanted, RANGE, 0.02, **options)
    assert_array_equal(one.bounds.Cs, two.bounds.Cs)
    assert_allclose(one.bounds.errors, two.bounds.errors, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_mean_of_lines(seed):
    rng = np.random.default_rng(seed)
    first, change = rng.normal(size=(2, rng.integers(1, 9))).round(1)
    weights = rng.choice([0.0, 1.0, 2.0], first.size)
    kinks = np.append([0.0, 1.0], -first[change != 0.0] / change[change != 0.0])
    at = kinks[(kinks >= 0.0) & (kinks <= 1.0)]
    wanted = (np.abs(first + at[:, None] * change) @ weights).min()
    assert smallest_sum(first, change, weights) == pytest.approx(wanted, abs=1e-14)


def test_too_few_solves_are_told():
    with pytest.warns(ConvergenceWarning, match=r"\bmax_solves\b"):
        best = svr_certified_C(*PARTS, RANGE, 1e-4, n_grid=3, max_solves=4, kernel="linear")
    assert not best.converged and best.n_solved <= 4


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"C_range": (1.0, 0.1)}, ValueError, "C_range must be"),
        ({"eps": 0.0}, ValueError, "'eps' parameter"),
        ({"C": 1.0}, TypeError, "'C'"),
        ({"store": "folder"}, TypeError, "'store'"),
        ({"intercept": "free"}, ValueError, r"^intercept\b"),
        ({"y_val": None}, ValueError, "y_val must hold"),
        ({"y_val": np.zeros(3)}, ValueError, "y_val must have"),
        ({"y_val": np.full(60, np.nan)}, ValueError, "y_val contains NaN"),
    ],
)
def test_bad_arguments(arguments, error, message):
    given = dict(zip(("X", "y", "X_val", "y_val"), PARTS, strict=True))
    with pytest.raises(error, match=message):
        svr_certified_C(**{**given, "C_range": RANGE, **arguments})
