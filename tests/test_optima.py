"""Solutions of other solvers are read where the file has them, and are those of the solvers."""

import cvxpy as cp
import numpy as np
import pytest

from tests import optima


@pytest.fixture
def no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(optima, "path", tmp_path / "optima.npz")
    monkeypatch.setattr(optima, "mode", "read")
    optima._solutions.cache_clear()
    yield
    optima._solutions.cache_clear()


def made(upper=2.0):
    x, y = cp.Variable(3), cp.Variable((2, 2), PSD=True)
    value = cp.sum_squares(x - np.arange(3.0)) + cp.trace(y) + cp.abs(y[0, 1] - 0.5)
    return optima.Problem(cp.Minimize(value), [x <= upper, cp.sum(x) == 2.0]), x, y


def test_what_is_read_is_what_was_solved(no_file):
    problem, x, y = made()
    value = problem.solve(solver=cp.CLARABEL)
    key = optima._key(problem, ((), [("solver", cp.CLARABEL)]))
    np.savez_compressed(optima.path, **{key: optima._solution(problem)})
    optima._solutions.cache_clear()
    same, again, matrix = made()
    same.solve(solver=cp.CLARABEL)
    assert same.solver_stats is None and same.status == cp.OPTIMAL
    for found, wanted in (
        (same.value, value), (again.value, x.value), (matrix.value, y.value),
        *((left.dual_value, right.dual_value)
          for left, right in zip(same.constraints, problem.constraints, strict=True)),
    ):  # fmt: skip
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_other_problems_are_solved(no_file, monkeypatch):
    problem, _, _ = made()
    problem.solve(solver=cp.CLARABEL)
    stored = {optima._key(problem, ((), [("solver", cp.CLARABEL)])): optima._solution(problem)}
    np.savez_compressed(optima.path, **stored)
    optima._solutions.cache_clear()
    for other, options in ((made(1.5), {}), (made(), {"tol_gap_abs": 1e-6})):
        other[0].solve(solver=cp.CLARABEL, **options)
        assert other[0].solver_stats is not None
    # What the file has is solved again, and compared, where that is asked for.
    monkeypatch.setattr(optima, "mode", "compare")
    made()[0].solve(solver=cp.CLARABEL)
    next(iter(stored.values()))[0] += 0.1
    np.savez_compressed(optima.path, **stored)
    optima._solutions.cache_clear()
    with pytest.raises(AssertionError, match="optima"):
        made()[0].solve(solver=cp.CLARABEL)
