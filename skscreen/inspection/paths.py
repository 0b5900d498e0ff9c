"""Figures of regularisation paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.decisions import ZERO
from skscreen.inspection.frame import Display
from skscreen.inspection.style import (
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    Axes,
    Axis,
    legend_above,
    level_line,
    mark_point,
    open_axes,
)

# Labels of the axis, by the parameter that differs along the path.
_LABELS = {"lam": "Regularisation parameter λ (log scale)", "C": "C (log scale)"}
_SYMBOLS = {"lam": "λ", "C": "C"}


class Screening(Protocol):
    """Decisions for a value of lambda or of C."""

    codes_: np.ndarray
    rate_: float


@dataclass(kw_only=True, eq=False, repr=False)
class ScreeningDisplay(Display):
    """Show the screening rates along a regularisation path.

    One line shows the share of the items (comparisons, samples or features) that were decided by
    the solution at the previous λ or C, the other the share that were decided when the solve ended.
    λ decreases, and C increases, from left to right.

    Use :meth:`from_path` to create it; or :meth:`from_screenings`, where the first line shows the
    share without a loss, and the other all that is decided.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Of λ or of C, > 0.
    path_rates : ndarray of shape (n_values,)
        Rates before the first iteration, in [0, 1]. NaN leaves a gap in the line.
    rates : ndarray of shape (n_values,)
        Rates at the end of the solve, in [0, 1]. NaN leaves a gap in the line.
    parameter : {"lam", "C"}, default="lam"
        What `values` are of.
    items : str, default=None
        What is screened. None: comparisons along λ, and samples along C.
    legend : tuple of str, default=("path rule, at the start", "end of the solve")
        What the legend says of the two lines.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        Lines of the rates before the first iteration and at the end of the solve.
    fills_ : list of matplotlib artists
        Area under the first line, and area between the lines.

    Examples
    --------
    >>> from skscreen.inspection import ScreeningDisplay
    >>> display = ScreeningDisplay.from_path(path)  # doctest: +SKIP
    >>> display.figure_.savefig("screening.png")  # doctest: +SKIP
    """

    values: np.ndarray
    path_rates: np.ndarray
    rates: np.ndarray
    parameter: str = "lam"
    items: str | None = None
    legend: tuple[str, str] = ("path rule, at the start", "end of the solve")

    @classmethod
    def from_path(cls, path: object, *, ax: Axes | None = None) -> Self:
        """Draw the shares that are decided along a path.

        Parameters
        ----------
        path : RTLMPath, SVCPath or SVRPath
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ScreeningDisplay
            Drawn.

        Raises
        ------
        TypeError
            If `path` is not a path.
        ValueError
            If the length of an array of the path is not that of its values.
        """
        values, parameter = _values(path)
        names = ("path_rates", "rates")
        first, last = (_of_path(path, name, values) for name in names)
        penalty = getattr(getattr(path, "model", None), "penalty", "l2")
        return cls(
            values=values, path_rates=first, rates=last, parameter=parameter,
            items="features" if penalty == "l1" else None,
        ).plot(ax=ax)  # fmt: skip

    @classmethod
    def from_screenings(cls, screenings: Sequence[Screening], *, ax: Axes | None = None) -> Self:
        """Draw the shares that are decided, from decisions for several values of λ or C.

        Parameters
        ----------
        screenings : list of SampleScreening, or list of TripletScreening
            What `screen_samples` and `screen_triplets` return, ``model.screened(X, y)`` of
            estimators, or ``path.screened(C)``.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ScreeningDisplay
            Drawn.

        Raises
        ------
        TypeError
            If `screenings` is not such a list.
        """
        found = list(screenings) if isinstance(screenings, Sequence) else []
        kinds = [
            (name, parameter)
            for name, parameter in (("lam_", "lam"), ("C", "C"))
            if found and all(hasattr(one, name) and hasattr(one, "codes_") for one in found)
        ]
        if not kinds:
            raise TypeError(
                "`screenings` must be a list of what screen_samples, or of what screen_triplets "
                f"returns, got {screenings!r}. For a path: ScreeningDisplay.from_path(path)."
            )
        name, parameter = kinds[0]
        found.sort(key=lambda one: getattr(one, name))
        return cls(
            values=np.array([getattr(one, name) for one in found], dtype=float),
            path_rates=np.array([_without_loss(one) for one in found]),
            rates=np.array([one.rate_ for one in found]),
            parameter=parameter, legend=("no loss", "all that is decided"),
        ).plot(ax=ax)  # fmt: skip

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        from matplotlib.ticker import PercentFormatter

        style = _line_style(self.values.size)
        # Each area is the increase of one step, so that colours do not overlap.
        floor = np.zeros_like(self.values)
        by_path_rule = np.nan_to_num(self.path_rates)
        self.lines_, self.fills_ = [], []
        for lower, upper, rates, colour, label in [
            (floor, by_path_rule, self.path_rates, ORANGE, self.legend[0]),
            (by_path_rule, self.rates, self.rates, BLUE, self.legend[1]),
        ]:
            self.lines_ += ax.plot(self.values, rates, color=colour, label=label, **style)
            self.fills_.append(
                ax.fill_between(self.values, lower, upper, color=colour, alpha=0.2, linewidth=0)
            )

        _style_axes(ax, self.values, self.parameter)
        ax.set_xlabel(_LABELS[self.parameter])
        # Rates of 0 and 1 are common, and the frame must not hide half of the line.
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))
        items = self.items or ("samples" if self.parameter == "C" else "comparisons")
        ax.set_ylabel(f"Screening rate (% of {items})")
        legend_above(ax)


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """Show the objective, the duality gap and optionally a score along a regularisation path.

    The panels share one axis, on which λ decreases, or C increases, from left to right.

    Use :meth:`from_path` to create it.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Of λ or of C, > 0.
    objectives : ndarray of shape (n_values,)
        Primal objectives. The axis is logarithmic if all values are positive.
    dual_gaps : ndarray of shape (n_values,)
        Relative duality gaps. Values below machine precision, such as zero, are drawn at machine
        precision.
    tol : float, default=None
        Tolerance on the relative duality gap, drawn as a line.
    scores : ndarray of shape (n_values,), default=None
        A score for each value, greater is better, for instance the accuracy on validation data. NaN
        leaves a gap in the line. If None, there is no panel for scores.
    score_name : str, default="Validation accuracy"
        Label of the axis of the scores.
    baseline : float, default=None
        Score of a baseline, drawn as a dashed line.
    baseline_name : str, default="Baseline"
        Label of this line.
    parameter : {"lam", "C"}, default="lam"
        What `values` are of.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,) or (3,)
        Axes of the objective, of the gap and, if there are scores, of the scores.
    figure_ : matplotlib Figure
    objective_line_, gap_line_, tol_line_, score_line_, best_point_, baseline_line_ : Line2D
        Curves, tolerance, scores, mark of the best score, and baseline; None if not drawn.
    best_index_ : int or None
        Index into `values` of the best score; the first, with the largest λ of a path, if scores
        are equal. None without `scores`.

    Examples
    --------
    >>> from skscreen.inspection import PathDisplay
    >>> display = PathDisplay.from_path(path, tol=1e-6)  # doctest: +SKIP
    >>> display.figure_.savefig("path.png")  # doctest: +SKIP
    """

    values: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    tol: float | None = None
    scores: np.ndarray | None = None
    score_name: str = "Validation accuracy"
    baseline: float | None = None
    baseline_name: str = "Baseline"
    parameter: str = "lam"

    @classmethod
    def from_path(
        cls, path: object, *, tol: float | None = None, scores: ArrayLike | None = None,
        score_name: str = "Validation accuracy", baseline: float | None = None,
        baseline_name: str = "Baseline", ax: Sequence[Axes] | None = None,
    ) -> Self:  # fmt: skip
        """Draw the curves of a path.

        Parameters
        ----------
        path : RTLMPath, SVCPath or SVRPath
        tol, scores, score_name, baseline, baseline_name
            As of the display. Scores are drawn in a panel of their own, with the best one marked; a
            baseline needs them.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw on: two, or three with `scores`. None makes a new figure.

        Returns
        -------
        PathDisplay
            Drawn.

        Raises
        ------
        TypeError
            If `path` is not a path.
        ValueError
            If the length of `scores` or of an array of the path is not that of its values, if
            `baseline` is given without `scores`, or if `ax` does not have one Axes for each panel.
        """
        for name, number in (("tol", tol), ("baseline", baseline)):
            if number is not None and not (isinstance(number, Real) and math.isfinite(number)):
                raise ValueError(f"`{name}` must be a finite number or None, got {number!r}.")
        if tol is not None and tol <= 0.0:
            raise ValueError(f"`tol` must be positive, for a logarithmic axis, got {tol!r}.")
        if baseline is not None and scores is None:
            raise ValueError("`baseline` is compared with `scores`: give both, or neither.")
        values, parameter = _values(path)
        if scores is not None:
            scores = _along_path(scores, values, "scores")
            if np.isnan(scores).all():
                raise ValueError("`scores` must hold a number, got NaN alone.")
        return cls(
            values=values,
            objectives=_of_path(path, "objectives", values, holes=False),
            dual_gaps=_of_path(path, "dual_gaps", values, holes=False),
            tol=tol,
            scores=scores,
            score_name=score_name,
            baseline=baseline,
            baseline_name=baseline_name,
            parameter=parameter,
        ).plot(ax=ax)

    @property
    def panels(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and columns of panels."""
        return (2 if self.scores is None else 3), 1

    @property
    def figsize(self) -> tuple[float, float]:  # type: ignore[override]
        """Width and height of a new figure in inches."""
        return 6.0, 0.6 + 1.9 * self.panels[0]

    def draw(self, objective: Axes, gap: Axes, score: Axes | None = None) -> None:
        """Draw on axes that are given."""
        self._plot_objective(objective)
        self._plot_gap(gap)
        self.score_line_: Any = None
        self.best_point_: Any = None
        self.baseline_line_: Any = None
        self.best_index_: int | None = None
        axes = [objective, gap]
        if score is not None and self.scores is not None:
            self._plot_scores(score, self.scores)
            axes.append(score)
        for panel in axes:
            _style_axes(panel, self.values, self.parameter)
        axes[-1].set_xlabel(_LABELS[self.parameter])
        self.figure_.align_ylabels(axes)

    def _plot_objective(self, ax: Axes) -> None:
        (self.objective_line_,) = ax.plot(
            self.values, self.objectives, color=BLUE, **_line_style(self.values.size)
        )
        if np.all(self.objectives > 0):
            ax.set_yscale("log")
            _label_log_axis(ax.yaxis, self.objectives)
        ax.set_ylabel("Primal objective")

    def _plot_gap(self, ax: Axes) -> None:
        # Rounding can make a gap zero or negative, which a logarithmic axis cannot show.
        gaps = np.maximum(self.dual_gaps, np.finfo(float).eps)
        (self.gap_line_,) = ax.plot(
            self.values, gaps, color=VERMILION, **_line_style(self.values.size)
        )
        self.tol_line_ = None
        if self.tol is not None:
            self.tol_line_ = level_line(ax, self.tol, f"tolerance {self.tol:g}")
            legend_above(ax)
        ax.set_yscale("log")
        # If a solution is known in closed form its gap is rounding error; the line may leave the
        # panel there, rather than flatten all the rest.
        rounding = 1e-12
        shown = gaps > (rounding if np.nanmax(gaps) > rounding else 0.0)
        ax.set_ylim(bottom=np.nanmin(gaps, where=shown, initial=np.nanmax(gaps)) / 2)
        ax.set_ylabel("Relative duality gap")

    def _plot_scores(self, ax: Axes, scores: np.ndarray) -> None:
        self.best_index_ = int(np.nanargmax(scores))
        best, best_score = self.values[self.best_index_], scores[self.best_index_]
        if self.baseline is not None:
            name = f"{self.baseline_name} ({self.baseline:.3g})"
            self.baseline_line_ = level_line(ax, self.baseline, name)
        (self.score_line_,) = ax.plot(
            self.values, scores, color=GREEN, **_line_style(self.values.size)
        )
        name = f"best ({best_score:.3g} at {_SYMBOLS[self.parameter]} = {best:.3g})"
        self.best_point_ = mark_point(ax, best, best_score, GREEN, name)
        ax.set_ylabel(self.score_name)
        legend_above(ax)


