"""Adaptive search over C for the smallest validation error, with bounds for every C of a range."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from skscreen.core.threads import blas_threads_for
from skscreen.svm.certified.bounds import Between, Geometry, ScoredPoint
from skscreen.svm.certified.errors import AbsoluteErrors, Mistakes
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.solvers.solution import SampleSolution

# Smallest tolerance of the solves.
_TIGHTEST = 1e-14


@dataclass(frozen=True)
class Piece:
    """Part [start, stop] of an interval between two solved values of C, with an error bound."""

    first: float
    last: float
    start: float = 0.0
    stop: float = 1.0
    lower: float = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """Ends in C."""
        return self._at(self.start), self._at(self.stop)

    def _at(self, t: float) -> float:
        # Adjacent parts must have exactly the same end.
        if t in (0.0, 1.0):
            return self.last if t else self.first
        return self.first + t * (self.last - self.first)

    @property
    def interval(self) -> tuple[float, float]:
        """Solved values of C at the ends of its interval."""
        return self.first, self.last

    @property
    def whole(self) -> bool:
        """Whether the piece is the whole interval."""
        return self.stop - self.start == 1.0

    def parts(self) -> list["Piece"]:
        """Return the whole interval in parts with trivial bounds."""
        return [self.part(*ends) for ends in pairwise((0.0, 0.25, 0.75, 1.0))]

    def middle(self) -> "Piece":
        """Return a piece of the single C in the middle."""
        t = 0.5 * (self.start + self.stop)
        return self.part(t, t)

    def part(self, start: float, stop: float) -> "Piece":
        """Return another part of the same interval, with trivial bounds."""
        return Piece(self.first, self.last, start, stop)


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds on the validation error of the optimum for every C of a range.

    Attributes
    ----------
    edges : ndarray of shape (n_parts + 1,)
        Ends of consecutive parts of the range of C.
    lower, upper : ndarray of shape (n_parts,)
        For every C of a part, ends included, the error is between these.
    Cs : ndarray of shape (n_solved,)
        Values of C that were solved, ascending.
    errors : ndarray of shape (n_solved,)
        Errors of the solutions there.
    errors_upper : ndarray of shape (n_solved,)
        Proven upper bounds on the errors of the optima there.
    name : str
        What the error is: "validation error", a share of the samples, or "mean absolute error".
    """

    edges: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    Cs: np.ndarray
    errors: np.ndarray
    errors_upper: np.ndarray
    name: str = "validation error"

    def __repr__(self) -> str:
        """Return a summary."""
        return (
            f"ErrorBounds({self.lower.size} parts of C from {self.edges[0]:g} to "
            f"{self.edges[-1]:g}, {self.Cs.size} values solved, eps={self.eps:.4g})"
        )

    @property
    def best(self) -> int:
        """Index of the solved C with the smallest proven error."""
        return int(np.argmin(self.errors_upper))

    @property
    def eps(self) -> float:
        """How much smaller the error can at most be anywhere in the range."""
        return float(self.errors_upper.min() - self.lower.min())


class PointError(NamedTuple):
    """Error of a solution, and bounds on that of the optimum."""

    lower: float
    error: float
    upper: float


@dataclass
class ScoredPath:
    """The solved points of a two-class problem, with validation scores and bounds between them.

    `new_solver` returns a new `SamplePathSolver` of the training set; `score` takes dual variables
    and returns the scores of the validation samples, see `ScoredPoint`.
    """

    new_solver: Callable[[], SamplePathSolver]
    geometry: Geometry
    score: Callable[[np.ndarray], np.ndarray]
    points: dict[float, ScoredPoint] = field(default_factory=dict)
    solved: dict[float, SampleSolution] = field(default_factory=dict)
    _C_min: float = 0.0

    def near(self, C: float) -> SamplePathSolver:
        """Return a solver that starts from the solved values on either side of C."""
        known, solver = sorted(self.points), self.new_solver()
        place = int(np.searchsorted(known, C))
        for other in known[max(place - 1, 0) : place + 1]:
            point = self.points[other]
            solver.recall(other, point.beta, point.f, self._C_min)
        return solver

    def solve(self, C: float, solver: SamplePathSolver, tol: float) -> None:
        """Solve for a value of C and keep the solution."""
        solved = self.solved[C] = solver.solve(C, tol)
        beta = solved.beta
        self.points[C] = ScoredPoint(C, beta, solved.scores, self.score(beta))
        self._C_min = solver.C_min

    def between(self, first: float, last: float) -> Between:
        """Return bounds for all C between two solved ones."""
        return Between(self.geometry, self.points[first], self.points[last])


