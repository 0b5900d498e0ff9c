"""Figure of a certified choice of C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skscreen.inspection.frame import FromEstimator, FromResult, check_learned
from skscreen.inspection.style import (
    BLUE,
    VERMILION,
    Axes,
    legend_above,
    level_line,
    mark_point,
    open_axes,
)


@dataclass(kw_only=True, eq=False, repr=False)
class CertifiedPathDisplay(FromResult, FromEstimator):
    """Show what is proven about the validation error for every C in a range.

    The band is between the lower and the upper bounds, the points are the solved values of C, and
    the line is a lower bound on the error for all C in the range.

    Use :meth:`from_result` with what `svc_certified_C` or `svr_certified_C` returns, or
    :meth:`from_estimator` with a fitted `ScreenedSVCCV` with `certify`, to create it.

    Parameters
    ----------
    edges : ndarray of shape (n_parts + 1,)
        Ends of the parts of the range, ascending.
    lower, upper : ndarray of shape (n_parts,)
        Bounds on the error in each part.
    Cs, errors : ndarray of shape (n_solved,)
        Solved values of C and their errors.
    C : float, default=None
        The chosen value, marked if given.
    name : str, default="validation error"
        Name of the error. "validation error" is drawn in per cent.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    band_ : matplotlib artist
        Area between the bounds.
    lower_line_ : matplotlib Line2D
        The smallest lower bound.
    points_ : matplotlib Line2D
        Solved values.
    best_point_ : matplotlib Line2D or None
        The value chosen.

    Examples
    --------
    >>> from skscreen.inspection import CertifiedPathDisplay
    >>> display = CertifiedPathDisplay.from_result(result)  # doctest: +SKIP
    >>> display.figure_.savefig("certified.png")  # doctest: +SKIP
    """

    edges: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    Cs: np.ndarray
    errors: np.ndarray
    C: float | None = None
    name: str = "validation error"

    @classmethod
    def read_result(cls, result: object) -> Self:
        """Return the display of a `CertifiedC`."""
        if not hasattr(result, "bounds"):
            raise TypeError(
                "`result` must be what svc_certified_C or svr_certified_C returns, got "
                f"{type(result).__name__}."
            )
        return cls._of_bounds(result.bounds)

    @classmethod
    def read_estimator(cls, estimator: BaseEstimator) -> Self:
        """Return the display of a `ScreenedSVCCV` with `certify`."""
        check_learned(estimator, "bounds_", "ScreenedSVCCV with certify")
        return cls._of_bounds(estimator.bounds_)

    @classmethod
    def _of_bounds(cls, bounds: Any) -> Self:
        return cls(
            edges=bounds.edges, lower=bounds.lower, upper=bounds.upper, Cs=bounds.Cs,
            errors=bounds.errors, C=float(bounds.Cs[bounds.best]), name=bounds.name,
        )  # fmt: skip

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        from matplotlib.ticker import PercentFormatter

        # Bounds hold on whole parts: steps, not lines from one to the next.
        low, high = (np.append(bound, bound[-1]) for bound in (self.lower, self.upper))
        self.band_ = ax.fill_between(
            self.edges, low, high, step="post", color=BLUE, alpha=0.25, linewidth=0.8,
            label="proved for every C",
        )  # fmt: skip
        (self.points_,) = ax.plot(
            self.Cs, self.errors, color=BLUE, marker="o", markersize=2.5, linestyle="none",
            clip_on=False,
            label=f"solved ({len(self.Cs)})",
        )  # fmt: skip
        smallest = float(np.min(self.lower))
        is_share = self.name == "validation error"
        number = "{:.2%}" if is_share else "{:.3g}"
        name = f"no C is below {number.format(smallest)}"
        self.lower_line_ = level_line(ax, smallest, name)
        self.best_point_ = None
        if self.C is not None:
            error = float(self.errors[np.argmin(np.abs(self.Cs - self.C))])
            name = f"chosen ({number.format(error)} at C = {self.C:.3g})"
            self.best_point_ = mark_point(ax, self.C, error, VERMILION, name, clip_on=False)
        open_axes(ax)
        ax.set_xscale("log")
        ax.set_xlim(self.edges[0], self.edges[-1])
        ax.margins(x=0.01)
        if is_share:
            ax.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("Weight of the losses C (log scale)")
        ax.set_ylabel(self.name.capitalize())
        legend_above(ax)
