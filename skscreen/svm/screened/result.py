"""Decisions on samples, and the problem that they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.decisions import LINEAR, UNDECIDED, ZERO
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.kernels.kernel import KERNELS_WITH_GAMMA
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual
from skscreen.svm.training_data import mark


@dataclass(frozen=True, repr=False)
class ReducedProblem:
    r"""What is left of a two-class problem when the decided samples are taken away.

    .. math::

        \max_\alpha \sum_i (p_i \alpha_i - \tfrac12 \sigma_i \alpha_i^2)
        - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j K_{ij}, \quad 0 \le \alpha_i \le C_i

    over the samples that are undecided, with :math:`\sum_i y_i \alpha_i =` `total` where the
    intercept is free. Any solver of this problem, or of that of the samples `kept`, finds the
    optimum of the whole problem.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Undecided samples, as rows of X.
    linear_term : ndarray of shape (m,)
        p_i = 1 - y_i sum_j C_j y_j K_ij over the samples j at their bound. K includes the constant
        feature of a penalised intercept.
    caps : ndarray of shape (m,)
        C_i; infinite for the squared hinge.
    shifts : ndarray of shape (m,)
        What is added to the diagonal, sigma_i: 0 for the hinge, 1 / (2 C_i) for its square.
    total : float or None
        What sum y_i alpha_i has to be; None without a free intercept.
    y : ndarray of shape (m,)
        Labels -1 and +1.
    decided : ndarray of shape (n_samples,)
        Dual variables of the decided samples, and 0 for the others.
    kept : ndarray of int
        For solvers without a linear term, as all estimators are: the undecided samples and those
        at their bound. Only samples with alpha_i = 0 go.
    """

    rows: np.ndarray
    linear_term: np.ndarray
    caps: np.ndarray
    shifts: np.ndarray
    total: float | None
    y: np.ndarray
    decided: np.ndarray
    kept: np.ndarray

    def combine(self, alpha: ArrayLike) -> np.ndarray:
        """Return the dual variables of the whole problem from those of the samples `rows`.

        Parameters
        ----------
        alpha : array-like of shape (m,)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != self.rows.shape:
            raise ValueError(
                f"alpha must have shape {self.rows.shape}, one number for each of `rows`, got "
                f"{alpha.shape}."
            )
        out = self.decided.copy()
        out[self.rows] = alpha
        return out

    def __repr__(self) -> str:
        """Tell how many samples are left."""
        total = "" if self.total is None else f", total={self.total:.6g}"
        return (
            f"ReducedProblem({self.rows.size} of {self.decided.size} samples undecided, "
            f"{self.kept.size} kept{total})"
        )


@dataclass(frozen=True)
class Decided:
    """Decisions (m,) on the samples of a problem, which are `rows` (m,) of X, and bounds (m, 2)."""

    rows: np.ndarray
    codes: np.ndarray
    bounds: np.ndarray
    samples: LinearSamples | KernelSamples
    dual: Dual
    gap: float  # relative, of the reference in this problem

    def reduced(self, n: int) -> ReducedProblem:
        """Return what is left of the problem; X has n rows."""
        at_bound, left = self.codes == LINEAR, np.flatnonzero(self.codes == UNDECIDED)
        beta, y = np.where(at_bound, self.dual.ends, 0.0), self.dual.signs
        fixed = self.samples.q_dot(beta)[left] if at_bound.any() else np.zeros(left.size)
        decided = np.zeros(n)
        decided[self.rows] = np.abs(beta)
        part = self.dual.take(left)
        return ReducedProblem(
            rows=self.rows[left], linear_term=y[left] * (part.target - fixed), caps=part.width,
            shifts=part.all_shifts, total=float(-beta.sum()) if self.dual.free else None, y=y[left],
            decided=decided, kept=self.rows[self.codes != ZERO],
        )  # fmt: skip


