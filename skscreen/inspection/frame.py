"""The frame of the displays: they hold the data of a figure, read from one source, and draw it.

A display has a method `from_SOURCE(source, *, ax=None)`, which reads the source and draws. Where
nothing but the source is asked for, the method is inherited, and the display defines
`read_SOURCE(source)`, which returns it undrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.style import Axes


def check_learned(estimator: BaseEstimator, attribute: str, kind: str) -> None:
    """Raise unless an estimator has an attribute of a fit; `kind` says which estimators do."""
    if hasattr(estimator, attribute):
        return
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    raise ValueError(
        f"estimator must be a fitted {kind}, got {type(estimator).__name__}. Of a pipeline give "
        "that step, with what it gets; of a search, best_estimator_."
    )


class Display:
    """Base of the displays, which hold the data of a figure and draw it."""

    # Size of a new figure, and how many panels it has, above or beside each other.
    figsize: ClassVar[tuple[float, float]] = (6.0, 3.6)
    panels: ClassVar[tuple[int, int]] = (1, 1)

    # Draws on axes, one for each panel.
    draw: Callable[..., None]

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence with one for each panel, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : object
            The object itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `ax` does not have one Axes for each panel.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f"{type(self).__name__} draws with matplotlib, which is not installed: "
                "pip install skscreen[plot]"
            ) from error
        rows, columns = self.panels
        if ax is None:
            ax = plt.subplots(
                rows, columns, sharex=columns == 1, figsize=self.figsize, layout="constrained"
            )[1]
        axes = np.ravel(np.asarray(ax, dtype=object))
        if axes.size != rows * columns:
            raise ValueError(
                f"`ax` has {axes.size} Axes, but there are {rows * columns} panels: give one for "
                "each."
            )
        if not all(hasattr(one, "spines") for one in axes):
            raise TypeError(
                f"`ax` must be Axes of matplotlib, as plt.subplots({rows}, {columns})[1], got "
                f"{ax!r}."
            )
        if axes.size == 1:
            self.ax_ = axes[0]
        else:
            self.axes_ = axes
        self.figure_ = axes[0].figure
        self.draw(*axes)
        return self


class FromEstimator(Display):
    """Base of the displays of what a fitted estimator has found."""

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> Self:
        """Draw what a fitted estimator has found.

        Parameters
        ----------
        estimator : object
            Fitted, of a kind that the display names.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : object
            Drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it is of another kind.
        """
        return cls.read_estimator(estimator).plot(ax=ax)

    @classmethod
    def read_estimator(cls, estimator: BaseEstimator) -> Self:
        """Return the display of an estimator, undrawn, or refuse it."""
        raise NotImplementedError


class FromResult(Display):
    """Base of the displays of what a function returns."""

    @classmethod
    def from_result(cls, result: object, *, ax: Axes | None = None) -> Self:
        """Draw a result.

        Parameters
        ----------
        result : object
            What the functions return that the display names.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : object
            Drawn.

        Raises
        ------
        TypeError
            If `result` is no such result.
        """
        return cls.read_result(result).plot(ax=ax)

    @classmethod
    def read_result(cls, result: object) -> Self:
        """Return the display of a result, undrawn, or refuse it."""
        raise NotImplementedError
