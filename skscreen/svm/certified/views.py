"""Products of validation samples with training samples, for bounds on their scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from skscreen.core.checks import Matrix, refuse_masked
from skscreen.core.memory import check_kernel_memory
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel, KernelFunction, as_given
from skscreen.samples.labels import of_rows
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certified.bounds import Geometry
from skscreen.svm.dual import Dual
from skscreen.svm.problem import TrainingSet

# Relative difference of kernel values that rounding errors explain, also in single precision.
_SAME = 1e-6

# Takes the samples of a problem, that at C = 1 and the signs of validation samples; returns
# what bounds their scores, and a function that computes these from dual variables.
View = Callable[
    [LinearSamples | KernelSamples, Dual, np.ndarray],
    tuple[Geometry, Callable[[np.ndarray], np.ndarray]],
]


def scored_view(
    model: BaseEstimator, data: TrainingSet, X_val: Matrix, diagonal: np.ndarray | None
) -> View:
    """Return the view of validation samples, or of their kernel values and diagonal (n_val,)."""
    bias, kernel = float(model.intercept_scaling) if model.fit_intercept else 0.0, data.kernel
    if kernel.name == "linear":
        return _of_rows(X_val, bias)
    if kernel.name == "precomputed":
        if diagonal is None:
            raise ValueError("diagonal_val is needed for kernel='precomputed': K(x, x) of X_val.")
        rows = data.division.labels.rows
        X_val = X_val[:, rows]
        _check_sizes(X_val, diagonal, np.diagonal(data.X)[rows])
    X = of_rows(data.X, data.division.labels.rows, kernel.name == "precomputed")
    return _of_kernel(kernel, X, X_val, bias, diagonal, model.cache_size)


def diagonal_of(kernel: Kernel, X_val: Matrix, diagonal: np.ndarray | None) -> Any:
    """Return K(x, x) of validation samples for a function, if it is one of two samples."""
    if kernel.function is None or diagonal is not None:
        return diagonal
    # As the function gets its training samples.
    function, X_val = kernel.function, as_given(X_val, "X_val")
    to_validation = KernelFunction(function.kernel, X_val)
    there, back = function.to_training(X_val), to_validation.to_training(function.samples)
    if not np.allclose(there, back.T, rtol=_SAME, atol=_SAME * np.abs(there).max(initial=0.0)):
        raise ValueError(
            "diagonal_val is needed for this callable kernel, whose values depend on more than two "
            "samples: K(x, x) of X_val."
        )
    return np.diagonal(to_validation.matrix())


def check_diagonal(diagonal: ArrayLike, n: int) -> np.ndarray:
    """Return K(x, x) of validation samples as numbers."""
    refuse_masked(diagonal, "diagonal_val")
    known = check_array(
        diagonal, ensure_2d=False, dtype=np.float64, input_name="diagonal_val",
        ensure_non_negative=True,
    )  # fmt: skip
    if known.shape != (n,):
        raise ValueError(f"diagonal_val.shape == {known.shape}, expected {(n,)}!")
    return known


def _check_sizes(K: np.ndarray, diagonal: np.ndarray, training: np.ndarray) -> None:
    """Refuse values K(x, x) with which K (n_val, n) would be no kernel: bounds would not hold."""
    needed = K * K / np.where(training > 0.0, training, np.inf)
    row, column = np.unravel_index(np.argmax(needed - diagonal[:, None]), needed.shape)
    if needed[row, column] > (1.0 + _SAME) * diagonal[row] + _SAME * training.max():
        raise ValueError(
            f"diagonal_val must hold K(x, x) of the rows of X_val: for row {row} it is "
            f"{diagonal[row]:g}, and K(x, z)^2 / K(z, z) with training sample z, {column} of those "
            f"with weight, is {needed[row, column]:g}, which no kernel exceeds."
        )


def _of_rows(X_val: Matrix, bias: float) -> View:
    validation = LinearSamples(X_val, np.ones(X_val.shape[0]), bias)

    def view(samples, dual, signs_val):
        def cross(rows, index):
            left = validation.scaled_rows(rows, signs_val[rows])
            out = left @ samples.scaled_rows(index, np.ones(index.size)).T
            return out.toarray() if sparse.issparse(out) else out

        def score(beta):
            return signs_val * validation.margins(samples.combine(beta))

        return Geometry(dual, samples.norms, validation.norms, samples.block, cross), score

    return view


def _of_kernel(kernel: Kernel, X, X_val: Matrix, bias: float, diagonal, cache_size: float) -> View:
    square, n = bias * bias, X.shape[0]
    if kernel.name == "precomputed":
        table = X_val
    else:
        # Without a cache, because only the diagonal of the matrix is needed.
        diagonal, table = Gram(X_val, kernel, cache_size=0.0).diagonal, None
        if 8.0 * X_val.shape[0] * n <= cache_size * 2**20:
            check_kernel_memory(X_val.shape[0], n, 2, "Use a smaller cache_size.")
            table = kernel.between(X_val, X)
    validation_norms = np.sqrt(np.maximum(diagonal, 0.0) + square)

    def view(samples, dual, signs_val):
        def cross(rows, index):
            # A regression has two samples for each row.
            if table is None:
                K = kernel.between(X_val[rows], X[index % n])
            else:
                K = table[np.ix_(rows, index % n)]
            return signs_val[rows, None] * (K + square)

        def score(beta):
            coefficients = beta.reshape(-1, n).sum(axis=0)
            if table is None:
                index = np.flatnonzero(coefficients)
                products = kernel.scores(X_val, X[index], coefficients[index, None])[:, 0]
            else:
                products = table @ coefficients
            return signs_val * (products + square * coefficients.sum())

        return Geometry(dual, samples.norms, validation_norms, samples.block, cross), score

    return view
