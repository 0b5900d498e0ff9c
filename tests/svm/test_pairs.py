import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from svm_reference import dual, free_gap, free_optimum, gap, optimum

from skscreen import ScreenedSVC, ScreenedSVCCV
from skscreen.svm.problem import build
from skscreen.svm.solvers.kernel.pairs import ClassPairs
from skscreen.svm.solvers.solution import PairSolutions

# 89 wines of three classes, 200 digits of ten.
X, y = load_wine(return_X_y=True)
X, y = scale(X)[::2], y[::2]
DIGITS_X, DIGITS_Y = load_digits(return_X_y=True)
DIGITS_X, DIGITS_Y = scale(DIGITS_X)[:400], DIGITS_Y[:400]
for array in (X, y, DIGITS_X, DIGITS_Y):
    array.setflags(write=False)


def pairs(C=1.0, **options):
    return ScreenedSVC(C, **{"multi_class": "ovo", "intercept": "free", "tol": 1e-9} | options)


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("data", ["wine", "digits"])
def test_all_that_svc_has(data, options):
    rows, target = (X, y) if data == "wine" else (DIGITS_X, DIGITS_Y)
    train, test = slice(0, None, 2), slice(1, None, 2)
    model = pairs(**options).fit(rows[train], target[train])
    peer = SVC(**options, tol=1e-8).fit(rows[train], target[train])
    assert_array_equal(model.support_, peer.support_)
    assert_array_equal(model.n_support_, peer.n_support_)
    assert_allclose(model.support_vectors_, peer.support_vectors_)
    assert_allclose(model.dual_coef_, peer.dual_coef_, atol=1e-5)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    assert model.n_iter_ > 0 and model.objective_.shape == peer.n_iter_.shape
    assert model.dual_gap_ <= 1e-9
    if options["kernel"] == "linear":
        assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    for shape in ("ovr", "ovo"):
        for fitted in (model, peer):
            fitted.set_params(decision_function_shape=shape)
        shown = model.decision_function(rows[test])
        assert_allclose(shown, peer.decision_function(rows[test]), atol=1e-5)
    for fitted in (model, peer):
        fitted.set_params(decision_function_shape="ovr")
    for break_ties in (False, True):
        found = model.set_params(break_ties=break_ties).predict(rows[test])
        assert_array_equal(found, peer.set_params(break_ties=break_ties).predict(rows[test]))


@pytest.mark.parametrize("bias", [0.0, 2.0, None])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_each_pair_is_the_optimum_of_clarabel(C, bias):
    intercept = {} if bias is None else {"intercept": "penalised", "fit_intercept": bias > 0.0}
    model = pairs(C, kernel="rbf", gamma=0.1, intercept_scaling=bias or 1.0, **intercept)
    weights = np.linspace(0.5, 2.0, len(y))
    model.fit(X, y, weights)
    problem = 0
    for i in range(3):
        for j in range(i + 1, 3):
            rows = np.flatnonzero((y == i) | (y == j))
            signs, caps = np.where(y[rows] == i, 1.0, -1.0), C * weights[rows]
            Q = signs[:, None] * signs * (rbf_kernel(X[rows], gamma=0.1) + (bias or 0.0) ** 2)
            if bias is None:
                alpha = free_optimum(Q, caps, signs)[0]
                left = free_gap(Q, caps, signs, alpha)
            else:
                alpha = optimum(Q, caps)
                left = gap(Q, caps, alpha)
            # Next to a large C the reference has fewer digits than we have.
            low, high = dual(Q, alpha), dual(Q, alpha) + left
            assert low * (1.0 - 1e-8) <= model.objective_[problem] <= high * (1.0 + 1e-8)
            assert left <= (1e-4 if C > 10.0 else 1e-8) * high
            problem += 1


def test_one_against_one_is_not_one_against_the_rest():
    model = pairs(kernel="linear").fit(X, y)
    assert model.coef_.shape == (3, X.shape[1])
    assert not np.allclose(model.coef_, clone(model).set_params(multi_class="ovr").fit(X, y).coef_)
    two = [
        pairs(kernel="linear", multi_class=name).fit(X[y < 2], y[y < 2]) for name in ("ovr", "ovo")
    ]
    assert_allclose(two[0].coef_, two[1].coef_)
    assert_allclose(two[0].decision_function(X), two[1].decision_function(X))


