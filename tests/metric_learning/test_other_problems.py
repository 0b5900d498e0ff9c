"""The squared hinge and a linear term (Yoshida et al. 2019, section 6.3), against Clarabel."""

import warnings
from itertools import product

import numpy as np
import pytest
from cases import every_pair, some
from metric_cases import IRIS_X, IRIS_Y, X, explicit, rtlm, vector_or_matrix, y
from rtlm_reference import Explicit, brute_force_triplets, item_matrices, small_data

from skscreen import (
    RTLMPairsClassifier,
    RTLMQuadrupletsClassifier,
    RTLMTripletsClassifier,
    ScreenedRTLM,
    ScreenedRTLMCV,
    rtlm_path,
    screen_triplets,
)
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES

KINDS = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
SQUARED = {"gamma": 0.5, "most": np.inf}


def random_term(d, scale, seed=0):
    C = np.random.default_rng(seed).normal(size=(d, d))
    return scale * (C + C.T)


def negative_term(A, C):
    """-C as the reference takes it."""
    return -(np.diag(C) if A.ndim == 2 else C)


@pytest.mark.few(1)
@KINDS
@pytest.mark.parametrize("lam", [1.0, 0.1, 0.01, 1e-3, 1e-4])
def test_squared_hinge_has_the_objective_of_clarabel(lam, diagonal):
    options = {"loss": "squared_hinge", "diagonal": diagonal}
    model = rtlm(lam=lam, tol=1e-10, **options).fit(X, y)
    problem = Explicit(item_matrices(X, brute_force_triplets(X, y, 3), diagonal), **SQUARED)
    assert model.lam_max_ == pytest.approx(problem.lam_max(), rel=1e-9)
    best = problem.optimum(model.lam_)
    assert model.objective_ == pytest.approx(best.primal, rel=1e-8)
    assert problem.primal(vector_or_matrix(model), model.lam_) == pytest.approx(
        best.primal, rel=1e-8
    )
    assert 0.0 <= model.dual_gap_ <= 1e-10


@pytest.mark.few(1)
@every_pair(
    term=["trace", "any", "negative"],
    loss=["smoothed_hinge", "hinge", "squared_hinge"],
    diagonal=[False, True],
)
@pytest.mark.slow
def test_a_linear_term_has_the_objective_of_clarabel(term, loss, diagonal):
    triplets = brute_force_triplets(X, y, 3)
    A, d = item_matrices(X, triplets, diagonal), X.shape[1]
    C = {"trace": np.eye(d), "any": random_term(d, 20.0), "negative": -30.0 * np.eye(d)}[term]
    given = "trace" if term == "trace" else C
    settings = SQUARED if loss == "squared_hinge" else {"gamma": 0.05 * (loss != "hinge")}
    problem = Explicit(A, linear_term=negative_term(A, C), **settings)
    for lam in (0.3, 0.01):
        model = rtlm(lam=lam, loss=loss, diagonal=diagonal, linear_term=given, tol=1e-10).fit(X, y)
        assert model.lam_max_ == pytest.approx(problem.lam_max(), rel=1e-9)
        best = problem.optimum(model.lam_)
        assert model.objective_ == pytest.approx(best.primal, rel=1e-8)
        found = problem.primal(vector_or_matrix(model), model.lam_)
        assert found == pytest.approx(best.primal, rel=1e-8)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(("diagonal", "options"), some(product([False, True], [
    {"loss": "squared_hinge"}, {"linear_term": "any"},
    {"loss": "squared_hinge", "linear_term": "any"},
]), 0, 4, 2), ids=str)  # fmt: skip
def test_no_decision_is_wrong_and_paths_are_certified(options, diagonal):
    X, y, _ = small_data("wine")
    if "linear_term" in options:
        options = {**options, "linear_term": random_term(X.shape[1], 20.0)}
    settings = {"n_neighbors": 3, "diagonal": diagonal, **options}
    path = rtlm_path(X, y, ratio=0.6, n_lams=10, tol=1e-8, **settings)
    assert path.dual_gaps.max() <= 1e-8
    reference = path[6]
    triplets = screen_triplets(X, y, lam=path.lams[7], reference=reference,
                               relative_lam=False).triplets_  # fmt: skip
    A = item_matrices(X - X.mean(axis=0), triplets, diagonal)
    term = negative_term(A, settings["linear_term"]) if "linear_term" in options else 0.0
    squared = "loss" in options
    problem = Explicit(A, linear_term=term, **(SQUARED if squared else {"gamma": 0.05}))
    n_decided = 0
    for t in (7, 8):
        best = problem.optimum(path.lams[t])
        assert path.objectives[t] == pytest.approx(best.primal, rel=1e-7)
        low, high = best.margins - best.uncertainty, best.margins + best.uncertainty
        for bound in (*BOUNDS, list(BOUNDS)):
            for rule in RULES:
                codes = screen_triplets(X, y, lam=path.lams[t], reference=reference, bound=bound,
                                        rule=rule, relative_lam=False).codes_  # fmt: skip
                assert np.all(high[codes == 1] >= 1.0)
                assert np.all(low[codes == 2] <= 0.95) and not (squared and np.any(codes == 2))
                n_decided += np.count_nonzero(codes)
    assert n_decided > 500
    screened = rtlm_path(X, y, lams=path.lams, relative_lam=False, tol=1e-8, bound=tuple(BOUNDS),
                         rule="linear", ranges=True, **settings)  # fmt: skip
    np.testing.assert_allclose(screened.objectives, path.objectives, rtol=1e-7)


