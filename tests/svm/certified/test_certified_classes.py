import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_reference import optimum

from skscreen import ScreenedSVC, svc_certified_C, svc_path
from skscreen.inspection import CertifiedPathDisplay
from skscreen.samples.losses import hinge
from skscreen.svm.certified.bounds import Between, Geometry, ScoredPoint
from skscreen.svm.certified.errors import not_ahead, surely_ahead
from skscreen.svm.dual import Dual

LINEAR = {"kernel": "linear", "intercept": "penalised", "multi_class": "ovr"}
RBF = LINEAR | {"kernel": "rbf", "gamma": 0.1}
RANGE = (1e-2, 1e2)


def halves(name):
    if name == "blobs":
        X, y = make_blobs(300, 2, centers=5, cluster_std=2.0, random_state=0)
    elif name == "digits":
        X, y = load_digits(n_class=4, return_X_y=True)
        X, y = X[::4], y[::4]
    else:
        X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    X = scale(X)
    return X[::2], y[::2], X[1::2], y[1::2]


def inside(bounds, C, error):
    """Whether an error is within the bounds of each part that C lies in: two on an edge."""
    parts = (bounds.edges[:-1] <= C) & (bounds.edges[1:] >= C)
    low, high = bounds.lower[parts] - 1e-12, bounds.upper[parts] + 1e-12
    return parts.any() and np.all(low <= error) and np.all(error <= high)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("options", [LINEAR, RBF])
@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_brute_force_is_never_outside_the_bounds(name, options):
    X, y, X_val, y_val = halves(name)
    best = svc_certified_C(X, y, X_val, y_val, RANGE, 0.03, **options)
    assert best.converged and best.eps <= 0.03 + 1e-10
    errors = brute_force(best.bounds, X, y, X_val, y_val, options)
    assert min(errors) >= best.lower_bound - 1e-12
    assert best.upper_bound <= min(errors) + 0.03 + 1e-12


def brute_force(bounds, X, y, X_val, y_val, options):
    """Return errors along a fine grid, none of them outside the bounds."""
    path = svc_path(X, y, Cs=np.geomspace(*RANGE, 60), tol=1e-10, **options)
    errors = [1.0 - path[k].score(X_val, y_val) for k in range(len(path))]
    for C, error in zip(path.Cs, errors, strict=True):
        assert inside(bounds, C, error)
    return errors


@pytest.mark.proof
def test_classes_that_a_line_tells_from_nothing_have_equal_scores():
    """Two problems with w = 0 and b = -1: which class wins cannot be proved, nor is it claimed."""
    X, y, X_val, y_val = halves("blobs")
    with pytest.warns(ConvergenceWarning, match=r"\bmax_iter\b"):
        best = svc_certified_C(X, y, X_val, y_val, RANGE, 0.03, **LINEAR)
    assert not best.converged and best.n_solved < 60
    brute_force(best.bounds, X, y, X_val, y_val, LINEAR)


class Problems:
    """One problem a class, on a training and a validation set known by their matrices."""

    def __init__(self, X, codes, kernel, weights):
        K = (X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.3)) + 1.0
        train = np.arange(len(X)) % 3 > 0
        self.codes, self.weights = codes[~train], weights[train]
        self.signs = [np.where(codes[train] == k, 1.0, -1.0) for k in range(codes.max() + 1)]
        self.K, self.cross, self.own = K[np.ix_(train, train)], K[np.ix_(~train, train)], np.diag(K)
        self.geometries = [self.geometry(signs, train) for signs in self.signs]

    def geometry(self, signs, train):
        return Geometry(
            Dual.of(hinge(self.weights), signs, False),
            np.sqrt(self.own[train]),
            np.sqrt(self.own[~train]),
            lambda rows, index: self.K[np.ix_(rows, index)],
            lambda rows, index: self.cross[np.ix_(rows, index)],
        )

    def points(self, C, noise=0.0):
        rng, out = np.random.default_rng(0), []
        for signs in self.signs:
            Q, bounds = signs[:, None] * self.K * signs, C * self.weights
            alpha = optimum(Q, bounds)
            alpha = np.clip(alpha + noise * C * rng.normal(size=alpha.size), 0.0, bounds)
            beta = signs * alpha
            out.append(ScoredPoint(C, beta, self.K @ beta, self.cross @ beta))
        return out

    def between(self, low, high, noise):
        ends = zip(self.geometries, self.points(low, noise), self.points(high, noise), strict=True)
        return [Between(*parts) for parts in ends]

    def wrong(self, C):
        return not_ahead(self.codes, [point.scores for point in self.points(C)])


