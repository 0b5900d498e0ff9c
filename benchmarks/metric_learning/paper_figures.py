"""The figures of `paper.py`: drawing only, nothing is measured here."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from benchmarks.support.figures import COLOURS, STYLES, save


def ratio_bars(out: Path, name: str, ratios: dict, title: str) -> None:
    """Bars of speed-ups, ours beside the paper's: ratios[set][arm] = (ours, theirs)."""
    figure, axes = plt.subplots(
        1, len(ratios), figsize=(2.2 * len(ratios) + 1.0, 3.6), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (data_set, arms) in zip(axes[0], ratios.items(), strict=True):
        places = np.arange(len(arms))
        for offset, column, label in ((-0.2, 0, "skscreen"), (0.2, 1, "paper")):
            values = [arm[column] for arm in arms.values()]
            ax.bar(places + offset, values, 0.4, color=COLOURS[column], label=label)
        ax.axhline(1.0, color="0.35", linewidth=1.0)
        ax.set_xticks(places, arms, rotation=60, ha="right", rotation_mode="anchor")
        ax.set_title(data_set, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("CPU time without / with", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    save(figure, out, name)


def rate_lines(out: Path, name: str, panels: dict, lams, y_label: str) -> None:
    """Rates along a path: panels[title][label] = rates, one for each of lams."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 3.4), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    # The same line for the same arm in every panel.
    places = {
        label: i
        for i, label in enumerate(
            dict.fromkeys(label for lines in panels.values() for label in lines)
        )
    }
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for label, rates in lines.items():
            i = places[label]
            # The first λ has no reference.
            ax.plot(lams[1 : len(rates)], rates[1:], linestyle=STYLES[i], color=COLOURS[i],
                    label=label)  # fmt: skip
        _lambda_axis(ax)
        ax.set_ylim(-0.02, 1.02)
        ax.set_title(title, fontsize="medium")
        ax.legend(frameon=False, fontsize="small")
    axes[0, 0].set_ylabel(y_label)
    save(figure, out, name)


def dynamic_maps(out: Path, name: str, maps: dict, lams: dict) -> None:
    """Screening rate over iteration and lambda: maps[set][bound] of shape (iterations, lams)."""
    n_bounds = max(len(columns) for columns in maps.values())
    figure, axes = plt.subplots(
        len(maps), n_bounds, figsize=(3.3 * n_bounds, 2.7 * len(maps)), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for row, (data_set, columns) in zip(axes, maps.items(), strict=True):
        for ax, (bound, rates) in zip(row, columns.items(), strict=True):
            edges = _edges(np.log10(lams[data_set][: rates.shape[1]]))
            ax.set_facecolor("0.9")
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            image = ax.pcolormesh(
                10**edges, np.arange(len(rates) + 1) - 0.5, rates, vmin=0, vmax=1, cmap="viridis",
                rasterized=True,
            )  # fmt: skip
            _lambda_axis(ax, grid=False)
            ax.set_title(f"{data_set}, {bound}", fontsize="medium")
        row[0].set_ylabel("Iteration (0: path step)")
    figure.colorbar(image, ax=axes, label="Screening rate (grey: solved)")
    save(figure, out, name)


def range_maps(out: Path, name: str, maps: dict, lams: dict) -> None:
    """Share of items that ranges decide: maps[title] of shape (references, targets)."""
    figure, axes = plt.subplots(
        1, len(maps), figsize=(4.0 * len(maps) + 0.8, 3.8), layout="constrained", squeeze=False
    )
    for ax, (title, rates) in zip(axes[0], maps.items(), strict=True):
        edges = 10 ** _edges(np.log10(lams[title]))
        ax.set_facecolor("0.9")
        image = ax.pcolormesh(edges, edges, rates, vmin=0, vmax=1, cmap="viridis", rasterized=True)
        _lambda_axis(ax, grid=False)
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("λ to be solved")
    axes[0, 0].set_ylabel("λ of the reference")
    figure.colorbar(image, ax=axes, label="Share of the decidable triplets in range")
    save(figure, out, name)


def rates_over_iterations(out: Path, name: str, panels: dict) -> None:
    """Steps of the screening rate: panels[title][label] = rates, one an iteration."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.2 * len(panels), 3.3), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for i, (label, rates) in enumerate(lines.items()):
            ax.plot(rates, linestyle=STYLES[i], color=COLOURS[i], drawstyle="steps-post",
                    label=label)  # fmt: skip
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("Iteration")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(-0.02, 1.02)
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    axes[0, 0].set_ylabel("Screening rate")
    save(figure, out, name)


def accuracy_over_neighbours(out: Path, name: str, ks, accuracies: dict, errors, seconds) -> None:
    """Accuracy of k-NN classifiers over the neighbours in the triplets, and the path's cost."""
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(5.2, 5.0), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    for i, (n_neighbors, values) in enumerate(accuracies.items()):
        top.errorbar(
            ks, values, errors[n_neighbors], fmt="o", linestyle=STYLES[i], color=COLOURS[i],
            capsize=2, markersize=4, label=f"{n_neighbors}-NN",
        )  # fmt: skip
    top.set_ylabel("Test accuracy")
    top.legend(frameon=False, ncols=3)
    for i, (label, values) in enumerate(seconds.items()):
        bottom.plot(ks, values, "o", linestyle=STYLES[i], color=COLOURS[i], markersize=4,
                    label=label)  # fmt: skip
    bottom.set_xticks(ks)
    bottom.set_xlabel("Neighbours in the triplets, k")
    bottom.set_ylabel("CPU seconds a path")
    bottom.set_ylim(bottom=0)
    bottom.legend(frameon=False)
    for ax in (top, bottom):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.9", linewidth=0.6)
    save(figure, out, name)


def _lambda_axis(ax, grid: bool = True) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_inverted(True)
    ax.set_xlabel("λ")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if grid:
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)


def _edges(centres: np.ndarray) -> np.ndarray:
    """Edges of cells round evenly spaced centres."""
    step = centres[1] - centres[0]
    return np.concatenate(([centres[0] - step / 2], centres + step / 2))
