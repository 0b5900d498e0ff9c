"""Figure of the transition scores of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skscreen.inspection.frame import FromEstimator, check_learned
from skscreen.inspection.style import Axes, colour_bar


@dataclass(kw_only=True, eq=False, repr=False)
class TransitionDisplay(FromEstimator):
    """Show the scores of transitions from label to label as a heat map.

    Use :meth:`from_estimator` with a fitted `MaxMarginChain`, `ChainCRF` or
    `KernelChainClassifier`, or a pipeline that ends in one, to create it.

    Parameters
    ----------
    transitions : ndarray of shape (n_classes, n_classes)
        Scores, from the label of the row to that of the column.
    labels : sequence of n_classes labels

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
        The heat map.

    Examples
    --------
    >>> from skscreen.inspection import TransitionDisplay
    >>> display = TransitionDisplay.from_estimator(model)  # doctest: +SKIP
    >>> display.figure_.savefig("transitions.png")  # doctest: +SKIP
    """

    figsize = (5.0, 4.0)

    transitions: np.ndarray
    labels: ArrayLike

    @classmethod
    def read_estimator(cls, estimator: BaseEstimator) -> Self:
        """Return the display of a chain, or of a pipeline that ends in one."""
        chain = estimator[-1] if hasattr(estimator, "steps") else estimator
        check_learned(chain, "transition_", "chain, such as ChainCRF")
        return cls(transitions=chain.transition_, labels=chain.classes_)

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        most = float(np.abs(self.transitions).max()) or 1.0
        self.image_ = ax.imshow(self.transitions, cmap="RdBu_r", vmin=-most, vmax=most)
        labels = np.asarray(self.labels).tolist()
        ax.set_xticks(range(len(labels)), labels, rotation=90)
        ax.set_yticks(range(len(labels)), labels)
        ax.set(xlabel="To label", ylabel="From label")
        colour_bar(ax, self.image_, "Score of the transition")
