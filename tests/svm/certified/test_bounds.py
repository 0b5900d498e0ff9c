from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from svm_labelled import unlabelled
from svm_reference import gap, optimum, sloppy, squared_hinge_qp

from skscreen.samples.losses import squared_hinge
from skscreen.svm.certified.bounds import Between, Geometry, ScoredPoint
from skscreen.svm.dual import Dual


def data(name):
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = scale(X[::5]), y[::5]
    else:
        X, y = make_classification(
            150, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=3
        )
    return X, np.where(y == 1, 1.0, -1.0)


class Case:
    """A training and a validation set, known by their matrices."""

    def __init__(self, name, kernel, weighted=False):
        X, signs = data(name)
        K = (X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.1)) + 1.0
        Q = signs[:, None] * K * signs
        train, val = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
        self.Q, self.cross = Q[np.ix_(train, train)], Q[np.ix_(val, train)]
        n = int(train.sum())
        self.weights = np.random.default_rng(0).uniform(0.3, 3.0, n) if weighted else np.ones(n)
        self.geometry = Geometry(
            unlabelled(self.weights),
            np.sqrt(np.diag(self.Q)),
            np.sqrt(np.diag(Q)[val]),
            lambda rows, index: self.Q[np.ix_(rows, index)],
            lambda rows, index: self.cross[np.ix_(rows, index)],
        )

    def solve(self, C):
        return optimum(self.Q, C * self.weights)

    def point(self, C, relative_gap=None, seed=0):
        bounds, alpha = C * self.weights, solution(self, C)
        if relative_gap is not None:
            alpha = sloppy(self.Q, bounds, alpha, relative_gap, np.random.default_rng(seed))
        return ScoredPoint(C, alpha, self.Q @ alpha, self.cross @ alpha)


@cache
def known(kind, *arguments):
    """Return a case, the same for all tests: its optima are looked for once."""
    return kind(*arguments)


@cache
def solution(case, C):
    return case.solve(C)


CASES = [("cancer", "linear"), ("cancer", "rbf"), ("made", "linear"), ("made", "rbf")]


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_the_gap_is_the_largest_of_the_part(name, kernel):
    case = known(Case, name, kernel, False)
    first, last = case.point(0.1), case.point(0.3, 1e-4)
    between = Between(case.geometry, first, last)
    for start, stop in [(0.0, 1.0), (0.2, 0.4), (0.5, 0.5), (0.0, 0.0), (1.0, 1.0)]:
        gaps = []
        for t in np.linspace(start, stop, 50):
            alpha = (1.0 - t) * first.beta + t * last.beta
            C = (1.0 - t) * first.C + t * last.C
            gaps.append(gap(case.Q, C * case.weights, alpha))
        found = between.gap(start, stop)
        assert found >= max(gaps) * (1.0 - 1e-12)
        if start == stop:
            assert_allclose(found, max(gaps), rtol=1e-6, atol=1e-9)
    # No looser than the parts' sum of maxima can be.
    fine = np.linspace(0.0, 1.0, 101)
    assert max(between.gap(*ends) for ends in pairwise(fine)) <= between.gap(0.0, 1.0)


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("accuracy", "weighted"), [(None, False), (1e-6, True), (1e-3, False), (1e-1, True)]
)
@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_what_is_sure_holds_at_independent_optima(name, kernel, accuracy, weighted):
    case = known(Case, name, kernel, weighted)
    n_sure = 0
    for low, high in [(0.02, 0.03), (0.5, 0.6), (5.0, 20.0)]:
        first = case.point(low, accuracy, seed=1)
        between = Between(case.geometry, first, case.point(high, accuracy, seed=2))
        for start, stop in [(0.0, 1.0), (0.4, 0.6), (0.75, 1.0), (0.5, 0.5)]:
            wrong, right = (between.sure(start, stop, side) for side in (-1, 1))
            n_sure += int((wrong | right).sum())
            assert not np.any(wrong & right)
            for t in np.linspace(start, stop, 3):
                C = (1.0 - t) * low + t * high
                scores = case.point(C).scores
                assert np.all(scores[wrong] < 0.0)
                assert np.all(scores[right] > 0.0)
    assert n_sure > 0 or accuracy == 1e-1


def test_the_bound_itself_at_independent_optima():
    """Not only its sign: for every validation sample, whatever its score."""
    for name, kernel in CASES:
        case = known(Case, name, kernel, False)
        first, last = case.point(0.4), case.point(0.6)
        between = Between(case.geometry, first, last)
        rows = np.arange(len(first.scores))
        for sign in (-1, 1):
            for start, stop in [(0.25, 0.5), (0.5, 0.5)]:
                ends = between.regressed(rows, sign, start, stop)
                ball = sign * between.scores(start, stop) + between.reach(start, stop)
                for share in np.linspace(0.0, 1.0, 4):
                    t = start + share * (stop - start)
                    exact = sign * case.point(0.4 + 0.2 * t).scores
                    for bound in (ends, ball):
                        assert np.all(exact <= bound[0] + share * (bound[1] - bound[0]))


