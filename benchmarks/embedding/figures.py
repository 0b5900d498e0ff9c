"""The figures of ordinal embedding: drawing only, nothing is measured here."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.support.figures import COLOURS, STYLES, save

TITLES = {"gnmds": "GNMDS", "ckl": "CKL", "ste": "STE", "tste": "t-STE", "soe": "SOE"}


def error_curves(out: Path, name: str, panels: dict, title: str) -> None:
    """Median test error over time: panels[loss][solver] = runs with columns seconds, error."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.7 * len(panels) + 0.6, 3.2), sharey=True, layout="constrained"
    )
    for ax, (loss, solvers) in zip(axes, panels.items(), strict=True):
        for index, (solver, runs) in enumerate(solvers.items()):
            first = max(run[0, 0] for run in runs)
            grid = np.geomspace(first, max(run[-1, 0] for run in runs), 200)
            # The error at a time is that of the last report before it.
            errors = [run[np.searchsorted(run[:, 0], grid, side="right") - 1, 1] for run in runs]
            ax.plot(
                1e3 * grid, np.median(errors, axis=0), color=COLOURS[index],
                linestyle=STYLES[index], label=solver,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(top=0.55)
        ax.set_title(TITLES[loss], fontsize="medium")
        ax.set_xlabel("CPU time in ms", fontsize="small")
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ticks = [0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    lowest = min(
        np.median([r[:, 1].min() for r in runs]) for s in panels.values() for runs in s.values()
    )
    axes[0].set_ylim(bottom=0.9 * lowest)
    axes[0].set_ylabel("median test error", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save(figure, out, name)


def precision_curves(out: Path, name: str, panels: dict, title: str) -> None:
    """Precision over recall: panels[loss][method] = (recalls, precisions)."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.7 * len(panels) + 0.6, 3.6), sharey=True, layout="constrained"
    )
    for ax, (loss, methods) in zip(axes, panels.items(), strict=True):
        for index, (method, (recall, precision)) in enumerate(methods.items()):
            style = STYLES[(index // len(COLOURS)) % len(STYLES)]
            ax.plot(
                recall, precision, color=COLOURS[index % len(COLOURS)], linestyle=style,
                label=method,
            )  # fmt: skip
        ax.set_title(TITLES[loss], fontsize="medium")
        ax.set_xlabel("recall", fontsize="small")
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("precision", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    save(figure, out, name)


def step_sizes(out: Path, name: str, panels: dict) -> None:
    """Steps over epochs: panels[loss][epsilon] = array (starts, epochs)."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.7 * len(panels) + 0.6, 3.2), layout="constrained"
    )
    for ax, (loss, lines) in zip(axes, panels.items(), strict=True):
        for index, (epsilon, runs) in enumerate(lines.items()):
            epochs = np.arange(2, runs.shape[1] + 2)
            low, middle, high = np.quantile(runs, [0.0, 0.5, 1.0], axis=0)
            ax.plot(
                epochs, middle, color=COLOURS[index], linestyle=STYLES[index],
                label=f"ε = {epsilon:g}",
            )  # fmt: skip
            ax.fill_between(epochs, low, high, color=COLOURS[index], alpha=0.2, linewidth=0)
        ax.set_yscale("log")
        ax.set_title(TITLES[loss], fontsize="medium")
        ax.set_xlabel("epoch", fontsize="small")
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("step |Q| η (median, range)", fontsize="small")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save(figure, out, name)


def growth_lines(out: Path, name: str, panels: dict) -> None:
    """Time over size: panels[title][label] = list of (size, seconds)."""
    figure, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), sharey=True, layout="constrained")
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for index, (label, points) in enumerate(lines.items()):
            sizes, seconds = np.array(points).T
            ax.loglog(
                sizes, seconds, color=COLOURS[index // 2], linestyle=STYLES[index % 2],
                marker="o", markersize=3, label=label,
            )  # fmt: skip
        ax.loglog(
            sizes, seconds[0] * sizes / sizes[0] / 3, color="0.7", linewidth=1, label="linear"
        )
        fixed, what = title.rsplit(", ", 1)
        ax.set_title(fixed, fontsize="medium")
        ax.set_xlabel(what, fontsize="small")
        ax.minorticks_off()
        ax.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        ax.grid(color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("CPU seconds of a fit", fontsize="small")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize="small")
    save(figure, out, name)
