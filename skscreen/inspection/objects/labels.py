"""Labels of points that cover neither each other nor the frame, and lines where they must."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skscreen.inspection.style import Axes, written

# All lengths are in points of 1/72 inch. Distance of points that count as a crowd.
_CROWD = 25.0


def place_labels(
    ax: Axes, points: np.ndarray, names: Sequence, others: np.ndarray | None = None, *,
    marker: float = 3.0, every: bool = False,
) -> list[Any]:  # fmt: skip
    """Write names beside points (n, 2), each where there is room; others are left out."""
    # `others` (n, 2) are further markers, each joined to its point by a line; `marker` is half the
    # width of markers. `every` looks further away, and with smaller letters, until all names have
    # room. Everything else is to be drawn before: what changes size or limits later moves points.
    from matplotlib.patheffects import withStroke

    # Layout and equal scales are settled when a figure is drawn.
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    markers = points if others is None else np.vstack([points, others])
    unit = 72.0 / figure.dpi
    at, frame = ax.transData.transform(markers) * unit, np.array(ax.bbox.extents) * unit
    # Distances of a label from its point, and sizes of letters, that are tried; beyond the first
    # distances a line joins the two.
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
        offset, far = room
        # Legible over points and lines.
        halo = [withStroke(linewidth=2.0, foreground="white")]
        text = ax.annotate(
            written(name), point, xytext=offset, textcoords="offset points", ha="center",
            va="center", fontsize=size, zorder=3, arrowprops=line if far else None,
            path_effects=halo,
        )  # fmt: skip
        texts.append(text)
    return texts


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
    """Offset of the middle of each label, and whether it is far away; None without room."""
    # The first n of the markers (m, 2) belong to the labels, of sizes (n, 2); the frame is left,
    # bottom, right, top. All names get a chance at one tuple of distances before any tries the
    # next.
    n = len(sizes)
    half = 0.5 * sizes + 1.0
    found: list = [None] * n
    placed = np.empty((0, 4))
    # Lines from points to further markers, and from labels to their points, from end to end.
    lines = np.hstack([markers[:n], markers[n:]]) if len(markers) > n else np.empty((0, 4))
    near = ((markers[:n, None] - markers) ** 2).sum(axis=2) < _CROWD**2
    # Points in a crowd have the fewest places for labels, so they come first.
    order = np.argsort(-near.sum(axis=1), kind="stable")
    for rings in all_rings:
        far = rings is not all_rings[0]
        for v in order:
            if found[v] is not None:
                continue
            own = np.arange(len(markers)) % n == v
            offset = _room_for(own, half[v], markers, placed, lines, frame, rings, marker, far)
            if offset is not None:
                middle = markers[v] + offset
                found[v] = tuple(offset.tolist()), far
                placed = np.vstack([placed, [*(middle - half[v]), *(middle + half[v])]])
                if far:
                    lines = np.vstack([lines, [*markers[v], *middle]])
    return found


def _room_for(
    own: np.ndarray, half: np.ndarray, markers: np.ndarray, placed: np.ndarray,
    lines: np.ndarray, frame: np.ndarray, rings: Sequence[float], marker: float, far: bool,
) -> np.ndarray | None:  # fmt: skip
    """Offset of the nearest place where a label of this half size covers no other and no marker."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # Distances are to the nearest side or corner of the label, not to its middle.
    beside = np.clip(1.5 * direction, -1.0, 1.0) * half
    point, fallback = markers[own][0], None
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
            # Prefer labels that cover no line, at any of these distances, and then those far from
            # the markers of others.
            crossing = _meet(lines, np.hstack([low, high])[:, None]).any(axis=1)
            if far:
                leads = np.hstack([np.broadcast_to(point, offsets.shape), point + offsets])
                crossing |= _meet(leads[:, None], placed).any(axis=1)
            score = gaps[:, ~own].min(axis=1, initial=_CROWD) - 2.0 * _CROWD * crossing
            best = np.where(free, score, -np.inf).argmax()
            if score[best] >= 0.0:
                return offsets[best]
            fallback = offsets[best] if fallback is None else fallback
    return fallback


def _meet(lines: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Whether lines (..., 4), from end to end, pass through boxes (..., 4) of two corners."""
    start, step = lines[..., :2], lines[..., 2:] - lines[..., :2]
    step = np.where(step == 0.0, 1e-9, step)
    # The shares of a line at which it passes the sides of a box.
    first, second = (boxes[..., :2] - start) / step, (boxes[..., 2:] - start) / step
    enter, leave = np.minimum(first, second).max(axis=-1), np.maximum(first, second).min(axis=-1)
    return np.maximum(enter, 0.0) < np.minimum(leave, 1.0)