@pytest.mark.proof
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(3, 5),
    kernel=st.sampled_from(["linear", "rbf"]),
    low=st.sampled_from([0.02, 0.3, 4.0]),
    ratio=st.sampled_from([1.05, 1.5, 4.0]),
    noise=st.sampled_from([0.0, 1e-6, 1e-3]),
    weighted=st.booleans(),
)
def test_what_is_sure_holds_at_independent_optima(
    seed, n_classes, kernel, low, ratio, noise, weighted
):
    rng = np.random.default_rng(seed)
    codes = np.arange(36) % n_classes
    X = rng.normal(size=(n_classes, 2))[codes] * 2.0 + rng.normal(size=(36, 2))
    weights = rng.uniform(0.3, 3.0, 36) if weighted else np.ones(36)
    problems, high = Problems(X, codes, kernel, weights), low * ratio
    between = problems.between(low, high, noise)
    for start, stop in [(0.0, 1.0), (0.25, 0.5), (1.0, 1.0)]:
        wrong, right = (
            surely_ahead(problems.codes, between, start, stop, side) for side in (-1, 1)
        )
        assert not np.any(wrong & right)
        for t in np.linspace(start, stop, 3):
            found = problems.wrong((1.0 - t) * low + t * high)
            assert np.all(found[wrong]) and not np.any(found[right])


def sure_by_balls(codes, betweens, start, stop):
    """Return how many samples are surely right or surely wrong by the bounds of balls alone."""
    scores = np.stack([between.scores(start, stop) for between in betweens])
    reach = np.stack([between.reach(start, stop) for between in betweens])[:, None]
    lower, upper = scores - reach, scores + reach
    everyone = np.arange(codes.size)
    others = np.arange(len(betweens))[:, None] != codes
    ahead = np.all(lower[codes, :, everyone].T > upper, axis=1) | ~others
    behind = np.all(upper[codes, :, everyone].T < lower, axis=1) & others
    return ahead.all(axis=0).sum() + behind.any(axis=0).sum()


def test_most_samples_are_decided_and_the_regression_decides_more():
    X, y, _, _ = halves("iris")
    problems = Problems(X, y, "linear", np.ones(len(y)))
    between = problems.between(0.9, 1.1, 0.0)
    found = sum(surely_ahead(problems.codes, between, 0.25, 0.75, s).sum() for s in (-1, 1))
    assert found >= 0.9 * problems.codes.size
    assert 0 < sure_by_balls(problems.codes, between, 0.25, 0.75) < found


def test_equal_scores_are_never_sure():
    X, y = np.zeros((9, 2)), [0, 1, 2] * 3
    with pytest.warns(ConvergenceWarning, match=r"\bmax_iter\b"):
        best = svc_certified_C(X, y, X, y, RANGE, kernel="linear", n_grid=3)
    assert (best.lower_bound, best.upper_bound) == (0.0, 1.0)
    assert_allclose(best.validation_error, 2.0 / 3.0)


@pytest.mark.slow
def test_the_result():
    X, y, X_val, y_val = halves("wine")
    names = np.array(["a", "b", "c"])
    best = svc_certified_C(X, names[y], X_val, names[y_val], RANGE, 0.02, kernel="linear")
    model = best.estimator
    assert isinstance(model, ScreenedSVC) and best.C == model.C and model.multi_class == "ovr"
    assert_allclose(1.0 - model.score(X_val, names[y_val]), best.validation_error)
    assert best.lower_bound <= best.validation_error <= best.upper_bound
    again = ScreenedSVC(best.C, tol=1e-9, **LINEAR).fit(X, names[y])
    assert_allclose(model.decision_function(X_val), again.decision_function(X_val), atol=1e-3)
    display = CertifiedPathDisplay.from_result(best)
    assert_array_equal(display.lower, best.bounds.lower)
    other = svc_certified_C(X, names[y], X_val, names[y_val], RANGE, 0.02, kernel="linear")
    assert_array_equal(other.bounds.lower, best.bounds.lower)


@pytest.mark.proof
def test_data_of_all_kinds_agree():
    X, y, X_val, y_val = halves("wine")
    linear = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, kernel="linear")
    thin = svc_certified_C(
        sparse.csr_array(X), y, sparse.csr_array(X_val), y_val, RANGE, 0.02, kernel="linear"
    )
    by_kernel = svc_certified_C(
        X @ X.T, y, X_val @ X.T, y_val, RANGE, 0.02, kernel="precomputed",
        diagonal_val=(X_val**2).sum(axis=1),
    )  # fmt: skip
    for other in (thin, by_kernel):
        assert_allclose(other.bounds.errors[[0, -1]], linear.bounds.errors[[0, -1]], atol=1e-12)
        assert abs(other.lower_bound - linear.lower_bound) <= 0.02
    rbf = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, **RBF)
    other = svc_certified_C(X, y, X_val, y_val, RANGE, 0.02, cache_size=0.01, **RBF)
    assert_allclose(other.lower_bound, rbf.lower_bound, atol=0.02)


@pytest.mark.slow
def test_weights_of_classes_and_samples():
    X, y, X_val, y_val = halves("blobs")
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    options = {**LINEAR, "class_weight": {0: 3.0}}
    best = svc_certified_C(X, y, X_val, y_val, RANGE, 0.03, sample_weight=weights, **options)
    for C in np.geomspace(*RANGE, 12):
        model = ScreenedSVC(C, tol=1e-10, **options).fit(X, y, weights)
        assert inside(best.bounds, C, 1.0 - model.score(X_val, y_val))


def test_one_against_one_is_refused():
    X, y, X_val, y_val = halves("iris")
    with pytest.raises(ValueError, match=r"^multi_class\b"):
        svc_certified_C(X, y, X_val, y_val, RANGE, multi_class="ovo")
