import warnings
from functools import cache, partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_reference import free_optimum, optimum, primal

from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_path
from skscreen.core.threads import n_threads
from skscreen.inspection import PathDisplay, ScreeningDisplay
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.screening.rules import BOUNDS

LinearHingeSVC = partial(ScreenedLinearSVC, loss="hinge")

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[::4]), y[::4]
X.setflags(write=False)
SIGNS = np.where(y == 1, 1.0, -1.0)
LINEAR = {"kernel": "linear", "intercept": "penalised"}
RBF = {"kernel": "rbf", "gamma": 0.05, "intercept": "penalised"}
FREE = {"intercept": "free"}
GRID = np.geomspace(1e-4, 100.0, 12)


def q_matrix(options, bias=1.0):
    K = rbf_kernel(X, gamma=0.05) if options["kernel"] == "rbf" else X @ X.T
    return SIGNS[:, None] * (K + bias**2) * SIGNS


@cache
def best_values(kernel):
    """Return the optimal values along the grid."""
    Q = q_matrix({"kernel": kernel})
    bounds = [np.full(len(y), C) for C in GRID]
    return [primal(Q, each, optimum(Q, each)) for each in bounds]


@pytest.mark.few(2)
@pytest.mark.slow
@pytest.mark.parametrize("options", [LINEAR, RBF])
@pytest.mark.parametrize("screening", [False, "gap", "ball1", "ball2", "intersection"])
def test_grid_against_optima(options, screening):
    path = svc_path(X, y, Cs=GRID[::-1], screening=screening, tol=1e-7, **options)
    assert_array_equal(path.Cs, GRID)
    assert path.dual_gaps.max() <= 1e-7
    Q = q_matrix(options)
    assert_allclose(path.objectives, best_values(options["kernel"]), rtol=2e-7)
    for C, value, dual_coef in zip(GRID, path.objectives, path.dual_coefs, strict=True):
        alpha = dual_coef * SIGNS
        assert alpha.min() >= 0.0 and alpha.max() <= C
        assert_allclose(primal(Q, np.full(len(y), C), alpha), value, rtol=1e-9)


def test_attributes_and_single_fits():
    path = svc_path(X, y, Cs=[0.01, 1.0, 0.1, 1.0], kernel="linear", intercept="penalised")
    assert len(path) == 3 and path[1].C == path.solutions[1].C == 0.1
    assert_array_equal(path.Cs, [0.01, 0.1, 1.0])
    assert path.coefs.shape == (3, 30) and path.dual_coefs.shape == (3, len(y))
    for name in ("objectives", "dual_gaps", "seconds", "rates", "n_iters", "intercepts"):
        assert getattr(path, name).shape == (3,)
    assert_allclose(path.dual_coefs @ X, path.coefs, atol=1e-8)
    assert_allclose(path.intercepts, path.dual_coefs.sum(axis=1))
    assert np.all(path.converged) and np.all(path.seconds > 0.0)
    single = ScreenedSVC(0.1, **LINEAR).fit(X, y)
    fitted = path[1]
    assert_allclose(fitted.decision_function(X), single.decision_function(X), atol=2e-2)
    assert fitted.get_params() == single.get_params()
    assert_allclose(fitted.objective_, single.objective_, rtol=2e-6)


def test_kernels_have_no_coefs():
    path = svc_path(X, y, Cs=[0.1, 1.0], **RBF)
    with pytest.raises(AttributeError, match="use dual_coefs"):
        path.coefs  # noqa: B018
    scores = rbf_kernel(X, gamma=0.05) @ path.dual_coefs[1] + path.intercepts[1]
    assert_allclose(path[1].decision_function(X), scores, atol=1e-10)


