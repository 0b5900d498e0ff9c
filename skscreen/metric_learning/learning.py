"""What the estimators of metric learning share: build a problem, solve it, set what was learned."""

import math
import sys
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from skscreen.core.certificate import HISTORY, steps_table
from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.path import clone_for, warn_unless_converged
from skscreen.fitting.store import check_store, content_key
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.path_solver import PathSolver, solver_options
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.problem.objective import Problem, inner
from skscreen.metric_learning.solvers.solution import Solution

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors.
ADVICE = (
    "Standardise X, raise max_iter or use a larger lam.",
    "That is as far as rounding errors allow; raise tol.",
)


def fit_metric(
    model: Any, settings: Any, X: Any, y: Any = None, *,
    sample_weight: Any = None, comparison_weight: Any = None,
    from_labels: Callable | None = None, **lists,
) -> None:  # fmt: skip
    """Fit `model` with the parameters of `settings`, a `ScreenedRTLM`."""
    # All parameters are checked before data are looked at.
    solver_options(settings)
    weights = {"sample_weight": sample_weight, "comparison_weight": comparison_weight}
    problem = build(settings, X, y, **weights, from_labels=from_labels, **lists)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(settings, name):
            setattr(model, name, getattr(settings, name))
    warn_if_absolute(settings, settings.lam)
    lam = chosen_lam(settings, settings.lam, problem)
    solve_and_store(model, settings, problem, lam, (X, y, *weights.values()), lists)


def chosen_lam(settings: Any, lam: float, problem: Problem) -> float:
    """Return lambda, in the units of a problem's coordinates, that a value of `lam` means."""
    # Solvers start at S_K / lambda: the inverse of the smallest numbers is infinite.
    smallest = sys.float_info.min
    if settings.relative_lam:
        unit = float(unit_of_lam(problem))
        found = float(lam) * unit
        if found in (0.0, math.inf):
            raise ValueError(
                f"lam={lam:g} of lambda_max = {unit:g} is {found:g} in floating point."
            )
        if found < smallest:
            raise ValueError(f"lam={lam:g} of lambda_max is {found:g}, less than {smallest:g}.")
        return found
    found = problem.in_coordinates(lam)
    if not smallest <= found < math.inf:
        extreme = "large" if found > 1.0 else "small"
        raise ValueError(
            f"lam={lam:g} is too {extreme} for X, whose values are about {problem.unit:.0e}; give "
            "a fraction of lambda_max with relative_lam=True."
        )
    return found


def warn_if_absolute(settings: Any, lam: float) -> None:
    """Warn of a fraction of lambda_max that is larger than 1, which is seldom meant as one."""
    if settings.relative_lam and lam > 1.0 + 1e-9:
        warn_user(
            f"lam={lam:g} is a fraction of lambda_max, from 1 on every triplet is linear. For an "
            "absolute value, as lam_ and the lams of a path are, pass relative_lam=False."
        )


def unit_of_lam(problem: Problem) -> float:
    """Return lambda_max, or if it is 0, as the zero metric is optimal for any lambda, a bound."""
    # Rounding errors of comparisons that cancel are nothing beside that.
    return problem.lam_max or problem.geometry.largest_lam(problem.loss) or 1.0


def solve_and_store(
    model: Any, settings: Any, problem: Problem, lam: float, data: tuple, lists: dict,
    known: Sequence[tuple[float, dict]] = (),
) -> None:  # fmt: skip
    """Solve for one lambda, from what a store and `known` have, and set the attributes."""
    store, key = check_store(settings.store), ""
    if store is not None:
        key = _key(settings, data, lists)
        known = [*store.neighbours(key, lam), *known]
    options, solver = solver_options(settings), PathSolver(problem)
    # The nearest one comes last.
    for other, start in sorted(known, key=lambda other: -abs(np.log(other[0] / lam))):
        solver.recall(other, start["parameter"], float(start["step"]), int(start["n_iter"]))
    solutions = []
    with Tasks(model, None, "lambda") as tasks:
        for done, solution in solver.approach(lam, options):
            solutions.append(solution)
            # A callback cannot end it, as there is no solution for this lambda yet.
            tasks.end_task(done, solution)
    warn_unless_converged(solutions[-1:], options.tol, options.max_iter, ADVICE)
    _set(model, solutions, problem)
    if store is not None and solutions[-1].converged:
        store.put(key, lam, start_at(solutions[-1]))


