"""The pictures of the README, of screening and of the page on benchmarks, and its table.

    python doc/pictures.py

Measured numbers are read from `_static/readme_figures.json`, the one place that holds them: a list
of jobs, each with what it is, the seconds of both sides, how many times faster we are and what was
reached, all as on the page of the job. Jobs with "picture" are in the README's picture; "more"
marks a limit that a peer ran into.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from skscreen import OrdinalEmbedding
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.inspection import EmbeddingDisplay

STATIC = Path(__file__).parent / "_static"
TABLE = Path(__file__).parent / "benchmarks" / "table.txt"
BLUE, ORANGE, GREY = "#0072B2", "#C04E00", "0.72"


def main() -> None:
    jobs = json.loads((STATIC / "readme_figures.json").read_text(encoding="utf-8"))
    TABLE.write_text(table(jobs), encoding="utf-8")
    plt.switch_backend("agg")
    draw_readme([job for job in jobs if job["picture"]])
    draw_all(jobs)
    draw_screening()


def table(jobs: list[dict]) -> str:
    """Return the jobs as a table of Markdown."""
    rows = ["| job | skscreen | beside | skscreen is | what was reached |\n|---|--:|--:|--:|---|\n"]
    for job in jobs:
        more = "> " if job.get("more") else ""
        rows.append(
            f"| {{doc}}`{job['job']} </{job['page']}>` | `{job['ours']}` {seconds(job['seconds'])} "
            f"| {job['peer']} {more}{seconds(job['peer_seconds'])} | {more}{times(job)} "
            f"| {job['quality']} |\n"
        )
    return "".join(rows)


def seconds(value: float) -> str:
    """Write seconds with two digits or more, below a tenth as milliseconds, on one line."""
    if value < 0.1:
        return f"{1000 * value:.0f}\N{NO-BREAK SPACE}ms"
    number = f"{int(value + 0.5)}" if value >= 10.0 else f"{value:#.2g}"
    return f"{number}\N{NO-BREAK SPACE}s"


def times(job: dict) -> str:
    """Write how many times faster, or slower, we are, as the page has it or with two digits."""
    if "times" in job:
        return job["times"]
    ratio, word = job["peer_seconds"] / job["seconds"], "faster"
    if ratio < 1.0:
        ratio, word = 1.0 / ratio, "slower"
    return f"{ratio:.0f} times {word}" if ratio >= 10.0 else f"{ratio:.2g} times {word}"


def draw_readme(jobs: list[dict]) -> None:
    """Draw a map and bars side by side."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.0, 4.8), width_ratios=[5, 6], layout="constrained"
    )
    cities = load_eurodist()
    answers = make_triplets(cities.distances, 2000, metric="precomputed", random_state=0)
    model = OrdinalEmbedding(random_state=0).fit(answers)
    left.set_title("A map, from 2,000 answers “A is nearer to B than to C”", **TITLE)
    right.set_title("Faster, to the same result or a better one", **TITLE)
    bars(right, jobs)
    points = north_up(model.embedding_, cities.names)
    left.axis("off")
    EmbeddingDisplay(points=points, names=cities.names).plot(ax=left)
    save(figure, STATIC / "readme.png")


TITLE = {"loc": "left", "fontsize": 11, "fontweight": "bold", "pad": 12}


def north_up(points: np.ndarray, names: list[str]) -> np.ndarray:
    """Turn and reflect a map: Stockholm above Rome, Athens to the right of Lisbon."""
    at = dict(zip(names, points - points.mean(axis=0), strict=True))
    up = at["Stockholm"] - at["Rome"]
    up = up / np.linalg.norm(up)
    right = np.array([up[1], -up[0]])
    right *= np.sign(right @ (at["Athens"] - at["Lisbon"]))
    return (points - points.mean(axis=0)) @ np.column_stack([right, up])


