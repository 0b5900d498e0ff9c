"""Optima of fixed problems by conic solvers, read from a file instead of solved in each run.

A `Problem` is one of cvxpy that takes the solution of an equal problem where the file has one:
equal in its expressions, and in its numbers to ten digits, so that other sums of a BLAS find it
too. What is not there is solved. `pytest --optima write` makes the file, from what the tests solve
in one process; `--optima compare`, which `make proofs` runs, solves all of it again.
"""

import atexit
import hashlib
from functools import cache
from pathlib import Path

import cvxpy as cp
import numpy as np

path = Path(__file__).with_name("optima.npz")
# "read", "compare" or "write", as pytest is told.
mode = "read"


class Problem(cp.Problem):
    """A problem that is solved once and for all."""

    def solve(self, *args, **options) -> float:
        """Solve it, or read its solution; returns the value, and sets that of variables."""
        key = _key(self, (args, sorted(options.items())))
        stored = None if mode == "write" else _solutions().get(key)
        if mode == "read" and stored is not None:
            return _set(self, stored)
        value = super().solve(*args, **options)
        if mode == "write":
            _new()[key] = _solution(self)
        elif stored is not None:
            np.testing.assert_allclose(value, stored[0], rtol=1e-6, atol=1e-9, err_msg=str(path))
        return value


def _key(problem: cp.Problem, options: tuple) -> str:
    """Return the name of a problem: a hash of what it minimises, its limits and the tolerances."""
    order = {variable.id: at for at, variable in enumerate(problem.variables())}
    parts = [repr(options), type(problem.objective).__name__]

    def visit(node):
        if isinstance(node, cp.Variable):
            kinds = sorted(kind for kind, given in node.attributes.items() if given)
            parts.append(f"variable {order[node.id]} {node.shape} {kinds}")
        elif not node.args and hasattr(node, "value"):
            value = node.value.toarray() if hasattr(node.value, "toarray") else node.value
            rounded = [f"{number:.9e}" for number in np.ravel(np.asarray(value, dtype=float))]
            parts.append(f"{node.shape} {rounded}")
        else:
            # Besides its arguments an expression is told axes and places; a limit has a number.
            told = "" if isinstance(node, cp.Constraint) else repr(node.get_data())
            parts.append(f"{type(node).__name__} {node.shape} {told}")
            for part in node.args:
                visit(part)

    visit(problem.objective.args[0])
    for limit in problem.constraints:
        visit(limit)
    return hashlib.sha1("\n".join(parts).encode()).hexdigest()[:16]


def _solution(problem: cp.Problem) -> np.ndarray:
    """Return the value, the variables and the dual variables of a solved problem, one by one."""
    parts = [problem.value, *(thing.value for thing in _things(problem))]
    found = np.concatenate([np.ravel(part) for part in parts])
    # What solvers leave in place of zero, and digits beyond their tolerances, would fill the file.
    small = np.concatenate([np.full(np.size(part), 1e-13 * np.max(np.abs(part))) for part in parts])
    found[np.abs(found) < small] = 0.0
    return (found.view(np.int64) & ~np.int64(0xFF)).view(np.float64)


def _things(problem: cp.Problem) -> list[cp.Variable]:
    """Return the variables and those of the dual problem."""
    duals = [dual for limit in problem.constraints for dual in limit.dual_variables]
    return problem.variables() + duals


def _set(problem: cp.Problem, stored: np.ndarray) -> float:
    """Make a problem one that is solved; return its value."""
    at = 1
    for thing in _things(problem):
        thing.save_value(stored[at : at + thing.size].reshape(thing.shape))
        at += thing.size
    problem._status, problem._value = cp.OPTIMAL, float(stored[0])
    return problem._value


@cache
def _solutions() -> dict[str, np.ndarray]:
    return dict(np.load(path)) if path.exists() else {}


@cache
def _new() -> dict[str, np.ndarray]:
    """Return what is written at the end."""
    new: dict[str, np.ndarray] = {}
    atexit.register(lambda: np.savez_compressed(path, **new))
    return new
