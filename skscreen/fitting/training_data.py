"""Estimators that remember what they were fitted on, for what is computed when it is asked for."""

import copy
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

# Names under which estimators remember.
MEMORY = ("_trained_on", "_trained_as", "_screened")


def remember(model: Any, *data: Any) -> None:
    """Keep references to the training data, and the parameters; pickles do not hold them."""
    known = vars(model)
    known["_trained_on"] = data
    known["_trained_as"] = {
        name: value for name, value in known.items() if not name.startswith("_") and name[-1] != "_"
    }
    known.pop("_screened", None)


def remember_as(model: Any, other: Any) -> None:
    """Let an estimator remember what another one was fitted on, if this does."""
    if "_trained_on" in vars(other):
        remember(model, *vars(other)["_trained_on"])


class TrainingDataMixin:
    """Base of estimators that remember their training data, see `remember`."""

    def __getstate__(self) -> dict:
        """Return the state without training data, which may be large."""
        state: dict = dict(super().__getstate__())  # type: ignore[call-overload]
        for name in MEMORY:
            state.pop(name, None)
        return state


def remembered(model: Any, compute: Callable[..., Any]) -> Any:
    """Return what `compute` makes, once, of the model as it was fitted and the training data."""
    known = vars(model)
    if not any(name.endswith("_") and not name.startswith("_") for name in known):
        raise AttributeError(f"This {type(model).__name__} is not fitted: screened_ is of a fit.")
    if "_trained_on" not in known:
        raise AttributeError(
            "screened_ needs the training data, which a copy of an estimator, as from a file, does "
            "not have: fit it again. Of metrics those learned from pairs or quadruplets, from "
            "weighted comparisons or with a graph never have it."
        )
    if "_screened" not in known:
        as_fitted = copy.copy(model).set_params(**known["_trained_as"])
        known["_screened"] = compute(as_fitted, *known["_trained_on"])
    return known["_screened"]


def own(data: Any) -> Any:
    """Return a copy of arrays, sparse matrices, frames and lists, which the user may change."""
    return data.copy() if hasattr(data, "copy") else data


def own_unless_made(X: Any, given: Any) -> Any:
    """Return an array or sparse matrix, or a copy of it if it may be part of what was given."""
    if isinstance(given, list | tuple):
        return X
    known = isinstance(given, np.ndarray) or sparse.issparse(given)
    is_made = known and not any(
        np.may_share_memory(mine, theirs) for mine in _arrays(X) for theirs in _arrays(given)
    )
    return X if is_made else X.copy()


def _arrays(X: Any) -> list[np.ndarray]:
    """Return the arrays that an array or a sparse matrix consists of."""
    parts = vars(X).values() if sparse.issparse(X) else [X]
    return [part for part in parts if isinstance(part, np.ndarray)]


def mark(X: Any) -> list[int]:
    """Return what tells whether an array or a sparse matrix was changed, or sorted, in place."""
    marks = []
    for array in _arrays(X):
        bits = array.view(f"u{array.itemsize}")
        if bits.ndim == 2:
            # A sum of each row takes less time than a checksum of all entries. Odd factors tell
            # columns apart, and lose no bit.
            odd = np.arange(1, 2 * bits.shape[1], 2, dtype=bits.dtype)
            bits = np.einsum("ij,j->i", bits, odd)
        marks.append(zlib.crc32(np.ascontiguousarray(bits).data))
    return marks
