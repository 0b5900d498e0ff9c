"""The figure of `growth.py`: drawing only, nothing is measured here."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from benchmarks.support.figures import COLOURS, save, tidy

COLUMNS = ("n", "d", "size", "n_labels", "C", "tol")
NAMES = {"tol": "tolerance", "n_labels": "labels"}
# What stands in the third column, by estimator.
SIZES = ("triplets", "length", "answers")


def panels(out: Path, name: str, found: dict) -> None:
    """A line a quantity, a row an estimator: found[row][quantity] = (xs, seconds, missed, line)."""
    figure, axes = plt.subplots(
        len(found), len(COLUMNS), figsize=(13.5, 2.15 * len(found) + 0.3), layout="constrained",
        squeeze=False, sharey="row",
    )  # fmt: skip
    for row, (title, quantities) in zip(axes, found.items(), strict=True):
        for ax in row:
            ax.set_visible(False)
        for quantity, points in quantities.items():
            ax = row[COLUMNS.index("size" if quantity in SIZES else quantity)]
            ax.set_visible(True)
            one_panel(ax, *points)
            if quantity == "tol":
                ax.invert_xaxis()
            slope = points[-1][0]
            ax.set_xlabel(
                f"{NAMES.get(quantity, quantity)}: slope {slope:+.2f}", fontsize="medium",
                color=COLOURS[3], labelpad=1,
            )  # fmt: skip
        row[0].set_title(title, fontsize="medium", loc="left")
        row[0].set_ylabel("CPU seconds", fontsize="small")
    save(figure, out, name)


def one_panel(ax, xs: np.ndarray, seconds: np.ndarray, missed: np.ndarray, line) -> None:
    """Points, hollow where the tolerance was missed, and the fitted line."""
    ax.loglog(xs, seconds, color=COLOURS[0], linewidth=1.0, alpha=0.5)
    for late, face in ((False, COLOURS[0]), (True, "white")):
        shown = missed == late
        ax.loglog(
            xs[shown], seconds[shown], "o", markersize=5, color=COLOURS[0], markerfacecolor=face
        )
    slope, intercept, through = line
    ends = through[[0, -1]].astype(float)
    ax.loglog(ends, np.exp(intercept) * ends**slope, color=COLOURS[3], linewidth=1.8)
    # Three ticks, of values that were measured: decades do not fit into a short range.
    ticks = xs[[0, xs.size // 2, -1]]
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    tidy(ax)
    ax.tick_params(labelsize="small", labelleft=True)
