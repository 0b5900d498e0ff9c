"""Labels of points that cover neither each other nor the frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skscreen.inspection.style import Axes

# All lengths are in points of 1/72 inch. Distance of points that count as a crowd.
_CROWD = 25.0


def place_labels(
    ax: Axes, points: np.ndarray, names: Sequence, others: np.ndarray | None = None, *,
    marker: float = 3.0, every: bool = False,
) -> list[Any]:  # fmt: skip
    """Write names beside points (n, 2), each where there is room; others are left out."""
    # `others` (m, 2) are further markers, of half the width `marker`. `every` looks further away,
    # and with smaller letters, until all names have room. Everything else is to be drawn before:
    # what changes size or limits later moves the points.
    from matplotlib.patheffects import withStroke

    # Layout and equal scales are settled when a figure is drawn.
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    markers = points if others is None else np.vstack([points, others])
    unit = 72.0 / figure.dpi
    at, frame = ax.transData.transform(markers) * unit, np.array(ax.bbox.extents) * unit
    # Distances of a label from its point, and sizes of letters, that are tried.
    rings, letters = [(5.0, 9.0), (15.0, 24.0, 36.0)], [8.3]
    if every:
        rings, letters = [*rings, (50.0, 70.0, 100.0)], [*letters, 7.0, 6.0, 5.0]
    for size in letters:
        found = _find_room(at, _sizes(ax, names, size) * unit, frame, rings, marker)
        if None not in found:
            break
    line = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 0.0, "shrinkB": 3.0}
    texts = []
    for name, point, room in zip(names, points, found, strict=True):
        if room is None:
            continue
        offset, distance = room
        # Legible over points and lines.
        halo = [withStroke(linewidth=2.0, foreground="white")]
        text = ax.annotate(
            written(name), point, xytext=offset, textcoords="offset points", ha="center",
            va="center", fontsize=size, zorder=3, arrowprops=line if distance > 10.0 else None,
            path_effects=halo,
        )  # fmt: skip
        texts.append(text)
    return texts


def written(name: Any) -> str:
    """Return a name as matplotlib writes it: dollar signs that mark no formula are letters."""
    from matplotlib.mathtext import MathTextParser

    text = str(name)
    if "$" not in text:
        return text
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return text.replace("$", r"\$")
    return text


def _sizes(ax: Axes, names: Sequence, size: float) -> np.ndarray:
    """Width and height of each name in pixels, in letters of that size."""
    probe = ax.text(0.0, 0.0, "", fontsize=size, transform=None)
    sizes = np.empty((len(names), 2))
    for row, name in enumerate(names):
        probe.set_text(written(name))
        box = probe.get_window_extent()
        sizes[row] = box.width, box.height
    probe.remove()
    return sizes


def _find_room(
    markers: np.ndarray, sizes: np.ndarray, frame: np.ndarray, all_rings: Sequence, marker: float
) -> list:
    """Offset of the middle of each label, and its distance from its point; None without room."""
    # The first n of the markers (m, 2) belong to the labels, of sizes (n, 2); the frame is left,
    # bottom, right, top. All names get a chance at one tuple of distances before any tries the
    # next.
    n = len(sizes)
    half = 0.5 * sizes + 1.0
    found, placed = [None] * n, np.empty((0, 4))
    near = ((markers[:n, None] - markers) ** 2).sum(axis=2) < _CROWD**2
    # Points in a crowd have the fewest places for labels, so they come first.
    order = np.argsort(-near.sum(axis=1), kind="stable")
    for rings in all_rings:
        for v in order:
            if found[v] is not None:
                continue
            found[v] = _room_for(markers[v], half[v], markers, placed, frame, rings, marker)
            if found[v] is not None:
                middle = markers[v] + found[v][0]
                placed = np.vstack([placed, [*(middle - half[v]), *(middle + half[v])]])
    return found


def _room_for(
    point: np.ndarray, half: np.ndarray, markers: np.ndarray, placed: np.ndarray,
    frame: np.ndarray, rings: Sequence[float], marker: float,
) -> tuple | None:  # fmt: skip
    """Nearest place in which a label of this half size covers neither another nor a marker."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # Distances are to the nearest side or corner of the label, not to its middle.
    beside = np.clip(1.5 * direction, -1.0, 1.0) * half
    for radius in rings:
        # Beyond dots, whose half width is 3, too.
        offsets = (radius + marker - 3.0) * direction + beside
        low, high = point + offsets - half, point + offsets + half
        free = (low >= frame[:2]).all(axis=1) & (high <= frame[2:]).all(axis=1)
        if len(placed):
            apart = (low[:, None] >= placed[:, 2:]) | (high[:, None] <= placed[:, :2])
            free &= apart.any(axis=2).all(axis=1)
        gaps = np.maximum(low[:, None] - markers, markers - high[:, None]).max(axis=2)
        free &= (gaps >= marker).all(axis=1)
        if free.any():
            # Prefer labels that are far from the next marker.
            score = np.where(free, np.clip(gaps.min(axis=1), 0.0, _CROWD), -np.inf)
            best = int(score.argmax())
            return tuple(offsets[best].tolist()), radius
    return None