@pytest.mark.slow
def test_rounding_errors_of_sums_decide_nothing_at_large_C():
    """With C = 10^4 a plain sum of dual variables may be off by so much that 10 % are decided."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1200, 4))
    labels = A[:, 0] * A[:, 1] + rng.normal(size=1200) > 0.0
    path = svc_path(A, labels, Cs=[1e3, 1e4], gamma=0.25, tol=1e-8)
    assert (path.rates >= [0.7, 0.55]).all()


@pytest.mark.parametrize("options", [LINEAR, RBF])
def test_free_intercept(options):
    path = svc_path(X, y, Cs=[0.1, 1.0, 10.0], tol=1e-8, **options | FREE)
    for C, model in zip(path.Cs, path, strict=True):
        single = ScreenedSVC(C, tol=1e-8, **options | FREE).fit(X, y)
        assert_allclose(model.objective_, single.objective_, rtol=2e-8)
        assert_allclose(model.decision_function(X), single.decision_function(X), atol=5e-3)


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [LINEAR, RBF, LINEAR | FREE, RBF | FREE])
@pytest.mark.parametrize("test", ["ball1", "intersection"])
def test_screening_along_a_fine_grid(options, test):
    path = svc_path(X, y, Cs=np.geomspace(1e-3, 1.0, 60), screening=test, tol=1e-8, **options)
    assert path.path_rates[1:].mean() > 0.3
    assert path.rates.min() > 0.7 and path.rates.mean() > 0.9
    # A decision of the path stays true to the end of the solve.
    for point in path.solutions[1:]:
        if point.C <= path.C_min:
            continue  # known in closed form
        first, last = point.history[0], point.history[-1]
        assert (first.where, last.where) == ("path", "dynamic")
        assert first.zero <= last.zero and first.linear <= last.linear
    other = svc_path(X, y, Cs=path.Cs, screening="gap", **options)
    assert not other.path_rates.any()


@pytest.mark.few(1)
@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.slow
def test_the_intersection_decides_more_than_its_parts(intercept):
    options = RBF | {"Cs": np.geomspace(1e-2, 10.0, 30), "tol": 1e-9, "intercept": intercept}
    rates = {
        test: svc_path(X, y, screening=test, **options).path_rates
        for test in ("ball1", "ball2", "intersection")
    }
    assert np.all(rates["intersection"] >= np.maximum(rates["ball1"], rates["ball2"]) - 0.02)
    assert rates["intersection"].mean() > rates["ball1"].mean() + 0.02


@pytest.mark.parametrize("options", [LINEAR, {"kernel": "rbf", "gamma": 0.01}])
def test_samples_inside_their_box_decide_others(options):
    """With an intercept that a ball alone bounds badly: without them 0.57 to 0.79 are decided."""
    data, labels = load_breast_cancer(return_X_y=True)
    options = options | {"intercept": "free", "Cs": np.geomspace(10.0, 20.0, 8)}
    path = svc_path(scale(data), labels, screening="intersection", **options)
    assert path.path_rates[1:].min() > 0.8
    unscreened = svc_path(scale(data), labels, screening=False, **options)
    assert_allclose(path.objectives, unscreened.objectives, rtol=1e-6)


def test_kernel_values_of_single_precision_decide_no_more_than_they_know():
    """|w|^2 is below zero in places, by less than what may be rounding errors."""
    rng = np.random.default_rng(8)
    data, labels = rng.normal(size=(100, 3)), np.where(rng.random(100) < 0.5, 1, -1)
    data[:33], labels[:33] = data[-33:], -labels[-33:]
    weights = rng.choice([1.0, 0.01, 100.0], size=100)
    options = {"kernel": "precomputed", "intercept": "free", "Cs": [0.1, 10, 13]}
    K = ((1.0 + data @ data.T) ** 2).astype(np.float32)
    path = svc_path(K, labels, sample_weight=weights, **options)
    unscreened = svc_path(K, labels, sample_weight=weights, screening=False, **options)
    assert path.converged.all()
    assert_allclose(path.objectives, unscreened.objectives, rtol=2e-6)


@pytest.mark.few(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", [LINEAR, RBF, LINEAR | FREE, RBF | {"cache_size": 0.01}])
@pytest.mark.slow
def test_max_iter_is_the_most_at_every_C(options):
    """Repairs included: decisions that a solve does not confirm are taken back and it goes on."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 5))
    labels = data[:, 0] + rng.normal(size=300) > 0.0
    path = svc_path(data, labels, Cs=np.geomspace(1e-3, 100.0, 30), max_iter=10, **options)
    assert path.n_iters.max() == 10