def test_long_rows_and_weights_with_the_squared_hinge():
    """All neighbours: passes in order of distance; weights of samples: repeated ones."""
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(230, 4)), np.arange(230) % 2
    Z[:, 0] += labels
    model = ScreenedRTLM(0.05, loss="squared_hinge", n_neighbors=None, tol=1e-9).fit(Z, labels)
    M, margins = model.get_mahalanobis_matrix(), []
    D = np.einsum("ijk,kl,ijl->ij", Z[:, None] - Z, M, Z[:, None] - Z)
    for i in range(len(Z)):
        own = np.flatnonzero((labels == labels[i]) & (np.arange(len(Z)) != i))
        margins.append((D[i, labels != labels[i]][None] - D[i, own][:, None]).ravel())
    losses = np.maximum(1.0 - np.concatenate(margins), 0.0) ** 2
    value = losses.sum() + 0.5 * model.lam_ * np.vdot(M, M)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    options = {"loss": "squared_hinge", "relative_lam": False, "tol": 1e-10}
    triplets = brute_force_triplets(IRIS_X, IRIS_Y, 2)
    weights = np.arange(len(triplets)) % 3
    weighted = ScreenedRTLM(5.0, **options).fit(
        IRIS_X, triplets=triplets, comparison_weight=weights
    )
    repeated = ScreenedRTLM(5.0, **options).fit(IRIS_X, triplets=np.repeat(triplets, weights, 0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)


@pytest.mark.few(1)
@KINDS
def test_features_that_no_sample_differs_in(diagonal):
    """Only a term that cannot reach them lets them go; and few samples of many features."""
    rng = np.random.default_rng(1)
    Z, labels = rng.normal(size=(14, 20)), np.arange(14) % 2
    Z[:, 4] = 3.0
    for C in (np.eye(20), random_term(20, 0.5), -0.5 * np.eye(20)):
        options = {"diagonal": diagonal, "linear_term": C, "n_neighbors": 3, "tol": 1e-9}
        model = ScreenedRTLM(0.2, **options).fit(Z, labels)
        A = item_matrices(Z - Z.mean(axis=0), brute_force_triplets(Z, labels, 3), diagonal)
        best = Explicit(A, 0.05, linear_term=negative_term(A, C)).optimum(model.lam_)
        assert model.objective_ == pytest.approx(best.primal, rel=1e-7)
        np.testing.assert_allclose(
            vector_or_matrix(model), best.theta, atol=1e-4 * np.abs(best.theta).max()
        )


def test_the_trace_norm_lowers_the_rank_and_a_large_one_leaves_nothing():
    plain, some = (rtlm(lam=0.001, linear_term=t).fit(X, y) for t in (None, 300.0 * np.eye(13)))
    assert some.components_.shape[0] < plain.components_.shape[0]
    with pytest.warns(UserWarning, match=r"\blinear_term\b"):
        nothing = rtlm(linear_term=1e7 * np.eye(13)).fit(X, y)
    assert not nothing.get_mahalanobis_matrix().any()


def test_units_of_the_data_and_relative_lambda():
    """<C, M> stays as it is if the data are scaled by a power of two, C with their square."""
    for loss in ("smoothed_hinge", "squared_hinge"):
        one = rtlm(linear_term=np.eye(13), loss=loss).fit(X, y)
        for factor in (2.0**180, 2.0**-180):
            term = factor**2 * np.eye(13)
            if factor > 1.0:
                with pytest.raises(ValueError, match=r"^linear_term\b"):
                    rtlm(linear_term=term, loss=loss).fit(factor * X, y)
                continue
            other = rtlm(linear_term=term, loss=loss).fit(factor * X, y)
            assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)
    with pytest.raises(ValueError, match=r"^linear_term\b"):
        rtlm(linear_term="trace").fit(1e-150 * X, y)
    for factor in (1e-60, 1e150):
        # Beside the one the term is all, beside the other nothing.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = rtlm(linear_term="trace").fit(factor * X, y)
        assert model.dual_gap_ <= 1e-6
        assert model.get_mahalanobis_matrix().any() == (factor > 1.0)


