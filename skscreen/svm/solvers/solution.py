"""Solutions of hinge-loss problems, returned by solvers and yielded by paths."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from skscreen.core.certificate import Certificate, ScreeningEvent, n_screened
from skscreen.samples.multiclass import OneVsOne


class Solved:
    """What solutions tell, as solvers have them and as users see them."""

    beta: np.ndarray
    certificate: Certificate
    n_iter: int
    converged: bool
    history: tuple[ScreeningEvent, ...]
    C: float

    @property
    def alpha(self) -> np.ndarray:
        """Dual variables without signs."""
        return np.abs(self.beta)

    @property
    def n_items(self) -> int:
        """Number of what is screened: samples, or features with an L1 penalty."""
        if not self.history:
            return self.beta.size
        last = self.history[-1]
        return last.zero + last.linear + last.undecided

    @property
    def place(self) -> str:
        """Position on a path, in words."""
        return f"C={self.C:.3g}"

    def __str__(self) -> str:
        """Text for a progress bar."""
        return (
            f"{self.place} gap={self.certificate.relative_gap:.1e} "
            f"screened={self.screening_rate():.0%} iterations={self.n_iter}"
        )

    def screening_rate(self, where: str | None = None) -> float:
        """Return the share of all items decided at the end, or after the step `where`."""
        return n_screened(self.history, where) / max(self.n_items, 1)


@dataclass(frozen=True)
class SampleSolution(Solved):
    """A solution of a `Dual` with its certificate, as solvers have it.

    Parameters
    ----------
    beta : ndarray of shape (n,)
        Dual variables, with signs, of the full problem.
    scores : ndarray of shape (n,)
        <x_i, w> at w = sum_i beta_i x_i; without an unpenalised intercept, next to which small ones
        would lose digits.
    w : ndarray of shape (d,), or None
        The normal, where it is a vector (linear kernels), with the weight of a feature that carries
        the intercept.
    certificate : Certificate
        Of the full problem; the gap as a sum of non-negative terms.
    n_iter : int
    converged : bool
    seconds : float
        Screening included.
    history : tuple of ScreeningEvent
        Screening steps; lam = 1 / C, NaN where the C_i alone are known.
    b : float, or ndarray of shape (n_groups,) of a problem with groups
        Unpenalised intercept, to be added to the scores.
    C : float
        NaN where the C_i alone are known.
    rounding : float
        Errors, beyond those of double precision, that scores may have, over the lengths |x_i|.
        The samples which have them add nothing to the gap.
    apart : float
        |w - sum_i beta_i x_i|, where scores are those of w.
    progress : tuple of tuples
        What was known on the way: (steps, seconds, primal value, gap).
    errors : ndarray of shape (n,), or None
        Bounds on errors of the scores one by one, where the solver knows them.
    """

    beta: np.ndarray
    scores: np.ndarray
    w: np.ndarray | None
    certificate: Certificate
    n_iter: int
    converged: bool
    seconds: float
    history: tuple[ScreeningEvent, ...] = ()
    b: Any = 0.0
    C: float = np.nan
    rounding: float = 0.0
    apart: float = 0.0
    progress: tuple = ()
    errors: np.ndarray | None = None

    @property
    def square(self) -> float:
        """|w|^2: of the vector whose scores these are, from which dual variables may be apart."""
        w = self.w
        return float(w @ w) if w is not None else max(float(self.beta @ self.scores), 0.0)

    def stretched(self, factor: float, b: float) -> "SampleSolution":
        """Return the solution with a vector `factor` times as long, and the intercept of that."""
        w, errors = (None if part is None else factor * part for part in (self.w, self.errors))
        return replace(
            self, beta=factor * self.beta, scores=factor * self.scores, w=w, b=b,
            apart=factor * self.apart, errors=errors,
        )  # fmt: skip

    @property
    def problems(self) -> tuple["SampleSolution", ...]:
        """The solutions for this C: a single one for two classes."""
        return (self,)


@dataclass(frozen=True)
class Solution(Solved):
    """A solution as users see it, and as paths keep it.

    Parameters
    ----------
    beta : ndarray of shape (n,)
        Dual variables, with signs.
    w : ndarray of shape (n_features,), or None
        Weights of the features, of the linear kernel.
    b : float
        Intercept of the decision function, penalised or not.
    certificate, n_iter, converged, seconds, history, C
        As of `SampleSolution`.
    shift : float
        What was added to the diagonal of the kernel matrix.
    """

    beta: np.ndarray
    w: np.ndarray | None
    b: float
    certificate: Certificate
    n_iter: int
    converged: bool
    seconds: float
    history: tuple[ScreeningEvent, ...] = ()
    C: float = np.nan
    shift: float = 0.0

    @property
    def flawless(self) -> bool:
        """Whether it is a certified solution of the problem as it was given."""
        return self.converged and self.shift == 0.0 and not np.isnan(self.certificate.gap)

    @property
    def problems(self) -> tuple["Solution", ...]:
        """The solutions for this C: a single one for two classes."""
        return (self,)


def since(progress: Iterable[tuple], seconds: float) -> tuple:
    """Return (steps, time, ...) as (steps, seconds, ...) since the start, which was so long ago."""
    began = perf_counter() - seconds
    return tuple((steps, max(then - began, 0.0), *values) for steps, then, *values in progress)


@dataclass
class PairSolutions:
    """Solutions of the problems of all pairs of classes, as arrays with an entry for each."""

    C: Any  # a float, or those of the problems
    signed: np.ndarray  # (n_classes - 1, n), as `OneVsOne.dual_coefs`
    b: np.ndarray
    gaps: np.ndarray
    primals: np.ndarray
    n_iters: np.ndarray
    w: np.ndarray | None = None  # (n_problems, n_features), for the linear kernel
    # What was taken off samples, of which all w are sums; None where some are not.
    origin: np.ndarray | None = None

    @property
    def relative_gaps(self) -> np.ndarray:
        """Gaps as fractions of the primal objectives."""
        return self.gaps / np.where(self.primals == 0.0, 1.0, np.abs(self.primals))

    def alone(self, problem: int) -> Solution:
        """Return the solution of one problem without its dual variables."""
        primal, gap = float(self.primals[problem]), float(self.gaps[problem])
        return Solution(
            np.empty(0), None, float(self.b[problem]), Certificate(primal, primal - gap, gap),
            int(self.n_iters[problem]), converged=False, seconds=0.0, C=self.C,
        )  # fmt: skip

    def insert(self, division: OneVsOne, problem: int, alone: Solution, spent: int = 0) -> None:
        """Put the solution of one problem in its place, after so many steps."""
        i, j = division.pairs[problem]
        first, second = (division.members[c] for c in (i, j))
        self.signed[j - 1, first], self.signed[i, second] = np.split(alone.beta, [first.size])
        self.b[problem], self.n_iters[problem] = alone.b, spent + alone.n_iter
        found = alone.certificate
        self.primals[problem], self.gaps[problem] = found.primal, found.gap
        if self.w is not None and alone.w is not None:
            self.w[problem], self.origin = alone.w, None


def weights_of(solutions: Iterable[SampleSolution | Solution]) -> np.ndarray:
    """Return the weights of the features of solutions, (n_solutions, n_features)."""
    return np.stack([found.w for found in solutions if found.w is not None])


def growth(beta: np.ndarray, caps: np.ndarray, ratio: float) -> float:
    """Return the factor of beta (n,) as a start for C_i `ratio` times as large."""
    # The box grows by the ratio. But a solution below all of its caps is the hard-margin solution,
    # and stays the solution for larger C; where there is none caps are infinite.
    hard = ratio > 1.0 and bool(np.all(np.abs(beta) < caps)) and bool(np.all(np.isfinite(caps)))
    return 1.0 if hard else ratio