@dataclass
class Fold:
    """A training set, by its two-class problems or its regression, with validation samples."""

    paths: Sequence[ScoredPath]
    errors: Mistakes | AbsoluteErrors
    _between: dict[tuple[float, float], list[Between]] = field(default_factory=dict)

    def solve(self, Cs: Iterable[float], tol: float, share: float) -> list[PointError]:
        """Solve for ascending C, more precisely where over `share` of an error is unknown."""
        along = [None if path.points else path.new_solver() for path in self.paths]
        out = []
        for C in Cs:
            solvers = [
                solver or path.near(C) for path, solver in zip(self.paths, along, strict=True)
            ]
            out.append(self._solve(C, solvers, tol))
            while (
                out[-1].upper - out[-1].lower > share
                and all(path.solved[C].converged for path in self.paths)
                and tol > _TIGHTEST
            ):
                tol = max(0.01 * tol, _TIGHTEST)
                out[-1] = self._solve(C, solvers, tol)
        return out

    def _solve(self, C: float, solvers: Sequence[SamplePathSolver], tol: float) -> PointError:
        """Solve all problems for a value of C and return its error."""
        for path, solver in zip(self.paths, solvers, strict=True):
            path.solve(C, solver, tol)
        here = [path.between(C, C) for path in self.paths]
        lower, upper = (self.errors.bound(here, 0.0, 0.0, side) for side in (-1, 1))
        return PointError(lower, self.error(C), upper)

    def error(self, C: float) -> float:
        """Error of the solution for a solved C."""
        return self.errors.error([path.points[C].scores for path in self.paths])

    def bounds(self, pieces: Iterable[Piece], side: int) -> list[float]:
        """Return lower (side -1) or upper (side 1) bounds on the error in pieces."""
        out = []
        for piece in pieces:
            if piece.interval not in self._between:
                # Their matrices have up to half a megabyte each.
                if len(self._between) * len(self.paths) >= 64:
                    self._between.clear()
                self._between[piece.interval] = [
                    path.between(*piece.interval) for path in self.paths
                ]
            known = self._between[piece.interval]
            out.append(self.errors.bound(known, piece.start, piece.stop, side))
        return out