def _without_loss(screening: Screening) -> float:
    """Return the share of items that are decided to have no loss, among those of the problems."""
    codes = screening.codes_
    # Samples that are no part of a problem have no bounds.
    bounds = getattr(screening, "bounds_", None)
    part = np.ones(codes.shape, np.bool_) if bounds is None else ~np.isnan(bounds[..., 0])
    return float((codes[part] == ZERO).mean()) if part.any() else 0.0


def _values(path: object) -> tuple[np.ndarray, str]:
    """Return the values of λ or C of a path, and which of both they are."""
    for name, parameter in (("lams", "lam"), ("Cs", "C")):
        if hasattr(path, name) and not hasattr(path, "fit"):
            return np.asarray(getattr(path, name), dtype=float), parameter
    hint = ""
    if hasattr(path, "cv_results_"):
        hint = " Searches are drawn by SearchDisplay, or with `certify` by CertifiedPathDisplay."
    raise TypeError(
        "`path` must be what rtlm_path, svc_path or svr_path returns, got "
        f"{type(path).__name__}.{hint}"
    )


def _of_path(path: object, name: str, values: np.ndarray, holes: bool = True) -> np.ndarray:
    """Return an array of a path with one entry for each of its values."""
    return _along_path(getattr(path, name), values, f"path.{name}", holes)


