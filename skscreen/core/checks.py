"""Samples, labels and weights as users give them: their types, and checks by scikit-learn and more.

Files with such parameters begin with `from __future__ import annotations`: `help` then shows the
names of these types, and not the pages that they stand for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Number
from typing import Any, Literal, TypeAlias, TypeGuard, overload

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import assert_all_finite, check_array, column_or_1d, validate_data

from skscreen.core.memory import aligned

# Samples (n, d) in an array, in rows of a list, or in a frame of any library; or sparse ones, too.
TableLike: TypeAlias = ArrayLike | IntoDataFrame
MatrixLike: TypeAlias = TableLike | sparse.sparray | sparse.spmatrix

# Samples that are checked.
Matrix: TypeAlias = np.ndarray | sparse.csr_array

# A column of a table by its label, or one value for each row.
ColumnLike: TypeAlias = Hashable | ArrayLike

# What `check_cv` takes.
Folds: TypeAlias = int | BaseCrossValidator | Iterable | None


def is_sparse(X: object) -> TypeGuard[sparse.csr_array]:
    """Whether X is sparse; type checkers then let it have methods of sparse matrices."""
    return sparse.issparse(X)


def is_frame(values: object) -> bool:
    """Whether values are a frame of any library."""
    return isinstance(nw.from_native(values, eager_only=True, pass_through=True), nw.DataFrame)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, pandas.NA or NaT, which differ from themselves."""
    return cell is None or type(cell).__name__ == "NAType" or (np.ndim(cell) == 0 and cell != cell)


def refuse_masked(values: object, name: str) -> None:
    """Refuse masked entries, which would count as what is under the mask."""
    # Not by `is_masked`, which takes what has a `_mask` for masked, as pandas' integers have.
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise ValueError(f"{name} must not have masked entries.")


@overload
def check_samples(
    X: MatrixLike, name: str = ..., *, model: BaseEstimator = ..., reset: bool = ...,
    accept_sparse: Literal[False] = ..., **accepted: Any,
) -> np.ndarray: ...  # fmt: skip
@overload
def check_samples(
    X: MatrixLike, name: str = ..., *, model: BaseEstimator = ..., reset: bool = ...,
    accept_sparse: str | Sequence[str], **accepted: Any,
) -> Matrix: ...  # fmt: skip
def check_samples(
    X: MatrixLike, name: str = "X", *, model: BaseEstimator = None, reset: bool = True,
    accept_sparse: bool | str | Sequence[str] = False, **accepted: Any,
) -> Matrix:  # fmt: skip
    """Return samples as `check_array` does, or as `validate_data` does for an estimator.

    Their memory is aligned, which that of arrays from other processes and files may not be.
    """
    if model is not None and _is_checked(X, **accepted):
        return _with_features(model, X, reset)
    refuse_masked(X, name)
    _refuse_uneven(X, name)
    if is_sparse(X) and X.format in ("csr", "csc"):
        X = in_shape(X, name)
    if model is None:
        found = check_array(X, accept_sparse=accept_sparse, input_name=name, **accepted)
    else:
        found = validate_data(model, X, reset=reset, accept_sparse=accept_sparse, **accepted)
    return aligned(found)


def _refuse_uneven(rows: object, name: str) -> None:
    """Refuse lists of unequal lengths, of which NumPy names neither the argument nor the row."""
    if not isinstance(rows, list | tuple):
        return
    lengths = [len(row) if isinstance(row, list | tuple) else -1 for row in rows]
    for i, length in enumerate(lengths):
        if lengths[0] >= 0 and length not in (lengths[0], -1):
            raise ValueError(
                f"{name} must have rows of one length, got {lengths[0]} entries in row 0 and "
                f"{length} in row {i}."
            )


def _is_checked(
    X: MatrixLike, dtype: Any = None, order: str = "", **others: Any
) -> TypeGuard[np.ndarray]:
    """Whether `check_array` would return samples as they are: finite, and as they are accepted."""
    as_it_is = order == "C" and np.float64 in (dtype if isinstance(dtype, list) else [dtype])
    if not as_it_is or others or not are_finite(X) or X.ndim != 2:
        return False
    # Not `carray`, which asks for memory that can be written to as well.
    return X.flags.c_contiguous and X.flags.aligned


def are_finite(values: object) -> TypeGuard[np.ndarray]:
    """Whether values are an array of finite numbers in double precision, surely."""
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.size:
        return False
    # The sum of finite numbers may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _with_features(model: BaseEstimator, X: np.ndarray, reset: bool) -> np.ndarray:
    """Let a model learn, or check, the features of an array."""
    n_features = X.shape[1]
    if reset:
        vars(model).pop("feature_names_in_", None)
        model.n_features_in_ = n_features
        return X
    named = hasattr(model, "feature_names_in_")
    if named or getattr(model, "n_features_in_", n_features) != n_features:
        # Its warning or error.
        validate_data(model, X, reset=False, skip_check_array=True)
    return X


