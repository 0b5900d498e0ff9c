"""Figure of a search over C and gamma."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.style import GREY, VERMILION, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SearchDisplay"]

# Largest number of values along an axis.
_MOST_LABELS = 10

# Share of the cells in the darkest colour, so that poor scores do not use up all colours.
_POOR = 0.5


class SearchDisplay:
    """Show the scores of a search over C and gamma as a heat map.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C, ascending.
    gammas : sequence of n_gammas values
        Values of gamma, or strings such as "scale".
    scores : ndarray of shape (n_gammas, n_Cs)
        Mean scores over the folds; NaN if there is none.
    best : tuple of int
        Indices of the chosen gamma and C.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        Figure that holds the axes.
    mesh_ : matplotlib QuadMesh
        The heat map.
    best_cell_ : matplotlib Rectangle
        Frame around the chosen cell.

    Examples
    --------
    >>> from skscreen.inspection import SearchDisplay
    >>> display = SearchDisplay.from_estimator(search)  # doctest: +SKIP
    >>> display.figure_.savefig("search.png")  # doctest: +SKIP
    """

    def __init__(self, *, Cs: np.ndarray, gammas, scores: np.ndarray, best: tuple[int, int]):
        self.Cs = Cs
        self.gammas = gammas
        self.scores = scores
        self.best = best

    @classmethod
    def from_estimator(cls, search: Any, *, ax: Axes | None = None) -> Self:
        """Draw the scores of a search.

        Parameters
        ----------
        search : ScreenedSVCCV or GridSearchCV
            Fitted search: a `ScreenedSVCCV` with `gammas`, or a `GridSearchCV` over C and gamma and
            no other parameter, also of a pipeline.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : SearchDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the search is not fitted.
        ValueError
            If the search is not of this kind.
        """
        if not (hasattr(search, "gammas_") or hasattr(search, "cv_results_")):
            check_is_fitted(search)
        parts = _of_svc(search) if hasattr(search, "gammas_") else _of_grid(search)
        Cs, gammas, scores, best = parts
        return cls(Cs=Cs, gammas=gammas, scores=scores, best=best).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : SearchDisplay
            The object itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = axes_for(self, ax, (6.0, 4.0))
        from matplotlib.patches import Rectangle

        known = self.scores[np.isfinite(self.scores)]
        low = float(np.quantile(known, _POOR)) if known.size else None
        self.mesh_ = ax.pcolormesh(
            np.ma.masked_invalid(self.scores), cmap="cividis", vmin=low, edgecolors="white",
            linewidth=0.5,
        )  # fmt: skip
        ax.set_facecolor("0.85")
        row, column = self.best
        self.best_cell_ = ax.add_patch(
            Rectangle((column, row), 1, 1, fill=False, edgecolor=VERMILION, linewidth=2.5, zorder=3)
        )
        _label(ax.xaxis, self.Cs, column)
        _label(ax.yaxis, self.gammas, row)
        ax.tick_params(length=0, colors=GREY)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("Weight of the losses C")
        ax.set_ylabel("gamma of the kernel")
        bar = ax.figure.colorbar(self.mesh_, ax=ax, extend="min", label="Mean score of the folds")
        bar.outline.set_visible(False)
        ax.set_title(self._conclusion(), loc="left", fontsize="medium")
        return self

    def _conclusion(self) -> str:
        """Say what was chosen, and whether the grid ends there."""
        row, column = self.best
        chosen = f"C = {_text(self.Cs[column])}, gamma = {_text(self.gammas[row])}"
        sides = []
        for name, place, values in (("C", column, self.Cs), ("gamma", row, self.gammas)):
            # Names, such as "scale", come after numbers.
            n = sum(not isinstance(value, str) for value in values)
            if n > 1 and place in (0, n - 1):
                sides.append(f"{'larger' if place else 'smaller'} {name}")
        more = f"\nThe grid ends there: try {' and '.join(sides)}" if sides else ""
        return f"Best: {chosen}, score {self.scores[row, column]:.4g}{more}"


def _of_svc(search) -> tuple:
    """Return what a fitted `ScreenedSVCCV` found."""
    best = int(np.argmin(np.abs(search.gammas_ - search.gamma_)))
    best = best, int(np.argmin(np.abs(search.Cs_ - search.C_)))
    return search.Cs_, search.gammas_, search.scores_.mean(axis=0), best


def _of_grid(search) -> tuple:
    """Return what a fitted `GridSearchCV` found."""
    results = getattr(search, "cv_results_", {})
    names = {name.removeprefix("param_"): name for name in results if name.startswith("param_")}
    ends = {name.split("__")[-1]: values for name, values in names.items()}
    found = hasattr(search, "best_index_") and "mean_test_score" in results
    if len(names) != 2 or set(ends) != {"C", "gamma"} or not found:
        raise ValueError(
            "search must be a ScreenedSVCCV fitted with gammas, or a GridSearchCV fitted over C "
            f"and gamma alone with one score; got {type(search).__name__}."
        )
    axes = []
    for name in ("gamma", "C"):
        # Names, such as "scale", come after numbers.
        given = list(results[ends[name]])
        order = sorted(set(given), key=lambda value: (isinstance(value, str), value))
        axes.append((order, np.array([order.index(value) for value in given])))
    (gammas, rows), (Cs, columns) = axes
    scores = np.full((len(gammas), len(Cs)), np.nan)
    scores[rows, columns] = results["mean_test_score"]
    best = int(rows[search.best_index_]), int(columns[search.best_index_])
    return np.array(Cs, dtype=np.float64), gammas, scores, best


def _label(axis: Any, values, chosen: int) -> None:
    """Write some of the values in the middle of their cells, that of the chosen one among them."""
    every = -(-len(values) // _MOST_LABELS)
    places = np.arange(chosen % every, len(values), every)
    axis.set_ticks(places + 0.5, [_text(values[place]) for place in places])


def _text(value) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if 1e3 <= value < 1e6 else f"{value:.3g}"
