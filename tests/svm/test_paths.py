import numpy as np
import pytest
from cases import every_pair
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC, svc_path
from skscreen.inspection import PathDisplay, ScreeningDisplay

X, y = load_digits(n_class=4, return_X_y=True)
X, y = scale(X[::4]), y[::4]
X.setflags(write=False)
CS = [0.01, 0.1, 1.0, 10.0]
OVO, OVR = {"multi_class": "ovo"}, {"multi_class": "ovr"}
PENALISED = {"kernel": "linear", "intercept": "penalised"}


@pytest.mark.few(2)
@every_pair(
    options=[{}, {"kernel": "linear"}, {"loss": "squared_hinge"}],
    intercept=["free", "penalised"],
    multi_class=["ovo", "ovr"],
)
def test_the_path_has_what_single_fits_have(options, intercept, multi_class):
    options = {**options, "intercept": intercept, "multi_class": multi_class, "tol": 1e-8}
    path = svc_path(X, y, Cs=CS, **options)
    assert_array_equal(path.Cs, CS)
    assert path.converged.all() and path.dual_gaps.max() <= 1e-8
    for k, C in enumerate(CS):
        single, found = ScreenedSVC(C, **options).fit(X, y), path[k]
        assert found.get_params() == single.get_params()
        assert_allclose(found.objective_, single.objective_, rtol=4e-8)
        # A model of pairs sums its support vectors up again, and adds what that changes.
        assert path.dual_gaps[k] <= found.dual_gap_ <= path.dual_gaps[k] + 1e-9
        assert found.dual_coef_.shape[0] == single.dual_coef_.shape[0]
        assert_allclose(path.objectives[k], single.objective_.sum(), rtol=4e-8)
        scores = found.decision_function(X)
        assert scores.shape == (len(y), 4)
        assert_array_equal(found.predict(X), single.predict(X))


def test_attributes():
    path = svc_path(X, y, Cs=CS, **PENALISED, **OVR)
    assert path.coefs.shape == (4, 4, 64) and path.intercepts.shape == (4, 4)
    assert path.dual_coefs.shape == (4, 4, len(y))
    assert_allclose(path.dual_coefs @ X, path.coefs, atol=1e-8)
    for name in ("objectives", "dual_gaps", "seconds", "rates", "n_iters", "converged"):
        assert getattr(path, name).shape == (4,)
    singles = [svc_path(X, y == k, Cs=[1.0], **PENALISED) for k in range(4)]
    assert_allclose(path.C_min, min(single.C_min for single in singles))
    assert path.rates.min() > 0.5
    first = path.solutions[0]
    assert len(first.problems) == 4
    assert_allclose(first.certificate.primal, sum(p.certificate.primal for p in first.problems))
    counts = [len(found.history) for s in path.solutions for found in s.problems]
    assert len(path.screening_history) == sum(counts)
    assert repr(path).startswith("SVCPath(4 solutions from C=0.01 to C=10, relative duality gaps")
    pairs = svc_path(X, y, Cs=CS, kernel="linear")
    assert pairs.coefs.shape == (4, 6, 64) and pairs.dual_coefs.shape == (4, 3, len(y))
    with pytest.raises(AttributeError, match="use dual_coefs"):
        svc_path(X, y, Cs=[1.0]).coefs  # noqa: B018
    with pytest.raises(IndexError, match=r"^path\b"):
        path[4]
    with pytest.raises(TypeError, match=r"^path\b"):
        path[:2]


@pytest.mark.slow
@pytest.mark.parametrize("options", [OVO, OVR])
def test_data_of_all_kinds_and_threads_agree(options):
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    options = {**options, "Cs": CS, "gamma": 0.01, "sample_weight": weights, "tol": 1e-9}
    names = np.array(["d", "a", "c", "b"])
    path = svc_path(X, names[y], **options)
    assert not path.dual_coefs[:, :, weights == 0.0].any()
    K = rbf_kernel(X, gamma=0.01)
    thin = svc_path(sparse.csr_array(X), names[y], **options)
    threads = svc_path(X, names[y], n_jobs=2, **options)
    known = svc_path(K, names[y], **{**options, "kernel": "precomputed", "gamma": "scale"})
    for other, samples in ((thin, sparse.csr_array(X)), (threads, X), (known, K)):
        assert_allclose(other.objectives, path.objectives, rtol=4e-9)
        found = other[2].predict(samples)
        assert_array_equal(found, path[2].predict(X))
    again = svc_path(X, names[y], **options)
    assert_array_equal(again.dual_coefs, path.dual_coefs)


@pytest.mark.few(2)
@pytest.mark.parametrize("options", [OVO, OVR, OVR | PENALISED])
def test_the_eps_path_keeps_its_promise_for_each_problem(options):
    data, labels = load_iris(return_X_y=True)
    data, eps = scale(data), 0.05
    path = svc_path(data, labels, eps=eps, C_max=20.0, **options)
    assert path.Cs[-1] == 20.0 and path.converged.all()
    for k in range(0, len(path) - 1, 5):
        C = 0.999 * path.Cs[k + 1]
        optimal = ScreenedSVC(C, **options).fit(data, labels)
        for found, value in zip(path.solutions[k].problems, optimal.objective_, strict=True):
            # P = W / 2 + losses and D = sum(alpha) - W / 2 give both terms.
            square = found.alpha.sum() - found.certificate.dual
            there = square + (found.certificate.primal - square) * C / path.Cs[k]
            assert there * (1.0 - eps) <= value * (1.0 + 1e-6)
            assert value <= there * (1.0 + 1e-6)


def test_failures_are_told_of_the_problem_that_failed():
    with pytest.warns(ConvergenceWarning, match=r"tol=1e-06 at C=10\b"):
        path = svc_path(X, y, Cs=[10.0], max_iter=3, intercept="penalised", kernel="linear", **OVR)
    assert not path.converged.any()


def test_displays():
    path = svc_path(X, y, Cs=CS, intercept="penalised", **OVR)
    display = PathDisplay.from_path(path, tol=1e-6)
    assert_allclose(display.objectives, path.objectives)
    display = ScreeningDisplay.from_path(path)
    assert_allclose(display.rates, path.rates)
