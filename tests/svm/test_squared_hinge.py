"""The squared hinge: optima of Clarabel and of LinearSVC, intercepts, decisions, paths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from svm_labelled import solve_linear
from svm_reference import squared_hinge_qp

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVCCV, svc_path
from skscreen.core.decisions import UNDECIDED, ZERO
from skscreen.samples.losses import squared_hinge
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.screening.bounds import gap_ball, reference, scaled_gap_ball
from skscreen.svm.screening.inside_box import compare_at
from skscreen.svm.screening.rules import ball_test

X, y = load_breast_cancer(return_X_y=True)
X, signs = scale(X), np.where(y == 1, 1.0, -1.0)
SETTINGS = (
    {"kernel": "linear", "intercept": "penalised", "solver": "coordinate-descent"},
    {"kernel": "linear", "intercept": "penalised", "solver": "second-order"},
    {"kernel": "linear", "fit_intercept": False},
    {"kernel": "linear"},
    {"kernel": "rbf", "intercept": "penalised"},
    {"kernel": "rbf"},
    {"kernel": "poly", "gamma": 0.02, "coef0": 1.0},
)  # fmt: skip


def problem(seed, settings):
    """Some samples with weights, their products and what the estimator is asked for."""
    rng = np.random.default_rng(seed)
    keep = rng.choice(len(X), 60, replace=False)
    rows, s = X[keep], signs[keep]
    weights = rng.choice([0.5, 1.0, 2.0], s.size)
    if settings["kernel"] == "linear":
        K = rows @ rows.T
    elif settings["kernel"] == "rbf":
        K = rbf_kernel(rows, gamma=1.0 / 30)
    else:
        K = (0.02 * rows @ rows.T + 1.0) ** 3
    if settings.get("intercept") == "penalised":
        K = K + 1.0
    return rows, s, weights, s[:, None] * K * s


@pytest.mark.few(26)
@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0, 100.0, 1e3])
def test_objectives_are_those_of_clarabel(settings, C):
    rows, s, weights, Q = problem(int(C * 1000), settings)
    free = settings.get("intercept", "free") == "free" and settings.get("fit_intercept", True)
    options = settings if settings["kernel"] != "rbf" else {"gamma": 1.0 / 30} | settings
    model = ScreenedSVC(C, loss="squared_hinge", tol=1e-10, **options)
    model.fit(rows, s, sample_weight=weights)
    alpha, value = squared_hinge_qp(Q, C * weights, s if free else None)
    assert_allclose(model.objective_, [value], rtol=1e-8)
    assert model.dual_gap_ <= 1e-10
    found = np.zeros(s.size)
    found[model.support_] = s[model.support_] * model.dual_coef_[0]
    assert_allclose(found, alpha, atol=2e-5 * alpha.max())
    margins = s * model.decision_function(rows)
    losses = C * weights @ np.maximum(1.0 - margins, 0.0) ** 2
    assert_allclose(0.5 * found @ Q @ found + losses, value, rtol=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("data", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_linear_problems_are_those_of_linear_svc(C, data):
    known = LinearSVC(C=C, dual=False, tol=1e-12, max_iter=10_000).fit(data, y)
    model = ScreenedLinearSVC(C, loss="squared_hinge", tol=1e-12).fit(data, y)
    assert_allclose(model.coef_, known.coef_, rtol=1e-5, atol=1e-5 * np.abs(known.coef_).max())
    assert_allclose(model.intercept_, known.intercept_, rtol=1e-5, atol=1e-6)
    scores = known.decision_function(data)
    assert_allclose(model.decision_function(data), scores, atol=1e-5 * np.abs(scores).max())


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_more_classes(scheme):
    data, labels = load_iris(return_X_y=True)
    model = ScreenedSVC(loss="squared_hinge", kernel="linear", multi_class=scheme).fit(data, labels)
    assert model.dual_gap_ <= 1e-6
    assert model.score(data, labels) > 0.93


@pytest.mark.parametrize("wide", [False, True])
def test_rows_of_sparse_data_with_repeated_and_empty_ones(wide):
    rng = np.random.default_rng(3)
    rows = sparse.random_array(
        (80, 300 if wide else 12), density=0.1, random_state=rng, format="csr"
    )
    s = np.where(rng.random(80) < 0.4, 1.0, -1.0)
    losses, found = squared_hinge(np.append(np.full(79, 5.0), 0.0)), []
    for solver in ("coordinate-descent", "second-order"):
        for data in (rows, rows.toarray()):
            samples = LinearSamples(data, s, 1.0)
            found.append(solve_linear(samples, losses, solver=solver, tol=1e-11))
    assert all(solution.converged for solution in found)
    assert found[0].alpha[-1] == 0.0
    for solution in found[1:]:
        assert_allclose(solution.w, found[0].w, atol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_intercept_balances(seed):
    rng = np.random.default_rng(seed)
    s = np.append([1.0, -1.0], rng.choice([-1.0, 1.0], 30))
    margins, losses = rng.normal(size=32), squared_hinge(rng.uniform(0.1, 3.0, 32))
    dual, f = Dual.of(losses, s, True), s * margins
    b = dual.best_intercept(f)
    beta = dual.best(dual.target - f - b)
    assert_allclose(beta.sum(), 0.0, atol=1e-12 * np.abs(beta).sum())
    low, high = intercepts(dual, f)
    assert low <= b <= high <= low + 1e-11


def intercepts(dual, f):
    """The ends of the interval of best intercepts for scores."""
    least, most = dual.scores_between((f, f))
    return (least - f)[0], (most - f)[0]


def test_intercepts_where_nothing_has_a_loss():
    def ends(kinks, signs):
        dual = Dual.of(squared_hinge(np.full(len(kinks), 0.5)), np.array(signs), True)
        return intercepts(dual, dual.target - np.array(kinks))

    assert_allclose(ends([-2.0, -1.0, 3.0, 4.0], [1.0, 1.0, -1.0, -1.0]), (-1.0, 3.0))
    assert_allclose(ends([1.0, 2.0], [1.0, 1.0]), 2.0)
    dual = Dual.of(squared_hinge(np.ones(2)), np.array([1.0, -1.0]), True)
    least, most = dual.scores_between((np.array([-np.inf, 0.0]), np.array([np.inf, 0.0])))
    assert (least == -np.inf).all() and (most == np.inf).all()


class Known:
    """Samples known by their products."""

    def __init__(self, Q):
        self.Q, self.error = Q, 1e-14

    def products(self, index):
        return self.Q[index]


@pytest.mark.few(2)
@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-3, 0.1])
def test_no_decision_is_wrong(free, noise):
    decided = 0
    for seed in range(6):
        settings = {"kernel": "rbf" if seed % 2 else "linear"}
        _, s, weights, Q = problem(seed, settings)
        rng, y_free = np.random.default_rng(seed), s if free else None
        alpha = squared_hinge_qp(Q, weights, y_free)[0]
        # Balanced, as solvers leave it.
        alpha *= 1.0 + noise * rng.normal(size=s.size)
        if free:
            up = s > 0.0
            alpha[up] *= alpha[~up].sum() / alpha[up].sum()
        dual, f, K = Dual.of(squared_hinge(weights), s, free), s * (Q @ alpha), np.outer(s, s) * Q
        b = dual.best_intercept(f)
        known = reference(np.sqrt(Q.diagonal()), f, s * alpha, dual, b)
        for rho in (0.8, 1.0, 1.05, 1.5):
            best = squared_hinge_qp(Q, rho * weights, y_free)[0]
            tests = [scaled_gap_ball(known, rho)] + ([gap_ball(known)] if rho == 1.0 else [])
            there = dual.at(rho)
            found = [there.decided(ball_test(ball, known.norms)) for ball in tests]
            if free:
                found.append(there.codes(*compare_at(known, rho, Known(K))))
            for codes in found:
                assert np.isin(codes, (UNDECIDED, ZERO)).all()
                assert (best[codes == ZERO] <= 1e-6 * best.max()).all()
                decided += np.count_nonzero(codes)
    assert decided > 0 or noise == 0.1


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_paths_screen_and_end_at_single_fits(intercept):
    options = {"loss": "squared_hinge", "kernel": "rbf", "intercept": intercept}
    path = svc_path(X, y, Cs=np.geomspace(1.0, 2.0, 20), **options)
    assert path.dual_gaps.max() <= 1e-6
    assert path.path_rates[5:].mean() > 0.2
    assert path.C_min == 0.0
    single = ScreenedSVC(2.0, **options).fit(X, y)
    assert_allclose(path.objectives[-1], single.objective_, rtol=2e-6)


def test_paths_of_a_given_precision_begin_where_all_samples_have_a_loss():
    path = svc_path(X, y, eps=0.1, C_max=1.0, loss="squared_hinge", kernel="linear",
                    intercept="penalised")  # fmt: skip
    assert (path.dual_coefs[0] != 0.0).all()
    assert path.dual_gaps.max() <= 1e-3
    for C in (1e-4, 0.03, 0.5):
        below = np.searchsorted(path.Cs, C) - 1
        w, b = path.coefs[below], path.intercepts[below]
        value = 0.5 * (w @ w + b * b) + C * np.sum(np.maximum(1.0 - signs * (X @ w + b), 0.0) ** 2)
        best = ScreenedLinearSVC(C, loss="squared_hinge").fit(X, y).objective_
        assert value - best <= 0.1 * value


def test_stores_know_losses_apart(tmp_path):
    for loss in ("hinge", "squared_hinge"):
        model = ScreenedLinearSVC(loss=loss, store=tmp_path).fit(X, y)
        assert_allclose(
            model.objective_, ScreenedLinearSVC(loss=loss).fit(X, y).objective_, rtol=1e-6
        )
        again = ScreenedLinearSVC(loss=loss, store=tmp_path, C=1.1).fit(X, y)
        assert "path" in again.screening_history_["where"]


def test_searches_choose_C_by_scores_and_by_bounds():
    options = {"loss": "squared_hinge", "intercept": "penalised", "kernel": "linear"}
    search = ScreenedSVCCV([0.01, 0.1, 1.0], cv=2, **options).fit(X, y)
    assert search.scores_.shape == (2, 3)
    proved = ScreenedSVCCV([0.01, 0.1, 1.0], cv=2, certify=0.05, **options).fit(X, y)
    assert proved.bounds_.eps <= 0.05 + 1e-10
    assert proved.best_score_ >= search.best_score_ - 0.05


def test_a_hard_margin_on_sparse_rows_of_three_classes():
    rows, labels = load_iris(return_X_y=True)
    far = sparse.csr_array(np.hstack([np.eye(3)[labels] * 10.0, rows]))
    model = ScreenedSVC(
        np.inf, loss="squared_hinge", kernel="linear", intercept="penalised", multi_class="ovr"
    ).fit(far, labels)
    assert model.score(far, labels) == 1.0 and model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("tiny", [5e-324, 1e-310])
def test_weights_whose_inverse_is_infinite_are_named(tiny):
    weights = np.where(np.arange(len(y)) == 3, tiny, 1.0)
    with pytest.raises(ValueError, match="sample_weight"):
        ScreenedLinearSVC().fit(X, y, weights)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_start_from_some_of_many_rows_ends_at_the_optimum_of_all(fit_intercept):
    rng = np.random.default_rng(0)
    # The rows that come first are no picture of the others.
    X = rng.normal(size=(3000, 60)) * np.geomspace(0.1, 10.0, 3000)[:, None]
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0.5, 1, -1)
    options = {"C": 0.7, "fit_intercept": fit_intercept}
    model = ScreenedLinearSVC(tol=1e-10, **options).fit(X, y)
    other = LinearSVC(dual=False, tol=1e-10, max_iter=10_000, **options).fit(X, y)
    assert_allclose(model.coef_, other.coef_, rtol=0.0, atol=1e-5 * np.abs(other.coef_).max())
    assert_allclose(model.intercept_, other.intercept_, rtol=0.0, atol=1e-4)
    assert model.dual_gap_ <= 1e-10
