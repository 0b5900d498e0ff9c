"""Samples, labels and weights, checked by scikit-learn, and for what it would misread."""

from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import assert_all_finite, check_array, column_or_1d, validate_data


def is_sparse(X: Any) -> bool:
    """Whether X is sparse; after SciPy's function, type checkers know no methods of X."""
    return sparse.issparse(X)


def is_frame(values: Any) -> bool:
    """Whether values are a frame of any library."""
    return isinstance(nw.from_native(values, eager_only=True, pass_through=True), nw.DataFrame)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, pandas.NA or NaT, which differ from themselves."""
    return cell is None or type(cell).__name__ == "NAType" or (np.ndim(cell) == 0 and cell != cell)


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked entries, which would count as what is under the mask."""
    # Not by `is_masked`, which takes what has a `_mask` for masked, as pandas' integers have.
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise ValueError(f"{name} must not have masked entries.")


def check_samples(
    X: Any, name: str = "X", *, model: BaseEstimator = None, reset: bool = True, **accepted: Any
) -> Any:
    """Return samples as `check_array` does, or as `validate_data` does for an estimator."""
    refuse_masked(X, name)
    if is_sparse(X) and X.format in ("csr", "csc"):
        X = in_shape(X, name)
    if model is None:
        return check_array(X, input_name=name, **accepted)
    return validate_data(model, X, reset=reset, **accepted)


def check_labels(y: Any, name: str = "y") -> np.ndarray:
    """Return labels (n,), which are all strings or all numbers, and not missing."""
    labels = as_labels(y, name)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name=name)
    if labels.dtype.kind == "O" and not all(isinstance(label, str) for label in labels.tolist()):
        raise TypeError(
            f"Unknown label type: {name} must be uniformly strings or numbers, without missing "
            "values."
        )
    return labels


def as_labels(y: Any, name: str = "y", warn: bool = True) -> np.ndarray:
    """Return labels (n,) of any kinds, as objects where they are of several; warn of a column."""
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


def check_weights(weights: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """Return weights >= 0 (n,), not all of them 0; one number, or None for 1, is that of all."""
    if weights is None:
        return np.ones(n)
    refuse_masked(weights, name)
    weights = np.full(n, weights) if isinstance(weights, Number) else weights
    weights = check_array(
        weights, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name=name,
        ensure_non_negative=True,
    )  # fmt: skip
    if weights.shape != (n,):
        raise ValueError(f"{name}.shape == {weights.shape}, expected {(n,)}!")
    if not weights.any():
        raise ValueError(f"{name} must contain at least one non-zero number.")
    return weights


def in_shape(X: Any, name: str) -> Any:
    """Return CSR or CSC without spare entries; refuse those that are outside of its shape."""
    # Compiled code would read and write outside of arrays.
    lines, across = X.shape if X.format == "csr" else X.shape[::-1]
    wrong = (X.indices < 0) | (X.indices >= across)
    if wrong.any():
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
