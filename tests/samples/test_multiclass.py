import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skscreen import ScreenedSVC
from skscreen.samples.labels import read_labels
from skscreen.samples.multiclass import OneVsOne, OneVsRest
from skscreen.svm.problem import divided_as

X = np.zeros((6, 1))
Y = np.array(["b", "c", "a", "b", "c", "a"])


def labels(y=Y, weights=None):
    return read_labels(np.asarray(y), weights, None)


def test_two_classes_are_one_problem_either_way():
    for name in ("ovr", "ovo"):
        problems = divided_as(ScreenedSVC(multi_class=name), Y[:2], None)
        assert isinstance(problems, OneVsRest) and problems.n_problems == 1
        assert_array_equal(problems.signs(0), [-1.0, 1.0])
        assert_allclose(problems.dual_coefs([np.array([-0.5, 0.5])]), [[-0.5, 0.5]])


def test_three_classes_are_as_many_problems_as_asked_for():
    for name, kind in {"ovr": OneVsRest, "ovo": OneVsOne}.items():
        assert isinstance(divided_as(ScreenedSVC(multi_class=name), Y, None), kind)


def test_pairs_in_the_order_of_scikit_learn():
    problems = OneVsOne(labels(weights=[1.0, 2.0, 0.0, 3.0, 4.0, 5.0]))
    assert problems.pairs == [(0, 1), (0, 2), (1, 2)]
    assert problems.n_problems == 3 and problems.n_variables == 10
    # Samples of weight zero do not count: "a" is the last of five.
    assert_array_equal(problems.rows(0), [4, 0, 2])
    assert_array_equal(problems.signs(0), [1.0, -1.0, -1.0])
    assert_array_equal(problems.labels.weights[problems.rows(1)], [5.0, 2.0, 4.0])
    assert_array_equal(problems.rows(2), [0, 2, 1, 3])


def test_a_row_of_dual_coefficients_for_each_other_class():
    problems = OneVsOne(labels())
    betas = [problems.signs(k) * (np.arange(4) + 10.0 * (k + 1)) for k in range(3)]
    found = problems.dual_coefs(betas)
    # Samples b, c, a, b, c, a; row 0 of "a" is the problem with "b", row 0 of "b" that with "a".
    assert_allclose(found[0], [-12.0, -22.0, 10.0, -13.0, -23.0, 11.0])
    assert_allclose(found[1], [30.0, -32.0, 20.0, 31.0, -33.0, 21.0])


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr("skscreen.core.memory.free_memory", lambda: 1e3)
    with pytest.raises(MemoryError, match=r"^3 problems\b"):
        OneVsOne(labels()).check(10**6)
