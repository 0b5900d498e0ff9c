"""Triplet screening as a step of its own: the printed rules, and optima of Clarabel."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from rtlm_reference import Explicit, item_matrices
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from skscreen import ScreenedRTLM, ScreenedRTLMCV, rtlm_path, screen_triplets
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES

IRIS, WINE = (load(return_X_y=True) for load in (load_iris, load_wine))
SETS = {"iris": (scale(IRIS[0])[::3], IRIS[1][::3]), "wine": (scale(WINE[0])[::3], WINE[1][::3])}
KINDS = pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])


def explicit(X, triplets, diagonal):
    Z = X - X.mean(axis=0)
    return Explicit(item_matrices(Z, triplets, diagonal), 0.05)


def printed_balls(problem, M, reference_lam, lam):
    """Centre and squared radius of GB, PGB, DGB and RRPB as printed; alpha the subgradient at M."""
    alpha = problem.dual_variables(problem.margins(M))
    S = problem.adjoint(alpha)
    upper, _ = problem.split(S)
    G = lam * M - S
    Q = M - G / (2 * lam)
    positive, negative = problem.split(Q)
    square = np.vdot(G, G) / (4 * lam**2)

    def gap(at):
        return problem.primal(M, at) - problem.dual(alpha, at)

    size = np.linalg.norm(M)
    radius = abs(reference_lam - lam) / (2 * lam) * size
    radius += max(reference_lam, lam) / lam * np.sqrt(2 * gap(reference_lam) / reference_lam)
    assert upper.shape == M.shape
    return {
        "gb": (Q, square),
        "pgb": (positive, square - np.vdot(negative, negative)),
        "dgb": (M, 2 * gap(lam) / lam),
        "rrpb": ((reference_lam + lam) / (2 * lam) * M, radius**2),
    }


@pytest.mark.few(3)
@KINDS
@pytest.mark.parametrize("name", SETS)
def test_decisions_of_the_sphere_rule_are_the_printed_ones(name, diagonal):
    """Each triplet by its own norm: in number within .001, and none more."""
    X, y = SETS[name]
    for lam in (0.3, 0.03, 0.003):
        reference = ScreenedRTLM(lam=lam, diagonal=diagonal, n_neighbors=4, tol=1e-7).fit(X, y)
        target = 0.95 * reference.lam_
        for bound in ("gb", "pgb", "dgb", "rrpb"):
            found = screen_triplets(
                X, y, lam=target, reference=reference, bound=bound, relative_lam=False
            )
            problem = explicit(X, found.triplets_, diagonal)
            M = reference.get_mahalanobis_matrix()
            M = np.diag(M) if diagonal and M.ndim == 2 else M
            Q, square = printed_balls(problem, M, reference.lam_, target)[bound]
            reach, margins = np.sqrt(max(square, 0.0)) * problem.norms, problem.margins(Q)
            printed = np.where(margins - reach > 1.0, 1, np.where(margins + reach < 0.95, 2, 0))
            assert np.all((found.codes_ == printed) | (found.codes_ == 0))
            assert np.mean(printed != 0) - found.rate_ <= 1e-3


@pytest.mark.few(1)
@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("name", SETS)
def test_no_decision_is_wrong_and_rules_are_ordered(name, diagonal):
    """Against Clarabel, from exact, loose and random references; item by item."""
    X, y = SETS[name]
    rng, n_decided = np.random.default_rng(0), 0
    exact = ScreenedRTLM(lam=0.05, diagonal=diagonal, n_neighbors=3, tol=1e-9).fit(X, y)
    loose = ScreenedRTLM(lam=0.05, diagonal=diagonal, n_neighbors=3, tol=1e-2).fit(X, y)
    d = X.shape[1]
    noise = rng.normal(size=(d, d))
    M = exact.get_mahalanobis_matrix()
    M = np.diag(M) if diagonal and M.ndim == 2 else M
    random = np.abs(M + 1e-3 * rng.normal(size=d)) if diagonal else M + 1e-3 * noise @ noise.T
    triplets = screen_triplets(X, y, lam=0.05, reference=exact).triplets_
    problem = explicit(X, triplets, diagonal)
    for lam in (0.06, 0.02):
        best = problem.optimum(lam * exact.lam_max_)
        low, high = best.margins - best.uncertainty, best.margins + best.uncertainty
        for reference in (exact, loose, random):
            options = {"n_neighbors": 3, "diagonal": diagonal}
            bounds = (list(BOUNDS),) if reference is loose else (*BOUNDS, list(BOUNDS))
            for bound in bounds:
                before = np.zeros(len(triplets), dtype=np.int8)
                for rule in RULES:
                    found = screen_triplets(
                        X, y, lam=lam, reference=reference, bound=bound, rule=rule, **options
                    )
                    assert np.array_equal(found.triplets_, triplets)
                    codes = found.codes_
                    assert np.all(high[codes == 1] >= 1.0) and np.all(low[codes == 2] <= 0.95)
                    assert np.all(codes[before != 0] == before[before != 0])
                    before, n_decided = codes, n_decided + np.count_nonzero(codes)
    assert n_decided > 5_000


def test_ranges_hold_where_the_rule_decides():
    """Theorem 4.1: for lambda inside its range a triplet is decided, outside it is not."""
    X, y = SETS["wine"]
    reference = ScreenedRTLM(lam=0.05, n_neighbors=3, tol=1e-8).fit(X, y)
    found = screen_triplets(X, y, lam=0.05, reference=reference)
    ranges = found.intervals_
    known = ~np.isnan(ranges[:, 0])
    assert 0.5 < np.mean(known) < 1.0
    assert np.all(ranges[known, 0] < reference.lam_) and np.all(ranges[known, 1] > reference.lam_)
    for factor in (0.3, 0.7, 0.9, 0.99, 1.05, 1.5):
        lam = factor * reference.lam_
        codes = screen_triplets(X, y, lam=lam, reference=reference, relative_lam=False).codes_
        inside = (ranges[:, 0] < lam) & (lam < ranges[:, 1])
        assert np.mean(inside != (codes != 0)) < 1e-3


def test_lists_of_triplets_have_the_same_decisions():
    X, y = SETS["iris"]
    reference = ScreenedRTLM(lam=0.05, n_neighbors=3).fit(X, y)
    by_labels = screen_triplets(X, y, lam=0.045, reference=reference)
    assert by_labels.rate_ == pytest.approx(np.mean(by_labels.codes_ != 0))
    assert np.array_equal(by_labels.undecided_, np.flatnonzero(by_labels.codes_ == 0))
    assert by_labels.lam_ == pytest.approx(0.045 * reference.lam_max_)
    i, j, l = by_labels.triplets_.T
    assert np.all(y[i] == y[j]) and np.all(y[i] != y[l]) and np.all(i != j)
    order = np.random.default_rng(0).permutation(len(i))
    listed = screen_triplets(
        X, triplets=by_labels.triplets_[order], lam=by_labels.lam_, reference=reference,
        relative_lam=False,
    )  # fmt: skip
    assert np.mean(listed.codes_ != by_labels.codes_[order]) < 2e-3
    # Labels that are not known have no triplets.
    part = np.where(np.arange(len(y)) % 5 == 0, -1, y)
    found = screen_triplets(
        X, part, lam=0.045, reference=reference.get_mahalanobis_matrix(), unlabelled=-1,
        n_neighbors=3,
    )  # fmt: skip
    assert not np.isin(found.triplets_, np.flatnonzero(part == -1)).any()
    assert "undecided" in repr(found)


@KINDS
def test_any_unit_of_the_data_and_constant_features(diagonal):
    X, y = SETS["iris"]
    X = np.hstack([X, np.ones((len(X), 1))])
    options = {"diagonal": diagonal, "n_neighbors": 3}
    reference = ScreenedRTLM(lam=0.05, **options).fit(X, y)
    found = screen_triplets(X, y, lam=0.045, reference=reference)
    listed = screen_triplets(X, triplets=found.triplets_, lam=0.045, reference=reference)
    assert found.rate_ > 0.3 and np.mean(found.codes_ != listed.codes_) < 0.01
    large = X * 2.0**200
    other = ScreenedRTLM(lam=0.05, **options).fit(large, y)
    scaled = screen_triplets(large, y, lam=0.045, reference=other)
    assert np.mean(scaled.codes_ != found.codes_) < 0.02
    assert scaled.lam_ == pytest.approx(0.045 * other.lam_max_)
    assert np.all(np.isnan(scaled.intervals_) | (scaled.intervals_ > 0.0))


def test_few_samples_of_many_features_and_constant_ones():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 30)), np.arange(12) % 2
    X[:, 3] = 1.0
    reference = ScreenedRTLM(lam=0.2, n_neighbors=2, tol=1e-8).fit(X, y)
    found = screen_triplets(X, y, lam=0.19, reference=reference)
    listed = screen_triplets(X, triplets=found.triplets_, lam=0.19, reference=reference)
    assert found.rate_ > 0.1 and np.mean(found.codes_ != listed.codes_) < 0.02


def test_arguments_that_do_not_fit_are_named():
    X, y = SETS["iris"]
    M = np.eye(X.shape[1])
    for reference, error, text in [
        (ScreenedRTLM(), ValueError, "not fitted"), (np.eye(3), ValueError, r"^reference\b"),
        ("none", ValueError, r"^reference\b"),
        (make_pipeline(StandardScaler(), ScreenedRTLM()).fit(X, y), TypeError, "Of a pipeline"),
        (ScreenedRTLM().fit(X[:, :3], y), ValueError, r"^reference\b"),
        (np.triu(M + 1.0), ValueError, r"^reference\b"),
        (M - 0.5 * np.ones(M.shape), ValueError, r"^reference\b"),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            screen_triplets(X, y, lam=0.1, reference=reference)
    for name, value in [("lam", 0.0), ("rule", "best"), ("bound", "best"), ("triplets", [[0, 1]])]:
        arguments = {"lam": 0.1, "reference": M, name: value}
        with pytest.raises((ValueError, TypeError), match=name):
            screen_triplets(X, y, **arguments)
    with pytest.raises(TypeError, match="'pul'"):
        screen_triplets(X, y, lam=0.1, reference=M, pul=1e-3)
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_triplets(X, y, lam=0.1, reference=-M[0], diagonal=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = ScreenedRTLM().fit(frame, y)
    with pytest.raises(ValueError, match=r"^reference\b"):
        screen_triplets(frame[list("dcba")], y, lam=0.1, reference=fitted)
    given = inspect.signature(screen_triplets).parameters
    assert given["n_neighbors"].default == given["loss"].default == "reference"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [ScreenedRTLM(), ScreenedRTLMCV(3, cv=2)], ids=["fit", "search"])
def test_no_fitted_model_keeps_samples(kind):
    """Nor does one of a path: what is pickled does not grow with the samples."""
    rng = np.random.default_rng(0)
    sizes = []
    for n in (100, 4000):
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 4)) + y[:, None]
        model = clone(kind).fit(X, y)
        on_path = rtlm_path(X, y, n_lams=2)[1]
        for found in (model, on_path):
            # The number of steps differs, and with it their tables.
            for name in [name for name in vars(found) if name.endswith("history_")]:
                delattr(found, name)
            vars(found).pop("best_estimator_", None)
        sizes.append([len(pickle.dumps(found)) for found in (model, on_path)])
    np.testing.assert_allclose(sizes[0], sizes[1], atol=300)


def test_what_a_fit_proves_about_samples():
    X, y = SETS["wine"]
    model = ScreenedRTLM(lam=0.05, n_neighbors=3, tol=1e-8).fit(X, y)
    model = pickle.loads(pickle.dumps(model))
    screened = model.screened(X, y)
    assert screened.rate_ > 0.9 and screened.lam_ == pytest.approx(model.lam_)
    problem = explicit(X, screened.triplets_, False)
    margins = problem.margins(model.get_mahalanobis_matrix())
    assert np.all(margins[screened.codes_ == 1] > 1.0)
    assert np.all(margins[screened.codes_ == 2] < 0.95)
    listed = ScreenedRTLM(lam=0.05, tol=1e-8).fit(X, triplets=screened.triplets_)
    same = listed.screened(X, triplets=screened.triplets_)
    assert np.mean(same.codes_ != screened.codes_) < 0.01
    np.testing.assert_array_equal(same.triplets_, screened.triplets_)
    with pytest.raises(ValueError, match="features"):
        model.screened(X[:, 1:], y)
    with pytest.raises(NotFittedError):
        ScreenedRTLM().screened(X, y)


def test_what_a_fit_proves_with_weights():
    """A weight of two is a triplet that is there twice; a metric of other samples proves less."""
    X, y = SETS["wine"]
    weights = 1.0 + np.arange(len(y)) % 2
    model = ScreenedRTLM(lam=0.05, n_neighbors=3, tol=1e-8).fit(X, y, sample_weight=weights)
    screened = model.screened(X, y, weights)
    twice = np.repeat(screened.triplets_, weights[screened.triplets_[:, 0]].astype(int), axis=0)
    listed = ScreenedRTLM(lam=model.lam_, relative_lam=False, tol=1e-8).fit(X, triplets=twice)
    np.testing.assert_allclose(listed.objective_, model.objective_, rtol=1e-6)
    best = listed.get_mahalanobis_matrix()
    margins = explicit(X, screened.triplets_, False).margins(best)
    assert screened.rate_ > 0.9
    assert np.all(margins[screened.codes_ == 1] > 1.0)
    assert np.all(margins[screened.codes_ == 2] < 0.95)
    assert model.screened(X[1:], y[1:], weights[1:]).rate_ < screened.rate_


def test_what_a_path_proves():
    X, y = SETS["wine"]
    triplets = ScreenedRTLM(n_neighbors=3).fit(X, y).screened(X, y).triplets_
    paths = rtlm_path(X, y, n_lams=4, n_neighbors=3), rtlm_path(X, triplets=triplets, n_lams=4)
    for path, given in zip(paths, ({"y": y}, {"triplets": triplets}), strict=True):
        for k, lam in enumerate(path.lams):
            found = path.screened(lam)
            assert found.lam_ == pytest.approx(lam)
            np.testing.assert_array_equal(found.codes_, path[k].screened(X, **given).codes_)
        with pytest.raises(ValueError, match=r"^lam\b"):
            path.screened(0.5 * lam)
    pairs = triplets[:9, [0, 1]], triplets[:9, [0, 2]], 1.0, 2.0
    path = rtlm_path(X, pairs=pairs, n_lams=2)
    with pytest.raises(ValueError, match="triplets"):
        path.screened(path.lams[1])