def test_sparse_precomputed_and_callable_kernels():
    model = pairs(kernel="rbf", gamma=0.1).fit(X, y)
    K = rbf_kernel(X, gamma=0.1)
    same = [
        (pairs(kernel="rbf", gamma=0.1).fit(sparse.csr_array(X), y), sparse.csr_array(X)),
        (pairs(kernel="precomputed").fit(K, y), K),
        (pairs(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.1)).fit(X, y), X),
    ]
    for other, shown in same:
        found, expected = other.decision_function(shown), model.decision_function(X)
        assert_allclose(found, expected, atol=1e-6)
        assert_array_equal(other.predict(shown), model.predict(X))
        assert_array_equal(other.support_, model.support_)


def test_weights_zero_and_threads():
    weights = np.where(np.arange(len(y)) % 4, 1.0, 0.0)
    kept = weights > 0.0
    options = {"kernel": "rbf", "gamma": 0.1}
    model = pairs(**options, n_jobs=2).fit(X, y, weights)
    other = pairs(**options).fit(X[kept], y[kept])
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
    assert_array_equal(model.support_, np.flatnonzero(kept)[other.support_])


def test_ties_cannot_be_broken_by_scores_of_pairs():
    model = pairs(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match=r"^break_ties\b"):
        model.predict(X)


def test_a_store_knows_pairs(tmp_path):
    # Fits of fewer samples are not kept.
    many, classes = np.vstack([X + 0.01 * k for k in range(24)]), np.tile(y, 24)
    assert len(classes) > 2000
    first = pairs(1.0, kernel="rbf", store=tmp_path, tol=1e-6).fit(many, classes)
    again = pairs(1.0, kernel="rbf", store=tmp_path, tol=1e-6).fit(many, classes)
    assert again.n_iter_ == 0 < first.n_iter_
    assert_allclose(again.decision_function(X), first.decision_function(X), atol=1e-6)


def test_cross_validation_as_a_grid_search():
    Cs, cv = np.geomspace(0.01, 10.0, 4), StratifiedKFold(3)
    options = {"kernel": "rbf", "intercept": "free", "multi_class": "ovo"}
    model = ScreenedSVCCV(Cs, cv=cv, **options).fit(X, y)
    grid = GridSearchCV(ScreenedSVC(**options), {"C": Cs}, cv=cv).fit(X, y)
    assert_allclose(model.scores_.mean(axis=0), grid.cv_results_["mean_test_score"])
    assert model.C_ == grid.best_params_["C"]
    assert_allclose(model.decision_function(X), grid.decision_function(X), atol=1e-4)
    assert model.intercept_.shape == (3,) and model.dual_coef_.shape[0] == 2


def test_kernel_values_in_memory_are_those_of_the_same_pair(tmp_path):
    rows, options = DIGITS_X[:300], {"loss": "squared_hinge"}
    for labels in (np.arange(300) % 3, np.repeat([0, 1, 2], [50, 100, 150])):
        kept = ScreenedSVC(store=tmp_path, **options).fit(rows, labels)
        bare = ScreenedSVC(**options).fit(rows, labels)
        assert_allclose(kept.objective_, bare.objective_, rtol=1e-6)
        assert_array_equal(kept.predict(rows), bare.predict(rows))


def test_errors_of_scores_beyond_the_margin_leave_no_pair_unsolved(monkeypatch):
    again = []
    monkeypatch.setattr(PairSolutions, "insert", lambda *given: again.append(given))
    rows, target = make_blobs(240, 10, centers=12, cluster_std=2.0, random_state=0)
    pairs(100.0, kernel="linear", tol=1e-3).fit(rows, target)
    assert not again


def test_weights_far_from_the_origin_are_those_near_it():
    far = np.random.default_rng(0).normal(size=(600, 2)) + 1e9
    labels = np.arange(600) % 3
    expected = pairs(kernel="linear").fit(far - 1e9, labels)
    found = pairs(kernel="linear").fit(far, labels)
    assert_allclose(found.coef_, expected.coef_, atol=1e-6)
    shown = found.decision_function(far) - expected.decision_function(far - 1e9)
    assert np.abs(shown).max() < 1e-3


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_numbers_beyond_single_precision_are_solved_or_it_is_said(intercept):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ScreenedSVC(kernel="linear", intercept=intercept).fit(1e30 * X, y)
    assert np.isfinite(model.objective_).all() and np.isfinite(model.coef_).all()
    assert model.dual_gap_ <= 1e-6 or any("duality gap" in str(one.message) for one in caught)


def test_steps_of_all_solvers_count(monkeypatch):
    solve_path = ClassPairs.solve_path

    def interrupted(*arguments):
        return (replace(found, converged=False, n_iter=7) for found in solve_path(*arguments))

    monkeypatch.setattr(ClassPairs, "solve_path", interrupted)
    model = pairs(kernel="linear").fit(X, y)
    assert model.dual_gap_ <= 1e-9
    assert model.n_iter_ >= 7
    with pytest.warns(ConvergenceWarning):
        assert pairs(kernel="linear", max_iter=9).fit(X, y).n_iter_ <= 9


