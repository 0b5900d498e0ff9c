"""Solves problems for one C after the other: along a grid, or to a relative error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator

from skscreen.core.certificate import Certificate, ScreeningEvent, n_screened
from skscreen.core.memory import check_memory
from skscreen.core.threads import at_most, blas_threads_for
from skscreen.fitting.grid import MOST_VALUES
from skscreen.fitting.path import solve_path
from skscreen.svm.estimator import warn_of_flaws
from skscreen.svm.path_solver import SamplePathSolver, eps_limit
from skscreen.svm.problem import SVMProblem, TrainingSet, fit_of, settings_of
from skscreen.svm.screening.rules import BEST
from skscreen.svm.solvers.solution import SampleSolution, Solution, weights_of


@dataclass(frozen=True)
class JointSolution:
    """The solutions of all two-class problems for one C, with the attributes of one solution.

    `w` (n_problems, n_features), of linear kernels, and `b` (n_problems,) are those of each; the
    certificate, steps and time are sums.
    """

    problems: tuple[Any, ...]  # `SampleSolution`s, and `Solution`s where they are finished
    C: float
    w: np.ndarray | None
    b: np.ndarray
    certificate: Certificate
    n_iter: int
    converged: bool
    seconds: float
    history: tuple[ScreeningEvent, ...]

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return self.problems[0].place

    def __str__(self) -> str:
        """Text for a progress bar."""
        gap = max(found.certificate.relative_gap for found in self.problems)
        return f"{self.place} gap={gap:.1e} problems={len(self.problems)} iterations={self.n_iter}"

    def screening_rate(self, where: str | None = None) -> float:
        """Return the share of all items decided at the end, or after the step `where`."""
        screened = sum(n_screened(found.history, where) for found in self.problems)
        return screened / max(sum(found.n_items for found in self.problems), 1)


class Paths:
    """Solves all problems for one C after the other: by `solve_path`, or `solve` with scores."""

    def __init__(self, problem: SVMProblem, n_jobs: int | None):
        self._problem, self._range = problem, range(problem.division.n_problems)
        self._n_jobs, self._n_threads = n_jobs, min(effective_n_jobs(n_jobs), len(self._range))
        # Problems that share kernel values have a faster way, which leaves no scores.
        self._solvers: list[SamplePathSolver] = []
        if problem.pairs is None:
            self._solvers = [problem.path_solver(k) for k in self._range]

    @property
    def n_variables(self) -> int:
        """Number of dual variables of all problems."""
        return self._problem.division.n_variables

    @property
    def C_min(self) -> float:
        """Largest C up to which all solutions are proportional to C; 0 if not known."""
        return min((solver.C_min for solver in self._solvers), default=0.0)

    @property
    def C_start(self) -> float:
        """A C up to which, at least, all solutions are proportional to C."""
        return min(solver.C_start for solver in self._solvers)

    def solve(self, C: float, tol: float) -> SampleSolution | JointSolution:
        """Solve all problems for one C."""
        return self._joint([partial(_proved, solver, C, tol) for solver in self._solvers])

    def finish(self, solution: SampleSolution | JointSolution) -> Solution | JointSolution:
        """Return a solution with weights of features and intercepts, and without scores."""
        return as_one(list(map(self._problem.finish, self._range, solution.problems)))

    def solve_path(self, Cs: Sequence[float], tol: float) -> Iterator[Solution | JointSolution]:
        """Solve for one C after the other; yields finished solutions."""
        if self._solvers:
            for C in Cs:
                yield self.finish(self.solve(C, tol))
            return
        problem = self._problem
        paths = [problem.solve_path(k, Cs, tol) for k in self._range]
        for _ in Cs:
            yield self._joint([partial(next, path) for path in paths])

    def _joint(self, solves: list[Callable]) -> Any:
        if len(solves) == 1:
            return solves[0]()
        with blas_threads_for(self._problem.width, self._n_threads):
            threads = Parallel(self._n_jobs, require="sharedmem")
            return as_one(threads(delayed(solve)() for solve in solves))


def _proved(solver: SamplePathSolver, C: float, tol: float) -> SampleSolution:
    """Solve a problem for one C, and screen by the solution."""
    return solver.with_proof(solver.solve(C, tol))


def as_one(found: Sequence[Any]) -> Any:
    """Return the solutions of all problems for one C as one."""
    if len(found) == 1:
        return found[0]
    certificates = zip(*(astuple(each.certificate) for each in found), strict=True)
    return JointSolution(
        tuple(found),
        C=found[0].C,
        w=None if found[0].w is None else weights_of(found),
        b=np.array([each.b for each in found]),
        certificate=Certificate(*map(sum, certificates)),
        n_iter=sum(each.n_iter for each in found),
        converged=all(each.converged for each in found),
        seconds=sum(each.seconds for each in found),
        history=tuple(event for each in found for event in each.history),
    )


def solved_grid(
    model: BaseEstimator, paths: Any, grid: np.ndarray, callbacks: Sequence[object]
) -> tuple:
    """Return the finished solutions for a grid, and warn of flaws."""
    n, total = paths.n_variables, grid.size
    # A dual variable for each sample and C is kept.
    what = f"{n:,} dual variables for {total:,} values of C"
    check_memory(8.0 * n * total, what, "Use fewer values.")
    found = enumerate(paths.solve_path(grid.tolist(), model.tol))
    return _solved(model, ((each, (t + 1) / total) for t, each in found), total, callbacks)


def solved_within(
    model: BaseEstimator, paths: Paths, eps: float, C_max: float, callbacks: Sequence[object]
) -> tuple:
    """Return the finished solutions of a path with `eps`, and warn of flaws."""
    steps = _eps_steps(paths, eps, C_max, model.tol)
    return _solved(model, ((paths.finish(each), done) for each, done in steps), None, callbacks)


def shares_ahead(model: BaseEstimator, data: TrainingSet, solutions: Sequence) -> np.ndarray:
    """Return the share of samples that each solution of a path decides for the C after its own."""
    settings = replace(settings_of(model, None), screening=BEST)
    fit = fit_of(model, data.division, data.kernel, settings, "eps")
    with at_most(model.n_jobs):
        problem = SVMProblem(data, settings, fit)
        counts = np.zeros(len(solutions))
        for k in range(data.division.n_problems):
            solver, b = problem.path_solver(k), data.division.shift
            path = [solution.problems[k] for solution in solutions]
            for i, (found, after) in enumerate(pairwise(path)):
                counts[i + 1] += solver.decided_ahead(found.C, found.beta, found.b - b, after.C)
    return counts / data.division.n_variables


def _solved(model, steps: Iterator[tuple], total: int | None, callbacks: Sequence[object]) -> tuple:
    if callbacks:
        model.set_callbacks(*callbacks)
    with at_most(model.n_jobs):
        solutions: Any = tuple(solve_path(model, steps, total, "C"))
    warn_of_flaws(model, [found for solution in solutions for found in solution.problems])
    return solutions


def _eps_steps(paths: Paths, eps: float, C_max: float, tol: float) -> Iterator[tuple]:
    """Solve along a path with `eps`; yields solutions, and the share of the path that is done."""
    # Duality gaps may use up a hundredth of `eps`.
    C, tol = min(paths.C_start, C_max), min(tol, 0.01 * eps)
    way, shortest = math.log(C_max / C), 1.0 + 0.5 * math.sqrt(eps)
    # An accurate solution is good up to (1 + sqrt(eps)) C and further, see `eps_limit`.
    if way / math.log1p(math.sqrt(eps)) > MOST_VALUES:
        raise ValueError(
            f"eps={eps:g} may need more than {MOST_VALUES:,} values of C up to C_max={C_max:g}; "
            "use a larger eps or a smaller C_max."
        )
    while True:
        solution = paths.solve(C, tol)
        # `eps_limit` divides by the objective of the solution, eps is relative to the optimum.
        limit = C * min(eps_limit(found, eps / (1.0 + eps)) for found in solution.problems)
        # There are no losses up to the tolerance: this is the hard-margin solution, good for every
        # larger C.
        lossless = all(
            _loss(found) <= tol * found.certificate.primal for found in solution.problems
        )
        ends = C == C_max or limit <= C or (limit >= C_max and lossless)
        # Rounding errors have kept the solution from being good for as much as it should.
        ends = ends or (limit < min(shortest * C, C_max) and not solution.converged)
        yield solution, 1.0 if ends else 1.0 - math.log(C_max / C) / way
        if ends:
            return
        C = min(limit, C_max)


def _loss(solution: SampleSolution) -> float:
    """Return C times the sum of losses."""
    return solution.certificate.primal - 0.5 * float(solution.beta @ solution.scores)
