"""The L1 penalty behind the door of `svc_path`."""

from collections.abc import Iterator, Sequence

from joblib import Parallel, delayed

from skscreen.svm.l1.fit import L1Fits
from skscreen.svm.linear_svc import ScreenedLinearSVC
from skscreen.svm.paths import JointSolution, as_one
from skscreen.svm.problem import SVMProblem
from skscreen.svm.solvers.solution import Solution
from skscreen.svm.svc import ScreenedSVC


def l1_model(model: ScreenedSVC) -> ScreenedLinearSVC:
    """Return the estimator of a path with an L1 penalty for the parameters of `svc_path`."""
    model._validate_params()
    # "rbf" is the default of the parameter.
    if model.kernel not in ("rbf", "linear"):
        raise ValueError(
            f"penalty='l1' needs kernel='linear', got {model.kernel!r}: it is that of "
            "ScreenedLinearSVC."
        )
    return ScreenedLinearSVC(
        penalty="l1", fit_intercept=model.fit_intercept, intercept_scaling=model.intercept_scaling,
        screening=model.screening, solver=model.solver, tol=model.tol, max_iter=model.max_iter,
        class_weight=model.class_weight, n_jobs=model.n_jobs, verbose=model.verbose,
        random_state=model.random_state,
    )  # fmt: skip


class L1Paths:
    """Solves all problems for one C after the other, each from its solution before."""

    def __init__(self, model: ScreenedLinearSVC, problem: SVMProblem):
        self._fits, self._n_jobs = L1Fits(model, problem), model.n_jobs

    @property
    def n_variables(self) -> int:
        """Number of dual variables, and of weights, of all problems."""
        return sum(sum(problem.shape) for problem in self._fits.problems)

    @property
    def C_min(self) -> float:
        """Largest C up to which all weights are 0."""
        return min(problem.C_min for problem in self._fits.problems)

    def solve_path(self, Cs: Sequence[float], tol: float) -> Iterator[Solution | JointSolution]:
        """Solve for one C after the other; yields finished solutions."""
        before = [None] * len(self._fits.problems)
        threads = Parallel(self._n_jobs, require="sharedmem")
        for C in Cs:
            solve = delayed(self._fits.solved)
            found = threads(solve(k, C, tol, start) for k, start in enumerate(before))
            solutions, before = map(list, zip(*found, strict=True))
            yield as_one(solutions)
