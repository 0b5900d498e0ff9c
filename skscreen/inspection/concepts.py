"""Figure of dimensions: the objects that have the most of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from skscreen.inspection.frame import Display, check_learned
from skscreen.inspection.objects.pictures import read_images
from skscreen.inspection.style import BLUE, GREY, Axes, written

# Inches: of a row of names and of pictures, of the names of a row, of the columns on the right, and
# of what is around.
NAMES_ROW, PICTURES_ROW, NAMES_WIDTH, RIGHT_WIDTH, AROUND = 0.21, 0.62, 6.4, 1.7, 0.5
# Share of a cell that a picture fills.
FILLED = 0.92


@dataclass(kw_only=True, eq=False, repr=False)
class ConceptDisplay(Display):
    """Show dimensions in rows: the objects that have the most of each, its mass and its support.

    The objects of a row begin with the one that has the most; those without the dimension are not
    shown. The mass is the sum of a dimension over all objects. The disc on the right is filled as
    far as starts have the dimension, completely where all do.

    Use :meth:`from_estimator` to create it.

    Parameters
    ----------
    objects : list of list of str
        Names of the objects of each row.
    images : list of list of ndarray, default=None
        Pictures of the same objects, which are shown in place of names.
    labels : list of str
        Name of each dimension.
    mass : ndarray of shape (n_dimensions,)
    support : ndarray of shape (n_dimensions,), default=None
        From 0 to 1; None draws no discs.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    texts_ : list of matplotlib Text
        Of each row, without pictures: as many names as there is room for.
    images_ : list of list of matplotlib AxesImage
    bars_ : matplotlib BarContainer
    discs_ : list of matplotlib Wedge
    """

    objects: list[list[str]]
    labels: list[str]
    mass: np.ndarray
    support: np.ndarray | None = None
    images: list[list[np.ndarray]] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, images: str | PathLike | Sequence | None = None,
        n_objects: int = 8, dimensions: ArrayLike | None = None,
        labels: Sequence[str] | None = None, ax: Axes | None = None,
    ) -> Self:  # fmt: skip
        """Draw the dimensions of a fitted estimator.

        Parameters
        ----------
        estimator : ConceptEmbedding or ConceptEmbeddingCV
            An estimator with `embedding_`, `support_` and `objects_`.
        images : str, path, or sequence of ndarray or path, default=None
            A picture for each object: a folder with files that are called as the objects are
            ("cup.png" for "cup" or "cup.png"), or pictures or their files in the order of
            `objects_`. Only those that are shown are read.
        n_objects : int, default=8
            How many objects a row shows at most.
        dimensions : array-like of int, default=None
            Which dimensions to show, counted from 0, in this order; None shows all.
        labels : sequence of str, default=None
            Names for the shown dimensions, such as "animal-related"; None counts them from 0.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        ConceptDisplay
            Drawn.

        Raises
        ------
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If there is no dimension to show, or pictures or labels are missing for some.
        """
        check_learned(estimator, "support_", "ConceptEmbedding")
        n_objects = check_scalar(n_objects, "n_objects", Integral, min_val=1)
        X = estimator.embedding_
        shown = _checked_dimensions(dimensions, X.shape[1])
        if labels is None:
            labels = [str(d) for d in shown]
        elif len(labels) != len(shown):
            raise ValueError(
                f"`labels` must have one name for each of the {len(shown)} dimensions, got "
                f"{len(labels)}."
            )
        places = [_with_the_most(X[:, d], n_objects) for d in shown]
        names = estimator.objects_.tolist()
        pictures = None
        if images is not None:
            found = read_images(images, names, sorted({k for row in places for k in row}))
            pictures = [[found[k] for k in row] for row in places]
        return cls(
            objects=[[str(names[k]) for k in row] for row in places],
            labels=[str(label) for label in labels],
            mass=X[:, shown].sum(axis=0),
            support=estimator.support_[shown],
            images=pictures,
        ).plot(ax=ax)

    @property
    def figsize(self) -> tuple[float, float]:  # type: ignore[override]
        """Size of a new figure."""
        row, width = NAMES_ROW, NAMES_WIDTH
        if self.images is not None:
            row, width = PICTURES_ROW, PICTURES_ROW * max(map(len, self.images))
        longest = 0.075 * max(map(len, self.labels))
        return longest + width + RIGHT_WIDTH + AROUND, row * len(self.labels) + AROUND

    def draw(self, ax: Axes) -> None:
        """Draw on axes that are given."""
        count = len(self.labels)
        # Columns in units of the height of a row of pictures.
        width = NAMES_WIDTH / PICTURES_ROW
        if self.images is not None:
            width = max(map(len, self.images))
        bar = width + 0.3, 1.4
        disc = bar[0] + bar[1] + 0.6
        ax.set(xlim=(0.0, disc + 0.5), ylim=(count - 0.5, -0.5), xticks=[])
        ax.set_yticks(range(count), [written(label) for label in self.labels], fontsize="small")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        shares = self.mass / self.mass.max()
        height = 0.5 if self.images is None else 0.5 * NAMES_ROW / PICTURES_ROW
        self.bars_ = ax.barh(
            range(count), bar[1] * shares, left=bar[0], height=height, color=BLUE, zorder=3
        )
        self.discs_: list[Any] = []
        heads = [(0.0, "objects with the most of it", "left"), (bar[0], "mass", "left")]
        if self.support is not None:
            heads.append((disc, "support", "center"))
        for x, text, side in heads:
            ax.annotate(
                text, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 3),
                textcoords="offset points", ha=side, fontsize="small", color=GREY,
            )  # fmt: skip
        self.texts_, self.images_ = [], []
        if self.images is not None:
            self.images_ = _draw_pictures(ax, self.images)
        else:
            self.texts_ = _write_names(ax, self.objects, width)
        if self.support is not None:
            self.discs_ = _draw_discs(ax, disc, self.support)


def _checked_dimensions(dimensions: ArrayLike | None, count: int) -> np.ndarray:
    """Return the dimensions to show."""
    if not count:
        raise ValueError("estimator has no dimension to show: its embedding_ has no columns.")
    if dimensions is None:
        return np.arange(count)
    shown = np.asarray(dimensions)
    whole = shown.ndim == 1 and shown.dtype.kind in "iu" and shown.size
    if not whole or shown.min() < 0 or shown.max() >= count:
        raise ValueError(f"`dimensions` must be numbers from 0 to {count - 1}, got {dimensions!r}.")
    return shown


def _with_the_most(x: np.ndarray, n: int) -> list[int]:
    """Return the places of the largest positive entries."""
    return [int(k) for k in np.argsort(-x, kind="stable")[:n] if x[k] > 0.0]


def _write_names(ax: Axes, objects: list[list[str]], width: float) -> list[Any]:
    """Write the names of each row, as many as fit into a width of the axes."""
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    # The unit of x in pixels.
    unit = ax.transData.transform((1.0, 0.0))[0] - ax.transData.transform((0.0, 0.0))[0]
    texts = []
    for row, names in enumerate(objects):
        text = ax.text(0.0, row, "", va="center", fontsize=8.5)
        for count in range(len(names), 0, -1):
            text.set_text(",  ".join(map(written, names[:count])))
            if text.get_window_extent().width <= unit * width:
                break
        texts.append(text)
    return texts


def _draw_pictures(ax: Axes, images: list[list[np.ndarray]]) -> list[list[Any]]:
    """Draw a picture in each cell of the rows, in its proportions."""
    drawn = []
    for row, pictures in enumerate(images):
        cells = []
        for column, picture in enumerate(pictures):
            high, wide = 0.5 * FILLED * np.array(picture.shape[:2]) / max(picture.shape[:2])
            x = column + 0.5
            cells.append(
                ax.imshow(
                    picture, extent=(x - wide, x + wide, row + high, row - high), cmap="gray",
                    aspect="auto", zorder=2,
                )
            )  # fmt: skip
        drawn.append(cells)
    # A picture sets the limits of its axes.
    ax.set(xlim=ax.get_xlim(), ylim=(len(images) - 0.5, -0.5))
    return drawn


def _draw_discs(ax: Axes, x: float, support: np.ndarray) -> list[Any]:
    """Draw a disc for each row, filled as far as its support goes."""
    from matplotlib.patches import Wedge
    from matplotlib.transforms import ScaledTranslation

    figure = ax.figure.canvas.figure
    discs = []
    for row, share in enumerate(support):
        # Round in inches, whatever the units of the axes are.
        at = figure.dpi_scale_trans + ScaledTranslation(x, row, ax.transData)  # type: ignore[arg-type]
        for part, colour in ((1.0, "0.88"), (float(share), GREY)):
            # Clockwise from the top.
            wedge = Wedge((0.0, 0.0), 0.065, 90.0 - 360.0 * part, 90.0, color=colour, transform=at)
            discs.append(ax.add_patch(wedge))
    return discs[1::2]
