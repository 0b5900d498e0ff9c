"""The figures of `paper.py`: drawing only, nothing is measured here."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.support.figures import COLOURS, STYLES, legend_below, row_of_axes, save, tidy

# One line style for each arm in every figure.
_LOOKS = {
    "Pragam": (COLOURS[0], "-"),
    "Pragam-b": (COLOURS[0], "--"),
    "Pragam as published": (COLOURS[0], ":"),
    "BMRM": (COLOURS[1], "-"),
    "ls-BMRM": (COLOURS[1], "--"),
    "Pegasos-n": (COLOURS[2], "-"),
    "Pegasos-1": (COLOURS[2], "--"),
    "LIBLINEAR": (COLOURS[3], "-"),
}


def four_panels(out: Path, name: str, traces: dict, best: dict) -> None:
    """Error and test accuracy over iterations and seconds, as in the paper."""
    figure, axes = plt.subplots(
        2, 2, figsize=(9.0, 6.2), sharex="col", sharey="row", layout="constrained"
    )
    for label, run in traces.items():
        colour, style = _LOOKS[label]
        errors = np.maximum(run.primal - best[run.free], 1e-9)
        # The start, at 0 iterations, has no place on a logarithmic axis.
        shown = run.iteration > 0
        marker = "." if label == "LIBLINEAR" else None
        for column, values in enumerate((run.iteration, np.maximum(run.seconds, 1e-4))):
            look = {"color": colour, "linestyle": style, "marker": marker, "linewidth": 1.4}
            axes[0, column].loglog(values[shown], errors[shown], label=label, **look)
            axes[1, column].semilogx(values[shown], 100.0 * run.accuracy[shown], **look)
    axes[0, 0].set_ylim(1e-6, 2.0)
    top = 100.0 * max(run.accuracy.max() for run in traces.values())
    last = 100.0 * min(run.accuracy[-1] for run in traces.values())
    axes[1, 0].set_ylim(last - (top - last) - 2.0, top + 0.3)
    axes[0, 0].set_ylabel("$J(w_t) - J^*$, best so far")
    axes[1, 0].set_ylabel("Test accuracy, %")
    axes[1, 0].set_xlabel("Iterations (Pegasos-1: samples; LIBLINEAR: passes)")
    axes[1, 1].set_xlabel("CPU seconds")
    for ax in axes.flat:
        tidy(ax)
    figure.suptitle(name, fontsize="medium")
    legend_below(figure, axes[0, 0], 4)
    save(figure, out, name)


def gaps(out: Path, name: str, lines: dict) -> None:
    """Certified gaps over iterations: three lines a lambda."""
    figure, (ax,) = row_of_axes([""], 7.6, 5.4)
    for i, (label, (k, gap)) in enumerate(lines.items()):
        shown = (k > 0) & (gap > 0.0)
        ax.loglog(k[shown], gap[shown], color=COLOURS[i // 3], linestyle=STYLES[i % 3], label=label)
    k = np.array([100.0, 10_000.0])
    ax.loglog(k, 3.0 * (k / k[0]) ** -2.0, color="0.6", linewidth=0.8, label="$k^{-2}$")
    ax.set_xlabel("Iterations k")
    ax.set_ylabel("J - D, best so far")
    tidy(ax)
    legend_below(figure, ax, 3)
    save(figure, out, name)
