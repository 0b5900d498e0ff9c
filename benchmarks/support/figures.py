"""How figures of benchmarks look."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

# Okabe and Ito's palette, distinct for colour-blind readers; first the one for "ours".
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "0.35")
STYLES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)))


def save(figure, out: Path, name: str) -> None:
    """Write a figure small enough to keep in a repository."""
    figure.savefig(out / f"{name}.png", dpi=100)
    plt.close(figure)
