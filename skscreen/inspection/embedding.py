"""Figure of an embedding: a map of its objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skscreen.inspection.labels import place_labels
from skscreen.inspection.style import CLASS_COLOURS, CLASS_MARKERS, GREY, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EmbeddingDisplay:
    """Show the points of an embedding in the plane, with names or colours of classes.

    An embedding of more than two components is shown along its two principal axes. Distances are
    to scale; the axes have no unit, and their directions no meaning.

    It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    points : ndarray of shape (n_objects, 2)
    names : sequence of str, default=None
        Written beside the points where there is room: no name covers another or leaves the frame.
    classes : ndarray of shape (n_objects,), default=None
        Class of each object: a colour and a marker each.
    reference : ndarray of shape (n_objects, 2), default=None
        Other positions of the same objects, joined with their points by lines.
    reference_name : str, default="reference"
        For the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scatters_ : list of matplotlib PathCollection
        One for each class, in sorted order.
    texts_ : list of matplotlib Text
        The names for which there was room, where the axes were when they were drawn.
    reference_scatter_ : matplotlib PathCollection or None
    """

    def __init__(
        self,
        *,
        points: np.ndarray,
        names: Sequence[str] | None = None,
        classes: np.ndarray | None = None,
        reference: np.ndarray | None = None,
        reference_name: str = "reference",
    ) -> None:
        self.points = points
        self.names = names
        self.classes = classes
        self.reference = reference
        self.reference_name = reference_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Sequence[str] | None = None,
        classes: ArrayLike | None = None,
        reference: ArrayLike | None = None,
        reference_name: str = "reference",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : OrdinalEmbedding
            Or anything with an `embedding_`, of at least two components.
        names : sequence of str, default=None
            Written beside the points where there is room. None takes the names of the objects, if
            the answers had some; an empty list writes none.
        classes : array-like of shape (n_objects,), default=None
            Class of each object: a colour and a marker each.
        reference : array-like of shape (n_objects, 2), default=None
            Other positions of the same objects. The points are shifted, scaled, rotated and
            reflected to agree with them as well as possible (Procrustes).
        reference_name : str, default="reference"
            For the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is made.

        Returns
        -------
        display : EmbeddingDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If there are fewer than two components, or not one name, class or finite position for
            each object.
        """
        check_is_fitted(estimator, "embedding_")
        points = np.asarray(estimator.embedding_, dtype=float)
        if points.shape[1] < 2:
            raise ValueError("`estimator` has one component: a map needs at least two.")
        if points.shape[1] > 2:
            points = points - points.mean(axis=0)
            # Eigenvalues ascend; one object has axes too.
            points = points @ np.linalg.eigh(points.T @ points)[1][:, :-3:-1]
        if names is None:
            names = _names_of(estimator)
        elif _count(names) == 0:
            names = None
        for label, values in (("names", names), ("classes", classes), ("reference", reference)):
            if values is not None and (count := _count(values)) != len(points):
                raise ValueError(
                    f"`{label}` has {count} entries, but there are {len(points)} objects."
                )
        classes = None if classes is None else _checked_classes(classes)
        if reference is not None:
            try:
                reference = np.asarray(reference, dtype=float)
            except (TypeError, ValueError):
                raise ValueError("`reference` must hold numbers, two for each object.") from None
            if reference.ndim != 2 or reference.shape[1] != 2:
                raise ValueError(f"`reference` must have two columns, got {reference.shape}.")
            if not np.isfinite(reference).all():
                raise ValueError("`reference` must be finite.")
            points = _turned(points, reference)
        return cls(
            points=points,
            names=None if names is None else list(names),
            classes=classes,
            reference=reference,
            reference_name=reference_name,
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is made.

        Returns
        -------
        display : EmbeddingDisplay
            The object itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot(self)
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.reference_scatter_ = None
        if self.reference is not None:
            for point, other in zip(self.points, self.reference, strict=True):
                ax.plot(*np.stack([point, other], axis=1), color="0.7", linewidth=0.8, zorder=1)
            self.reference_scatter_ = ax.scatter(
                *self.reference.T, s=22, facecolor="white", edgecolor=GREY, zorder=4,
                label=self.reference_name,
            )  # fmt: skip
        classes = np.zeros(len(self.points)) if self.classes is None else self.classes
        labels = np.unique(classes)
        self.scatters_ = [
            ax.scatter(
                *self.points[classes == label].T,
                s=24,
                color=CLASS_COLOURS[index % len(CLASS_COLOURS)],
                # Beyond the colours the marker tells the classes apart.
                marker=CLASS_MARKERS[(index + index // len(CLASS_COLOURS)) % len(CLASS_MARKERS)],
                zorder=5,
                label="embedding" if self.classes is None else str(label),
            )
            for index, label in enumerate(labels)
        ]
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.08)
        ax.set(xticks=[], yticks=[])
        if self.classes is not None or self.reference is not None:
            ax.legend(
                loc="lower left",
                bbox_to_anchor=(0.0, 1.0),
                ncols=4,
                frameon=False,
                fontsize="small",
                borderaxespad=0.2,
            )
        self.texts_ = []
        if self.names is not None:
            self.texts_ = place_labels(ax, self.points, self.names, self.reference)
        return self


def _names_of(estimator: Any) -> Sequence | None:
    """Names of the objects, if they are more than their positions."""
    objects = getattr(estimator, "objects_", None)
    if objects is None or np.array_equal(objects, np.arange(len(objects))):
        return None
    return objects.tolist()


def _count(values: Any) -> int | str:
    try:
        return len(values)
    except TypeError:
        return "no"


def _turned(points: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the points as near to the reference as a similarity brings them."""
    middle = reference.mean(axis=0)
    centred, target = points - points.mean(axis=0), reference - middle
    u, sizes, v = np.linalg.svd(centred.T @ target)
    total = np.sum(centred**2)
    scale = sizes.sum() / total if total > 0.0 else 1.0
    return scale * centred @ u @ v + middle


def _checked_classes(classes: ArrayLike) -> np.ndarray:
    """Return classes that can be told apart and sorted."""
    classes = np.asarray(classes)
    if classes.ndim != 1:
        raise ValueError(f"`classes` must be one column, got shape {classes.shape}.")
    # NaN is not equal to itself.
    if any(label is None or label != label for label in classes.tolist()):
        raise ValueError("`classes` must not have missing values.")
    try:
        np.unique(classes)
    except TypeError as error:
        raise ValueError("`classes` must be uniformly strings or numbers.") from error
    return classes
