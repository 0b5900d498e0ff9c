"""Dots on a logarithmic axis: seconds of ours and of peers, a line for each piece of work."""

import re
from itertools import groupby
from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.support.figures import COLOURS, save, tidy

MARKERS = "sD^vPX"


def read_seconds(cell: str) -> float | None:
    """Return the seconds of a cell, of "> 60" the limit; None where a fit failed."""
    number = re.fullmatch(r"(?:> )?([\d,]*\.?\d+(?:e-\d+)?)", cell)
    return float(number[1].replace(",", "")) if number else None


def dots(rows: list[list[str]], title: str, out: Path, name: str) -> Path:
    """Draw the rows of a family, in the columns of `comparison.HEADER`; return the file.

    A hollow marker is the limit that ended a peer's fit. On the right stands how many times as long
    as ours the fastest peer took, which is not ours with other options. What took no time, as it is
    no fit, has no line.
    """
    rows = [row for row in rows if read_seconds(row[3])]
    groups = [(key, list(some)) for key, some in groupby(rows, key=lambda row: tuple(row[:4]))]
    peers = list(dict.fromkeys(row[5] for row in rows))
    figure, ax = plt.subplots(figsize=(9.0, 0.24 * len(groups) + 1.5), layout="constrained")
    shown = set()
    for at, ((_, _, name_of_ours, ours), others) in enumerate(groups):
        ours = read_seconds(ours)
        found = [(row[5], row[6], read_seconds(row[6])) for row in others]
        found = [peer for peer in found if peer[2]]
        values = [ours, *(value for *_, value in found)]
        ax.plot([min(values), max(values)], [at, at], color="0.85", lw=1.5, zorder=1)
        for peer, cell, value in found:
            k = peers.index(peer)
            face = "none" if cell.startswith(">") else COLOURS[1 + k % 5]
            label = None if peer in shown else peer
            shown.add(peer)
            ax.scatter(value, at, s=26, marker=MARKERS[k % 6], facecolor=face,
                       edgecolor=COLOURS[1 + k % 5], label=label, zorder=2)  # fmt: skip
        ax.scatter(ours, at, s=36, color=COLOURS[0], label=None if at else "skscreen", zorder=3)
        function = name_of_ours.partition("(")[0]
        rivals = [peer for peer in found if peer[0].partition("(")[0] != function]
        if rivals:
            _, cell, fastest = min(rivals, key=lambda peer: peer[2])
            text = f"{'> ' * cell.startswith('>')}{short_ratio(fastest / ours)}"
            ax.annotate(text, (1.01, at), xycoords=("axes fraction", "data"), va="center",
                        fontsize=8, color="0.2" if fastest >= ours else COLOURS[3])  # fmt: skip
    ax.set(xscale="log", ylim=(len(groups) - 0.4, -0.6), xlabel="CPU seconds of one thread")
    named = [key[:3] for key, _ in groups]
    works = [key[:2] for key in named]
    labels = [label_of(*key, works.count(key[:2]) == 1) for key in named]
    ax.set_yticks(range(len(groups)), labels)
    ax.tick_params(axis="y", labelsize=8, length=0)
    ax.set_title(title, loc="left", fontweight="bold", fontsize=11)
    tidy(ax, grid=False)
    ax.grid(axis="x", color="0.92", linewidth=0.6)
    figure.legend(loc="outside lower center", ncols=min(4, len(peers) + 1), frameon=False,
                  fontsize=8)  # fmt: skip
    save(figure, out, name)
    return out / f"{name}.png"


def label_of(work: str, data: str, ours: str, is_alone: bool) -> str:
    """Name a line; where one is not alone with its work and data, also by what is ours."""
    variant = ours.partition(", ")[2] or ("" if is_alone else ours)
    return f"{work}, {variant}: {data}" if variant else f"{work}: {data}"


def short_ratio(ratio: float) -> str:
    """Write a ratio as "4.2x", in two digits."""
    digits = ".0f" if ratio >= 10.0 else ".1f" if ratio >= 0.1 else ".2g"
    return f"{ratio:{digits}}x"
