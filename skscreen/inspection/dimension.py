"""Figure of a test of the dimension of an embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skscreen.inspection.frame import FromResult
from skscreen.inspection.style import BLUE, GREY, ORANGE, Axes, legend_above


@dataclass(kw_only=True, eq=False, repr=False)
class DimensionTestDisplay(FromResult):
    """Show how well embeddings of several dimensions predict answers.

    Points are means over the folds, with bars of one standard error to both sides, corrected for
    overlapping training sets. Stars mark significant rises to the next dimension.

    Use :meth:`from_result` with what `skscreen.embedding_dimension_test` returns to create it.

    Parameters
    ----------
    dimensions : ndarray of shape (n_dimensions,)
    scores, train_scores : ndarray of shape (n_dimensions, n_folds)
        Share of answers that agree with the embedding, for held-out and for training answers.
    significant : ndarray of shape (n_dimensions - 1,), bool
        Whether the rise of the score to the next dimension is significant.
    dimension : int
        The estimated dimension.
    cv : int
        Number of folds of each repetition of the cross-validation.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib containers
        Curves of the held-out and of the training answers.
    stars_ : list of matplotlib Text
    """

    figsize = (5.6, 4.0)

    dimensions: np.ndarray
    scores: np.ndarray
    train_scores: np.ndarray
    significant: np.ndarray
    dimension: int
    cv: int

    @classmethod
    def read_result(cls, result: Any) -> Self:
        """Return the display of a `DimensionTest`."""
        if not hasattr(result, "corrected_p_values_"):
            raise TypeError(f"`result` must come from embedding_dimension_test, got {result!r}.")
        return cls(
            dimensions=result.dimensions_,
            scores=result.scores_,
            train_scores=result.train_scores_,
            significant=result.corrected_p_values_ <= result.alpha,
            dimension=result.dimension_,
            cv=result.cv,
        )

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        ax.axvline(self.dimension, color="0.75", linewidth=6, zorder=0)
        looks = (
            (self.scores, BLUE, "o", "answers held out"),
            (self.train_scores, ORANGE, "s", "answers of the fit"),
        )
        # Standard errors of means over folds, corrected for overlapping training sets.
        width = np.sqrt(1.0 / self.scores.shape[1] + 1.0 / (self.cv - 1))
        self.lines_ = [
            ax.errorbar(
                self.dimensions, scores.mean(axis=1), scores.std(axis=1, ddof=1) * width,
                color=colour, marker=marker, markersize=5, linewidth=1.4, capsize=3, label=label,
            )
            for scores, colour, marker, label in looks
        ]  # fmt: skip
        means = self.scores.mean(axis=1)
        self.stars_ = [
            ax.annotate(
                "*",
                (0.5 * (self.dimensions[step] + self.dimensions[step + 1]),
                 0.5 * (means[step] + means[step + 1])),
                xytext=(4, -10), textcoords="offset points", color=GREY, fontsize="large",
            )
            for step in np.flatnonzero(self.significant)
        ]  # fmt: skip
        ax.set_xticks(self.dimensions)
        ax.set(xlabel="Dimensions of the embedding", ylabel="Share of answers that agree")
        legend_above(ax)
