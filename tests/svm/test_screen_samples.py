"""Screening as a step of its own: decisions, and what is left for other solvers."""

import pickle
import warnings

import clarabel
import numpy as np
import pandas as pd
import pytest
from cases import every_pair
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, LinearSVC
from svm_reference import expect_right, free_optimum, margins_at, optimum, solve

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVR, screen_samples, svc_path

CANCER = load_breast_cancer(return_X_y=True)
X, LABELS = scale(CANCER[0])[::4], CANCER[1][::4]
Y = np.where(LABELS == 1, 1.0, -1.0)
GAMMA = 0.02
KERNELS = {
    "linear": ({"kernel": "linear"}, X @ X.T),
    "rbf": ({"kernel": "rbf", "gamma": GAMMA}, rbf_kernel(X, gamma=GAMMA)),
    "poly": ({"kernel": "poly", "gamma": GAMMA, "degree": 2, "coef0": 1.0},
             polynomial_kernel(X, degree=2, gamma=GAMMA, coef0=1.0)),
}  # fmt: skip
INTERCEPTS = ("free", "penalised", "none")


def problem(kernel, intercept):
    """Options, and Q with that of a penalised intercept."""
    options, K = KERNELS[kernel]
    return options, Y[:, None] * (K + (intercept == "penalised")) * Y


@pytest.mark.few(1)
@every_pair(
    kernel=KERNELS,
    intercept=INTERCEPTS,
    loss=["hinge", "squared_hinge"],
)
def test_no_decision_is_wrong(kernel, intercept, loss):
    """Against Clarabel, from exact and inexact dual variables, of smaller and larger C."""
    options, Q = problem(kernel, intercept)
    rng, n_decided = np.random.default_rng(0), 0
    weights = rng.choice([0.5, 1.0, 2.0], len(Y))
    alpha = margins_at(Q, 0.2 * weights, Y, intercept, loss)[0]
    # Numbers on the wrong side of 0 as solvers leave them, and a point that is not balanced.
    rough = alpha * rng.uniform(0.9, 1.1, len(Y)) - 1e-12
    for C in (0.1, 0.2, 0.22, 0.5):
        _, low, high = margins_at(Q, C * weights, Y, intercept, loss)
        for reference in (alpha, Y * alpha, rough):
            for tests in ("intersection", "ball1", "ball2", "gap"):
                found = screen_samples(
                    X, LABELS, C, reference=reference, intercept=intercept, tests=tests, loss=loss,
                    sample_weight=weights, **options,
                )  # fmt: skip
                expect_right(found, low, high)
                n_decided += np.count_nonzero(found.codes_)
    assert n_decided > 200
    assert not (loss == "squared_hinge" and np.any(found.codes_ == 2))


@pytest.mark.few(8)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_reduced_problem_has_the_optimum_of_the_whole(kernel, intercept):
    """By Clarabel with the linear term, and joined with the decisions."""
    options, Q = problem(kernel, intercept)
    C = np.full(len(Y), 0.2)
    whole = margins_at(Q, C, Y, intercept)[0]
    model = ScreenedSVC(
        C=0.19, fit_intercept=intercept != "none", tol=1e-10, **options,
        intercept="free" if intercept == "free" else "penalised",
    ).fit(X, LABELS)  # fmt: skip
    found = screen_samples(X, LABELS, 0.2, reference=model)
    assert found.rate_ == np.mean(found.codes_ != 0) > 0.3
    reduced = found.reduced_problem()
    m, rows = reduced.rows.size, reduced.rows
    assert np.array_equal(rows, found.undecided_)
    A, b = [sparse.eye(m), -sparse.eye(m)], [reduced.caps, np.zeros(m)]
    cones = [clarabel.NonnegativeConeT(2 * m)]
    if intercept == "free":
        A, b = [sparse.csc_matrix(reduced.y), *A], [[reduced.total], *b]
        cones = [clarabel.ZeroConeT(1), *cones]
    else:
        assert reduced.total is None
    left = solve(Q[np.ix_(rows, rows)], -reduced.linear_term, A, b, *cones)
    joined = reduced.combine(np.array(left.x))
    values = [a.sum() - 0.5 * a @ Q @ a for a in (joined, whole)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)
    assert np.all((joined > -1e-9) & (joined < 0.2 + 1e-9))
    assert np.array_equal(found.kept_, reduced.kept)
    with pytest.raises(ValueError, match=r"^alpha\b"):
        reduced.combine(np.ones(m + 1))


