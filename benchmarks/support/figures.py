"""How figures of benchmarks look."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

# Okabe and Ito's palette, distinct for colour-blind readers; first the one for "ours".
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "0.35")
STYLES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)))


def row_of_axes(titles, width: float, height: float, more: float = 0.0, sharey: bool = True):
    """Return a figure with axes side by side, in inches, each below its title."""
    figure, axes = plt.subplots(
        1, len(titles), figsize=(width * len(titles) + more, height), sharey=sharey, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize="medium")
    return figure, axes[0]


def look(k: int, **more) -> dict:
    """Return colour and style of the k-th line of a plot."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)], **more}


def tidy(ax, grid: bool = True) -> None:
    """Take away what says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(color="0.9", linewidth=0.6)


def legend_below(figure, ax, ncols: int | None = None) -> None:
    """Name the lines of axes once for the figure."""
    handles, labels = ax.get_legend_handles_labels()
    columns = ncols or len(labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def save(figure, out: Path, name: str) -> None:
    """Write a figure small enough to keep in a repository."""
    figure.savefig(out / f"{name}.png", dpi=100)
    plt.close(figure)