def check_labels(y: ArrayLike, name: str = "y") -> np.ndarray:
    """Return labels (n,), which are all strings or all numbers, and not missing."""
    labels = as_labels(y, name)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name=name)
    if labels.dtype.kind == "O":
        _check_strings(labels.tolist(), name)
    return labels


def _check_strings(labels: list, name: str) -> None:
    """Refuse objects that are no strings, by the types and texts of scikit-learn."""
    place = next((i for i, label in enumerate(labels) if not isinstance(label, str)), None)
    if place is None:
        return
    if any(isinstance(label, float) and label != label for label in labels):
        raise ValueError(f"Input {name} contains NaN.")
    odd = f"{name} has {labels[place]!r} of type {type(labels[place]).__name__} in row {place}"
    if isinstance(labels[0], str):
        raise TypeError(
            f"Unknown label type: {name} must be uniformly strings or numbers, without missing "
            f"values, and {odd}."
        )
    raise ValueError(
        "Unknown label type: unknown. Maybe you are trying to fit a classifier, which expects "
        f"discrete classes on a regression target with continuous values. {odd}, and its dtype is "
        "object: labels that are no strings need a dtype of numbers."
    )


def require_y(model: BaseEstimator, y: object) -> None:
    """Refuse to fit an estimator without labels or targets."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y to be passed, but the target y is "
            "None."
        )


def as_labels(y: ArrayLike, name: str = "y", warn: bool = True) -> np.ndarray:
    """Return labels (n,) of any kinds, as objects where they are of several; warn of a column."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufUO":
        return y
    refuse_masked(y, name)
    if isinstance(y, list | tuple):
        kinds = set(map(type, y))
        # NumPy makes strings of a mixture: "nan" of NaN, and of members of an Enum their names.
        if not kinds <= {str, np.str_} and any(issubclass(kind, str) for kind in kinds):
            y = np.array([*y, None], dtype=object)[:-1]
    elif not isinstance(y, np.ndarray):
        # Whole numbers of pandas' own kinds would become floats.
        series = nw.from_native(y, allow_series=True, pass_through=True)
        y = series.to_numpy() if isinstance(series, nw.Series) else y
    try:
        return column_or_1d(y, warn=warn)
    except ValueError as error:
        raise ValueError(str(error).replace("y should", f"{name} should")) from error


def check_weights(
    weights: ArrayLike | None, n: int, name: str = "sample_weight", negative: bool = False
) -> np.ndarray:
    """Return weights >= 0 (n,), not all of them 0; one number, or None for 1, is that of all.

    Where samples of `negative` weights are left out, as by `SVC`, these become 0.
    """
    if weights is None:
        return np.ones(n)
    refuse_masked(weights, name)
    given = np.full(n, weights) if isinstance(weights, Number) else weights
    found: np.ndarray = check_array(
        given, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name=name,
        ensure_non_negative=not negative,
    )  # fmt: skip
    if found.shape != (n,):
        raise ValueError(f"{name}.shape == {found.shape}, expected {(n,)}!")
    if negative and not (found > 0.0).any():
        raise ValueError(f"Invalid input - all samples have zero or negative weights: see {name}.")
    if not found.any():
        raise ValueError(f"{name} must contain at least one non-zero number.")
    return np.maximum(found, 0.0) if negative else found


def in_shape(X: sparse.csr_array, name: str) -> sparse.csr_array:
    """Return CSR or CSC without spare entries; refuse those that are outside of its shape."""
    # Compiled code would read and write outside of arrays.
    lines, across = X.shape if X.format == "csr" else X.shape[::-1]
    if X.indices.size and (X.indices.min() < 0 or X.indices.max() >= across):
        wrong = (X.indices < 0) | (X.indices >= across)
        raise ValueError(
            f"{name} has an entry at index {X.indices[wrong.argmax()]}, outside of its shape "
            f"{X.shape}."
        )
    if np.any(np.diff(X.indptr) < 0):
        raise ValueError(f"{name} must have indptr, its {lines} starts of lines, in order.")
    if X.indices.dtype == X.indptr.dtype and X.indptr[-1] == X.indices.size == X.data.size:
        return X
    n, places = int(X.indptr[-1]), np.promote_types(X.indices.dtype, X.indptr.dtype)
    columns, starts = (part.astype(places) for part in (X.indices[:n], X.indptr))
    return type(X)((X.data[:n], columns, starts), shape=X.shape)
