"""Solutions kept in a folder, so that fits of the same data can use each other's.

The solutions for the nearest C or lambda on both sides are the start and the screening references
of the next fit, which computes their certificates anew. A folder is safe to share between
processes, even if one is interrupted: a file gets its name only when it is complete, and is never
changed after that. A file that cannot be read is ignored.
"""

import contextlib
import os
import re
import time
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator
from numbers import Integral
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_scalar

from skscreen.fitting.kept_matrices import KeptMatrices
from skscreen.fitting.warning import warn_user

# Names of the folders, as `content_key` makes them, and of unfinished files.
_KEY, _UNFINISHED = re.compile("[0-9a-f]{40}"), re.compile("[0-9a-f]{32}")

# Share of the limit that an eviction frees, and that may be written before the folder is checked
# again.
_ROOM = 0.1

# Errors raised by reading a damaged file.
_DAMAGES = (
    OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class _Folder:
    """What a process knows of a folder, for all stores in it, and what it keeps in memory."""

    def __init__(self) -> None:
        # Bytes when this process looked last, and those written since.
        self.total, self.written = np.inf, 0.0
        self.kept = KeptMatrices(np.inf)


# Stores are made anew for each fit, and copied by searches: what they share goes by their folder.
_FOLDERS: dict[str, _Folder] = {}


class Store:
    """Solutions in a folder of limited size, for the parameter `store` of estimators.

    Parameters
    ----------
    folder : str or path
        Folder, which is created if it does not exist, "~" the home directory. Only files of stores
        are touched in it.
    max_bytes : int, default=4 * 2**30
        If all files together are larger, those used least recently are removed; processes that
        write at the same time may exceed the limit by 10 % each. The same limit holds for kernel
        matrices that are kept in the memory of a process, which also never take more than
        the memory that is left free.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     first = ScreenedSVC(C=1.0, kernel="linear", store=folder).fit(scale(X), y)
    ...     second = ScreenedSVC(C=1.1, kernel="linear", store=folder).fit(scale(X), y)
    >>> bool(second.n_iter_ < first.n_iter_)
    True
    """

    def __init__(self, folder: str | os.PathLike, max_bytes: int = 4 * 2**30):
        if not isinstance(folder, str | os.PathLike):
            raise TypeError(f"folder must be a str or a path, got {folder!r}.")
        check_scalar(max_bytes, "max_bytes", Integral, min_val=0)
        self.folder, self.max_bytes = Path(os.path.expanduser(folder)), int(max_bytes)

    def __repr__(self) -> str:
        """Show where."""
        return f"Store({str(self.folder)!r}, max_bytes={self.max_bytes})"

    @property
    def kept(self) -> KeptMatrices:
        """Matrices that stay in the memory of this process for fits with this folder."""
        kept = self._folder.kept
        kept.max_bytes = self.max_bytes
        return kept

    @property
    def _folder(self) -> _Folder:
        path = os.path.abspath(self.folder)
        if path not in _FOLDERS:
            for gone in [known for known in _FOLDERS if not os.path.exists(known)]:
                _FOLDERS.pop(gone, None)
        return _FOLDERS.setdefault(path, _Folder())

    def neighbours(self, key: str, value: float) -> list[tuple[float, dict[str, np.ndarray]]]:
        """Return the solved values nearest to a value, one from either side if there are both.

        Parameters
        ----------
        key : str
            Tells one problem from others: a digest of all that its solutions depend on, but for
            the value.
        value : float
            C or lambda.

        Returns
        -------
        list of (float, dict)
            Values, ascending, with their arrays; one entry if the value itself was solved.
        """
        values = sorted(self._values(key))
        below = [other for other in values if other <= value]
        above = [other for other in values if other > value]
        found: list[tuple[float, dict[str, np.ndarray]]] = []
        while below and not found:
            found = self._read(key, below.pop())
        if found and found[0][0] == value:
            return found
        for other in above:
            if nearest := self._read(key, other):
                return found + nearest
        return found

    def put(self, key: str, value: float, arrays: dict[str, np.ndarray]) -> None:
        """Keep the arrays of a solved problem.

        Parameters
        ----------
        key, value
            As in `neighbours`.
        arrays : dict of ndarray
            By name, as `neighbours` returns them.
        """
        content: dict[str, Any] = {"of": np.array(_label(key, arrays)), **arrays}
        self._write(self._file(key, value), lambda file: np.savez(file, **content))

    def _file(self, key: str, value: float) -> Path:
        return self.folder / key / f"{float(value)!r}.npz"

    def _values(self, key: str) -> Iterator[float]:
        for entry in _listed(self.folder / key):
            name, suffix = os.path.splitext(entry.name)
            if suffix == ".npz":
                with contextlib.suppress(ValueError):
                    yield float(name)

    def _read(self, key: str, value: float) -> list[tuple[float, dict[str, np.ndarray]]]:
        """Return the arrays of one solved value in a list, empty if they cannot be read."""
        path = self._file(key, value)
        try:
            with np.load(path, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            if str(arrays.pop("of")) != _label(key, arrays):
                raise ValueError("its content is not what was written")
            # Eviction goes by the time of use.
            with contextlib.suppress(OSError):
                os.utime(path)
        except FileNotFoundError:
            # Removed by another process in between.
            return []
        except _DAMAGES as error:
            warn_user(f"Ignored the damaged file {path.name} of {self}: {error}")
            return []
        return [(value, arrays)]

    def _write(self, path: Path, save: Callable) -> None:
        """Write a file under another name, and give it its own when it is complete."""
        unfinished = path.with_name(f"{uuid.uuid4().hex}.tmp")
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                save(file)
                size = file.tell()
            os.replace(unfinished, path)
        except OSError as error:
            # A full disk must not cost the user the fit.
            warn_user(f"{self} could not keep a solution: {error}")
            with contextlib.suppress(OSError):
                unfinished.unlink()
            return
        except BaseException as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            # After an interrupt NumPy fails to close what it has begun, and raises that instead.
            cause = error.__context__
            if isinstance(error, ValueError) and not isinstance(cause, Exception | None):
                raise cause from None
            raise
        self._count(path, size)

    def _count(self, path: Path, size: int) -> None:
        """Take notice of a file that was written; look at all only where that may matter."""
        folder = self._folder
        folder.written += size
        written = folder.written
        if folder.total + written > self.max_bytes or written > _ROOM * self.max_bytes:
            folder.total, folder.written = self._evict(path), 0.0

    def _evict(self, keep: Path) -> float:
        """Remove the files used least recently and what killed processes left; return the bytes."""
        files, total, now = [], 0, time.time()
        # Folders and files whose names are not from here are somebody else's.
        for folder in (entry for entry in _listed(self.folder) if _KEY.fullmatch(entry.name)):
            for entry in (entry for entry in _listed(folder) if _is_ours(entry.name)):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    if entry.name.endswith(".npz"):
                        files.append((status.st_mtime, status.st_size, entry.path))
                        total += status.st_size
                    # Unfinished for an hour: the process that wrote it has ended.
                    elif now - status.st_mtime > 3600.0:
                        os.unlink(entry.path)
        if total <= self.max_bytes:
            return total
        for _, size, path in sorted(files):
            if total <= (1.0 - _ROOM) * self.max_bytes:
                break
            if Path(path) != keep:
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    total -= size
        return total


def _is_ours(name: str) -> bool:
    """Whether a store gave this name to a file: that of a value, or of an unfinished file."""
    stem, suffix = os.path.splitext(name)
    if suffix == ".tmp":
        return bool(_UNFINISHED.fullmatch(stem))
    try:
        return suffix == ".npz" and repr(float(stem)) == stem
    except ValueError:
        return False


def _label(key: str, arrays: dict[str, np.ndarray]) -> str:
    """Return what a file says of itself: whose it is, and what its names and arrays are."""
    # In between, the version of the format.
    content = (part for name in sorted(arrays) for part in (name, np.asarray(arrays[name])))
    return f"{key} 5 {content_key(*content)}"


def check_store(store: str | os.PathLike | Store | None) -> Store | None:
    """Return the store that a parameter `store` means: None, a folder or a Store."""
    if store is None or isinstance(store, Store):
        return store
    if isinstance(store, str | os.PathLike) and os.fspath(store):
        return Store(store)
    raise TypeError(f"store must be None, a folder or a skscreen.Store, got {store!r}.")


def content_key(*parts: object) -> str:
    """Return a name for a content: arrays, sparse matrices, numbers and names."""
    # The faster hash of the two in joblib.
    return joblib.hash(parts, hash_name="sha1")


def _listed(folder: str | os.PathLike) -> list[os.DirEntry]:
    try:
        with os.scandir(os.fspath(folder)) as entries:
            return list(entries)
    except OSError:
        return []