def _along_path(
    numbers: ArrayLike, values: np.ndarray, name: str, holes: bool = True
) -> np.ndarray:
    """Return numbers as an array with one entry for each value; NaN may leave holes."""
    try:
        found = np.asarray(numbers, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must hold numbers: {error}.") from error
    if found.shape != values.shape:
        raise ValueError(
            f"`{name}` has shape {found.shape}, but the path has {values.size} values: "
            "one value is needed for each."
        )
    if np.isinf(found).any() or np.isnan(found).any() > holes:
        raise ValueError(f"`{name}` must hold finite numbers{', or NaN for some' * holes}.")
    return found


def _line_style(n_points: int) -> dict[str, Any]:
    # Of few points, markers show the values on the line.
    marker = "o" if n_points <= 30 else None
    return {"linewidth": 1.6, "marker": marker, "markersize": 3.5}


def _style_axes(ax: Axes, values: np.ndarray, parameter: str) -> None:
    open_axes(ax)
    ax.set_xscale("log")
    _label_log_axis(ax.xaxis, values)
    ax.xaxis.set_inverted(parameter == "lam")
    ax.margins(x=0.01)


def _label_log_axis(axis: Axis, values: np.ndarray) -> None:
    """Label 1, 2 and 5 where the powers of ten alone are too few and all digits too many."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    if 5 < np.nanmax(values) / np.nanmin(values) < 200:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf)))
        axis.set_minor_formatter(NullFormatter())
