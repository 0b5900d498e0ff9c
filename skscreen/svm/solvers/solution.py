"""The result of solving a hinge-loss problem over samples, and what its solvers agree on."""

from dataclasses import dataclass

import numpy as np

from skscreen.core.certificate import ScreeningEvent


@dataclass(frozen=True)
class SampleSolution:
    """A solution of min 1/2 |w|^2 + sum_i C_i (1 - m_i)_+ with its certificate.

    Parameters
    ----------
    alpha : ndarray of shape (n,)
        Dual variables, 0 <= alpha_i <= C_i, of the full problem.
    margins : ndarray of shape (n,)
        <z_i, w> at w = sum_i alpha_i z_i, with z_i = y_i x_i; without an unpenalised intercept,
        next to which small ones would lose digits.
    w : ndarray of shape (d,), or None
        The normal, where it is a vector (linear kernels).
    primal, dual, gap : float
        Objective, lower bound and duality gap of the full problem; the gap as a sum of
        non-negative terms.
    n_iter : int
    converged : bool
    seconds : float
    history : tuple of ScreeningEvent
        Screening steps of the solver; their lam is NaN, as solvers know the C_i alone.
    b : float
        Unpenalised intercept, to be added to the margins as y_i b.
    """

    alpha: np.ndarray
    margins: np.ndarray
    w: np.ndarray | None
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool
    seconds: float
    history: tuple[ScreeningEvent, ...] = ()
    b: float = 0.0

    @property
    def relative_gap(self) -> float:
        """Duality gap as a fraction of the primal objective."""
        return self.gap / self.primal if self.primal > 0.0 else self.gap
