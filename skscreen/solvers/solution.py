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
        Items fixed so far in either part, and items left.
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
    n_decidable : int or None
        Number of items off the quadratic piece of the loss at the solution; None where nothing was
        screened, since counting takes a fifth of an evaluation.
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
    n_decidable: int | None
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

    def screening_rate(self, where: str | None = None) -> float:
        """Return the share of decidable items fixed at the end, or after the step `where`."""
        return screening_rate(self.history, self.n_decidable, where)


def screening_rate(
    history: Sequence[ScreeningEvent], n_decidable: int | None, where: str | None = None
) -> float:
    """Return the share of decidable items fixed at the end of a history, or after `where`."""
    events = [event for event in history if where in (None, event.where)]
    if not events or not n_decidable:
        return 0.0
    return min((events[-1].zero + events[-1].linear) / n_decidable, 1.0)