class SampleScreening:
    """Decisions on samples: which dual variables are proved to be 0 or at their bound.

    Returned by `screen_samples`, for the problem of one C.

    Attributes
    ----------
    codes_ : ndarray of shape (n_samples,), or (n_problems, n_samples) for more than two classes
        0 undecided, 1 alpha_i = 0, 2 alpha_i = C_i, as int8. Samples that are in no way part of a
        problem, of other classes or of weight zero, have alpha_i = 0.
    undecided_ : ndarray, or list of ndarray
        Indices of the undecided samples; for more than two classes of each problem.
    rate_ : float
        Share of the decided among all samples that are part of a problem.
    bounds_ : ndarray of shape (n_samples, 2), or (n_problems, n_samples, 2)
        Lowest and highest margin y_i f(x_i) that the sample may have at the optimum. NaN for
        samples that are no part of a problem.
    dual_gap_ : float
        Relative duality gap of the reference in the problem for C, of more than two classes the
        largest: how far the objective is from the optimum at most, over the objective. So it
        certifies a solution for C, whichever solver it is from. Dual variables that are above their
        bounds for C are scaled down first, and with a free intercept balanced to a sum of 0.
    kept_ : ndarray
        Indices of the samples that are not proved to be 0 in every problem. Any solver of the same
        problem finds on these alone what it finds on all; gamma "scale" and class weights
        "balanced" are others for fewer samples, so pass the numbers that they are for all.
    C : float
    kernel_ : str
    gamma_ : float
        Of kernels that have one: the number, which "scale" would give another value of for the
        samples kept.
    """

    codes_: np.ndarray
    bounds_: np.ndarray
    undecided_: np.ndarray | list[np.ndarray]

    def __init__(self, C: float, X, problems: list[Decided], kernel):
        n_samples = X.shape[0]
        self.C, self.kernel_, self._problems = C, kernel.name, problems
        self._X, self._mark = X, mark(X)
        if kernel.name in KERNELS_WITH_GAMMA:
            self.gamma_ = kernel.gamma
        codes = np.full((len(problems), n_samples), ZERO, dtype=np.int8)
        bounds = np.full((len(problems), n_samples, 2), np.nan)
        for k, found in enumerate(problems):
            codes[k, found.rows], bounds[k, found.rows] = found.codes, found.bounds
        self.dual_gap_ = float(max(found.gap for found in problems))
        n_all = sum(found.rows.size for found in problems)
        left = [np.flatnonzero(each == UNDECIDED) for each in codes]
        self.kept_ = np.flatnonzero((codes != ZERO).any(axis=0))
        self.rate_ = (n_all - sum(each.size for each in left)) / n_all
        one = len(problems) == 1
        self.codes_, self.bounds_ = (codes[0], bounds[0]) if one else (codes, bounds)
        self.undecided_ = left[0] if one else left

    def reduced_problem(self, problem: int = 0) -> ReducedProblem:
        """Return what any other solver has to be given to find the optimum of the whole.

        Parameters
        ----------
        problem : int, default=0
            Which of the two-class problems, for more than two classes.

        Returns
        -------
        ReducedProblem
        """
        if not 0 <= problem < len(self._problems):
            raise ValueError(
                f"problem must be from 0 to {len(self._problems) - 1}, got {problem!r}."
            )
        if mark(self._X) != self._mark:
            raise ValueError(
                "X was changed in place since its samples were decided: call screen_samples again."
            )
        return self._problems[problem].reduced(self._X.shape[0])

    def __repr__(self) -> str:
        """Tell how many are decided."""
        counts = [np.count_nonzero(self.codes_ == code) for code in (ZERO, LINEAR, UNDECIDED)]
        return (
            f"SampleScreening(C={self.C:g}, rate={self.rate_:.3f}: {counts[0]} at 0, "
            f"{counts[1]} at their bound, {counts[2]} undecided; dual gap of the reference "
            f"{self.dual_gap_:.1e})"
        )