def test_the_regression_decides_more_than_the_ball():
    case = Case("made", "linear")
    between = Between(case.geometry, case.point(0.4), case.point(0.6))
    with_regression = sum(between.sure(0.25, 0.75, side).sum() for side in (-1, 1))
    scores, reach = between.scores(0.25, 0.75), between.reach(0.25, 0.75)
    ball_alone = sum(np.all(side * scores > reach, axis=0).sum() for side in (-1, 1))
    assert with_regression > ball_alone


def test_a_score_of_zero_is_never_sure():
    Q = np.eye(2)
    geometry = Geometry(
        unlabelled(np.ones(2)), np.ones(2), np.array([1.0, 1.0, 0.0]),
        lambda rows, index: Q[np.ix_(rows, index)],
        lambda rows, index: np.zeros((rows.size, index.size)),
    )  # fmt: skip
    point = ScoredPoint(2.0, np.ones(2), np.ones(2), np.array([0.0, -1e-16, 0.0]))
    between = Between(geometry, point, point)
    assert between.gap(0.0, 0.0) < 1e-13
    assert not between.sure(0.0, 0.0, -1).any() and not between.sure(0.0, 0.0, 1).any()


class SquaredCase(Case):
    """The same with squared hinges."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        dual = Dual.of(squared_hinge(self.weights), np.ones(self.weights.size), False)
        self.geometry = replace(self.geometry, dual=dual)

    def solve(self, C):
        return squared_hinge_qp(self.Q, C * self.weights)[0]

    def point(self, C, noise=None, seed=0):
        alpha = solution(self, C)
        if noise is not None:
            alpha = alpha * (
                1.0 + noise * np.random.default_rng(seed).uniform(-1.0, 1.0, alpha.size)
            )
        return ScoredPoint(C, alpha, self.Q @ alpha, self.cross @ alpha)

    def gap(self, C, alpha):
        """Return the duality gap of u(alpha) and alpha: primal less dual value."""
        margins, factors = self.Q @ alpha, C * self.weights
        loss = factors @ np.maximum(1.0 - margins, 0.0) ** 2
        dual = alpha.sum() - 0.25 * (alpha**2 / factors).sum() - 0.5 * alpha @ margins
        return 0.5 * alpha @ margins + loss - dual


@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_the_gap_of_squared_hinges_is_no_larger_in_the_part(name, kernel):
    case = known(SquaredCase, name, kernel, True)
    for ends in [(0.1, 0.11), (0.1, 0.3), (1.0, 30.0)]:
        first, last = case.point(ends[0]), case.point(ends[1], 1e-3)
        between = Between(case.geometry, first, last)
        for start, stop in [(0.0, 1.0), (0.2, 0.4), (0.5, 0.5), (0.0, 0.0), (1.0, 1.0)]:
            gaps = []
            for t in np.linspace(start, stop, 50):
                alpha = (1.0 - t) * first.beta + t * last.beta
                gaps.append(case.gap((1.0 - t) * first.C + t * last.C, alpha))
            found = between.gap(start, stop)
            assert found >= max(gaps) * (1.0 - 1e-9) - 1e-13
            if start == stop:
                assert_allclose(found, max(gaps), rtol=1e-5, atol=1e-9)


@pytest.mark.few(4)
@pytest.mark.slow
@pytest.mark.parametrize("noise", [None, 1e-5, 1e-2])
@pytest.mark.parametrize(("name", "kernel"), CASES)
def test_what_is_sure_of_squared_hinges_holds_at_independent_optima(name, kernel, noise):
    case, n_sure = known(SquaredCase, name, kernel, noise == 1e-5), 0
    for low, high in [(0.02, 0.03), (0.5, 0.6), (5.0, 20.0)]:
        first = case.point(low, noise, seed=1)
        between = Between(case.geometry, first, case.point(high, noise, seed=2))
        for start, stop in [(0.0, 1.0), (0.4, 0.6), (0.5, 0.5)]:
            wrong, right = (between.sure(start, stop, side) for side in (-1, 1))
            n_sure += int((wrong | right).sum())
            for t in np.linspace(start, stop, 3):
                scores = case.point((1.0 - t) * low + t * high).scores
                assert np.all(scores[wrong] < 0.0)
                assert np.all(scores[right] > 0.0)
    assert n_sure > 0
