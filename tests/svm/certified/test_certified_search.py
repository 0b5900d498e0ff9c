import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_info

from skscreen import ScreenedSVC, ScreenedSVCCV
from skscreen.svm.certified.api import Training
from skscreen.svm.certified.search import CertifiedSearch, Piece

X, y = make_classification(240, 6, n_informative=3, flip_y=0.15, random_state=1)
X = scale(X)
GRID = np.geomspace(1e-3, 10.0, 6)


LINEAR = {"kernel": "linear", "intercept": "penalised"}


def folds(n=2, **options):
    out = []
    for k in range(n):
        test = np.arange(len(y)) % n == k if n > 1 else np.arange(len(y)) % 2 == 0
        training = Training(ScreenedSVC(**{**LINEAR, **options}), X[~test], y[~test], None)
        out.append(training.fold(X[test], y[test]))
    return out


def search(parts, eps=0.02, **options):
    settings = {"tol": 1e-6, "max_solves": 500, **options}
    return CertifiedSearch(parts, eps, **settings)


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [LINEAR, {"kernel": "rbf", "gamma": 0.2}])
def test_bounds_cover_the_range_and_meet_the_target(options):
    bounds = search(folds(**options)).run(GRID)
    assert bounds.edges[0] == GRID[0] and bounds.edges[-1] == GRID[-1]
    assert np.all(np.diff(bounds.edges) > 0.0)
    assert len(bounds.edges) == len(bounds.lower) + 1 == len(bounds.upper) + 1
    assert np.all(bounds.lower <= bounds.upper)
    assert bounds.eps <= 0.02 + 1e-10
    assert set(GRID) <= set(bounds.Cs) and np.all(np.diff(bounds.Cs) > 0.0)
    assert np.all(bounds.errors <= bounds.errors_upper)
    # At a solved C both neighbouring parts hold.
    for C, error in zip(bounds.Cs, bounds.errors, strict=True):
        inside = (bounds.edges[:-1] <= C) & (bounds.edges[1:] >= C)
        assert np.all(bounds.lower[inside] <= error + 1e-12)
        assert np.all(error <= bounds.upper[inside] + 1e-12)


def test_smaller_eps_needs_more_solves_and_keeps_its_promise():
    counts = []
    for eps in (0.2, 0.03, 0.01):
        bounds = search(folds(1), eps).run(GRID)
        assert bounds.eps <= eps + 1e-10
        counts.append(len(bounds.Cs))
    assert counts[0] == len(GRID) < counts[1] < counts[2]


def test_the_limit_of_solves():
    bounds = search(folds(1), 0.01, max_solves=8).run(GRID)
    assert len(bounds.Cs) <= 8 and bounds.eps > 0.01
    assert bounds.edges[0] == GRID[0] and bounds.edges[-1] == GRID[-1]
    # What was not reached is still bounded.
    assert bounds.lower.min() >= 0.0 and bounds.upper.max() <= 1.0
    assert np.all(np.diff(bounds.edges) > 0.0)


@pytest.mark.slow
def test_threads_change_nothing():
    one, two = (search(folds(3), n_jobs=n_jobs).run(GRID) for n_jobs in (1, 2))
    for name in ("edges", "lower", "upper", "Cs", "errors"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def test_progress_ends_at_one():
    seen = []
    search(folds(1), report=lambda done, text: seen.append((done, text))).run(GRID)
    assert seen[-1][0] == 1.0 and all(0.0 <= done <= 1.0 for done, _ in seen)
    assert "solved=" in seen[-1][1]


def test_loose_points_are_solved_better():
    (fold,) = folds(1)
    fold.solve([0.01, 1.0], 0.9, share=0.05)
    assert fold.paths[0].solved[1.0].certificate.relative_gap < 1e-2


def test_pieces():
    piece = Piece(1.0, 3.0)
    assert piece.whole and piece.interval == (1.0, 3.0) and piece.ends == (1.0, 3.0)
    parts = piece.parts()
    assert [part.ends for part in parts] == [(1.0, 1.5), (1.5, 2.5), (2.5, 3.0)]
    assert parts[1].middle().ends == (2.0, 2.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("several", [False, True])
def test_validation_samples_without_weight_do_not_count(several):
    labels = (y + (np.arange(240) % 5 == 0)) if several else y
    options = {"multi_class": "ovr"} if several else {}
    training = Training(ScreenedSVC(**LINEAR, **options), X[:160], labels[:160], None)
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    strange = np.where(np.arange(80) < 60, labels[160:], 7)
    found = search([training.fold(X[160:], strange, weights)]).run(GRID)
    expected = search([training.fold(X[160:220], labels[160:220])]).run(GRID)
    assert_array_equal(found.errors, expected.errors)
    assert_array_equal(found.lower, expected.lower)


@pytest.mark.slow
def test_threads_of_folds_leave_blas_as_it_was():
    before = [lib["num_threads"] for lib in threadpool_info()]
    ScreenedSVCCV(3, certify=0.05, intercept="penalised", n_jobs=2).fit(X, y)
    assert [lib["num_threads"] for lib in threadpool_info()] == before
