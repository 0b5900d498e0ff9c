"""Products of validation samples with training samples, for bounds on their scores."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from skscreen.core.memory import check_kernel_memory
from skscreen.samples.kernel import Kernel, KernelFunction
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples, both_signs
from skscreen.svm.certified.bounds import Geometry
from skscreen.svm.problem import TrainingSet

# Relative difference of kernel values that rounding errors explain.
_SAME = 1e-9

# Takes losses and the signs of training and validation samples; returns the bounds on scores and a
# function that computes scores.
View = Callable[[SampleLosses, np.ndarray, np.ndarray], tuple[Geometry, Callable]]


def scored_view(model, data: TrainingSet, X_val, diagonal) -> View:
    """Return the view of validation samples for an estimator with a penalised intercept.

    For a precomputed kernel `X_val` are kernel values with all training samples, and `diagonal`
    K(x, x) of the validation samples, (n_val,).
    """
    bias, kernel = float(model.intercept_scaling) if model.fit_intercept else 0.0, data.kernel
    if kernel.name == "linear":
        return _of_rows(data.taking_part, X_val, bias)
    if kernel.name == "precomputed":
        X_val = X_val[:, data.division.labels.rows]
        diagonal = _check_diagonal(diagonal, X_val.shape[0])
    return _of_kernel(kernel, data.taking_part, X_val, bias, diagonal, model.cache_size)


def diagonal_of(kernel: Kernel, X_val, diagonal):
    """Return K(x, x) of validation samples for a function, if it is one of two samples."""
    if kernel.function is None or diagonal is not None:
        return diagonal
    function, to_validation = kernel.function, KernelFunction(kernel.function.kernel, X_val)
    there, back = function.to_training(X_val), to_validation.to_training(function.samples)
    if not np.allclose(there, back.T, rtol=_SAME, atol=_SAME * np.abs(there).max(initial=0.0)):
        raise ValueError(
            "diagonal_val is needed for this callable kernel, whose values depend on more than two "
            "samples: K(x, x) of X_val."
        )
    return np.diagonal(to_validation.matrix())


def of_both_signs(view: View, losses: SampleLosses, n_val: int) -> tuple[Geometry, Callable]:
    """Return the same of training samples that stand twice, see `samples.rows`."""
    n = losses.thresholds.size // 2
    half, score = view(losses, np.ones(n), np.ones(n_val))
    signs = both_signs(n)

    def block(index):
        return signs[index, None] * half.block(index % n) * signs[index]

    def cross(rows, index):
        return half.cross(rows, index % n) * signs[index]

    def scores(alpha):
        return score(alpha[:n] - alpha[n:])

    return Geometry(losses, np.tile(half.norms, 2), half.validation_norms, block, cross), scores


def _check_diagonal(diagonal, n: int) -> np.ndarray:
    if diagonal is None:
        raise ValueError("diagonal_val is needed for kernel='precomputed': K(x, x) of X_val.")
    diagonal = np.asarray(diagonal, dtype=np.float64)
    if diagonal.shape != (n,) or not np.all(diagonal >= 0.0):
        raise ValueError(f"diagonal_val must hold {n} numbers >= 0, one for each row of X_val.")
    return diagonal


def _of_rows(X, X_val, bias: float) -> View:
    def view(losses, signs, signs_val):
        training, validation = LinearSamples(X, signs, bias), LinearSamples(X_val, signs_val, bias)

        def block(index):
            return training.block(index, index)

        def cross(rows, index):
            left = validation.scaled_rows(rows, np.ones(rows.size))
            out = left @ training.scaled_rows(index, np.ones(index.size)).T
            return out.toarray() if sparse.issparse(out) else out

        def score(alpha):
            return validation.margins(training.combine(alpha))

        return Geometry(losses, training.norms, validation.norms, block, cross), score

    return view


def _of_kernel(kernel: Kernel, X, X_val, bias: float, diagonal, cache_size: float) -> View:
    square, size = bias * bias, 8.0 * X_val.shape[0] * X.shape[0]
    precomputed = kernel.name == "precomputed"
    # Hardly any cache, because only the diagonal of the matrix is needed.
    own = kernel.gram(X, 1e-9).diagonal
    if not precomputed:
        diagonal = kernel.gram(X_val, 1e-9).diagonal
    table = X_val if precomputed else None
    if table is None and size <= cache_size * 2**20:
        check_kernel_memory(X_val.shape[0], X.shape[0], 2, "Use a smaller cache_size.")
        table = kernel.between(X_val, X)
    norms = np.sqrt(np.maximum(own, 0.0) + square)
    validation_norms = np.sqrt(np.maximum(diagonal, 0.0) + square)

    def view(losses, signs, signs_val):
        def block(index):
            K = X[np.ix_(index, index)] if precomputed else kernel.between(X[index], X[index])
            return signs[index, None] * (K + square) * signs[index]

        def cross(rows, index):
            if table is None:
                K = kernel.between(X_val[rows], X[index])
            else:
                K = table[np.ix_(rows, index)]
            return signs_val[rows, None] * (K + square) * signs[index]

        def score(alpha):
            coefficients = signs * alpha
            index = np.flatnonzero(alpha)
            if table is None:
                products = kernel.scores(X_val, X[index], coefficients[index, None])[:, 0]
            else:
                products = table @ coefficients
            return signs_val * (products + square * coefficients.sum())

        return Geometry(losses, norms, validation_norms, block, cross), score

    return view
