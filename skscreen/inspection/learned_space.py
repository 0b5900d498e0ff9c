"""Figure of a learned metric: samples before and after the linear map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.style import CLASS_COLOURS, CLASS_MARKERS, GREY, legend_above, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points of the ellipse; its longest axis over its shortest at most, a line if it were infinite.
_ELLIPSE, _LONGEST = 181, 1e3


class LearnedSpaceDisplay:
    """Show samples along two directions, before and after a metric was learned.

    On the left the two principal directions of the samples as they are, with an ellipse: all points
    on it are at the same learned distance from its centre. Where it is narrow, the metric sees
    differences well. On the right the two strongest directions of the learned map, in which learned
    distances are Euclidean, but for what the other directions add.

    It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    before, after : ndarray of shape (n_samples, 2)
    ellipse : ndarray of shape (n_points, 2)
        In the coordinates of `before`.
    classes : ndarray of shape (n_samples,), default=None
        Class of each sample: a colour and a marker each.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure
    scatters_ : list of two lists of matplotlib PathCollection
        Before and after, one for each class in sorted order.
    ellipse_ : matplotlib Line2D
    """

    def __init__(
        self,
        *,
        before: np.ndarray,
        after: np.ndarray,
        ellipse: np.ndarray,
        classes: np.ndarray | None = None,
    ) -> None:
        self.before = before
        self.after = after
        self.ellipse = ellipse
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, *, axes: Any = None
    ) -> Self:
        """Draw what a fitted metric learner makes of samples.

        Parameters
        ----------
        estimator : ScreenedRTLM
            Or another with `components_`, scikit-learn's NeighborhoodComponentsAnalysis for one.
        X : array-like of shape (n_samples, n_features)
            Samples as the estimator gets them: what steps before it in a pipeline return.
        y : array-like of shape (n_samples,), default=None
            Classes.
        axes : sequence of two matplotlib Axes, default=None
            If None, a new figure is made.

        Returns
        -------
        display : LearnedSpaceDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If X or y have another number of features or samples.
        """
        check_is_fitted(estimator, "components_")
        X = check_array(X, dtype=np.float64, ensure_min_samples=2, input_name="X")
        L = np.asarray(estimator.components_)
        if X.shape[1] != L.shape[1]:
            raise ValueError(f"X must have {L.shape[1]} features, got {X.shape[1]}.")
        if y is not None:
            y = column_or_1d(y)
            if len(y) != len(X):
                raise ValueError(f"y must have a class for each of {len(X)} samples, got {len(y)}.")
        X = X - X.mean(axis=0)
        directions = np.linalg.svd(X, full_matrices=False)[2][:2]
        before = X @ directions.T
        ellipse = _ellipse(L @ directions.T, before)
        return cls(
            before=_two_columns(before), after=_two_columns(X @ L[:2].T), ellipse=ellipse, classes=y
        ).plot(axes=axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            If None, a new figure is made.

        Returns
        -------
        display : LearnedSpaceDisplay
            The object itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot(self)
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")[1]
        self.axes_ = np.asarray(axes)
        self.figure_ = self.axes_[0].figure
        self.scatters_ = [
            self._scatter(ax, points)
            for ax, points in zip(self.axes_, (self.before, self.after), strict=True)
        ]
        for ax, title, kind in zip(
            self.axes_, ("before", "after"), ("principal", "learned"), strict=True
        ):
            ax.set_title(title, loc="left")
            ax.set(xlabel=f"first {kind} direction", ylabel="second")
            ax.set_aspect("equal", adjustable="datalim")
            ax.locator_params(nbins=5)
            ax.spines[["top", "right"]].set_visible(False)
        # An ellipse that is long leaves the figure.
        (self.ellipse_,) = self.axes_[0].plot(
            *self.ellipse.T, color=GREY, linewidth=1.2, zorder=6, label="equal learned distance",
            scalex=False, scaley=False,
        )  # fmt: skip
        legend_above(self.axes_[0], ncols=4)
        return self

    def _scatter(self, ax: Axes, points: np.ndarray) -> list[Any]:
        classes = np.zeros(len(points)) if self.classes is None else self.classes
        return [
            ax.scatter(
                *points[classes == label].T,
                s=18,
                color=CLASS_COLOURS[index % len(CLASS_COLOURS)],
                # Beyond the colours the marker tells the classes apart.
                marker=CLASS_MARKERS[(index + index // len(CLASS_COLOURS)) % len(CLASS_MARKERS)],
                label=None if self.classes is None else str(label),
            )
            for index, label in enumerate(np.unique(classes))
        ]


def _two_columns(points: np.ndarray) -> np.ndarray:
    """Return the points of a line or a plane in the plane."""
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))


def _ellipse(L: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points at the root mean square of the learned distances of some from their mean."""
    mapped = points @ L.T
    # Over the largest, the squares of large coordinates are numbers.
    largest = np.abs(mapped).max(initial=0.0) or 1.0
    radius = largest * np.sqrt(np.mean(np.sum((mapped / largest) ** 2, axis=1)))
    _, sizes, directions = np.linalg.svd(L, full_matrices=False)
    sizes = np.maximum(sizes, sizes.max(initial=0.0) / _LONGEST)
    angle = np.linspace(0.0, 2.0 * np.pi, _ELLIPSE)
    circle = np.stack((np.cos(angle), np.sin(angle)), axis=1)[:, : len(sizes)]
    if not radius > 0.0:
        return np.zeros((_ELLIPSE, 2))
    return _two_columns(radius * circle / sizes @ directions)
