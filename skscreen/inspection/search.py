"""Figure of a search over one parameter or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.frame import FromEstimator
from skscreen.inspection.style import BLUE, GREY, VERMILION, Axes, Axis, colour_bar, open_axes

# What a parameter is called next to its axis, if more than its name.
_WORDS = {
    "C": "Weight of the losses C", "gamma": "gamma of the kernel", "lam": "Weight of the penalty"
}  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class SearchDisplay(FromEstimator):
    """Show the scores of a search: over two parameters as a heat map, over one as a curve.

    Use :meth:`from_estimator` to create it, with a fitted search, of scikit-learn or of this
    package, that has one score, and in which no more than two parameters have several values; also
    of a pipeline.

    Parameters
    ----------
    parameters : dict of str to sequence
        The values of one parameter or two, ascending; those of the first along the x axis. Strings
        such as "scale" are values, too.
    scores : ndarray of shape (n_first,) or (n_second, n_first)
        Mean scores over the folds; NaN if there is none.
    best : tuple of int
        Index of the chosen scores.
    deviations : ndarray of shape (n_first,), default=None
        Standard deviations of the scores over the folds, drawn around a curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    mesh_ : matplotlib QuadMesh
        The heat map. Only with two parameters.
    best_cell_ : matplotlib Rectangle
        Frame around the chosen cell. Only with two parameters.
    line_ : matplotlib Line2D
        The scores. Only with one parameter.
    best_point_ : matplotlib Line2D
        Mark of the chosen value. Only with one parameter.

    Examples
    --------
    >>> from skscreen.inspection import SearchDisplay
    >>> display = SearchDisplay.from_estimator(search)  # doctest: +SKIP
    >>> display.figure_.savefig("search.png")  # doctest: +SKIP
    """

    figsize = (6.0, 4.0)

    parameters: dict[str, Any]
    scores: np.ndarray
    best: tuple[int, ...]
    deviations: np.ndarray | None = None

    @classmethod
    def read_estimator(cls, estimator: BaseEstimator) -> Self:
        """Return the display of a search."""
        if not hasattr(estimator, "cv_results_"):
            check_is_fitted(estimator)
        return cls(**_found(estimator))

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        first, *second = self.parameters
        half = 0.5 if second else 0.0
        _label(ax.xaxis, self.parameters[first], self.best[-1], half)
        ax.set_xlabel(_WORDS.get(first, first))
        if second:
            self._heat_map(ax, *second)
        else:
            self._curve(ax)
        ax.set_title(self._conclusion(), loc="left", fontsize="medium")

    def _heat_map(self, ax: Axes, second: str) -> None:
        from matplotlib.patches import Rectangle

        known = self.scores[np.isfinite(self.scores)]
        # Half of the cells are in the darkest colour: poor scores do not use up all colours.
        low = float(np.median(known)) if known.size else None
        self.mesh_ = ax.pcolormesh(
            np.ma.masked_invalid(self.scores), cmap="cividis", vmin=low, edgecolors="white",
            linewidth=0.5,
        )  # fmt: skip
        ax.set_facecolor("0.85")
        row, column = self.best
        self.best_cell_ = ax.add_patch(
            Rectangle((column, row), 1, 1, fill=False, edgecolor=VERMILION, linewidth=2.5, zorder=3)
        )
        _label(ax.yaxis, self.parameters[second], row, 0.5)
        ax.set_ylabel(_WORDS.get(second, second))
        ax.tick_params(colors=GREY)
        colour_bar(ax, self.mesh_, "Mean score of the folds", extend="min")

    def _curve(self, ax: Axes) -> None:
        places, (best,) = np.arange(self.scores.size), self.best
        if self.deviations is not None:
            ax.fill_between(
                places, self.scores - self.deviations, self.scores + self.deviations, color=BLUE,
                alpha=0.15, linewidth=0.0, label="one standard deviation over the folds",
            )  # fmt: skip
        (self.line_,) = ax.plot(places, self.scores, "o-", color=BLUE, markersize=4)
        (self.best_point_,) = ax.plot(best, self.scores[best], "o", color=VERMILION, markersize=9)
        ax.set_ylabel("Mean score of the folds")
        if self.deviations is not None:
            ax.legend(frameon=False)
        open_axes(ax)

    def _conclusion(self) -> str:
        """Say what was chosen, and whether the grid ends there."""
        chosen, sides = [], []
        for (name, values), place in zip(self.parameters.items(), self.best[::-1], strict=True):
            chosen.append(f"{name} = {_text(values[place])}")
            # Names, such as "scale", come after numbers.
            n = sum(not isinstance(value, str) for value in values)
            if n > 1 and place in (0, n - 1):
                sides.append(f"{'larger' if place else 'smaller'} {name}")
        more = f"\nThe grid ends there: try {' and '.join(sides)}" if sides else ""
        return f"Best: {', '.join(chosen)}, score {self.scores[self.best]:.4g}{more}"


def _found(search: BaseEstimator) -> dict[str, Any]:
    """Return what a fitted search found, as the arguments of a display."""
    results = getattr(search, "cv_results_", {})
    found: dict[str, list] = {}
    if hasattr(search, "best_index_") and "mean_test_score" in results:
        for point in results["params"]:
            for name, value in point.items():
                found.setdefault(name, []).append(value)
    # Names, such as "scale", come after numbers.
    orders = {
        name: sorted(set(values), key=lambda value: (isinstance(value, str), value))
        for name, values in found.items()
        if all(isinstance(value, str | Real) for value in values)
    }
    varied = [name for name in found if len(orders.get(name, "ab")) > 1] or list(found)[:1]
    if not 1 <= len(varied) <= 2 or not orders.keys() >= set(varied):
        raise ValueError(
            "estimator must be a search, fitted with one score, over no more than two parameters "
            f"that have several values, numbers or names; got {type(search).__name__}"
            + (f" over {', '.join(varied)}." if varied else " without such results.")
            + " For certify= see CertifiedPathDisplay." * hasattr(search, "bounds_")
        )
    # What is searched along a path is the axis below.
    varied.sort(key=lambda name: name.split("__")[-1] not in ("C", "lam"))
    shape = tuple(len(orders[name]) for name in varied[::-1])
    places = tuple(
        np.array([orders[name].index(value) for value in found[name]]) for name in varied[::-1]
    )
    scores, deviations = np.full(shape, np.nan), np.full(shape, np.nan)
    scores[places], deviations[places] = results["mean_test_score"], results["std_test_score"]
    return {
        "parameters": {name.split("__")[-1]: orders[name] for name in varied},
        "scores": scores,
        "best": tuple(int(place[search.best_index_]) for place in places),
        "deviations": deviations if len(varied) == 1 else None,
    }


def _label(axis: Axis, values: Sequence, chosen: int, shift: float) -> None:
    """Write up to ten of the values at their places + shift, that of the chosen one among them."""
    every = -(-len(values) // 10)
    places = np.arange(chosen % every, len(values), every)
    axis.set_ticks(places + shift, [_text(values[int(place)]) for place in places])


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if 1e3 <= value < 1e6 else f"{value:.3g}"