def svc_objective(model, K, C):
    signed = np.zeros(len(Y))
    signed[model.support_] = model.dual_coef_[0]
    losses = np.maximum(0.0, 1.0 - Y * (K @ signed + model.intercept_))
    return 0.5 * signed @ K @ signed + C * losses.sum()


@pytest.mark.parametrize("kernel", KERNELS)
def test_svc_reaches_the_same_objective_on_what_is_kept(kernel):
    options, K = KERNELS[kernel]
    options = {**options, "tol": 1e-8}
    whole = SVC(C=0.2, **options).fit(X, LABELS)
    found = screen_samples(X, LABELS, 0.2, reference=SVC(C=0.19, **options).fit(X, LABELS))
    assert found.kept_.size < 0.8 * len(Y)
    model = SVC(C=0.2, **options).fit(X[found.kept_], LABELS[found.kept_])
    model.support_ = found.kept_[model.support_]
    assert svc_objective(model, K, 0.2) == pytest.approx(svc_objective(whole, K, 0.2), rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-10, 1e-2])
def test_linear_svc_as_reference_and_as_solver(loss, tol):
    """Weights without dual variables, exact and not."""

    def objective(model):
        lacks = np.maximum(0.0, 1.0 - Y * model.decision_function(X))
        square = float(np.sum(model.coef_**2) + model.intercept_[0] ** 2)
        return 0.5 * square + 0.1 * np.sum(lacks if loss == "hinge" else lacks**2)

    fixed = {"loss": loss, "max_iter": 10**6, "random_state": 0}
    known = LinearSVC(C=0.09, tol=tol, **fixed).fit(X, LABELS)
    Q = Y[:, None] * (X @ X.T + 1.0) * Y
    _, low, high = margins_at(Q, np.full(len(Y), 0.1), Y, "penalised", loss)
    for tests in ("ball1", "ball2", "gap", "intersection"):
        found = screen_samples(X, LABELS, 0.1, reference=known, tests=tests)
        expect_right(found, low, high)
    assert found.rate_ > 0.6 if tol < 1e-3 else found.rate_ > 0.1
    kept = found.kept_
    whole, part = (LinearSVC(C=0.1, tol=1e-9, **fixed) for _ in range(2))
    part = objective(part.fit(X[kept], LABELS[kept]))
    assert part == pytest.approx(objective(whole.fit(X, LABELS)), rel=1e-7)