class CertifiedSearch:
    """Solves for values of C until no C of the range can be better than the best by more than eps.

    The error is the mean over the folds, for which there are `n_jobs` threads. `report` takes the
    share of the range that is settled and a line of text.
    """

    def __init__(
        self,
        folds: Sequence[Fold],
        eps: float,
        *,
        tol: float,
        max_solves: int,
        n_jobs: int | None = None,
        report: Callable[[float, str], None] | None = None,
    ):
        self._folds, self._eps = folds, eps
        # The gaps of solutions widen the bounds.
        self._tol, self._max_solves = min(tol, 1e-9), max_solves
        self._n_jobs, self._parallel = n_jobs, Parallel(n_jobs, require="sharedmem")
        self._report = report or (lambda done, text: None)
        self._errors: dict[float, PointError] = {}

    def run(self, Cs: np.ndarray) -> ErrorBounds:
        """Search between the first and the last of ascending values of C, which are all solved."""
        # Set here once: threads that do it on their own would restore what others have set.
        with blas_threads_for(np.inf, self._n_jobs):
            return self._run(Cs)

    def _run(self, Cs: np.ndarray) -> ErrorBounds:
        self._solve([float(C) for C in Cs])
        known = sorted(self._errors)
        pieces = self._examine(list(pairwise(known)))
        while True:
            failing = [piece for piece in pieces if piece.lower < self._target()]
            self._tell(pieces, failing)
            halves, stuck = self._divide(failing)
            chosen = self._choose(failing, stuck)
            if not halves and not chosen:
                return self._result(pieces)
            # Halves replace the pieces that failed; a new solve replaces all pieces of its
            # interval.
            pieces = [
                piece
                for piece in pieces
                if piece.interval not in chosen
                and (piece.lower >= self._target() or piece.interval in stuck)
            ]
            pieces += halves + self._bisect(sorted(chosen))

    def _target(self) -> float:
        """Error below which no C of the range may be; a little less, for rounding of fractions."""
        return min(point.upper for point in self._errors.values()) - self._eps - 1e-12

    def _choose(self, failing: list[Piece], stuck: set) -> set:
        """Return the intervals to solve in next, the worst ones if not all can be solved."""
        worst: dict[tuple[float, float], float] = {}
        for piece in failing:
            first, last = piece.interval
            # Do not solve closer to a C whose own solution leaves too many signs open, or where
            # rounding errors leave nothing between the ends.
            open_ends = any(self._errors[C].lower < self._target() for C in piece.interval)
            if piece.interval in stuck and last > first * (1.0 + 1e-9) and not open_ends:
                worst[piece.interval] = min(piece.lower, worst.get(piece.interval, np.inf))
        room = self._max_solves - len(self._errors)
        return set(sorted(worst, key=worst.__getitem__)[: max(room, 0)])

    def _solve(self, Cs: list[float]) -> None:
        # A point is solved more precisely if unknown signs use up more than this.
        share = 0.25 * self._eps
        tasks = (delayed(fold.solve)(Cs, self._tol, share) for fold in self._folds)
        found = np.mean(self._parallel(tasks), axis=0)
        for C, errors in zip(Cs, found.tolist(), strict=True):
            self._errors[C] = PointError(*errors)

    def _bounds(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces with their lower bounds."""
        lower = self._mean(pieces, -1)
        return [replace(piece, lower=low) for piece, low in zip(pieces, lower, strict=True)]

    def _mean(self, pieces: list[Piece], side: int) -> list[float]:
        if not pieces:
            return []
        tasks = (delayed(fold.bounds)(pieces, side) for fold in self._folds)
        return np.mean(self._parallel(tasks), axis=0).tolist()

    def _examine(self, intervals: list[tuple[float, float]]) -> list[Piece]:
        """Bound new intervals in parts; as a whole where the bound in the middle already fails."""
        parts, hopeless = [], []
        for middle in self._bounds([Piece(*interval).middle() for interval in intervals]):
            if middle.lower < self._target():
                hopeless.append(middle.part(0.0, 1.0))
            else:
                parts += middle.parts()
        return self._bounds(parts) + hopeless

    def _divide(self, failing: list[Piece]) -> tuple[list[Piece], set]:
        """Halve pieces where this can help; return the halves, and the other intervals."""
        # Where pieces are small the next solve is in the middle of their interval.
        stuck = {
            piece.interval
            for piece in failing
            if piece.whole or piece.stop - piece.start <= 1.0 / 64.0
        }
        points = [piece.middle() for piece in failing if piece.interval not in stuck]
        points = self._bounds(points)
        stuck |= {point.interval for point in points if point.lower < self._target()}
        halves = []
        for piece in failing:
            if piece.interval not in stuck:
                t = 0.5 * (piece.start + piece.stop)
                halves += [piece.part(piece.start, t), piece.part(t, piece.stop)]
        return self._bounds(halves), stuck

    def _bisect(self, intervals: list[tuple[float, float]]) -> list[Piece]:
        """Solve in the middle of intervals, and bound their halves."""
        if not intervals:
            return []
        middles = [math.sqrt(first * last) for first, last in intervals]
        self._solve(middles)
        new = []
        for (first, last), C in zip(intervals, middles, strict=True):
            new += [(first, C), (C, last)]
        return self._examine(new)

    def _result(self, pieces: list[Piece]) -> ErrorBounds:
        found = []
        for piece in sorted(pieces, key=lambda piece: piece.ends):
            # Only the middle of the other intervals has been bounded.
            found += self._bounds(piece.parts()) if piece.whole else [piece]
        pieces, upper = found, self._mean(found, 1)
        Cs = sorted(self._errors)
        points = [self._errors[C] for C in Cs]
        return ErrorBounds(
            edges=np.array([piece.ends[0] for piece in pieces] + [pieces[-1].ends[1]]),
            lower=np.array([piece.lower for piece in pieces]),
            upper=np.array(upper),
            Cs=np.array(Cs),
            errors=np.array([point.error for point in points]),
            errors_upper=np.array([point.upper for point in points]),
            name=self._folds[0].errors.name,
        )

    def _tell(self, pieces: list[Piece], failing: list[Piece]) -> None:
        def width(some):
            return sum(math.log(piece.ends[1] / piece.ends[0]) for piece in some)

        best = min(point.upper for point in self._errors.values())
        text = f"solved={len(self._errors)} best={best:.4g}"
        self._report(1.0 - width(failing) / max(width(pieces), 1e-300), text)
