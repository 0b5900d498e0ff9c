"""What a solver returns, a path yields and the next solve uses as its reference."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from skscreen.problems.domains import Point
from skscreen.problems.objective import Certificate, Evaluation

# Whole paths of segment, satimage, iris and wine took the same time for 7 to 12, and a tenth more
# for 0.
_FEW_STEPS = 8


class ScreeningEvent(NamedTuple):
    """One screening step.

    Parameters
    ----------
    where : {"range", "path", "dynamic", "repair"}
        By stored ranges of lambda; from the reference at another lambda; inside the solve; or
        everything taken back because the certificate of the full problem did not confirm that of
        the reduced one.
    lam : float
    iteration : int
        Iterations done at this lambda before the step.
    zero, linear, undecided : int
        Items proved to lie in either part, and items left.
    seconds : float
        Time the step took.
    """

    where: str
    lam: float
    iteration: int
    zero: int
    linear: int
    undecided: int
    seconds: float


@dataclass(frozen=True)
class Solution:
    """Optimum of one problem at one lambda, with its proof.

    Parameters
    ----------
    lam : float
    point : Point
        The parameter.
    certificate : Certificate
        Of the full problem.
    loss : float
        Sum of all losses.
    evaluation : Evaluation or None
        Full evaluation at the point; the reference for other values of lambda.
    n_iter : int
        Steps of the solvers.
    converged : bool
        Whether the relative duality gap met the tolerance.
    history : tuple of ScreeningEvent
    step : float
        Last step length, a good first one for a problem nearby.
    seconds : float
    """

    lam: float
    point: Point
    certificate: Certificate
    loss: float
    evaluation: Evaluation | None
    n_iter: int
    converged: bool
    history: tuple[ScreeningEvent, ...]
    step: float
    seconds: float

    @property
    def is_short(self) -> bool:
        """Whether a solve of as many steps would not earn back a screening step before them."""
        return self.n_iter < _FEW_STEPS

    def without_evaluation(self) -> "Solution":
        """Return the solution without the part that grows with the number of pairs."""
        return replace(self, evaluation=None)

    def n_screened(self, where: str | None = None) -> int:
        """Return the number of items fixed at the end, or after the step `where`."""
        return n_screened(self.history, where)


def n_screened(history: Sequence[ScreeningEvent], where: str | None = None) -> int:
    """Return the number of items fixed at the end of a history, or after `where`."""
    events = [event for event in history if where in (None, event.where)]
    return events[-1].zero + events[-1].linear if events else 0
