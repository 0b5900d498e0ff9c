"""Pictures of objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.named import in_order


def read_images(
    images: str | PathLike | Sequence | None, objects: list, shown: Iterable[int]
) -> dict[int, np.ndarray]:
    """Return pictures of the objects at some places, from a folder, files or arrays."""
    shown = list(shown)
    if isinstance(images, (str, PathLike)):
        files = _files(Path(images), [objects[k] for k in shown])
        return {k: _picture(file, k) for k, file in zip(shown, files, strict=True)}
    several: Any = in_order(images, objects, "`images`")
    several = list(several) if hasattr(several, "loc") else several
    if not isinstance(several, Sequence | np.ndarray) or len(several) != len(objects):
        count = len(several) if isinstance(several, Sized) else "no"
        raise ValueError(f"`images` has {count} entries, but there are {len(objects)} objects.")
    return {k: _picture(several[k], k) for k in shown}


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


def _picture(image: str | PathLike | ArrayLike, number: int) -> np.ndarray:
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
