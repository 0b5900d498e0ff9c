from functools import partial

import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_certified_C, svc_path, svr_certified_C
from skscreen.inspection import CertifiedPathDisplay

LinearHingeSVC = partial(ScreenedLinearSVC, loss="hinge")

LINEAR = {"kernel": "linear", "intercept": "penalised"}
RBF = {"kernel": "rbf", "gamma": 0.05, "intercept": "penalised"}
RANGE = (1e-2, 1e2)


def halves(name):
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "wine":
        X, y = load_wine(return_X_y=True)
        y = (y == 1).astype(int)
    else:
        X, y = make_classification(400, 8, n_informative=4, flip_y=0.2, random_state=0)
    X = scale(X)
    return X[::2], y[::2], X[1::2], y[1::2]


def at(bounds, C):
    """Return the parts that C lies in, as indices: two on an edge."""
    return np.flatnonzero((bounds.edges[:-1] <= C) & (bounds.edges[1:] >= C))


@pytest.mark.few(1)
@pytest.mark.slow
@every_pair(
    loss=["hinge", "squared_hinge"],
    name=["cancer", "wine", "made"],
    options=[LINEAR, RBF, RBF | {"kernel": "poly", "gamma": "scale", "degree": 2, "coef0": 1.0}],
)
def test_brute_force_is_never_outside_the_bounds(loss, name, options):
    X, y, X_val, y_val = halves(name)
    options = {"loss": loss, **options}
    best = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, **options)
    assert best.converged and best.eps <= 0.02 + 1e-10
    path = svc_path(X, y, Cs=np.geomspace(*RANGE, 60), tol=1e-10, **options)
    errors = [1.0 - path[k].score(X_val, y_val) for k in range(len(path))]
    for C, error in zip(path.Cs, errors, strict=True):
        for part in at(best.bounds, C):
            assert best.bounds.lower[part] - 1e-12 <= error <= best.bounds.upper[part] + 1e-12
    assert min(errors) >= best.lower_bound - 1e-12
    assert best.upper_bound <= min(errors) + 0.02 + 1e-12


@pytest.mark.slow
def test_the_result():
    X, y, X_val, y_val = halves("cancer")
    best = svc_certified_C(X, y, X_val, y_val, RANGE, kernel="linear")
    model = best.estimator
    assert isinstance(model, ScreenedSVC) and best.C == model.C
    assert RANGE[0] <= best.C <= RANGE[1]
    assert_allclose(1.0 - model.score(X_val, y_val), best.validation_error)
    assert best.lower_bound <= best.validation_error <= best.upper_bound
    assert_allclose(best.eps, best.upper_bound - best.lower_bound)
    assert best.n_solved == len(best.bounds.Cs) >= 20
    assert model.dual_gap_ <= 1e-6 and best.seconds > 0.0
    again = LinearHingeSVC(best.C, tol=1e-9).fit(X, y)
    assert_allclose(model.decision_function(X_val), again.decision_function(X_val), atol=1e-2)
    other = svc_certified_C(X, y, X_val, y_val, RANGE, kernel="linear")
    assert_array_equal(other.bounds.lower, best.bounds.lower)


@pytest.mark.proof
def test_data_of_all_kinds_agree():
    X, y, X_val, y_val = halves("made")
    linear = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, kernel="linear")
    thin = svc_certified_C(
        sparse.csr_array(X), y, sparse.csr_array(X_val), y_val, RANGE, 0.02, kernel="linear"
    )
    by_kernel = svc_certified_C(
        X @ X.T, y, X_val @ X.T, y_val, RANGE, 0.02, kernel="precomputed",
        diagonal_val=(X_val**2).sum(axis=1),
    )  # fmt: skip
    for other in (thin, by_kernel):
        assert_allclose(other.bounds.errors, linear.bounds.errors, atol=1e-12)
        assert_allclose(other.bounds.lower, linear.bounds.lower, atol=0.011)
    rbf = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, **RBF)
    for same in ({"cache_size": 0.2, **RBF}, {"kernel": lambda A, B: rbf_kernel(A, B, gamma=0.05)}):
        other = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, **same)
        assert_allclose(other.bounds.errors[[0, -1]], rbf.bounds.errors[[0, -1]])
        assert abs(other.lower_bound - rbf.lower_bound) <= 0.02


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"intercept_scaling": 10.0}])
@pytest.mark.slow
def test_weights_and_intercepts(options):
    X, y, X_val, y_val = halves("made")
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    options = {**LINEAR, **options, "class_weight": {0: 2.0}}
    best = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, sample_weight=weights, **options)
    for C in np.geomspace(*RANGE, 20):
        model = ScreenedSVC(C, tol=1e-10, **options).fit(X, y, weights)
        error = 1.0 - model.score(X_val, y_val)
        assert np.all(best.bounds.lower[at(best.bounds, C)] <= error + 1e-12)
        assert np.all(best.bounds.upper[at(best.bounds, C)] >= error - 1e-12)


@pytest.mark.slow
def test_weights_of_validation_samples_are_repetitions():
    X, y, X_val, y_val = halves("made")
    counts = np.random.default_rng(1).integers(0, 3, len(y_val))
    repeated = svc_certified_C(
        X,
        y,
        np.repeat(X_val, counts, axis=0),
        np.repeat(y_val, counts),
        RANGE,
        0.02,
        kernel="linear",
    )
    weighted = svc_certified_C(
        X, y, X_val, y_val, RANGE, 0.02, sample_weight_val=counts, kernel="linear"
    )
    assert_allclose(weighted.bounds.errors, repeated.bounds.errors, atol=1e-12)
    assert_allclose(weighted.lower_bound, repeated.lower_bound, atol=1e-12)
    with pytest.raises(ValueError, match=r"^sample_weight_val must"):
        svc_certified_C(X, y, X_val, y_val, RANGE, sample_weight_val=0 * counts, kernel="linear")


