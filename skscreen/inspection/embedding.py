"""Figure of an embedding: a map of its objects."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import cKDTree
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from skscreen.core.named import in_order
from skscreen.inspection.frame import Display, check_learned
from skscreen.inspection.objects.labels import place_labels
from skscreen.inspection.objects.pictures import read_images
from skscreen.inspection.style import (
    GREY,
    Axes,
    checked_classes,
    legend_above,
    scatter_classes,
    written,
)


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Show the points of an embedding in the plane, with names or with colours for classes.

    Points of one component, a scale, are in rows one above the other, with their names on the left.
    An embedding with more than two components is projected onto its two principal axes, and the
    share of the spread (squared distances from the centre) that this shows is written below.
    Distances are to scale; the axes have no unit, and directions no meaning.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    points : ndarray of shape (n_objects, 2) or (n_objects, 1)
    names, images, classes, reference, reference_name
        As in `from_estimator`; names are strings, images arrays, the reference is aligned.
    every_name : bool, default=False
        Look for room for more names further away, and with smaller letters.
    ellipses : ndarray of shape (n_objects, 2, 2) or (n_objects, 1, 1), default=None
        Semi-axes, in columns, of an ellipse around each point, or half an interval; NaN for none.
    share : float, default=1.0
        Share of the spread that the plane shows.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    scatters_ : list of matplotlib PathCollection
        One for each class, in sorted order.
    texts_ : list of matplotlib Text
        Names for which there was room when they were drawn.
    images_ : list of matplotlib AnnotationBbox
    reference_scatter_ : matplotlib PathCollection or None
    ellipses_ : matplotlib PolyCollection or None
    """

    figsize = (6.4, 5.6)

    points: np.ndarray
    names: Sequence[str] | None = None
    every_name: bool = False
    images: Sequence[np.ndarray] | None = None
    classes: np.ndarray | None = None
    reference: np.ndarray | None = None
    reference_name: str = "reference"
    ellipses: np.ndarray | None = None
    share: float = 1.0

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, images: str | PathLike | Sequence | None = None,
        names: str | Sequence[str] | None = "fit", classes: ArrayLike | None = None,
        reference: ArrayLike | None = None, reference_name: str = "reference",
        regions: object = None, level: float = 0.95, ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : OrdinalEmbedding or DifferenceScaling
            An estimator with `embedding_`.
        images : str, path, or sequence of ndarray or path, default=None
            A picture for each object in place of its dot: a folder with files that are called as
            the objects are ("cup.png" for "cup" or "cup.png"), or pictures or their files in the
            order of `objects_`.
        names : {"fit", "all"}, None or sequence of str, default="fit"
            Names next to the points. "fit" writes the names of the objects, if the answers had
            names, for which there is room: no name covers another, a point or the frame. How many
            have none is written below; "all" makes letters smaller and goes further away until all
            have room, which more than some 100 names may not have. None writes none. A sequence
            gives a name for each object, written as by "fit"; a series or a dict those of the
            objects by which it is indexed.
        classes : array-like of shape (n_objects,), default=None
            Class of each object, shown by colour and marker. A series whose index are the names of
            the objects may have them in any order, and so may a dict.
        reference : array-like of shape (n_objects, 2) or (n_objects, 1), default=None
            Other positions of the same objects. The points are aligned with them by shifting,
            scaling, rotating and reflecting (Procrustes). A frame whose index are the names of the
            objects may have them in any order, and so may a dict or another fitted embedding.
        reference_name : str, default="reference"
            Name of the reference in the legend.
        regions : Bootstrap, or array-like (n_samples, n_objects, n_components), default=None
            Samples of the embedding, as returned by `OrdinalEmbedding.bootstrap`. An ellipse around
            each point shows the covariance of its positions. Objects with infinite positions, which
            the answers do not fix, have none.
        level : float, default=0.95
            Probability of the ellipses, in (0, 1), for a normal distribution with that covariance.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        EmbeddingDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If names, images, classes or finite positions are missing for some objects, or if
            `regions` has fewer than three samples.
        """
        check_learned(estimator, "embedding_", "OrdinalEmbedding")
        points = np.asarray(estimator.embedding_, dtype=float)
        # The points and their other places, which are transformed together.
        layers = points[None]
        if regions is not None:
            layers = np.concatenate([layers, _checked_regions(regions, points.shape, level)])
        objects: list[Any] = getattr(estimator, "objects_", np.arange(len(points))).tolist()
        share = 1.0
        if points.shape[1] > 2:
            layers, share = _in_plane(layers)
        every_name = isinstance(names, str) and names == "all"
        if isinstance(names, str):
            if names not in ("fit", "all"):
                raise ValueError(
                    f"`names` must be 'fit', 'all', None or a name for each object, got {names!r}."
                )
            # Positions are no names.
            names = None if objects == list(range(len(objects))) else objects
        pictures = None
        if images is not None:
            pictures = list(read_images(images, objects, range(len(objects))).values())
        names = _of_objects(names, objects, "names")
        classes = _of_objects(classes, objects, "classes")
        reference = _of_objects(_points_of(reference), objects, "reference")
        classes = None if classes is None else checked_classes(classes, "classes")
        if reference is not None:
            reference = _checked_reference(reference, layers.shape[2])
            layers = _turned(layers, reference)
        return cls(
            points=layers[0],
            names=None if names is None else list(names),
            every_name=every_name,
            images=pictures,
            classes=classes,
            reference=reference,
            reference_name=reference_name,
            ellipses=None if regions is None else _ellipses(layers[1:], level),
            share=share,
        ).plot(ax=ax)

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        self.reference_scatter_ = self.ellipses_ = None
        points, reference, ellipses = self.points, self.reference, self.ellipses
        if points.shape[1] == 1:
            points, reference, ellipses = _in_rows(points, reference, ellipses)
        else:
            ax.set_aspect("equal", adjustable="datalim")
        if ellipses is not None:
            self.ellipses_ = _plot_ellipses(ax, points, ellipses)
        if reference is not None:
            for point, other in zip(points, reference, strict=True):
                ax.plot(*np.stack([point, other], axis=1), color="0.7", linewidth=0.8, zorder=1)
            self.reference_scatter_ = ax.scatter(
                reference[:, 0], reference[:, 1], s=22, facecolor="white",
                edgecolor=GREY, zorder=4, label=written(self.reference_name),
            )  # fmt: skip
        self.scatters_ = scatter_classes(ax, points, self.classes, "embedding", size=24, zorder=5)
        ax.margins(0.08)
        ax.set(xticks=[], yticks=[])
        if self.classes is not None or reference is not None:
            legend_above(ax, ncols=8)
        # Room for the notes, before names are placed by where everything is.
        ax.set_xlabel(" ", fontsize="small", color=GREY)
        notes = [] if self.share > 0.995 else [f"{self.share:.0%} of the spread is in this plane"]
        marker = 3.0
        self.images_: list[Any] = []
        if self.images is not None:
            self.images_, marker = _draw_images(ax, points, self.images)
        self.texts_: list[Any] = []
        if self.names is not None and self.points.shape[1] == 1:
            room = 72.0 * ax.bbox.height / ax.figure.canvas.figure.dpi / len(points)
            size = float(np.clip(0.8 * room, 3.0, 8.3))
            ax.set_yticks(points[:, 1], list(map(written, self.names)), fontsize=size)
            ax.tick_params(axis="y", length=0)
            self.texts_ = ax.get_yticklabels()
        elif self.names is not None:
            self.texts_ = place_labels(
                ax, points, self.names, reference, marker=marker, every=self.every_name
            )
            left_out = len(self.names) - len(self.texts_)
            if left_out:
                notes.append(f"{left_out} of {len(self.names)} names have no room")
        ax.set_xlabel("; ".join(notes) or " ")


def _plot_ellipses(ax: Axes, points: np.ndarray, ellipses: np.ndarray) -> Any:
    from matplotlib.collections import PolyCollection

    angles = np.linspace(0.0, 2.0 * np.pi, 72, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    ellipses = np.asarray(ellipses)
    known = np.isfinite(ellipses).all(axis=(1, 2))
    outlines = points[known, :, None] + ellipses[known] @ circle
    faces = PolyCollection(
        outlines.transpose(0, 2, 1), facecolor=(0.5, 0.5, 0.5, 0.1), edgecolor="0.6",
        linewidth=0.7, zorder=0,
    )  # fmt: skip
    ax.add_collection(faces)
    return faces


def _in_rows(
    points: np.ndarray, reference: np.ndarray | None, ellipses: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return points, reference and intervals of a scale with a row of the figure for each point."""
    rows = np.argsort(np.argsort(points[:, 0], kind="stable")).astype(float)
    points = np.column_stack([points, rows])
    reference = None if reference is None else np.column_stack([reference, rows])
    if ellipses is not None:
        ellipses = np.pad(ellipses, ((0, 0), (0, 1), (0, 1)))
    return points, reference, ellipses


