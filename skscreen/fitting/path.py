"""Results of regularisation paths, and the loop that computes them."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from skscreen.core.certificate import Certificate
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.warning import warn_user


class Solved(Protocol):
    """What the solution of a problem tells, whatever problem it is."""

    @property
    def certificate(self) -> Certificate:
        """Its proof."""
        ...

    @property
    def n_iter(self) -> int:
        """Steps of the solver."""
        ...

    @property
    def seconds(self) -> float:
        """Time of the solve."""
        ...

    @property
    def converged(self) -> bool:
        """Whether the relative duality gap met the tolerance."""
        ...

    @property
    def place(self) -> str:
        """Where it is on a path."""
        ...


Model = TypeVar("Model", bound=BaseEstimator)
Solution = TypeVar("Solution", bound=Solved)


@dataclass(frozen=True, repr=False)
class PathResult(Generic[Model, Solution]):
    """Solutions along a path, by the parameters of `model`; indexing gives fitted estimators."""

    model: Model
    solutions: tuple[Solution, ...]

    def at(self, values: np.ndarray, value: float, name: str) -> Model:
        """Return the fitted estimator of one of the values of the parameter of the path."""
        return self[self.index(values, value, name)]

    def index(self, values: np.ndarray, value: float, name: str) -> int:
        """Return the place of one of the values of the parameter of the path."""
        number = isinstance(value, Real)
        found = np.flatnonzero(number and np.isclose(values, value, rtol=1e-9, atol=0.0))
        if not found.size:
            shown = ", ".join(f"{known:g}" for known in values[:3]) + ", ..." * (len(values) > 3)
            raise ValueError(
                f"{name} must be one of the values of the path, {name}s = [{shown}], got {value!r}."
            )
        return int(found[0])

    def __repr__(self) -> str:
        """Summarise in a line; the data would fill pages."""
        return (
            f"{type(self).__name__}({len(self)} solutions from {self.solutions[0].place} to "
            f"{self.solutions[-1].place}, relative duality gaps <= {self.dual_gaps.max():.1e})"
        )

    def __len__(self) -> int:
        """Return the number of solutions."""
        return len(self.solutions)

    def __getitem__(self, index: int) -> Model:
        """Return the fitted estimator of a solution."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Model]:
        """Iterate over the fitted estimators."""
        return (self[index] for index in range(len(self)))

    @property
    def objectives(self) -> np.ndarray:
        """Primal objectives of the full problem."""
        return np.array([solution.certificate.primal for solution in self.solutions])

    @property
    def dual_gaps(self) -> np.ndarray:
        """Relative duality gaps of the full problem."""
        return np.array([solution.certificate.relative_gap for solution in self.solutions])

    @property
    def n_iters(self) -> np.ndarray:
        """Steps of the solvers."""
        return np.array([solution.n_iter for solution in self.solutions])

    @property
    def seconds(self) -> np.ndarray:
        """Time of each solve."""
        return np.array([solution.seconds for solution in self.solutions])

    @property
    def converged(self) -> np.ndarray:
        """Whether each duality gap met the tolerance."""
        return np.array([solution.converged for solution in self.solutions])


def place_of(index: int, length: int) -> int:
    """Return the place of one solution on a path of some length, a whole number."""
    try:
        place = operator.index(index)
    except TypeError as error:
        raise TypeError(
            f"path[k] takes one whole number k, got {index!r}; for several estimators call "
            "list(path)[start:stop]."
        ) from error
    if not -length <= place < length:
        raise IndexError(f"path[{place}] is not there: the path has {length} solutions.")
    return place


@with_callbacks
def solve_path(
    model: BaseEstimator, steps: Iterable[tuple[Solution, float]], total: int | None, name: str
) -> list[Solution]:
    """Solve along a path until it, a callback or the user ends it; return what was solved."""
    # `steps` solves as it goes, and yields the share of the path that is done with each solution.
    solutions = []
    with Tasks(model, total, name) as tasks:
        try:
            for solution, done in steps:
                solutions.append(solution)
                if tasks.end_task(done, solution):
                    break
        except KeyboardInterrupt:
            if not solutions:
                raise
            warn_user(f"Interrupted: the path ends after {len(solutions)} values.")
    return solutions


def warn_unless_converged(
    solutions: Sequence[Solved], tol: float, max_iter: int | None, advice: tuple[str, str]
) -> None:
    """Warn if a solution missed its tolerance, with advice if it ended at `max_iter`, or if not."""
    failed = [solution for solution in solutions if not solution.converged]
    if failed:
        worst = max(failed, key=lambda solution: solution.certificate.relative_gap)
        # Minus one is no limit, as in libsvm.
        ended = max_iter is not None and max_iter != -1 and worst.n_iter >= max_iter
        warn_user(
            f"{worst.n_iter} steps reached a relative duality gap of "
            f"{worst.certificate.relative_gap:.2e} > tol={tol:g} at {worst.place}. "
            f"{advice[0] if ended else advice[1]}",
            ConvergenceWarning,
        )


def clone_for(model: Model, **parameters: object) -> Model:
    """Return an estimator for one solution of a path, with the features that `model` has seen."""
    out = clone(model).set_params(**parameters)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(out, name, getattr(model, name))
    return out


def forget(model: BaseEstimator) -> dict[str, Any]:
    """Remove what a fit has set, names that end in "_", and return it."""
    learned: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in vars(model).items():
        (learned if name.endswith("_") and not name.startswith("_") else rest)[name] = value
    # In one assignment, so that an interrupt leaves all or nothing.
    model.__dict__ = rest
    return learned
