"""The figures of ordinal embedding: drawing only, nothing is measured here."""

from pathlib import Path

import numpy as np

from benchmarks.support.figures import COLOURS, STYLES, legend_below, look, row_of_axes, save, tidy

TITLES = {"gnmds": "GNMDS", "ckl": "CKL", "ste": "STE", "tste": "t-STE", "soe": "SOE"}


def error_curves(out: Path, name: str, panels: dict, title: str) -> None:
    """Median test error over time: panels[loss][solver] = runs with columns seconds, error."""
    figure, axes = row_of_axes([TITLES[loss] for loss in panels], 2.7, 3.2, 0.6)
    for ax, solvers in zip(axes, panels.values(), strict=True):
        for index, (solver, runs) in enumerate(solvers.items()):
            first = max(run[0, 0] for run in runs)
            grid = np.geomspace(first, max(run[-1, 0] for run in runs), 200)
            # The error at a time is that of the last report before it.
            errors = [run[np.searchsorted(run[:, 0], grid, side="right") - 1, 1] for run in runs]
            ax.plot(1e3 * grid, np.median(errors, axis=0), **look(index, label=solver))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(top=0.55)
        ax.set_xlabel("CPU time in ms", fontsize="small")
        tidy(ax)
        ticks = [0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    lowest = min(
        np.median([r[:, 1].min() for r in runs]) for s in panels.values() for runs in s.values()
    )
    axes[0].set_ylim(bottom=0.9 * lowest)
    axes[0].set_ylabel("median test error", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    legend_below(figure, axes[0])
    save(figure, out, name)


def precision_curves(out: Path, name: str, panels: dict, title: str) -> None:
    """Precision over recall: panels[loss][method] = (recalls, precisions)."""
    figure, axes = row_of_axes([TITLES[loss] for loss in panels], 2.7, 3.6, 0.6)
    for ax, methods in zip(axes, panels.values(), strict=True):
        for index, (method, (recall, precision)) in enumerate(methods.items()):
            # More methods than colours: those that come again are dashed.
            style = look(index) | {"linestyle": STYLES[index // len(COLOURS)]}
            ax.plot(recall, precision, label=method, **style)
        ax.set_xlabel("recall", fontsize="small")
        tidy(ax)
    axes[0].set_ylabel("precision", fontsize="small")
    figure.suptitle(title, fontsize="medium")
    legend_below(figure, axes[0], 4)
    save(figure, out, name)


def step_sizes(out: Path, name: str, panels: dict) -> None:
    """Steps over epochs: panels[loss][epsilon] = array (starts, epochs)."""
    figure, axes = row_of_axes([TITLES[loss] for loss in panels], 2.7, 3.2, 0.6, sharey=False)
    for ax, lines in zip(axes, panels.values(), strict=True):
        for index, (epsilon, runs) in enumerate(lines.items()):
            epochs = np.arange(2, runs.shape[1] + 2)
            low, middle, high = np.quantile(runs, [0.0, 0.5, 1.0], axis=0)
            ax.plot(epochs, middle, **look(index, label=f"ε = {epsilon:g}"))
            ax.fill_between(epochs, low, high, color=COLOURS[index], alpha=0.2, linewidth=0)
        ax.set_yscale("log")
        ax.set_xlabel("epoch", fontsize="small")
        tidy(ax)
    axes[0].set_ylabel("step |Q| η (median, range)", fontsize="small")
    legend_below(figure, axes[0])
    save(figure, out, name)