@pytest.mark.few(1)
@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("options", [LINEAR, RBF])
@pytest.mark.slow
def test_eps_path_keeps_its_promise_everywhere(eps, options):
    path = svc_path(X, y, eps=eps, C_max=50.0, **options)
    Q, Cs = q_matrix(options), path.Cs
    assert_allclose(Cs[0], 1.0 / Q.sum(axis=1).max())
    assert path.C_min == Cs[0] and np.all(np.diff(Cs) > 0.0)
    assert path.dual_gaps.max() <= 0.01 * eps
    assert Cs[-1] == 50.0 or (Q @ (path.dual_coefs[-1] * SIGNS)).min() > 0.9
    # The worst place is just before the next stored point.
    tests = np.concatenate([Cs[1:] * (1.0 - 1e-9), np.geomspace(Cs[0], 50.0, 20)])
    for C in tests[:: max(len(tests) // 8, 1)]:
        bounds = np.full(len(y), C)
        alpha = path.dual_coefs[np.searchsorted(Cs, C, side="right") - 1] * SIGNS
        value, best = primal(Q, bounds, alpha), primal(Q, bounds, optimum(Q, bounds))
        assert value - best <= eps * best * (1.0 + 1e-6)


def free_primal(Q, bounds, alpha, b):
    losses = np.maximum(1.0 - Q @ alpha - b * SIGNS, 0.0)
    return 0.5 * alpha @ Q @ alpha + bounds @ losses


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("options", [LINEAR, RBF])
@pytest.mark.parametrize("weights", [np.ones(len(y)), np.where(np.arange(len(y)) % 3, 0.2, 2.0)])
def test_eps_path_with_a_free_intercept(options, weights):
    eps, Q = 1e-2, q_matrix(options, bias=0.0)
    path = svc_path(X, y, eps=eps, C_max=50.0, sample_weight=weights, **options | FREE)
    Cs, alphas = path.Cs, path.dual_coefs * SIGNS
    assert path.C_min == 0.0 and path.dual_gaps.max() <= 0.01 * eps
    tests = np.concatenate([Cs[1:] * (1.0 - 1e-9), np.geomspace(Cs[0], 50.0, 20)])
    for C in tests[:: max(len(tests) // 8, 1)]:
        stored = np.searchsorted(Cs, C, side="right") - 1
        value = free_primal(Q, C * weights, alphas[stored], path.intercepts[stored])
        alpha, b, _ = free_optimum(Q, C * weights, SIGNS)
        best = free_primal(Q, C * weights, alpha, b)
        assert value - best <= eps * best * (1.0 + 1e-6)
    # Below the first C nothing else happens: the solution is proportional to C.
    for C in Cs[0] * np.array([0.01, 0.5, 1.0]):
        alpha = free_optimum(Q, C * weights, SIGNS)[0]
        assert_allclose(Q @ alpha / C, Q @ alphas[0] / Cs[0], rtol=1e-4, atol=1e-4)


@pytest.mark.proof
def test_eps_path_takes_no_more_points_than_it_needs():
    counts = [
        len(svc_path(X, y, eps=eps, C_max=10.0, kernel="linear", intercept="penalised"))
        for eps in (1e-1, 1e-2, 1e-3)
    ]
    assert counts[0] < counts[1] < counts[2] < 400
    assert len(svc_path(X, y, C_max=10.0, kernel="linear", intercept="penalised")) == counts[2]


def test_eps_path_ends_where_no_loss_is_left():
    """A separable problem: the solution no longer changes."""
    narrow = {"kernel": "rbf", "gamma": 1.0}
    path = svc_path(X, y, eps=1e-2, C_max=1e6, **narrow)
    assert path.Cs[-1] < 1e3
    assert path[-1].score(X, y) == 1.0


def test_eps_path_does_not_end_while_there_are_losses():
    rng = np.random.default_rng(5)
    data = rng.normal(size=(30, 3))
    signs = np.where(data[:, 0] + 0.1 * rng.normal(size=30) > 0.0, 1, -1)
    path = svc_path(data, signs, eps=0.1, C_max=100.0, kernel="linear", intercept="penalised")
    losses = np.maximum(1.0 - signs * (data @ path.coefs[-1] + path.intercepts[-1]), 0.0)
    assert path.Cs[-1] == 100.0 or losses.max() < 1e-6


def test_below_the_smallest_C():
    path = svc_path(X, y, eps=1e-2, C_max=1e-6, kernel="linear", intercept="penalised")
    assert_array_equal(path.Cs, [1e-6])
    assert path.n_iters.tolist() == [0]
    # Symmetric data: margins of sum z_i are never positive together with ...
    path = svc_path(np.zeros((6, 2)), [0, 1] * 3, eps=1e-2, fit_intercept=False, kernel="linear")
    assert np.all(path.coefs == 0.0) and np.all(path.dual_gaps == 0.0)


def test_weights_along_the_path():
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    path = svc_path(
        X,
        y,
        Cs=[1e-4, 0.1, 1.0],
        sample_weight=weights,
        tol=1e-9,
        kernel="linear",
        intercept="penalised",
    )
    assert path.dual_coefs.shape == (3, len(y))
    assert not path.dual_coefs[:, weights == 0.0].any()
    keep = weights > 0.0
    Q = q_matrix(LINEAR)[np.ix_(keep, keep)]
    for C, value in zip(path.Cs, path.objectives, strict=True):
        bounds = C * weights[keep]
        assert_allclose(value, primal(Q, bounds, optimum(Q, bounds)), rtol=1e-8)
    eps_path = svc_path(
        X, y, eps=1e-2, C_max=0.1, sample_weight=weights, kernel="linear", intercept="penalised"
    )
    assert_allclose(eps_path.C_min, 1.0 / (Q @ weights[keep]).max())


def test_sparse_equals_dense():
    rough = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = (
        svc_path(data, y, Cs=GRID, kernel="linear", intercept="penalised")
        for data in (rough, sparse.csr_array(rough))
    )
    assert_allclose(dense.objectives, thin.objectives, rtol=2e-6)


@pytest.mark.proof
def test_warm_starts_pay():
    Cs = np.geomspace(0.01, 1.0, 60)
    path = svc_path(X, y, Cs=Cs, solver="second-order", kernel="linear", intercept="penalised")
    cold = [LinearHingeSVC(C, solver="second-order").fit(X, y).n_iter_ for C in Cs]
    assert path.n_iters.sum() < 0.7 * sum(cold)


def test_an_interrupted_path_keeps_what_is_done(monkeypatch):
    solve, calls = SamplePathSolver.solve, []

    def interrupted(self, *args):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(args)
        return solve(self, *args)

    monkeypatch.setattr(SamplePathSolver, "solve", interrupted)
    with pytest.warns(UserWarning, match=r"\b2 values\b"):
        path = svc_path(X, y, Cs=GRID, kernel="linear", intercept="penalised")
    assert_array_equal(path.Cs, GRID[:2])
    with pytest.raises(KeyboardInterrupt):
        svc_path(X, y, Cs=GRID, kernel="linear", intercept="penalised")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("code", [1, 2])
def test_a_contradicted_decision_is_taken_back(monkeypatch, kernel, code):
    """Should rounding errors ever lead to a wrong decision, the full certificate shows it."""

    def wrong(reference, rho, products):
        signs = reference.dual.signs
        scores = np.where(np.arange(signs.size) < 40, 10.0 * signs * (1 if code == 1 else -1), 0.0)
        return scores - 1.5 * (scores == 0.0), scores + 1.5 * (scores == 0.0)

    monkeypatch.setitem(BOUNDS, "ball1", wrong)
    options = {"kernel": kernel, "intercept": "penalised", "screening": "ball1"}
    path = svc_path(X, y, Cs=[0.01, 50.0], **options)
    assert "repair" in path.screening_history["where"]
    assert np.all(path.converged)


def test_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="tol=1e-06"):
        path = svc_path(
            X,
            y,
            Cs=[0.1, 100.0],
            max_iter=3,
            solver="coordinate-descent",
            kernel="linear",
            intercept="penalised",
        )
    assert not path.converged.all()


def test_progress_and_displays(capsys):
    path = svc_path(X, y, eps=0.1, C_max=1.0, verbose=1, kernel="linear", intercept="penalised")
    err = capsys.readouterr().err
    assert "100%" in err and "C=1 gap=" in err
    display = ScreeningDisplay.from_path(path)
    assert_array_equal(display.values, path.Cs)
    PathDisplay.from_path(path, tol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"Cs": []}, ValueError, r"^Cs\b"),
        ({"Cs": [1.0, -1.0]}, ValueError, r"^Cs\b"),
        ({"Cs": "many"}, ValueError, r"^Cs\b"),
        ({"Cs": [1.0], "eps": 1e-2}, ValueError, r"^Cs\b"),
        ({"eps": 0.0}, ValueError, "'eps' parameter"),
        ({"C_max": -1.0}, ValueError, "'C_max' parameter"),
        ({"C": 1.0}, TypeError, "'C'"),
        ({"gama": 1.0}, TypeError, "'gama'"),
        ({"kernel": "gauss"}, ValueError, "'kernel' parameter"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        svc_path(X, y, **arguments)


def test_no_warnings_along_a_long_path():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svc_path(X, y, Cs=np.geomspace(1e-5, 1e4, 40), **RBF)


@pytest.mark.slow
def test_no_step_where_rounding_errors_leave_no_slope():
    """Far from the origin both slope and curvature of a move can vanish (found by fuzzing)."""
    same = [9.81126669421792, 9.648211037740111, 0.6547086331993341]
    X = 10318372.0 + np.array(
        [
            [0.8609543163329363, 0.544799042865634, 0.6456214319914579],
            same,
            [10.306155597791076, 10.963047491386533, 0.6542094983160496],
            same,
            [0.46090412326157093, 2.1166725270450115, 0.6427071131765842],
        ]
    )
    weights = [
        0.1746255772365567, 2.681410785700352, 1.0256777655586091, 1.5439833503197902,
        0.33192580972944896,
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = svc_path(
            X,
            list("bbaab"),
            sample_weight=weights,
            Cs=[1e-9, 1e-3, 1e5],
            kernel="linear",
            intercept="penalised",
        )
    assert np.all(np.isfinite(path.dual_gaps))


def true_gap(Q, signs, C, alpha):
    """Relative duality gap of dual variables, computed afresh."""
    margins = Q @ alpha
    kinks = [0.0] if signs is None else signs * (1.0 - margins)
    shift = 0.0 if signs is None else signs
    loss = C * min(np.maximum(1.0 - margins - shift * b, 0.0).sum() for b in kinks)
    square = alpha @ margins
    return (square + loss - alpha.sum()) / (0.5 * square + loss)


@pytest.mark.few(3)
@pytest.mark.parametrize("Cs", [np.geomspace(1e-10, 1e4, 57), np.geomspace(1e-6, 1e6, 10)])
@pytest.mark.parametrize("screening", [False, True])
def test_margins_do_not_drift_along_a_path_with_a_free_intercept(Cs, screening):
    """Once they were scaled from C to C with their rounding errors: gaps were 1e-5, not 3e-13."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 2))
    signs = np.where(data[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    path = svc_path(data, signs, Cs=Cs, kernel="linear", intercept="free", screening=screening)
    Q = signs[:, None] * (data @ data.T) * signs
    for C, dual_coef in zip(Cs, path.dual_coefs, strict=True):
        assert true_gap(Q, signs, C, signs * dual_coef) <= 1e-6
    assert path.converged.all()


def test_margins_do_not_drift_where_the_solution_has_stopped_to_change():
    """For the hard-margin solution they were scaled up to a relative error of 0.8, unnoticed."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 3))
    signs, Cs = np.where(data[:, 0] > 0.0, 1.0, -1.0), np.geomspace(1e-6, 1e8, 200)
    kernel = {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0}
    path = svc_path(data, signs, Cs=Cs, fit_intercept=False, **kernel)
    Q = signs[:, None] * (0.3 * data @ data.T + 1.0) ** 2 * signs
    gaps = [
        true_gap(Q, None, C, signs * dual_coef)
        for C, dual_coef in zip(Cs, path.dual_coefs, strict=True)
    ]
    assert max(gaps) <= 1e-6


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("offset", "C", "dtype"), [(100.0, 1.0, np.float32), (1e4, 100.0, float), (1e5, 1.0, float)]
)
def test_the_certificate_of_a_free_intercept_is_that_of_the_weights(offset, C, dtype, make):
    """That of kernel values was 1e-8 where this was 7e-6; in single precision 6e-13 and 3e-3."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(200, 10)) + offset
    signs = np.sign(data[:, 0] - offset + 0.5 * rng.normal(size=200))
    data = data.astype(dtype)
    model = ScreenedSVC(C, intercept="free", kernel="linear").fit(make(data), signs)
    exact = data.astype(np.longdouble)
    coef, dual_coef = (
        part.toarray() if sparse.issparse(part) else part
        for part in (model.coef_, model.dual_coef_)
    )
    w, alpha = coef[0].astype(np.longdouble), np.zeros(200, np.longdouble)
    alpha[model.support_] = np.abs(dual_coef[0])
    loss = np.maximum(1.0 - signs * (exact @ w + model.intercept_[0]), 0.0).sum()
    primal = 0.5 * w @ w + C * loss
    u = (signs * alpha) @ exact
    gap = (primal - alpha.sum() + 0.5 * u @ u) / primal
    assert gap <= 1e-6
    assert gap <= 2.0 * model.dual_gap_ + 1e-9


@pytest.mark.parametrize("scaling", [1.0, 1e3])
def test_the_certificate_next_to_a_large_intercept(scaling):
    """Rounding errors of margins that were small next to the margins made gaps of 4e-5."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(150, 4))
    signs = np.where(data[:, 0] + rng.normal(size=150) > 0.0, 1.0, -1.0)
    options = RBF | {"gamma": 0.3, "intercept_scaling": scaling}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ScreenedSVC(1e4, **options).fit(data, signs)
    K = rbf_kernel(data, gamma=0.3).astype(np.longdouble) + np.longdouble(scaling) ** 2
    alpha = np.zeros(150, np.longdouble)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    gap = true_gap(signs[:, None] * K * signs, None, 1e4, alpha)
    assert gap <= 2.0 * model.dual_gap_ + 1e-9


@pytest.mark.few(3)
@pytest.mark.parametrize("Cs", [[1e-80, 1e80], [1e-8, 1e-3, 1.0, 100.0]])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_steps_of_any_size(Cs, intercept):
    """Squares of ratios of C overflow; with a tolerance of 2 no variable need leave 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for tol in (1e-6, 2.0):
            options = {"intercept": intercept, "tol": tol, "cache_size": 1e-3}
            path = svc_path(X, y, Cs=Cs, kernel="poly", **options)
            assert np.isfinite(path.dual_coefs).all()


def test_an_eps_that_asks_for_too_many_values_is_refused():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match=r"^eps=1e-14"):
        svc_path(scale(X), y, eps=1e-14, kernel="linear", intercept="penalised")


def test_an_eps_path_ends_where_solves_allow_no_step():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        path = svc_path(
            scale(X), y, eps=1e-6, C_max=1.0, max_iter=1, kernel="linear", intercept="penalised"
        )
    assert not path.converged[-1] and path.Cs[-1] < 1.0


def test_a_path_has_no_probabilities():
    with pytest.raises(TypeError, match="unexpected keyword argument 'probability'"):
        svc_path(X, y, Cs=[1.0], probability=True)


def test_n_jobs_limits_the_threads_of_a_path(monkeypatch):
    seen = []
    solve = SamplePathSolver.solve

    def watched(*arguments, **options):
        seen.append(n_threads())
        return solve(*arguments, **options)

    monkeypatch.setattr(SamplePathSolver, "solve", watched)
    svc_path(X, y, Cs=[0.1, 1.0], n_jobs=1)
    assert seen == [1, 1]