def draw_screening() -> None:
    """Draw a ball that contains the optimum, and the lines on which three samples have margin 1."""
    figure, ax = plt.subplots(figsize=(7.2, 3.9), layout="constrained")
    ax.set(xlim=(-2.7, 3.5), ylim=(-1.55, 1.8), aspect="equal")
    ax.axis("off")
    ax.add_patch(plt.Circle((0.0, 0.0), 1.0, facecolor="0.93", edgecolor="0.35"))
    ax.text(0.2, -0.68, "ball that\ncontains the\noptimum", ha="center", fontsize=9, color="0.35")
    ax.plot([0.0, 0.4], [0.0, 0.25], "o", color="black", ms=5)
    ax.annotate("reference", (0.0, 0.0), (5, -12), textcoords="offset points", fontsize=9)
    ax.annotate("optimum", (0.4, 0.25), (5, 4), textcoords="offset points", fontsize=9)
    # Each: two points of the line, the side of larger margins, colour, where and what is said.
    kinds = [
        ((-2.3, 1.5), (-0.9, -1.5), (1, 0), BLUE, (-2.65, -0.6),
         "ball on the side of\nmargins above 1:\ndual variable 0"),
        ((1.15, 1.5), (1.75, -1.5), (1, 0), ORANGE, (1.75, 0.5),
         "ball on the side of\nmargins below 1:\ndual variable C"),
        ((-1.0, 1.35), (-0.1, -1.5), (1, 0), "0.45", (-1.2, 1.5),
         "the line cuts the ball: undecided"),
    ]  # fmt: skip
    for (x, y), (u, v), side, colour, at, text in kinds:
        ax.plot([x, u], [y, v], color=colour, lw=2)
        middle = np.array([x + 0.15 * (u - x), y + 0.15 * (v - y)])
        step = 0.3 * np.array(side) / np.linalg.norm(side)
        ax.annotate("", middle + step, middle, arrowprops={"arrowstyle": "->", "color": colour})
        ax.text(*at, text, color=colour, fontsize=9, va="center")
    ax.set_title("Each line: the weights for which one sample has margin 1", **TITLE)
    save(figure, STATIC / "screening.png")


def draw_all(jobs: list[dict]) -> None:
    """Draw the bars of all jobs."""
    figure, ax = plt.subplots(figsize=(8.6, 0.62 * len(jobs) + 0.8), layout="constrained")
    ax.set_title("Faster on most jobs, to the same result or a better one", **TITLE)
    bars(ax, jobs)
    save(figure, STATIC / "measured.png")


def bars(ax: Axes, jobs: list[dict]) -> None:
    """Draw two bars for each job, the peer's below ours, and what they took.

    The longer of the two has the length 1: bars begin at 0, and 685 times need no logarithm.
    """
    ax.set(xlim=(0.0, 1.5), ylim=(len(jobs) - 0.35, -0.6), xticks=[], yticks=[])
    for row, job in enumerate(jobs):
        ax.text(0.0, row - 0.4, job["job"], fontsize=9, color="0.2", va="center")
        more = "> " if job.get("more") else ""
        longest = max(job["seconds"], job["peer_seconds"])
        for below, name, value, colour, weight in (
            (0.0, job["ours"], job["seconds"], BLUE, "bold"),
            (0.27, job["peer"], job["peer_seconds"], GREY, "normal"),
        ):
            ax.barh(row + below - 0.13, value / longest, 0.25, color=colour)
            text = f"{more if colour == GREY else ''}{seconds(value)}  {name}"
            ax.annotate(text, (value / longest, row + below - 0.13), (4, 0),
                        textcoords="offset points", va="center", fontsize=8.5,
                        fontweight=weight)  # fmt: skip
    ax.set_xlabel("CPU seconds of one thread; each pair of bars has a scale of its own, from 0",
                  loc="left", fontsize=8.5, color="0.4")  # fmt: skip
    ax.spines[:].set_visible(False)


def save(figure: plt.Figure, file: Path) -> None:
    """Save a figure with few colours, which makes it a third as large."""
    figure.savefig(file, dpi=150)
    plt.close(figure)
    Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)


if __name__ == "__main__":
    main()
