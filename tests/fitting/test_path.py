"""What paths share."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skscreen.core.certificate import Certificate
from skscreen.fitting.path import PathResult, forget, solve_path, warn_unless_converged

MODEL = SimpleNamespace(verbose=0)


def solution(C, gap=1e-9, converged=True, n_iter=3):
    return SimpleNamespace(
        certificate=Certificate(2.0, 2.0 - gap, gap), converged=converged, n_iter=n_iter,
        seconds=0.5, history=("event",), place=f"C={C:g}", line="",
    )  # fmt: skip


class Path(PathResult):
    def __getitem__(self, index):
        return self.solutions[index].place


def test_arrays_have_an_entry_a_solution():
    path = Path(MODEL, (solution(0.1), solution(1.0, gap=1e-6, converged=False)))
    assert len(path) == 2 and list(path) == [path[0], path[1]] == ["C=0.1", "C=1"]
    assert np.array_equal(path.dual_gaps, [5e-10, 5e-7])
    assert np.array_equal(path.objectives, [2.0, 2.0]) and np.array_equal(path.n_iters, [3, 3])
    assert np.array_equal(path.converged, [True, False]) and path.seconds.sum() == 1.0
    assert repr(path) == ("Path(2 solutions from C=0.1 to C=1, relative duality gaps <= 5.0e-07)")


def test_an_interrupt_ends_a_path_and_what_was_solved_stays():
    def steps(n):
        for t in range(n):
            yield solution(t), t / 3
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"\b2 values\b"):
        assert len(solve_path(MODEL, steps(2), 3, "C")) == 2
    with pytest.raises(KeyboardInterrupt):
        solve_path(MODEL, steps(0), 3, "C")


def test_the_worst_solution_is_warned_of():
    missed = [solution(C, gap, False, n_iter=7) for C, gap in ((1, 0.1), (2, 0.4), (3, 0.2))]
    with pytest.warns(ConvergenceWarning, match=r"^7 .*2\.00e-01.*tol=1e-06.*C=2"):
        warn_unless_converged([solution(0), *missed], 1e-6, 7, ("raise it", "rounding"))
    with pytest.warns(ConvergenceWarning, match="rounding"):
        warn_unless_converged(missed, 1e-6, None, ("raise it", "rounding"))
    warn_unless_converged([solution(0)], 1e-6, 7, ("raise it", "rounding"))


def test_what_a_fit_has_set_is_forgotten():
    model = BaseEstimator()
    vars(model).update(C=1.0, coef_=2.0, _kept=3.0, _kept_=4.0, n_iter_=5)
    assert forget(model) == {"coef_": 2.0, "n_iter_": 5}
    assert vars(model) == {"C": 1.0, "_kept": 3.0, "_kept_": 4.0}