def test_a_diagonal_may_be_given_alone_and_cv_takes_both():
    C = random_term(13, 5.0)
    models = [rtlm(diagonal=True, linear_term=c).fit(X, y) for c in (C, np.diag(C), np.diag(C) * 1)]
    assert models[0].objective_ == models[1].objective_ == models[2].objective_
    search = ScreenedRTLMCV(3, loss="squared_hinge", linear_term="trace", cv=2).fit(X, y)
    assert search.best_estimator_.get_params()["linear_term"] == "trace"
    assert explicit(X, brute_force_triplets(X, y, 3), models[0]).A.shape[1:] == (13,)


@pytest.mark.parametrize("term, text", [
    ("identity", "'trace'"), (np.eye(3), r"^linear_term\b"),
    (np.ones(13), r"got shape \(13,\)"), ([["a"] * 13] * 13, "a"),
    (np.triu(np.ones((13, 13))), r"^linear_term\b"),
    (np.diag([np.nan] + [0.0] * 12), "contains NaN"), (np.full((13, 13), 1e50), "1e\\+50"),
])  # fmt: skip
def test_linear_terms_that_are_none(term, text):
    with pytest.raises(ValueError, match=text):
        rtlm(linear_term=term).fit(X, y)


@pytest.mark.parametrize("kind", [RTLMTripletsClassifier, RTLMQuadrupletsClassifier])
@pytest.mark.parametrize("options", [{"linear_term": "trace"}, {"linear_term": "any"}], ids=str)
def test_tuple_learners_take_a_linear_term(kind, options):
    if options["linear_term"] == "any":
        options = {"linear_term": random_term(X.shape[1], 20.0)}
    triplets = brute_force_triplets(X, y, 3)
    rows = triplets if kind is RTLMTripletsClassifier else triplets[:, [0, 1, 0, 2]]
    model = kind(lam=0.1, preprocessor=X, tol=1e-9, **options).fit(rows)
    same = rtlm(lam=0.1, tol=1e-9, **options).fit(X, triplets=triplets)
    assert model.objective_ == pytest.approx(same.objective_, rel=1e-8)
    plain = kind(lam=0.1, preprocessor=X).fit(rows)
    assert model.objective_ != pytest.approx(plain.objective_, rel=1e-4)


def test_pairs_learn_a_metric_of_smaller_rank_with_the_trace():
    rng = np.random.default_rng(0)
    pairs = rng.permutation(len(X))[: len(X) // 2 * 2].reshape(-1, 2)
    alike = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    plain, some = (
        RTLMPairsClassifier(preprocessor=X, linear_term=term).fit(pairs, alike)
        for term in (None, 300.0 * np.eye(X.shape[1]))
    )
    assert len(some.components_) < len(plain.components_)


@KINDS
def test_squared_hinge_of_bounds_that_are_large_numbers(diagonal):
    """In other units, with bounds of thousands, it is the same metric, of the same problem."""
    n, some = len(IRIS_X), np.arange(0, len(IRIS_X) - 1, 2)
    near, far = np.column_stack([some, some + 1]), np.column_stack([some, (some + n // 2) % n])
    models = [
        ScreenedRTLM(lam=0.1, loss="squared_hinge", diagonal=diagonal, tol=1e-9).fit(
            IRIS_X * unit,
            pairs=(near, far, np.full(some.size, unit**2), np.full(some.size, 4.0 * unit**2)),
        )
        for unit in (1.0, 100.0)
    ]
    metrics = [model.get_mahalanobis_matrix() for model in models]
    np.testing.assert_allclose(*metrics, rtol=0.0, atol=1e-6 * np.abs(metrics[0]).max())
    assert models[1].objective_ == pytest.approx(1e8 * models[0].objective_, rel=1e-8)


def test_a_reference_beyond_the_largest_number_is_refused():
    model = ScreenedRTLM().fit(IRIS_X, IRIS_Y)
    model.components_ = 1e200 * model.components_
    with pytest.raises(ValueError, match=r"^reference has"):
        screen_triplets(IRIS_X, IRIS_Y, lam=0.1, reference=model)
