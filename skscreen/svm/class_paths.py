"""Paths over C for more than two classes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skscreen.core.certificate import Certificate, ScreeningEvent, n_screened
from skscreen.core.threads import blas_threads_for
from skscreen.svm.problem import SVMProblem
from skscreen.svm.solvers.solution import SampleSolution


@dataclass(frozen=True)
class JointSolution:
    """The solutions of all two-class problems for one C, with the attributes of one solution.

    Parameters
    ----------
    problems : tuple of SampleSolution
    """

    problems: tuple[SampleSolution, ...]

    @property
    def C(self) -> float:
        """Weight of the losses."""
        return self.problems[0].C

    @property
    def w(self) -> np.ndarray | None:
        """Weights of the features, (n_problems, n_features); linear kernel only."""
        if self.problems[0].w is None:
            return None
        return np.stack([found.w for found in self.problems])

    @property
    def b(self) -> np.ndarray:
        """Intercepts, (n_problems,)."""
        return np.array([found.b for found in self.problems])

    @property
    def certificate(self) -> Certificate:
        """Certificate of the sum of all problems."""
        parts = [astuple(found.certificate) for found in self.problems]
        return Certificate(*map(sum, zip(*parts, strict=True)))

    @property
    def n_iter(self) -> int:
        """Steps of all problems."""
        return sum(found.n_iter for found in self.problems)

    @property
    def converged(self) -> bool:
        """Whether all problems met the tolerance."""
        return all(found.converged for found in self.problems)

    @property
    def seconds(self) -> float:
        """Time of all problems."""
        return sum(found.seconds for found in self.problems)

    @property
    def history(self) -> tuple[ScreeningEvent, ...]:
        """Screening steps of all problems, one after the other."""
        return tuple(event for found in self.problems for event in found.history)

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return self.problems[0].place

    @property
    def line(self) -> str:
        """Text for a progress bar."""
        gap = max(found.certificate.relative_gap for found in self.problems)
        return f"{self.place} gap={gap:.1e} problems={len(self.problems)} iterations={self.n_iter}"

    def screening_rate(self, where: str | None = None) -> float:
        """Return the share of all samples decided at the end, or after the step `where`."""
        screened = sum(n_screened(found.history, where) for found in self.problems)
        return screened / max(sum(found.alpha.size for found in self.problems), 1)


class ClassPaths:
    """Solves all problems for one C after the other, each from its previous solution.

    Parameters
    ----------
    problem : SVMProblem
        Of more than two classes.
    with_margins : bool
        Whether solutions are asked for by `solve`, with their margins; else `follow` takes the
        fastest way, which leaves none where one-vs-one problems share kernel values.
    n_jobs : int or None
        Threads for the problems.
    """

    def __init__(self, problem: SVMProblem, with_margins: bool, n_jobs: int | None):
        self._problem, self._range = problem, range(problem.division.n_problems)
        self._n_jobs = n_jobs
        self._n_threads = min(effective_n_jobs(n_jobs), len(self._range))
        problem.division.check(problem.X.shape[1])
        self._solvers = None
        if with_margins or not problem.shares_pairs:
            self._solvers = [problem.path_solver(k) for k in self._range]

    @property
    def n_variables(self) -> int:
        """Number of dual variables of all problems."""
        return self._problem.division.n_variables

    @property
    def C_min(self) -> float:
        """Largest C up to which all solutions are proportional to C; 0 if not known."""
        return 0.0 if self._solvers is None else min(solver.C_min for solver in self._solvers)

    @property
    def C_start(self) -> float:
        """A C up to which, at least, all solutions are proportional to C."""
        return min(solver.C_start for solver in self._solvers)

    def solve(self, C: float, tol: float) -> JointSolution:
        """Solve all problems for one C."""
        return self._joint([partial(solver.solve, C, tol) for solver in self._solvers])

    def finish(self, solution: JointSolution) -> JointSolution:
        """Return a solution with weights of features and intercepts, and without margins."""
        finish = self._problem.finish
        return JointSolution(tuple(map(finish, self._range, solution.problems)))

    def follow(self, Cs: Sequence[float], tol: float) -> Iterator[JointSolution]:
        """Solve for one C after the other; yields finished solutions."""
        if self._solvers is not None:
            for C in Cs:
                yield self.finish(self.solve(C, tol))
            return
        problem = self._problem
        paths = [problem.follow(k, Cs, tol) for k in self._range]
        for _ in Cs:
            yield self._joint([partial(next, path) for path in paths])

    def _joint(self, solves: list[Callable[[], SampleSolution]]) -> JointSolution:
        with blas_threads_for(self._problem.kernel.width, self._n_threads):
            found = Parallel(self._n_jobs, require="sharedmem")(
                delayed(solve)() for solve in solves
            )
        return JointSolution(tuple(found))