def start_at(solution: Solution) -> dict:
    """Return the arrays by which `PathSolver.recall` knows a solution."""
    return {
        "parameter": solution.point.value, "step": solution.step, "n_iter": solution.n_iter,
    }  # fmt: skip


def fitted(model: Any, solution: Solution, problem: Problem) -> Any:
    """Return the fitted estimator of one solution; `model` is what the problem was built for."""
    relative = model.relative_lam
    lam = solution.lam / unit_of_lam(problem) if relative else problem.in_data(solution.lam)
    out = clone_for(model, lam=lam)
    _set(out, [solution], problem)
    return out


def _key(settings, data: tuple, lists: dict) -> str:
    """Return the name of a problem in a store."""
    names = "triplets", "quadruplets"
    parts = *data, *(lists.get(name) for name in names), *(lists.get("pairs") or ())
    # In C order, because the key depends on the memory layout.
    arrays = [None if part is None else np.ascontiguousarray(part) for part in parts]
    return content_key(
        *arrays, settings.n_neighbors, settings.loss, settings.width, settings.pull,
        settings.linear_term, settings.diagonal, settings.neighbors, settings.unlabelled,
    )  # fmt: skip


def _set(model, solutions: Sequence[Solution], problem: Problem) -> None:
    """Set the fitted attributes from the last solution."""
    solution = solutions[-1]
    certificate = solution.certificate
    model.lam_, model.lam_max_ = problem.in_data(solution.lam), problem.in_data(problem.lam_max)
    model.objective_, model.dual_objective_ = certificate.primal, certificate.dual
    model.dual_gap_ = certificate.relative_gap
    model.n_iter_ = sum(solution.n_iter for solution in solutions)
    model.n_triplets_ = problem.geometry.n_items
    model.history_ = np.array(list(solution.progress), dtype=HISTORY)
    model.screening_history_ = steps_of(solutions, problem)
    model.screening_parameter_ = "lam"
    rows, model.truncated_objective_ = _truncated(model.n_components, problem, solution)
    # Set last: if it is present, all other attributes belong to this fit.
    model.components_ = _in_precision(rows, problem.dtype)


def _in_precision(rows: np.ndarray, dtype: Any) -> np.ndarray:
    """Return a map in a precision, or as it is where that has no such numbers."""
    # For samples of 1e-40 or 1e34 the map has numbers that single precision lacks.
    known, largest = np.finfo(dtype), float(np.abs(rows).max(initial=0.0))
    smallest = float(known.tiny) / float(known.eps)
    fits = largest == 0.0 or smallest <= largest <= float(known.max)
    return rows.astype(dtype, copy=False) if fits else rows


def steps_of(solutions: Sequence[Solution], problem: Problem) -> np.ndarray:
    """Return the screening steps of solutions as a table; see `ScreenedRTLM.screening_history_`."""
    return steps_table(
        (problem.in_data(found.lam), event) for found in solutions for event in found.history
    )


def _truncated(
    n_components: int | float | None, problem: Problem, solution: Solution
) -> tuple[np.ndarray, float]:
    """Return the rows of the map that are kept, and the objective of their metric."""
    rows, objective = problem.components(solution.point), solution.certificate.primal
    if n_components is None:
        return rows, objective
    if not isinstance(n_components, Integral):
        shares = np.cumsum(np.einsum("ij,ij->i", rows, rows))
        n_components = int(np.searchsorted(shares, n_components * shares[-1])) + 1
    if n_components >= len(rows):
        return rows, objective
    rows = rows[:n_components]
    kept = problem.unit * (rows if problem.basis is None else rows @ problem.basis)
    value = np.einsum("ij,ij->j", kept, kept) if problem.geometry.diagonal else kept.T @ kept
    point = problem.domain.project(value)
    losses, _ = problem.at(solution.lam).loss_value(point, problem.geometry.margins(point))
    return rows, losses + 0.5 * solution.lam * inner(point.value, point.value)
