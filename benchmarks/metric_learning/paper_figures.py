"""The figures of `paper.py`: drawing only, nothing is measured here."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from benchmarks.support.figures import COLOURS, legend_below, look, row_of_axes, save, tidy


def ratio_bars(out: Path, name: str, ratios: dict, title: str) -> None:
    """Bars of speed-ups, ours beside the paper's: ratios[set][arm] = (ours, theirs)."""
    figure, axes = row_of_axes(ratios, 2.2, 3.6, 1.0)
    for ax, arms in zip(axes, ratios.values(), strict=True):
        places = np.arange(len(arms))
        for offset, column, label in ((-0.2, 0, "skscreen"), (0.2, 1, "paper")):
            values = [arm[column] for arm in arms.values()]
            ax.bar(places + offset, values, 0.4, color=COLOURS[column], label=label)
        ax.axhline(1.0, color="0.35", linewidth=1.0)
        ax.set_xticks(places, arms, rotation=60, ha="right", rotation_mode="anchor")
        tidy(ax, grid=False)
    axes[0].set_ylabel("CPU time without / with", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    legend_below(figure, axes[0])
    save(figure, out, name)


def rate_lines(out: Path, name: str, panels: dict, lams, y_label: str) -> None:
    """Rates along a path: panels[title][label] = rates, one for each of lams."""
    figure, axes = row_of_axes(panels, 4.2, 3.4)
    # The same line for the same arm in every panel.
    arms = list(dict.fromkeys(label for lines in panels.values() for label in lines))
    for ax, lines in zip(axes, panels.values(), strict=True):
        for label, rates in lines.items():
            # The first λ has no reference.
            style = look(arms.index(label), label=label)
            ax.plot(lams[1 : len(rates)], rates[1:], **style)
        _lambda_axis(ax)
        ax.set_ylim(-0.02, 1.02)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel(y_label)
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
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            iterations = np.arange(len(rates) + 1) - 0.5
            image = _heat(ax, lams[data_set][: rates.shape[1]], iterations, rates)
            ax.set_title(f"{data_set}, {bound}", fontsize="medium")
        row[0].set_ylabel("Iteration (0: path step)")
    figure.colorbar(image, ax=axes, label="Screening rate (grey: solved)")
    save(figure, out, name)


def range_maps(out: Path, name: str, maps: dict, lams: dict) -> None:
    """Share of items that ranges decide: maps[title] of shape (references, targets)."""
    figure, axes = row_of_axes(maps, 4.0, 3.8, 0.8, sharey=False)
    for ax, (title, rates) in zip(axes, maps.items(), strict=True):
        image = _heat(ax, lams[title], _edges(lams[title]), rates)
        ax.set_yscale("log")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.set_xlabel("λ to be solved")
    axes[0].set_ylabel("λ of the reference")
    figure.colorbar(image, ax=axes, label="Share of the decidable triplets in range")
    save(figure, out, name)


def rates_over_iterations(out: Path, name: str, panels: dict) -> None:
    """Steps of the screening rate: panels[title][label] = rates, one an iteration."""
    figure, axes = row_of_axes(panels, 4.2, 3.3)
    for ax, lines in zip(axes, panels.values(), strict=True):
        for i, (label, rates) in enumerate(lines.items()):
            ax.plot(rates, **look(i, drawstyle="steps-post", label=label))
        ax.set_xlabel("Iteration")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(-0.02, 1.02)
        tidy(ax)
        ax.legend(frameon=False, fontsize="small")
    axes[0].set_ylabel("Screening rate")
    save(figure, out, name)


def accuracy_over_neighbours(out: Path, name: str, ks, accuracies: dict, errors, seconds) -> None:
    """Accuracy of k-NN classifiers over the neighbours in the triplets, and the path's cost."""
    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(5.2, 5.0), sharex=True, height_ratios=(2, 1), layout="constrained"
    )
    for i, (n_neighbors, values) in enumerate(accuracies.items()):
        style = look(i, fmt="o", capsize=2, markersize=4, label=f"{n_neighbors}-NN")
        top.errorbar(ks, values, errors[n_neighbors], **style)
    top.set_ylabel("Test accuracy")
    top.legend(frameon=False, ncols=3)
    for i, (label, values) in enumerate(seconds.items()):
        bottom.plot(ks, values, **look(i, marker="o", markersize=4, label=label))
    bottom.set_xticks(ks)
    bottom.set_xlabel("Neighbours in the triplets, k")
    bottom.set_ylabel("CPU seconds a path")
    bottom.set_ylim(bottom=0)
    bottom.legend(frameon=False)
    for ax in (top, bottom):
        tidy(ax)
    save(figure, out, name)


def _heat(ax, lams: np.ndarray, edges: np.ndarray, rates: np.ndarray):
    """Rates in colours over lambda, grey where there are none."""
    ax.set_facecolor("0.9")
    _lambda_axis(ax, grid=False)
    return ax.pcolormesh(_edges(lams), edges, rates, vmin=0, vmax=1, rasterized=True)


def _lambda_axis(ax, grid: bool = True) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_inverted(True)
    ax.set_xlabel("λ")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if grid:
        tidy(ax)


def _edges(lams: np.ndarray) -> np.ndarray:
    """Edges of cells round values in constant ratios."""
    step = (lams[1] / lams[0]) ** 0.5
    return np.append(lams / step, lams[-1] * step)