@pytest.mark.few(7)
@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("intercept", ["penalised", "none"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_balls_as_printed(kernel, intercept, ratio):
    """Corollaries 6 and 7, with the s of equation (25), term by term as the paper prints them.

    BT2 alone decides less than BT1: s is chosen for their intersection.
    """
    options, Q = problem(kernel, intercept)
    C, n = 0.2, len(Y)
    known = ratio * C
    alpha = optimum(Q, np.full(n, known))
    w0, shares = alpha @ Q @ alpha, {}
    xi = np.maximum(0.0, 1.0 - Q @ alpha).sum()
    # Vectors are sums a_i z_i. w~ is the optimum at C', so that xi~ and xi*_C' are one in BT1.
    first = 0.5 * (alpha + C / known * alpha)
    s = (Q @ first < 1.0).astype(float)
    second = 0.5 * (alpha + C * s)
    squares = {
        "ball1": (first, first @ Q @ first - C / known * w0),
        "ball2": (second, second @ Q @ second + C * (xi - s.sum())),
    }
    for name, (centre, square) in squares.items():
        radius = np.sqrt(square) * np.sqrt(np.diag(Q))
        found = screen_samples(
            X, LABELS, C, reference=alpha, intercept=intercept, tests=name, **options
        )
        low, high = Q @ centre - radius, Q @ centre + radius
        assert found.bounds_ == pytest.approx(np.stack([low, high], axis=1), rel=1e-6, abs=1e-6)
        assert np.array_equal(found.codes_, np.where(low > 1.0, 1, np.where(high < 1.0, 2, 0)))
        shares[name] = found.rate_
    assert shares["ball2"] < shares["ball1"]


def test_tests_are_ordered_as_in_the_paper():
    """IT decides what BT1 and BT2 decide, and rates rise with C_ref / C (Fig. 4)."""
    rates = []
    for C in (0.5, 0.75, 0.9, 0.99):
        model = ScreenedSVC(C=C, kernel="linear", intercept="penalised").fit(X, LABELS)
        codes = {
            tests: screen_samples(X, LABELS, 1.0, reference=model, tests=tests).codes_
            for tests in ("ball1", "ball2", "intersection")
        }
        for name in ("ball1", "ball2"):
            assert np.all(codes["intersection"][codes[name] != 0] == codes[name][codes[name] != 0])
        rates.append(np.mean(codes["intersection"] != 0))
    assert np.all(np.diff(rates) > 0.0) and rates[-1] > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_toy_of_figure_1(seed):
    """More than three quarters of the samples are decided."""
    rng = np.random.default_rng(seed)
    y = np.arange(1000) % 2
    Z = rng.normal(scale=1.5, size=(1000, 2)) + np.where(y, 0.5, -0.5)[:, None]
    model = ScreenedLinearSVC(C=5.0, loss="hinge", fit_intercept=False).fit(Z, y)
    assert screen_samples(Z, y, 10.0, reference=model).rate_ > 0.75


WINE = (scale(load_wine().data), load_wine().target)


@pytest.mark.parametrize(
    "reference",
    [SVC(C=0.9, gamma=0.1), ScreenedSVC(C=0.9, gamma=0.1), SVC(C=0.9, kernel="linear"),
     ScreenedSVC(C=0.9, gamma=0.1, multi_class="ovr"), ScreenedLinearSVC(C=0.09, loss="hinge"),
     LinearSVC(C=0.09)],
    ids=lambda model: f"{type(model).__name__}-{model.get_params().get('kernel', 'linear')}",
)  # fmt: skip
def test_more_than_two_classes(reference):
    """A row for each problem, and one fit on what no problem can do without."""
    Z, y = WINE
    reference = reference.fit(Z, y)
    C = reference.C / 0.9
    found = screen_samples(Z, y, C, reference=reference)
    assert found.codes_.shape == (3, len(y)) and found.bounds_.shape == (3, len(y), 2)
    assert len(found.undecided_) == 3 and found.rate_ > 0.0
    whole = type(reference)(**{**reference.get_params(), "C": C, "tol": 1e-6}).fit(Z, y)
    part = type(reference)(**whole.get_params()).fit(Z[found.kept_], y[found.kept_])
    assert np.array_equal(part.predict(Z), whole.predict(Z))
    # In each problem the samples decided to be 0 are no support vectors of a tight solution.
    pairs = [(0, 1), (0, 2), (1, 2)]
    for k in range(3):
        one_vs_one = getattr(reference, "multi_class", "ovo") == "ovo" and hasattr(
            whole, "support_"
        )
        one_vs_one &= not isinstance(reference, ScreenedLinearSVC)
        rows = np.isin(y, pairs[k]) if one_vs_one else np.ones(len(y), bool)
        assert np.all(found.codes_[k, ~rows] == 1)
        assert np.all(np.isnan(found.bounds_[k, ~rows]))
        reduced = found.reduced_problem(k)
        assert np.array_equal(reduced.rows, np.flatnonzero(found.codes_[k] == 0))
    with pytest.raises(ValueError, match=r"^problem\b"):
        found.reduced_problem(3)


def test_sparse_rows_weights_of_zero_classes_and_kernel_matrices():
    dense = screen_samples(X, LABELS, 0.2, reference=SVC(C=0.19, gamma=GAMMA).fit(X, LABELS))
    Z = sparse.csr_array(X)
    model = SVC(C=0.19, gamma=GAMMA).fit(Z, LABELS)
    assert np.array_equal(screen_samples(Z, LABELS, 0.2, reference=model).codes_, dense.codes_)
    K = KERNELS["rbf"][1]
    for given, kernel in ((K, "precomputed"), (X, lambda A, B: rbf_kernel(A, B, gamma=GAMMA))):
        model = SVC(C=0.19, kernel=kernel).fit(given, LABELS)
        found = screen_samples(given, LABELS, 0.2, reference=model)
        assert np.mean(found.codes_ != dense.codes_) < 0.02
    weights = np.ones(len(Y))
    weights[::4] = 0.0
    model = ScreenedSVC(C=0.19, gamma=GAMMA).fit(X, LABELS, weights)
    found = screen_samples(X, LABELS, 0.2, reference=model, sample_weight=weights)
    assert np.all(found.codes_[::4] == 1) and np.all(np.isnan(found.bounds_[::4]))
    part = screen_samples(
        X[weights > 0], LABELS[weights > 0], 0.2,
        reference=ScreenedSVC(C=0.19, gamma=GAMMA).fit(X[weights > 0], LABELS[weights > 0]),
    )  # fmt: skip
    assert np.array_equal(part.codes_, found.codes_[weights > 0])
    assert part.rate_ == pytest.approx(found.rate_)
    weighted = ScreenedSVC(C=0.19, gamma=GAMMA, class_weight="balanced").fit(X, LABELS)
    caps = screen_samples(X, LABELS, 0.2, reference=weighted).reduced_problem().caps
    assert np.unique(caps.round(12)).size == 2


def test_gamma_of_the_reference_is_kept():
    reference = ScreenedSVC(C=0.19).fit(X, LABELS)
    found = screen_samples(X, LABELS, 0.2, reference=reference)
    assert found.gamma_ == reference.gamma_ == pytest.approx(1.0 / (X.shape[1] * X.var()))
    other = screen_samples(X, LABELS, 0.2, reference=reference, gamma=0.5)
    assert other.gamma_ == 0.5 and other.rate_ < found.rate_


def test_large_C_and_rows_far_from_the_origin_are_sound():
    """Rounding errors are part of the bounds: nothing is decided wrongly, something is decided."""
    rng = np.random.default_rng(0)
    Z = np.round(rng.normal(size=(60, 3)), 2)
    y = np.where(Z[:, 0] + 0.3 * rng.normal(size=60) > 0.0, 1.0, -1.0)
    for shift in (0.0, 1e4):
        for C in (1.0, 1e6):
            model = ScreenedSVC(C=0.99 * C, kernel="linear").fit(Z + shift, y)
            found = screen_samples(Z + shift, y, C, reference=model)
            Q = y[:, None] * (Z @ Z.T) * y
            alpha, *ends = free_optimum(Q, np.full(60, C), y)
            both = np.stack([Q @ alpha + y * b for b in ends])
            unsure = 1e-5 if C == 1.0 else 1e-2
            assert np.all(both.min(axis=0)[found.codes_ == 1] > 1.0 - unsure)
            assert np.all(both.max(axis=0)[found.codes_ == 2] < 1.0 + unsure)
            assert found.rate_ > 0.5


def test_arguments_that_do_not_fit_are_named():
    alpha = np.zeros(len(Y))
    with pytest.raises(TypeError, match="too many positional"):
        screen_samples(X, LABELS, 1.0, alpha)
    with pytest.raises(ValueError, match=r"^kernel\b"):
        screen_samples(X, LABELS, 1.0, reference=alpha)
    named = {"kernel": "linear", "intercept": "none"}
    for reference, text in [
        (alpha[:-1], r"^reference\b"), ("none", r"^reference\b"),
        (np.full(len(Y), np.nan), r"^reference\b"),
        (np.tile(alpha, (2, 1)), r"^reference\b"),
        (-np.ones(len(Y)), r"^reference\b"),
        ((np.zeros(5), 0.0), r"^reference\b"),
        ((np.zeros((3, 30)), 0.0), r"^reference\b"),
        ((np.zeros(30), [0.0, 1.0]), r"^reference\b"),
        ((np.zeros((1, 30, 1)), 0.0), r"^reference\b"),
        ((np.full(30, np.inf), 0.0), r"^reference\b"),
        (("a", "b"), "reference must"), ((np.full(30, 1e300), 0.0), r"^reference\b"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            screen_samples(X, LABELS, 1.0, reference=reference, **named)
    with pytest.raises(ValueError, match=r"^multi_class\b"):
        screen_samples(*WINE, 1.0, reference=np.zeros((3, len(WINE[1]))), **named)
    model = SVC().fit(X[:50], LABELS[:50])
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(X, LABELS, 1.0, reference=model)
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(X, LABELS + 5, 1.0, reference=SVC().fit(X, LABELS))
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(X[:, :5], LABELS, 1.0, reference=LinearSVC().fit(X, LABELS))
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(X[:, :5], LABELS, 1.0, reference=SVC().fit(X, LABELS))
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(30)])
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_samples(
            frame.iloc[:, ::-1], LABELS, 1.0, reference=SVC(gamma=0.1).fit(frame, LABELS)
        )
    with pytest.raises(ValueError, match="kernel='linear'"):
        screen_samples(X, LABELS, 1.0, reference=LinearSVC().fit(X, LABELS), kernel="rbf")
    for kind in (SVR, ScreenedSVR):
        with pytest.raises(TypeError, match=r"^reference\b"):
            screen_samples(X, LABELS, 1.0, reference=kind().fit(X, LABELS == LABELS[0]))
    with pytest.raises(TypeError, match=r"^reference\b"):
        screen_samples(X, LABELS, 1.0, reference=make_pipeline(SVC()).fit(X, LABELS))
    for name, value in [("C", 0.0), ("tests", "best"), ("intercept", "some"), ("gamma", -1.0)]:
        arguments = {"C": 1.0, "reference": alpha, **named, name: value}
        with pytest.raises((ValueError, TypeError), match=name):
            screen_samples(X, LABELS, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [SVC(C=0.9, gamma=GAMMA), SVC(C=0.9, kernel="linear"), ScreenedSVC(C=0.9, gamma=GAMMA),
     ScreenedLinearSVC(C=0.9, loss="hinge"), LinearSVC(C=0.9), LinearSVC(C=0.9, loss="hinge")],
    ids=str,
)  # fmt: skip
def test_a_reference_of_other_samples_is_named(model):
    """Of the same shape, but raw, scaled, permuted or sparse; right ones say nothing."""
    rng = np.random.default_rng(0)
    model.fit(X, LABELS)
    for Z in (CANCER[0][::4], 2.0 * X, X[rng.permutation(len(Y))], sparse.csr_array(2.0 * X)):
        with pytest.warns(UserWarning, match=r"^reference\b"):
            found = screen_samples(Z, LABELS, 1.0, reference=model)
        # Weights of other samples are completed by dual variables of these.
        assert found.rate_ < 0.1 or isinstance(model, LinearSVC | ScreenedLinearSVC)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for Z in (X, X.astype(np.float32), sparse.csr_array(X)):
            assert screen_samples(Z, LABELS, 1.0, reference=model).rate_ > 0.3


def test_dual_variables_of_other_samples_are_named():
    alpha = optimum(Y[:, None] * (X @ X.T) * Y, np.full(len(Y), 0.9))
    named = {"kernel": "linear", "intercept": "none"}
    with pytest.warns(UserWarning, match=r"^reference\b"):
        screen_samples(CANCER[0][::4], LABELS, 1.0, reference=alpha, **named)


def test_indefinite_kernels_are_refused():
    Z, y = WINE
    reference = SVC(C=0.9, kernel="sigmoid", gamma=0.1).fit(Z, y)
    with pytest.raises(ValueError, match=r"\bkernel\b"):
        screen_samples(Z, y, 1.0, reference=reference)


def test_what_is_printed():
    found = screen_samples(X, LABELS, 0.2, reference=SVC(C=0.19).fit(X, LABELS))
    counts = [np.count_nonzero(found.codes_ == code) for code in (1, 2, 0)]
    assert all(str(count) in repr(found) for count in counts)
    left = repr(found.reduced_problem())
    assert left.startswith(f"ReducedProblem({counts[2]} of {len(Y)} samples undecided, ")
    assert len(left) < 100


@pytest.mark.parametrize(
    "model",
    [ScreenedSVC(C=0.2, gamma=GAMMA), ScreenedLinearSVC(C=0.1, loss="hinge"),
     ScreenedSVC(C=0.2, kernel=lambda A, B: rbf_kernel(A, B, gamma=GAMMA))],
    ids=["kernel", "linear", "function"],
)  # fmt: skip
def test_what_a_fit_proves_about_its_own_problem(model):
    weights = np.ones(len(Y))
    weights[::7] = 0.0
    screened = model.fit(X, LABELS, weights).screened(X, LABELS, weights)
    assert screened.C == model.C and screened.rate_ > 0.7
    signed = np.zeros(len(Y))
    if isinstance(model, ScreenedLinearSVC):
        same = ScreenedSVC(model.C, kernel="linear", intercept="penalised")
        dual = same.fit(X, LABELS, weights)
    else:
        dual = model
    signed[dual.support_] = dual.dual_coef_[0]
    assert np.all(np.abs(signed[screened.codes_ == 1]) < 1e-9)
    assert np.allclose(np.abs(signed[screened.codes_ == 2]), model.C)
    margins = Y * model.decision_function(X)
    at = weights > 0.0
    lower, upper = screened.bounds_[at].T
    assert np.all((lower <= margins[at] + 1e-6) & (margins[at] <= upper + 1e-6))
    assert screened.reduced_problem().rows.size == screened.undecided_.size
    if model.kernel in ("rbf", "linear"):
        copy = pickle.loads(pickle.dumps(model))
        assert np.array_equal(copy.predict(X), model.predict(X))
        found = copy.screened(X, LABELS, weights)
        assert np.array_equal(found.codes_, screened.codes_)


@every_pair(kernel=["linear", "rbf"], intercept=INTERCEPTS, loss=["hinge", "squared_hinge"])
def test_a_solution_bounds_its_margins_by_its_gap(kernel, intercept, loss):
    """Whatever the intercept is, bounds are as narrow as the gap ball."""
    options, K = KERNELS[kernel]
    mode = {"fit_intercept": False} if intercept == "none" else {"intercept": intercept}
    model = ScreenedSVC(C=0.2, tol=1e-10, loss=loss, **options, **mode).fit(X, LABELS)
    found = model.screened(X, LABELS)
    lengths = np.sqrt(np.diag(K) + 1.0)
    width = found.bounds_[:, 1] - found.bounds_[:, 0]
    assert np.all(width <= 0.05 * np.sqrt(model.objective_ * 1e-6) * lengths)
    if loss == "hinge":
        assert found.rate_ > 0.7


@pytest.mark.filterwarnings("ignore:reference does not fit")
@every_pair(intercept=INTERCEPTS, loss=["hinge", "squared_hinge"], digits=[1.0, 1e-2, 1e-5])
@pytest.mark.slow
def test_the_gap_of_any_dual_variables(intercept, loss, digits):
    """Those of a solver of one's own, computed plainly."""
    options, Q = problem("rbf", intercept)
    C = 0.2
    alpha = margins_at(Q, np.full(len(Y), C), Y, intercept, loss)[0]
    noise = np.random.default_rng(0).uniform(-digits, digits, len(Y)) * C
    alpha = np.clip(alpha + noise, 0.0, C if loss == "hinge" else np.inf)
    if intercept == "free":
        for sign in (1.0, -1.0):
            alpha[sign == Y] *= min(alpha[Y > 0].sum(), alpha[Y < 0].sum()) / alpha[sign == Y].sum()
    margins, losses = Q @ alpha, lambda m: np.maximum(0.0, 1.0 - m) ** (1 + (loss != "hinge"))
    offsets = np.concatenate([Y * (1.0 - margins), [0.0]]) if intercept == "free" else [0.0]
    if intercept == "free" and loss != "hinge":
        offsets = np.linspace(-3.0, 3.0, 60_001)
    least = min(losses(margins + Y * b).sum() for b in offsets)
    primal = 0.5 * alpha @ margins + C * least
    square = alpha @ margins + (alpha @ alpha / (2.0 * C) if loss != "hinge" else 0.0)
    gap = (primal - (alpha.sum() - 0.5 * square)) / primal
    found = screen_samples(X, LABELS, C, reference=alpha, intercept=intercept, loss=loss, **options)
    assert gap * (1.0 - 1e-6) - 1e-8 <= found.dual_gap_ <= 1.01 * gap + 1e-7


def test_the_gap_of_weights_and_of_duals_that_are_not_balanced():
    model = LinearSVC(C=0.1, loss="hinge", tol=1e-8, max_iter=100_000).fit(X, LABELS)
    weights = model.coef_[0], model.intercept_[0]
    how = {"kernel": "linear", "intercept": "penalised"}
    assert screen_samples(X, LABELS, 0.1, reference=model).dual_gap_ < 1e-6
    assert screen_samples(X, LABELS, 0.1, reference=weights, **how).dual_gap_ < 1e-6
    far = 0.5 * weights[0], 0.5 * weights[1]
    assert screen_samples(X, LABELS, 0.1, reference=far, **how).dual_gap_ > 1e-2
    alpha = ScreenedSVC(C=0.2, gamma=GAMMA, fit_intercept=False).fit(X, LABELS)
    known = np.zeros(len(Y))
    known[alpha.support_] = np.abs(alpha.dual_coef_[0])
    how = {"kernel": "rbf", "gamma": GAMMA}
    none, free = (
        screen_samples(X, LABELS, 0.2, reference=known, intercept=mode, **how).dual_gap_
        for mode in ("none", "free")
    )
    assert none < 1e-5 < 1e-2 < free


def test_what_a_fit_proves_of_samples_that_are_not_its_own():
    model = ScreenedSVC(C=0.2, gamma=GAMMA).fit(X, LABELS)
    with pytest.warns(UserWarning, match=r"^X\b"):
        found = model.screened(X[::-1], LABELS[::-1])
    exact = ScreenedSVC(C=0.2, gamma=GAMMA, tol=1e-10).fit(X[::-1], LABELS[::-1])
    signed = np.zeros(len(Y))
    signed[exact.support_] = exact.dual_coef_[0]
    assert np.all(np.abs(signed[found.codes_ == 1]) < 1e-9)
    with pytest.raises(ValueError, match=r"^reference\b"):
        model.screened(X[:60], LABELS[:60])
    with pytest.raises(ValueError, match="features"):
        model.screened(X[:, :3], LABELS)
    with pytest.raises(ValueError, match="classes"):
        model.screened(X, np.where(LABELS == LABELS[0], "a", "b"))


def test_what_the_solutions_of_a_path_prove():
    path = svc_path(X, LABELS, Cs=[0.1, 0.2], gamma=GAMMA)
    for C in path.Cs:
        assert path.screened(C).C == C and path.screened(C).rate_ > 0.7
    with pytest.raises(ValueError, match=r"^C\b"):
        path.screened(0.3)
    lasso = ScreenedLinearSVC(C=0.1, penalty="l1").fit(X, LABELS)
    with pytest.raises(ValueError, match="penalty='l1' drops features"):
        lasso.screened(X, LABELS)
    three = ScreenedSVC(gamma=0.1).fit(*WINE)
    found = three.screened(*WINE)
    assert found.codes_.shape == (3, len(WINE[1])) and found.rate_ > 0.3