@pytest.mark.few(6)
@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32, "far"])
def test_weights_by_kernel_values_are_those_by_rows(form, intercept):
    # A named solver goes by rows.
    rows = X + 1e3 if form == "far" else form(X)
    weights = np.arange(y.size) % 4.0
    models = [
        pairs(10.0, kernel="linear", solver=solver, intercept=intercept, tol=1e-10)
        for solver in ("auto", "second-order")
    ]
    found, expected = (model.fit(rows, y, weights) for model in models)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    weights = [sparse.coo_array(model.coef_).toarray() for model in (found, expected)]
    assert_allclose(*weights, atol=1e-6)
    assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6, atol=1e-6)
    # Next to rounding errors of scores far from zero, rows have the last word.
    assert found.dual_gap_ <= 1e-10


def test_weights_out_of_range_are_refused_with_many_samples_too():
    rows = np.random.default_rng(0).normal(size=(2100, 2)) + 9.0 * (np.arange(2100) % 3)[:, None]
    with pytest.raises(ValueError, match="C"):
        ScreenedSVC(1e100).fit(rows, np.arange(2100) % 3)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_problems_solved_in_one_call_are_those_solved_one_by_one(kernel, intercept):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), rng.integers(2, 9, 12))
    rows = rng.normal(size=(12, 4))[labels] + 0.7 * rng.normal(size=(labels.size, 4)) + 3.0
    rows = rows @ rows.T if kernel == "precomputed" else rows
    weights = rng.integers(0, 3, labels.size).astype(float)
    weights[:3] = 1.0
    model = ScreenedSVC(kernel=kernel, intercept=intercept, tol=1e-8)
    problem = build(model, rows, labels, weights)
    together = problem.solve_together(2.0, 1e-8)
    for k in range(problem.division.n_problems):
        alone = problem.solve(k, 2.0, 1e-8)
        assert_allclose(together.primals[k], alone.certificate.primal, rtol=1e-7)
        assert_allclose(together.b[k], alone.b, atol=1e-3)
        if kernel == "linear":
            i, j = problem.division.pairs[k]
            first, second = (problem.division.members[c] for c in (i, j))
            used = rows[problem.labels.rows]
            w = together.signed[j - 1, first] @ used[first]
            assert_allclose(w + together.signed[i, second] @ used[second], alone.w, atol=1e-3)
    assert together.relative_gaps.max() <= 1e-8
    # The certificate is that of the dual variables: each problem beside an independent solver.
    peer = SVC(C=2.0, kernel=kernel, gamma=problem.kernel.gamma, tol=1e-9)
    model.set_params(C=2.0).fit(rows, labels, weights)
    # SVC takes other columns of a kernel matrix where weights are 0.
    if intercept == "free" and kernel != "precomputed":
        peer.fit(rows, labels, weights)
        assert_array_equal(model.predict(rows), peer.predict(rows))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_weights_of_many_pairs_are_computed_when_asked_for(offset):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(30), 3)
    rows = rng.normal(size=(30, 5))[labels] + 0.3 * rng.normal(size=(90, 5)) + offset
    for given in (rows, sparse.csr_array(rows)) if offset == 0.0 else (rows,):
        model = ScreenedSVC(kernel="linear", tol=1e-8, decision_function_shape="ovo")
        model.fit(given, labels)
        peer = SVC(kernel="linear", tol=1e-8, decision_function_shape="ovo")
        # Nothing but the intercept changes; SVC would not end far from the origin.
        peer.fit(rows - offset, labels)
        # There scores by dual variables would have fewer digits.
        assert ("coef_" in vars(model)) == (offset > 0.0)
        theirs = peer.coef_
        ours = model.coef_.toarray() if sparse.issparse(given) else model.coef_
        assert_allclose(ours, theirs, atol=1e-5)
        scores = model.decision_function(given)
        assert_allclose(scores, given @ ours.T + model.intercept_, atol=1e-9 * (1.0 + offset))
        model.coef_ = model.coef_
        assert_allclose(model.decision_function(given), scores, atol=1e-9 * (1.0 + offset))