def _of_objects(values: ArrayLike | None, objects: list, label: str) -> Any:
    """Return an entry for each object."""
    values = in_order(values, objects, f"`{label}`")
    count = len(values) if isinstance(values, Sized) else "no"
    if values is None or count == len(objects):
        return values
    raise ValueError(
        f"`{label}` has {count} entries, but there are {len(objects)} objects, {objects[0]!r} to "
        f"{objects[-1]!r}."
    )


def _points_of(reference: BaseEstimator | ArrayLike | None) -> Any:
    """Return the points of an embedding by the names of its objects; anything else as it is."""
    if not isinstance(reference, BaseEstimator) or not hasattr(reference, "embedding_"):
        return reference
    return dict(zip(reference.objects_.tolist(), reference.embedding_, strict=True))


def _checked_reference(reference: ArrayLike | None, width: int) -> np.ndarray:
    """Return positions (n, width) of the same objects as finite numbers."""
    try:
        reference = np.asarray(reference, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("`reference` must hold numbers for each object.") from None
    if reference.ndim != 2 or reference.shape[1] != width:
        columns = "two columns" if width == 2 else "one column"
        raise ValueError(f"`reference` must have {columns}, got {reference.shape}.")
    if not np.isfinite(reference).all():
        raise ValueError("`reference` must be finite.")
    if len(reference) > 1 and not np.ptp(reference, axis=0).any():
        raise ValueError("`reference` must have two different points.")
    return reference


def _in_plane(layers: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coordinates along the two principal axes of the first layer, and their share of it."""
    middle = layers[0].mean(axis=0)
    centred = layers[0] - middle
    # Eigenvalues are in ascending order; even one object has axes.
    spreads, axes = np.linalg.eigh(centred.T @ centred)
    total = float(spreads.sum())
    return (layers - middle) @ axes[:, :-3:-1], float(spreads[-2:].sum()) / total if total else 1.0


def _turned(layers: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return all layers after the similarity that brings the first nearest to the reference."""
    middle = reference.mean(axis=0)
    centred = layers - layers[0].mean(axis=0)
    rotation, size = orthogonal_procrustes(centred[0], reference - middle)
    total = np.sum(centred[0] ** 2)
    scale = size / total if total > 0.0 else 1.0
    return scale * centred @ rotation + middle


def _checked_regions(regions: object, shape: tuple[int, int], level: float) -> np.ndarray:
    """Return other places of the objects as an array."""
    check_scalar(level, "level", Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
    # A scale has values, not points.
    regions = np.expand_dims(regions.scales, 2) if hasattr(regions, "scales") else regions
    try:
        places = np.array(getattr(regions, "points", regions), dtype=float)
    except (TypeError, ValueError):
        raise ValueError("`regions` must hold numbers, as model.bootstrap() does.") from None
    if places.ndim != 3 or places.shape[1:] != shape or len(places) < 3:
        raise ValueError(
            f"`regions` must have shape (n_samples, {shape[0]}, {shape[1]}) with at least 3 "
            f"samples, as model.bootstrap() has, got {places.shape}."
        )
    if np.isnan(places).any():
        raise ValueError("`regions` must not hold NaN.")
    # Anything else than a number would spread to other objects in what follows.
    places[:, ~np.isfinite(places).all(axis=(0, 2))] = np.nan
    return places


def _ellipses(places: np.ndarray, level: float) -> np.ndarray:
    """Semi-axes of ellipses that hold a share of normal distributions, from samples of these."""
    off = places - places.mean(axis=0)
    covariances = np.einsum("sni,snj->nij", off, off) / (len(places) - 1)
    known = np.isfinite(covariances).all(axis=(1, 2))
    variances, axes = np.full(places.shape[1:], np.nan), np.full(covariances.shape, np.nan)
    variances[known], axes[known] = np.linalg.eigh(covariances[known])
    sizes = np.sqrt(np.maximum(variances, 0.0) * chi2.ppf(level, places.shape[2]))
    return axes * sizes[:, None, :]


def _draw_images(
    ax: Axes, points: np.ndarray, images: Sequence[np.ndarray]
) -> tuple[list[Any], float]:
    """Draw pictures around points; return them and half their width, in points of 1/72 inch."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    # In points of 1/72 inch: a little less than the distance to the nearest other, in the median.
    size = 48.0
    if len(points) > 1:
        at = ax.transData.transform(points) * 72.0 / figure.dpi
        nearest = np.asarray(cKDTree(at).query(at, k=2)[0])[:, 1]
        size = float(np.clip(0.8 * np.median(nearest), 12.0, size))
    drawn = []
    for point, image in zip(points, images, strict=True):
        # A zoom of 1 is one pixel of the picture for each of 72 an inch.
        box = OffsetImage(image, zoom=size / max(image.shape[:2]), cmap="gray")
        drawn.append(AnnotationBbox(box, point, frameon=False, pad=0.0, zorder=6))
        ax.add_artist(drawn[-1])
    return drawn, 0.5 * size
