"""Pictures of objects on a map, in place of dots."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from skscreen.core.inputs import in_order
from skscreen.inspection.style import Axes


def read_images(images: Any, estimator: Any, n: int) -> list[np.ndarray]:
    """Return a picture for each of n objects, from a folder, files or arrays, perhaps by name."""
    objects = np.asarray(getattr(estimator, "objects_", np.arange(n))).tolist()
    if isinstance(images, (str, PathLike)):
        images = _files(Path(images), objects)
    images = in_order(images, objects, "`images`")
    images = list(images) if hasattr(images, "loc") else images
    if not isinstance(images, Sequence | np.ndarray) or len(images) != n:
        count = len(images) if hasattr(images, "__len__") else "no"
        raise ValueError(f"`images` has {count} entries, but there are {n} objects.")
    return [_picture(image, k) for k, image in enumerate(images)]


def _files(folder: Path, objects: Sequence) -> list[Path]:
    """Return the file of each object in a folder."""
    if not folder.is_dir():
        raise ValueError(f"`images` must be a folder or a picture for each object, got {folder}.")
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    # Objects may be called as their files are, or without the ending.
    found = {path.stem: path for path in files} | {path.name: path for path in files}
    missing = [str(name) for name in objects if str(name) not in found]
    if missing:
        raise ValueError(
            f"`images`: {len(missing)} of {len(objects)} objects have no file in {folder}, among "
            f"them {missing[0]!r}; a file is called as its object is, or that with any ending."
        )
    return [found[str(name)] for name in objects]


def _picture(image: Any, number: int) -> np.ndarray:
    """Return a picture as an array that matplotlib draws."""
    from matplotlib.image import imread

    if isinstance(image, (str, PathLike)):
        try:
            image = imread(Path(image))
        except (OSError, SyntaxError, ValueError) as error:
            raise ValueError(f"`images`: {image} is no picture that can be read.") from error
    image = np.asarray(image)
    if not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (3, 4))) or not image.size:
        raise ValueError(
            f"`images`: entry {number} must have shape (height, width), (height, width, 3) or "
            f"(height, width, 4), got {image.shape}."
        )
    if image.ndim == 3 and image.dtype.kind == "f" and image.max() > 1.0:
        raise ValueError(
            f"`images`: entry {number} must have colours from 0 to 1, or whole numbers from 0 to "
            f"255, got floats up to {image.max():g}: pass image.astype(numpy.uint8) if those are "
            "from 0 to 255."
        )
    return image


def draw_images(
    ax: Axes, points: np.ndarray, images: Sequence[np.ndarray]
) -> tuple[list[Any], float]:
    """Draw pictures around points; return them and half their width, in points of 1/72 inch."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    # In points of 1/72 inch: a little less than the distance to the nearest other, in the median.
    size = 48.0
    if len(points) > 1:
        at = ax.transData.transform(points) * 72.0 / figure.dpi
        nearest = np.asarray(cKDTree(at).query(at, k=2)[0])[:, 1]
        size = float(np.clip(0.8 * np.median(nearest), 12.0, size))
    drawn = []
    for point, image in zip(points, images, strict=True):
        # A zoom of 1 is one pixel of the picture for each of 72 an inch.
        box = OffsetImage(image, zoom=size / max(image.shape[:2]), cmap="gray")
        drawn.append(AnnotationBbox(box, point, frameon=False, pad=0.0, zorder=6))
        ax.add_artist(drawn[-1])
    return drawn, 0.5 * size
