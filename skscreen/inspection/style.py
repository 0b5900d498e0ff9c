"""How displays look: colours, axes, legends, and points by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.checks import check_labels

# Matplotlib is imported only when something is drawn.
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
else:
    Axes = Axis = Any

# Okabe and Ito's palette: distinct for colour-blind readers and in grey print.
BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "0.35"
SKY, PURPLE, YELLOW = "#56B4E9", "#CC79A7", "#F0E442"
# Colours and markers of classes, in sorted order.
CLASS_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, "black")
CLASS_MARKERS = "osD^vP*X"


def open_axes(ax: Axes) -> None:
    """Remove the frame at the top and on the right, and draw a grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def level_line(ax: Axes, value: float, name: str) -> Line2D:
    """Draw a dashed horizontal line."""
    return ax.axhline(value, color=GREY, linestyle="--", linewidth=1.0, label=name)


def mark_point(
    ax: Axes, x: float, y: float, colour: str, name: str, clip_on: bool = True
) -> Line2D:
    """Draw a large dot on a line."""
    return ax.plot(
        x, y, color=colour, marker="o", markersize=7, markeredgecolor="white", linestyle="none",
        zorder=3, label=name, clip_on=clip_on,
    )[0]  # fmt: skip


def checked_classes(classes: ArrayLike, name: str) -> np.ndarray:
    """Return classes that can be told apart and sorted."""
    classes = check_labels(classes, name)
    check_classification_targets(classes)
    return classes


def written(name: object) -> str:
    """Return a name as matplotlib writes it: dollar signs that mark no formula are letters."""
    from matplotlib.mathtext import MathTextParser

    # Legends leave out what begins with an underscore.
    text = f" {name}" if str(name).startswith("_") else str(name)
    if "$" not in text:
        return text
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return text.replace("$", r"\$")
    return text


def scatter_classes(
    ax: Axes, points: np.ndarray, classes: np.ndarray | None, name: str | None = None, *,
    size: float, zorder: float = 1.0,
) -> list[PathCollection]:  # fmt: skip
    """Draw points (n, 2), a collection for each class in sorted order; `name` is for no classes."""
    codes = np.zeros(len(points)) if classes is None else classes
    return [
        ax.scatter(
            points[codes == label, 0],
            points[codes == label, 1],
            color=CLASS_COLOURS[k % len(CLASS_COLOURS)],
            # With more classes than colours the markers tell them apart.
            marker=CLASS_MARKERS[(k + k // len(CLASS_COLOURS)) % len(CLASS_MARKERS)],
            label=name if classes is None else written(label),
            s=size,
            zorder=zorder,
        )
        for k, label in enumerate(np.unique(codes))
    ]


def colour_bar(
    ax: Axes, mesh: ScalarMappable, label: str, extend: Literal["neither", "min"] = "neither"
) -> None:
    """Draw the colours of a heat map on the right, and remove the frames of both."""
    bar = ax.figure.colorbar(mesh, ax=ax, label=label, extend=extend)
    bar.outline.set_visible(False)  # type: ignore[operator]
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def legend_above(ax: Axes, ncols: int = 2) -> None:
    """Put the legend above the axes, where it cannot hide data, in at most so many columns."""
    # Fewer where long names would make it too wide, as long as it is not too high.
    for columns in range(ncols, 0, -1):
        legend = ax.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, frameon=False,
            fontsize="small", borderaxespad=0.2, handlelength=1.8, columnspacing=1.2,
        )  # fmt: skip
        extent = legend.get_window_extent()
        # A title may stand to the left of it.
        if extent.width <= 0.8 * ax.bbox.width:
            break
        if extent.height > 0.35 * ax.figure.bbox.height:
            break
