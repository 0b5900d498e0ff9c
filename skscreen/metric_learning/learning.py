"""What the estimators of metric learning share: build a problem, solve it, set what was learned."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from skscreen.core.certificate import HISTORY, steps_table
from skscreen.core.checks import TableLike, check_samples
from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.path import Model, clone_for, warn_unless_converged
from skscreen.fitting.store import check_store, content_key
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.distance import FLOATS
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import PathSolver, solver_settings
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.problem.objective import Problem, inner
from skscreen.metric_learning.solvers.progress import Settings
from skscreen.metric_learning.solvers.solution import Solution

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors.
ADVICE = (
    "Standardise X, raise max_iter or use a larger lam.",
    "That is as far as rounding errors allow; raise tol.",
)


def checked_samples(model: BaseEstimator, X: TableLike, reset: bool = True) -> np.ndarray:
    """Return samples (n, d), float64 or float32; `reset` sets what features the model has."""
    # Single precision stays as it is: its only copy in double precision is the centred one.
    # In C order, as the last digits of distances, by which equal ones are ordered, depend on it.
    return check_samples(X, model=model, reset=reset, dtype=FLOATS, order="C", ensure_min_samples=2)


def fit_metric(
    model: BaseEstimator, parameters: Parameters, X: np.ndarray, supervision: Supervision
) -> None:
    """Learn the metric of checked samples with some parameters; set the attributes of `model`."""
    problem = build(X, parameters, supervision)
    learn(model, problem, parameters, X, supervision)


def learn(
    model: BaseEstimator, problem: Problem, parameters: Parameters, X: np.ndarray,
    supervision: Supervision, known: Sequence[tuple[float, dict]] = (),
) -> None:  # fmt: skip
    """Solve a problem, from what a store and `known` have; set the attributes of `model`."""
    settings, lam = solver_settings(parameters), lam_of_fit(parameters, problem)
    store, key = check_store(parameters.store), ""
    if store is not None:
        key = _key(parameters, X, supervision)
        known = [*store.neighbours(key, lam), *known]
    solutions = solve_one(model, problem, lam, settings, known)
    set_learned(model, solutions, problem, parameters.n_components)
    if store is not None and solutions[-1].converged:
        store.put(key, lam, start_at(solutions[-1]))


def feature_names(model: BaseEstimator) -> np.ndarray | None:
    """Return the names of the features that a model has seen, if they have names."""
    return getattr(model, "feature_names_in_", None)


def lam_of_fit(parameters: Parameters, problem: Problem) -> float:
    """Return lambda, in the units of a problem's coordinates, that the parameter `lam` means."""
    warn_if_absolute(parameters.lam, parameters.relative_lam)
    return chosen_lam(parameters.lam, parameters.relative_lam, problem)


def chosen_lam(lam: float, is_relative: bool, problem: Problem) -> float:
    """Return lambda, in the units of a problem's coordinates, that a number means."""
    # Solvers start at S_K / lambda: the inverse of the smallest numbers is infinite.
    smallest = sys.float_info.min
    if is_relative:
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


def warn_if_absolute(lam: float, is_relative: bool) -> None:
    """Warn of a fraction of lambda_max that is larger than 1, which is seldom meant as one."""
    if is_relative and lam > 1.0 + 1e-9:
        warn_user(
            f"lam={lam:g} is a fraction of lambda_max, from 1 on every triplet is linear. For an "
            "absolute value, as lam_ and the lams of a path are, pass relative_lam=False."
        )


def unit_of_lam(problem: Problem) -> float:
    """Return lambda_max, or if it is 0, as the zero metric is optimal for any lambda, a bound."""
    # Rounding errors of comparisons that cancel are nothing beside that.
    return problem.lam_max or problem.geometry.largest_lam(problem.loss) or 1.0


def solve_one(
    model: BaseEstimator, problem: Problem, lam: float, settings: Settings,
    known: Sequence[tuple[float, dict]],
) -> list[Solution]:  # fmt: skip
    """Solve for one lambda, from solutions that are known; return those on the way to it, too."""
    solver, solutions = PathSolver(problem), []
    # The nearest one comes last.
    for other, start in sorted(known, key=lambda other: -abs(np.log(other[0] / lam))):
        solver.recall(other, start["parameter"], float(start["step"]), int(start["n_iter"]))
    with Tasks(model, None, "lambda") as tasks:
        for done, solution in solver.approach(lam, settings):
            solutions.append(solution)
            # A callback cannot end it, as there is no solution for this lambda yet.
            tasks.end_task(done, solution)
    warn_unless_converged(solutions[-1:], settings.tol, settings.max_iter, ADVICE)
    return solutions


def start_at(solution: Solution) -> dict:
    """Return the arrays by which `PathSolver.recall` knows a solution."""
    return {
        "parameter": solution.point.value, "step": solution.step, "n_iter": solution.n_iter,
    }  # fmt: skip


def fitted(model: Model, solution: Solution, problem: Problem) -> Model:
    """Return the fitted estimator of one solution; `model` is what the problem was built for."""
    relative = model.relative_lam
    lam = solution.lam / unit_of_lam(problem) if relative else problem.in_data(solution.lam)
    out = clone_for(model, lam=lam)
    set_learned(out, [solution], problem, model.n_components)
    return out


def _key(parameters: Parameters, X: np.ndarray, supervision: Supervision) -> str:
    """Return the name of a problem in a store."""
    return content_key(
        X, *supervision.arrays, parameters.n_neighbors, parameters.loss, parameters.width,
        parameters.pull, parameters.linear_term, parameters.diagonal, parameters.neighbors,
        parameters.unlabelled,
    )  # fmt: skip


def set_learned(
    model: BaseEstimator,
    solutions: Sequence[Solution],
    problem: Problem,
    n_components: int | float | None,
) -> None:
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
    rows, model.truncated_objective_ = _truncated(n_components, problem, solution)
    # Set last: if it is present, all other attributes belong to this fit.
    model.components_ = _in_precision(rows, problem.dtype)


def _in_precision(rows: np.ndarray, dtype: type) -> np.ndarray:
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
