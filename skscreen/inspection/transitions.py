"""Figure of the transition scores of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.style import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TransitionDisplay"]


class TransitionDisplay:
    """Show the scores of transitions from label to label as a heat map.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    transitions : ndarray of shape (n_classes, n_classes)
        Scores, from the label of the row to that of the column.
    labels : sequence of n_classes labels

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the figure.
    figure_ : matplotlib Figure
        Figure that holds the axes.
    image_ : matplotlib AxesImage
        The heat map.

    Examples
    --------
    >>> from skscreen.inspection import TransitionDisplay
    >>> display = TransitionDisplay.from_estimator(model)  # doctest: +SKIP
    >>> display.figure_.savefig("transitions.png")  # doctest: +SKIP
    """

    def __init__(self, *, transitions: np.ndarray, labels):
        self.transitions = transitions
        self.labels = labels

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw the transitions of a fitted chain.

        Parameters
        ----------
        model : MaxMarginChain, ChainCRF, KernelChainClassifier, or a pipeline that ends in one
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : TransitionDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If it has no transitions.
        """
        chain = model[-1] if hasattr(model, "steps") else model
        check_is_fitted(chain)
        if not hasattr(chain, "transition_"):
            raise ValueError(
                f"model must be a fitted chain, such as ChainCRF, got {type(chain).__name__}."
            )
        return cls(transitions=chain.transition_, labels=chain.classes_).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        display : TransitionDisplay
            The object itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = axes_for(self, ax, (5.0, 4.0))
        most = float(np.abs(self.transitions).max()) or 1.0
        self.image_ = ax.imshow(self.transitions, cmap="RdBu_r", vmin=-most, vmax=most)
        places = range(len(self.labels))
        ax.set_xticks(places, self.labels, rotation=90)
        ax.set_yticks(places, self.labels)
        ax.set(xlabel="To label", ylabel="From label")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        bar = ax.figure.colorbar(self.image_, ax=ax, label="Score of the transition")
        bar.outline.set_visible(False)
        return self
