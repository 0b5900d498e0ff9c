"""Settings of the solvers, and calls of the solvers."""

from collections.abc import Callable
from dataclasses import dataclass

from skscreen.fitting.store import Store
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.solve import solve_linear
from skscreen.svm.solvers.solution import SampleSolution

# Upper limit of tol, so that products with it stay finite.
_LARGEST_TOL = 1e100


@dataclass(frozen=True)
class Settings:
    """Parameters of an estimator that are passed to a solver."""

    loss: str
    bias: float
    free: bool
    screening: str | None
    solver: str
    max_iter: int | None
    cache_size: float
    random_state: int
    store: Store | None = None
    once: bool = False
    indefinite: str = "error"


def by_rows(kernel_name: str | Callable) -> bool:
    """Whether a problem is solved on its rows, without kernel values."""
    return kernel_name == "linear"


def solve_rows(samples, settings, losses, start, margins, codes, tol, left) -> SampleSolution:
    """Solve for one C on rows; see `path_solver.Solve`."""
    return solve_linear(
        samples, losses, start=start, fixed=codes, random_state=settings.random_state,
        solver=settings.solver, **_common(settings, tol, left),
    )  # fmt: skip


def solve_gram(samples, settings, losses, start, margins, codes, tol, left) -> SampleSolution:
    """Solve for one C on kernel values; see `path_solver.Solve`."""
    return solve_kernel(
        samples, losses, start=start, margins=margins, fixed=codes,
        exact=not settings.once, **_common(settings, tol, left),
    )  # fmt: skip


def _common(settings: Settings, tol: float, left: int | None) -> dict:
    limit = {} if left is None else {"max_iter": left}
    return {
        "intercept": "free" if settings.free else "none",
        "screening": settings.screening is not None,
        "tol": min(tol, _LARGEST_TOL),
        **limit,
    }
