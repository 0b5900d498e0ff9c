"""Figure of a learned metric: samples before and after the linear map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from skscreen.core.checks import TableLike, check_samples
from skscreen.core.sklearn_private import check_feature_names
from skscreen.inspection.frame import Display, check_learned
from skscreen.inspection.style import (
    GREY,
    Axes,
    checked_classes,
    legend_above,
    scatter_classes,
)


@dataclass(kw_only=True, eq=False, repr=False)
class LearnedSpaceDisplay(Display):
    """Show samples in two dimensions, before and after learning a metric.

    The left panel shows the two principal directions of the samples, and an ellipse whose points
    all have the same learned distance from its centre: where it is narrow, differences count most.
    The right panel shows the two strongest directions of the learned map, in which Euclidean
    distances approximate the learned distances.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    before, after : ndarray of shape (n_samples, 2)
    ellipse : ndarray of shape (n_points, 2)
        Points of the ellipse, in the coordinates of `before`.
    classes : ndarray of shape (n_samples,), default=None
        Class of each sample, shown by colour and marker.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure
    scatters_ : list of two lists of matplotlib PathCollection
        Before and after, one for each class in sorted order.
    ellipse_ : matplotlib Line2D
    """

    figsize, panels = (9.0, 4.2), (1, 2)

    before: np.ndarray
    after: np.ndarray
    ellipse: np.ndarray
    classes: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: TableLike, y: ArrayLike | None = None, *,
        ax: Sequence[Axes] | None = None,
    ) -> Self:  # fmt: skip
        """Draw samples before and after the map of a fitted metric learner.

        Parameters
        ----------
        estimator : ScreenedRTLM
            An estimator with `components_`, for example also scikit-learn's
            NeighborhoodComponentsAnalysis.
        X : array-like of shape (n_samples, n_features)
            Samples as passed to the estimator: in a pipeline, the output of the previous steps.
        y : array-like of shape (n_samples,), default=None
            Classes.
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        LearnedSpaceDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If X or y have the wrong number of features or samples.
        """
        check_learned(estimator, "components_", "ScreenedRTLM, or another with components_")
        samples: np.ndarray = check_samples(X, dtype=np.float64, ensure_min_samples=2)
        if hasattr(estimator, "feature_names_in_"):
            check_feature_names(estimator, X, reset=False)
        L = np.asarray(estimator.components_)
        if samples.shape[1] != L.shape[1]:
            raise ValueError(f"X must have {L.shape[1]} features, got {samples.shape[1]}.")
        classes: np.ndarray | None = None
        if y is not None:
            classes = checked_classes(column_or_1d(y), "y")
            if len(classes) != len(samples):
                raise ValueError(
                    f"y must have a class for each of {len(samples)} samples, got {len(classes)}."
                )
        samples = samples - samples.mean(axis=0)
        directions = np.linalg.svd(samples, full_matrices=False)[2][:2]
        before = samples @ directions.T
        ellipse = _ellipse(L @ directions.T, before)
        after = samples @ _strongest(L).T
        return cls(
            before=_two_columns(before), after=_two_columns(after), ellipse=ellipse, classes=classes
        ).plot(ax=ax)

    def draw(self, before: Axes, after: Axes) -> None:
        """Draw on axes that are given."""
        self.scatters_ = [
            scatter_classes(ax, points, self.classes, size=18)
            for ax, points in ((before, self.before), (after, self.after))
        ]
        for ax, title, kind in (before, "before", "principal"), (after, "after", "learned"):
            ax.set_title(title, loc="left")
            ax.set(xlabel=f"first {kind} direction", ylabel="second")
            ax.set_aspect("equal", adjustable="datalim")
            ax.locator_params(nbins=5)
            ax.spines[["top", "right"]].set_visible(False)
        # A long ellipse would leave the figure.
        (self.ellipse_,) = before.plot(
            *self.ellipse.T, color=GREY, linewidth=1.2, zorder=6, label="equal learned distance",
            scalex=False, scaley=False,
        )  # fmt: skip
        legend_above(before, ncols=8)


def _two_columns(points: np.ndarray) -> np.ndarray:
    """Return the points of a line or a plane in the plane."""
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _strongest(L: np.ndarray) -> np.ndarray:
    """Return the two strongest directions of a map, whose rows may be in no order."""
    gram = L @ L.T
    sizes, rounding = gram.diagonal(), 1e-8 * gram.diagonal().max(initial=0.0)
    if (
        np.abs(gram - np.diag(sizes)).max(initial=0.0) > rounding
        or (np.diff(sizes) > rounding).any()
    ):
        _, values, directions = np.linalg.svd(L, full_matrices=False)
        L = values[:, None] * directions
    return L[:2]


def _ellipse(L: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points at the root mean square of the learned distances of some from their mean."""
    mapped = points @ L.T
    # Divided by the largest coordinate, squares do not overflow.
    largest = np.abs(mapped).max(initial=0.0) or 1.0
    radius = largest * np.sqrt(np.mean(np.sum((mapped / largest) ** 2, axis=1)))
    _, sizes, directions = np.linalg.svd(L)
    sizes = np.pad(sizes, (0, len(directions) - len(sizes)))
    # Not longer than a thousand times its width.
    sizes = np.maximum(sizes, 1e-3 * sizes.max(initial=0.0))
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack((np.cos(angle), np.sin(angle)), axis=1)[:, : len(sizes)]
    if not radius > 0.0:
        return np.zeros((angle.size, 2))
    return _two_columns(radius * circle / sizes @ directions)
