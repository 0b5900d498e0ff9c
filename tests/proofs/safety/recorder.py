"""Decisions of fits, written down as they are handed to solvers.

For the time of a fit, functions of skscreen are replaced, in every module that has them, by ones
that also note what they return. What is noted are decisions as solvers get them, not bounds.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np

from skscreen.core.certificate import screening_event
from skscreen.metric_learning import path_solver
from skscreen.metric_learning.screening import active
from skscreen.metric_learning.screening.paper import ranges
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.screening.inside_box import compare_at
from skscreen.svm.solvers.kernel.low_rank import solve_factored
from tests.proofs.judging import shrunken

# Kinds of decisions about samples.
PATH, INSIDE, SOLVE, END = "from another C", "inside the box", "while solving", "at the end"


@contextmanager
def replaced(original, replacement) -> Iterator[None]:
    """Have one function in the place of another in all modules of skscreen that use its name."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("skscreen"):
                for key in [key for key, value in vars(module).items() if value is original]:
                    stack.enter_context(patch.object(module, key, replacement))
        yield


@dataclass
class Taken:
    """Samples decided in one step of a fit: codes, 0 where nothing is new."""

    C: float
    kind: str
    codes: np.ndarray


@dataclass
class SampleRecorder:
    """Collects the decisions of fits of support vector machines.

    A sample that a step finds decided already, with the same code, is not counted again.
    """

    taken: list[Taken] = field(default_factory=list)
    _waiting: list = field(default_factory=list)
    _inside: np.ndarray | None = None
    _last: np.ndarray | None = None

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is decided in this context."""
        solve = SamplePathSolver.solve

        def solved(solver, C, *arguments, **options):
            self._last = None
            solution = solve(solver, C, *arguments, **options)
            self._take(C)
            return solution

        def factored(*arguments):
            # These are decisions about the matrix of the factor, whose solution is but a start.
            known = len(self._waiting)
            solution = solve_factored(*arguments)
            del self._waiting[known:]
            return solution

        with (
            replaced(screening_event, self._event),
            replaced(solve_factored, factored),
            replaced(compare_at, self._compare),
            patch.object(SamplePathSolver, "solve", solved),
        ):
            yield

    def _event(self, where, iteration, codes, seconds, lam=np.nan):
        """Note the codes after a screening step; the steps of solvers do not know their C."""
        kind = PATH if where == "path" else SOLVE if np.isnan(lam) else END
        self._waiting.append((kind, np.array(codes)))
        if not np.isnan(lam):
            self._take(1.0 / lam)
        return screening_event(where, iteration, codes, seconds, lam)

    def _take(self, C: float) -> None:
        """Note what steps that wait have decided for a C beyond the steps before."""
        for kind, codes in self._waiting:
            new = codes if self._last is None else np.where(codes != self._last, codes, 0)
            if kind == PATH and self._inside is not None:
                inside = np.where(self._inside == new, new, 0)
                self.taken.append(Taken(C, INSIDE, inside))
                new, self._inside = new - inside, None
            self.taken.append(Taken(C, kind, new))
            self._last = codes
        self._waiting = []

    def _compare(self, reference, rho, samples):
        """Note what comparisons with samples inside the box decide."""
        extremes = compare_at(reference, rho, samples)
        self._inside = reference.dual.at(rho).codes(*extremes)
        return extremes


@dataclass
class ComparisonRecorder:
    """Collects the decisions of fits of metrics: lambda, kind, and codes of all items."""

    n_items: int
    taken: list[tuple[float, str, np.ndarray]] = field(default_factory=list)
    _ranges: np.ndarray | None = None

    @contextmanager
    def recording(self, shrink: float = 1.0) -> Iterator[None]:
        """Record what is decided in this context, by balls that may be too small."""
        decide_items, solve, by_ranges = (
            active.decide_items, path_solver.minimise, ranges.decide,
        )  # fmt: skip

        def noted(geometry, objective, balls, codes, hook):
            codes = np.zeros(self.n_items, np.int8) if codes is None else codes
            before, balls = codes.copy(), [shrunken(ball, shrink) for ball in balls]
            decision = decide_items(geometry, objective, balls, codes, hook)
            self.taken.append((objective.lam, "balls", np.where(codes != before, codes, 0)))
            return decision

        def in_range(objective, balls):
            decision = by_ranges(objective, balls)
            # They count where they are used, which is not at this lambda.
            self._ranges = self.taken.pop()[2]
            return decision

        def solved(objective, *arguments, reduced=None, **options):
            if reduced is not None:
                self.taken.append((objective.lam, "ranges", self._ranges))
            return solve(objective, *arguments, reduced=reduced, **options)

        with (
            patch.object(active, "decide_items", noted),
            patch.object(ranges, "decide", in_range),
            patch.object(path_solver, "minimise", solved),
        ):
            yield
