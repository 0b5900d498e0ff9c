"""Class weights of more than two classes, one against the rest: those of `LinearSVC`.

A class weight counts in the problem of its own class, where the samples of the rest have their
sample weights alone.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from skscreen import (
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedSVC,
    ScreenedSVCCV,
    svc_certified_C,
    svc_path,
)

X, y = scale(load_wine().data), load_wine().target
S = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
FACTORS = {0: 3.0, 2: 0.5}
WEIGHTS = ["balanced", FACTORS, dict.fromkeys(range(3), 2.0)]
SQUARED, HINGE = {"loss": "squared_hinge"}, {"loss": "hinge"}


def peer(C, sample_weight=None, rows=X, **options):
    """Return `LinearSVC`, exact."""
    return LinearSVC(C=C, tol=1e-10, max_iter=10**6, **options).fit(rows, y, sample_weight)


def losses_of(class_weight, sample_weight=S):
    """Return the weights of samples in each problem by definition, (3, n)."""
    if class_weight == "balanced":
        totals = np.bincount(y, sample_weight)
        class_weight = dict(enumerate(sample_weight.sum() / (3.0 * totals)))
    factors = [class_weight.get(k, 1.0) for k in range(3)]
    return np.stack([np.where(y == k, f, 1.0) * sample_weight for k, f in enumerate(factors)])


def primals(model, C, weights, B=1.0):
    """Return the objective of each problem from the attributes."""
    scores = X @ model.coef_.T + model.intercept_
    short = np.maximum(1.0 - np.where(y[:, None] == np.arange(3), scores, -scores), 0.0)
    losses = short**2 if model.loss == "squared_hinge" else short
    w = np.column_stack([model.coef_, np.full(3, model.intercept_) / B])
    sizes = np.abs(w).sum(axis=1) if model.penalty == "l1" else 0.5 * (w**2).sum(axis=1)
    return sizes + C * (weights * losses.T).sum(axis=1)


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=["balanced", "some", "constant"])
@pytest.mark.parametrize("options", [SQUARED, HINGE, {"penalty": "l1", "dual": False}])
def test_coefficients_are_those_of_linear_svc(options, class_weight):
    options = {"intercept_scaling": 5.0, "class_weight": class_weight, **options}
    model = ScreenedLinearSVC(0.05, tol=1e-10, **options).fit(X, y, S)
    assert_allclose(model.coef_, peer(0.05, S, **options).coef_, atol=1e-6)
    value = primals(model, 0.05, losses_of(class_weight), 5.0)
    assert_allclose(model.objective_, value, rtol=1e-12)
    assert model.dual_gap_ <= 1e-10


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernels_with_one_class_against_the_rest(loss):
    options = {"loss": loss, "class_weight": FACTORS}
    ours = {"multi_class": "ovr", "intercept": "penalised", "tol": 1e-10, **options}
    theirs = peer(0.05, S, **options)
    for kernel, rows in (("linear", X), ("precomputed", X @ X.T)):
        model = ScreenedSVC(0.05, kernel=kernel, **ours).fit(rows, y, S)
        assert_allclose(model.decision_function(rows), theirs.decision_function(X), atol=1e-6)


def test_the_dual_of_each_problem_by_its_definition():
    options = {"kernel": "linear", "intercept": "penalised", "multi_class": "ovr"}
    model = ScreenedSVC(0.3, class_weight=FACTORS, tol=1e-4, **options).fit(X, y, S)
    alpha = np.zeros((3, len(y)))
    alpha[:, model.support_] = model.dual_coef_
    assert np.all(np.abs(alpha) <= 0.3 * losses_of(FACTORS) * (1.0 + 1e-12))
    w = np.column_stack([alpha @ X, alpha.sum(axis=1)])
    dual = np.abs(alpha).sum(axis=1) - 0.5 * (w**2).sum(axis=1)
    gaps = 1.0 - dual / model.objective_
    assert_allclose(model.dual_gap_, gaps.max(), rtol=1e-6, atol=1e-14)


def test_crammer_and_singer_weigh_the_true_class():
    options = {"multi_class": "crammer_singer", "class_weight": FACTORS}
    model = ScreenedLinearSVC(0.05, tol=1e-10, **options).fit(X, y, S)
    assert_allclose(model.coef_, peer(0.05, S, **options).coef_, atol=1e-6)


def test_many_sparse_columns():
    """Where problems of the same weights start from one call."""
    rng = np.random.default_rng(0)
    rows = sparse.random_array((178, 400), density=0.05, rng=rng, format="csr")
    model = ScreenedLinearSVC(class_weight=FACTORS, tol=1e-10).fit(rows, y)
    assert_allclose(model.coef_, peer(1.0, rows=rows, class_weight=FACTORS).coef_, atol=1e-6)


def test_many_classes_of_wide_rows():
    """Where problems of the same weights start from one call, too."""
    rng = np.random.default_rng(0)
    labels, options = np.arange(240) % 12, {"class_weight": {0: 5.0, 3: 0.2}}
    rows = rng.normal(size=(240, 120)) + rng.normal(size=(12, 120))[labels]
    model = ScreenedLinearSVC(0.01, tol=1e-10, **options).fit(rows, labels)
    peer = LinearSVC(C=0.01, tol=1e-10, max_iter=10**6, **options).fit(rows, labels)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)


@pytest.mark.parametrize("options", [SQUARED, HINGE])
def test_decisions_hold_at_the_optimum(options):
    options = {"class_weight": FACTORS, **options}
    found = ScreenedLinearSVC(0.05, tol=1e-2, **options).fit(X, y, S).screened(X, y, S)
    scores = peer(0.05, S, **options).decision_function(X).T
    margins = np.where(y == np.arange(3)[:, None], scores, -scores)
    low, high = np.moveaxis(found.bounds_, -1, 0)
    assert np.all((low <= margins + 1e-8) & (margins - 1e-8 <= high))
    assert found.rate_ > 0.1


def test_a_stored_solution_is_that_of_the_same_weights(tmp_path):
    """The samples of each class have the same weights in the problem of their class."""
    store, twice = tmp_path / "store", dict.fromkeys(range(3), 2.0)
    rows = np.tile(X, (2, 1)) + np.arange(2).repeat(len(y))[:, None] * 1e-3
    labels, options = np.tile(y, 2), {"kernel": "rbf", "multi_class": "ovr", "tol": 1e-9}
    for kind in ({**options}, {**options, "kernel": "linear", "intercept": "penalised"}):
        ScreenedSVC(0.5, store=store, **kind).fit(rows, labels, np.full(len(labels), 2.0))
        known = ScreenedSVC(0.6, store=store, class_weight=twice, **kind).fit(rows, labels)
        alone = ScreenedSVC(0.6, class_weight=twice, **kind).fit(rows, labels)
        assert_allclose(known.objective_, alone.objective_, rtol=1e-8)
        again = ScreenedSVC(0.7, store=store, class_weight=twice, **kind).fit(rows, labels)
        alone = ScreenedSVC(0.7, class_weight=twice, **kind).fit(rows, labels)
        assert_allclose(again.objective_, alone.objective_, rtol=1e-8)


@pytest.mark.parametrize("options", [SQUARED, HINGE, {"penalty": "l1"}])
def test_paths(options):
    theirs = {**options, "dual": options.get("penalty") != "l1", "class_weight": FACTORS}
    ours = {**options, "intercept": "penalised"}
    path = svc_path(X, y, [0.02, 0.05], kernel="linear", multi_class="ovr", tol=1e-9,
                    class_weight=FACTORS, **ours)  # fmt: skip
    for C, coef in zip(path.Cs, path.coefs, strict=True):
        assert_allclose(coef, peer(C, **theirs).coef_, atol=1e-5)


def test_searches_over_C():
    folds, Cs = StratifiedKFold(3), [1e-3, 1e-2, 0.1]
    options = {"class_weight": {0: 20.0}, "loss": "hinge"}
    theirs = GridSearchCV(LinearSVC(tol=1e-8, max_iter=10**5, **options), {"C": Cs}, cv=folds)
    theirs.fit(X, y)
    ours = {"kernel": "linear", "multi_class": "ovr", "intercept": "penalised", "tol": 1e-8}
    search = ScreenedSVCCV(Cs=Cs, cv=folds, **ours, **options).fit(X, y)
    assert_allclose(search.scores_.mean(axis=0), theirs.cv_results_["mean_test_score"])


def test_the_choice_with_proof():
    options = {"kernel": "linear", "multi_class": "ovr", "class_weight": {0: 20.0}}
    found = svc_certified_C(
        X[::2], y[::2], X[1::2], y[1::2], (1e-3, 1.0), 0.05, intercept="penalised", **options
    )
    theirs = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6, class_weight={0: 20.0})
    bounds = found.bounds
    for C in np.geomspace(1.1e-3, 0.9, 8):
        error = 1.0 - theirs.set_params(C=C).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        k = np.searchsorted(bounds.edges, C) - 1
        assert bounds.lower[k] - 1e-12 <= error <= bounds.upper[k] + 1e-12


def test_probabilities_weigh_their_folds_alike():
    """Otherwise the scores of held-out samples would be those of other problems."""
    options = {"kernel": "linear", "intercept": "penalised", "random_state": 0}
    with pytest.warns(FutureWarning):
        model = ScreenedSVC(
            0.01, multi_class="ovr", class_weight={0: 30.0}, probability=True, **options
        ).fit(X, y)  # fmt: skip
        alone = [
            ScreenedSVC(0.01, probability=True, class_weight={True: 30.0 if k == 0 else 1.0},
                        **options).fit(X, y == k).predict_proba(X)[:, 1]
            for k in range(3)
        ]  # fmt: skip
    expected = np.stack(alone, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.mean(np.abs(model.predict_proba(X) - expected)) < 0.01


def test_gap_minimisation():
    theirs = peer(0.05, S, loss="hinge", fit_intercept=False, class_weight=FACTORS)
    options = {"fit_intercept": False, "tol": 1e-9, "max_iter": 100_000}
    model = PragamSVC(0.05, class_weight=FACTORS, **options).fit(X, y, S)
    weights = losses_of(FACTORS)
    # Its objective is that of weights of sum 1.
    expected = primals(theirs, 0.05, weights) / (0.05 * weights.sum(axis=1))
    assert_allclose(model.objective_, expected, rtol=1e-7)


def test_classes_of_weight_zero_are_left_out():
    model = ScreenedLinearSVC(class_weight={1: 0.0}, tol=1e-9).fit(X, y)
    some = y != 1
    assert_allclose(model.coef_, ScreenedLinearSVC(tol=1e-9).fit(X[some], y[some]).coef_)
    assert_array_equal(model.classes_, [0, 1, 2])