def test_too_few_solves_are_told():
    X, y, X_val, y_val = halves("made")
    with pytest.warns(ConvergenceWarning, match=r"\bmax_solves\b"):
        best = svc_certified_C(
            X, y, X_val, y_val, RANGE, 0.005, n_grid=3, max_solves=4, kernel="linear"
        )
    assert not best.converged and best.n_solved <= 4 and best.eps > 0.005


def test_scores_of_zero_are_told_as_what_they_are():
    """Nothing can be proved about ties, and no solve is wasted on them."""
    X, y = np.zeros((6, 2)), [0, 1] * 3
    with pytest.warns(ConvergenceWarning, match=r"\bmax_iter\b"):
        best = svc_certified_C(X, y, X, y, RANGE, fit_intercept=False, kernel="linear")
    assert best.n_solved == 20
    assert (best.lower_bound, best.validation_error, best.upper_bound) == (0.0, 0.5, 1.0)
    assert repr(best.bounds).startswith("ErrorBounds(57 parts of C from 0.01 to 100, 20 values")


def test_jumps_smaller_than_a_sample():
    """An eps below one sample can be met where the smallest error is not next to a jump."""
    X, y, X_val, y_val = halves("wine")
    best = svc_certified_C(X, y, X_val, y_val, (0.01, 1.0), 1e-6, max_solves=400, kernel="linear")
    assert best.eps < 1.0 / len(y_val)


@pytest.mark.slow
def test_progress_and_display(capsys):
    X, y, X_val, y_val = halves("cancer")
    best = svc_certified_C(X, y, X_val, y_val, RANGE, verbose=1, kernel="linear")
    assert "100%" in capsys.readouterr().err
    display = CertifiedPathDisplay.from_result(best)
    assert_array_equal(display.lower, best.bounds.lower)
    assert display.C == best.C
    assert_allclose(display.best_point_.get_ydata(), best.validation_error)
    assert_allclose(display.lower_line_.get_ydata()[0], best.lower_bound)
    assert "Validation error" in display.ax_.get_ylabel()
    assert display.plot(ax=display.ax_) is display
    with pytest.raises(TypeError, match=r"^`result`"):
        CertifiedPathDisplay.from_result(best.estimator)
    with pytest.raises(ValueError, match=r"^estimator\b"):
        CertifiedPathDisplay.from_estimator(best.estimator)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"C_range": (1.0, 0.1)}, ValueError, "C_range must be"),
        ({"C_range": 1.0}, ValueError, "C_range must be"),
        ({"C_range": (0.0, 1.0)}, ValueError, "C_range must be"),
        ({"C_range": (1.0, np.inf)}, ValueError, "C_range must be"),
        ({"eps": 0.0}, ValueError, "'eps' parameter"),
        ({"eps": 1.0}, ValueError, "'eps' parameter"),
        ({"n_grid": 1}, ValueError, "'n_grid' parameter"),
        ({"C": 1.0}, TypeError, "'C'"),
        ({"gama": 1.0}, TypeError, "gama"),
        ({"store": "folder"}, TypeError, "'store'"),
        ({"intercept": "free"}, ValueError, r"^intercept\b"),
        ({"y_val": None}, ValueError, "y_val must hold"),
        ({"y_val": np.full(89, 7)}, ValueError, r"^y_val\b"),
        ({"y_val": np.zeros(3)}, ValueError, "y_val must have"),
        ({"y_val": np.full(89, None)}, ValueError, r"\by_val\b"),
        ({"X_val": np.full((89, 13), np.nan)}, ValueError, r"^X_val\b"),
        ({"X_val": np.ones((89, 2))}, ValueError, r"^X_val\b"),
    ],
)
def test_bad_arguments(arguments, error, message):
    X, y, X_val, y_val = halves("wine")
    given = {"X": X, "y": y, "X_val": X_val, "y_val": y_val, "C_range": RANGE, **arguments}
    with pytest.raises(error, match=message):
        svc_certified_C(**given)


def test_what_a_precomputed_kernel_needs():
    X, y, X_val, y_val = halves("wine")
    given = (X @ X.T, y, X_val @ X.T, y_val, RANGE)
    with pytest.raises(ValueError, match="diagonal_val is needed"):
        svc_certified_C(*given, kernel="precomputed")
    with pytest.raises(ValueError, match=r"^diagonal_val"):
        svc_certified_C(*given, kernel="precomputed", diagonal_val=np.ones(4))
    squares = (X_val**2).sum(axis=1)
    with pytest.raises(ValueError, match=r"^diagonal_val\b"):
        svc_certified_C(*given, kernel="precomputed", diagonal_val=squares[::-1])
    with pytest.raises(ValueError, match=r"^diagonal_val"):
        svc_certified_C(*given, kernel="precomputed", diagonal_val=np.ones(99),
                        sample_weight_val=np.arange(89.0))  # fmt: skip
    single = [A.astype(np.float32) for A in (X, X_val)]
    tables = [A @ single[0].T for A in single]
    found = svc_certified_C(tables[0], y, tables[1], y_val, RANGE, kernel="precomputed",
                            diagonal_val=(single[1] ** 2).sum(axis=1))  # fmt: skip
    assert found.converged


def test_targets_to_validate_on_are_named():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"^y_val should"):
        svr_certified_C(X, X[:, 0], X[:10], X[:10, :2], (0.1, 10.0))
    with pytest.raises(ValueError, match=r"^y_val\b"):
        svc_certified_C(X[:100], y[:100], X[:10], y[:9], (0.1, 10.0))