def test_pairs_without_a_certificate_are_those_of_one_svc():
    rng = np.random.default_rng(0)
    labels, rows = np.repeat(np.arange(12), 15), 3.0 * rng.normal(size=(180, 4))
    weights = rng.integers(0, 3, 180).astype(float)
    model = ScreenedSVC(kernel="sigmoid", gamma=0.3, decision_function_shape="ovo")
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model.fit(rows, labels, weights)
    # SVC reads weights of 0 as those of samples that are left out, too.
    peer = SVC(kernel="sigmoid", gamma=0.3, decision_function_shape="ovo")
    peer.fit(rows, labels, weights)
    assert_allclose(model.decision_function(rows), peer.decision_function(rows), atol=1e-9)
    assert np.isnan(model.dual_gap_)
    # The objective is that of its point: of the first pair by hand.
    used = (labels < 2) & (weights > 0)
    K = np.tanh(0.3 * rows[used] @ model.support_vectors_.T)
    ends = model.n_support_.cumsum()
    beta = np.zeros(ends[-1])
    beta[: ends[0]], beta[ends[0] : ends[1]] = (
        model.dual_coef_[0, : ends[0]], model.dual_coef_[0, ends[0] : ends[1]],
    )  # fmt: skip
    scores = K @ beta
    own = np.tanh(0.3 * model.support_vectors_ @ model.support_vectors_.T)
    margins = np.where(labels[used] == 0, 1.0, -1.0) * (scores + model.intercept_[0])
    losses = weights[used] @ np.maximum(1.0 - margins, 0.0)
    assert_allclose(model.objective_[0], 0.5 * beta @ own @ beta + losses, rtol=1e-9)


def test_a_function_that_is_definite_for_sums_of_zero_is_certified_for_many_classes():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(25), 4)
    rows = rng.normal(size=(25, 5))[labels] + 0.5 * rng.normal(size=(100, 5))

    def energy(A, B):
        return -np.sqrt(((A[:, None] - B) ** 2).sum(axis=2))

    model = ScreenedSVC(kernel=energy, tol=1e-9, decision_function_shape="ovo")
    model.fit(rows, labels)
    peer = SVC(kernel=energy, tol=1e-10, decision_function_shape="ovo").fit(rows, labels)
    assert model.dual_gap_ <= 1e-9
    assert_allclose(model.decision_function(rows), peer.decision_function(rows), atol=1e-3)


def test_hundreds_of_classes_have_the_labels_of_svc():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(90), 4)
    rows = rng.normal(size=(90, 10))[labels] + 0.5 * rng.normal(size=(360, 10))
    model, peer = ScreenedSVC().fit(rows, labels), SVC(tol=1e-8).fit(rows, labels)
    new = rows + 0.1 * rng.normal(size=rows.shape)
    assert_array_equal(model.predict(new), peer.predict(new))
    assert model.objective_.shape == (4005,) and model.dual_gap_ <= 1e-6


def test_a_matrix_in_the_order_of_classes_is_read_and_not_written():
    order = np.argsort(y, kind="stable")
    K = rbf_kernel(X[order], gamma=0.1)
    kept = K.copy()
    found = pairs(kernel="precomputed").fit(K, y[order])
    assert_array_equal(K, kept)
    moved = pairs(kernel="precomputed").fit(rbf_kernel(X, gamma=0.1), y)
    assert_allclose(
        found.decision_function(K), moved.decision_function(rbf_kernel(X[order], X, 0.1)), atol=1e-6
    )


def test_any_tolerance_is_a_finite_product():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = pairs(1e8, kernel="rbf", gamma=0.1, tol=1e308).fit(X, y)
    assert np.isfinite(model.objective_).all()


def test_sparse_pairs_keep_the_fewer_entries():
    rng, n, d = np.random.default_rng(0), 1500, 20_000
    y = rng.integers(4, size=n)
    own = rng.integers(50, size=(n, 4)) + 50 * y[:, None]
    columns = np.hstack([rng.integers(d, size=(n, 15)), own])
    rows = np.repeat(np.arange(n), columns.shape[1])
    X = sparse.csr_matrix((rng.uniform(0.5, 1.0, columns.size), (rows, columns.ravel())), (n, d))
    model = ScreenedSVC(kernel="linear").fit(X, y)
    # Each support vector is in up to three problems.
    assert "coef_" not in vars(model)
    assert model.support_vectors_.nnz < model.coef_.nnz
    scores = X @ model.coef_.toarray().T + model.intercept_
    found = model.set_params(decision_function_shape="ovo").decision_function(X)
    assert_allclose(found, scores, atol=1e-12)
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        part, w = (y == i) | (y == j), model.coef_[[k]].toarray().ravel()
        losses = np.maximum(1.0 - np.where(y[part] == i, 1.0, -1.0) * scores[part, k], 0.0)
        assert 0.5 * w @ w + losses.sum() == pytest.approx(model.objective_[k], rel=1e-8)
