"""Squared distances between samples, and the RBF kernel of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np
from scipy.spatial.distance import cdist

from skscreen.core.checks import Matrix, is_sparse
from skscreen.core.floats import EPS

# Rows that are computed, or compared, at a time: enough for GEMM, few enough for the cache.
BLOCK = 256


def squared_distances(
    A: np.ndarray, B: np.ndarray, squares_A: np.ndarray, squares_B: np.ndarray, by_differences: bool
) -> np.ndarray:
    """Return |a|^2 + |b|^2 - 2 <a, b> (n, m), or sums of (a - b)^2: slower, and exact far away."""
    # Sparse samples have products only.
    if by_differences and not (is_sparse(A) or is_sparse(B)):
        return cdist(A, B, "sqeuclidean")
    with np.errstate(over="ignore", invalid="ignore"):
        products = A @ B.T
        D = np.asarray(products.toarray() if is_sparse(products) else products, np.float64)
        _from_products(D, squares_A, squares_B)
    if not np.isfinite(squares_A).all():
        # Beside such squares products overflow, too, to either side.
        D[np.isnan(D)] = np.inf
    return D


def all_squared_distances(
    X: Matrix, squares: np.ndarray, by_differences: bool, out: np.ndarray
) -> None:
    """Write the squared distances between all samples (n, d) to `out` (n, n), exactly symmetric."""
    if is_sparse(X) or by_differences:

        def compute(rows: slice, columns: slice) -> np.ndarray:
            pair = squares[rows], squares[columns]
            return squared_distances(X[rows], X[columns], *pair, by_differences)

        write_symmetric(compute, out)
    else:
        # For the product of a matrix with its own transpose NumPy computes one triangle only.
        np.matmul(X, X.T, out=out)
        _from_products(out, squares, squares)
    np.fill_diagonal(out, 0.0)


def write_symmetric(compute: Callable[[slice, slice], np.ndarray], out: np.ndarray) -> None:
    """Write a symmetric matrix (n, n), of which blocks of the upper triangle are computed."""
    for first in range(0, len(out), BLOCK):
        last = min(first + BLOCK, len(out))
        block = compute(slice(first, last), slice(first, len(out)))
        out[first:last, first:] = block
        out[last:, first:last] = block[:, last - first :].T


def rbf_of_distances(D: np.ndarray, gamma: float, out: np.ndarray) -> np.ndarray:
    """Write exp(-gamma D) to `out`, which may be D itself, and return it."""
    # A product that overflows has the exponential 0.
    with np.errstate(over="ignore"):
        for rows in in_cache(D):
            np.multiply(D[rows], -gamma, out=out[rows])
            np.exp(out[rows], out=out[rows])
    return out


def lost_digits(square: float, gamma: float, is_sparse: bool) -> tuple[float, bool]:
    """Return the error of gamma |a - b|^2 by products at such squares, and whether it counts.

    Where it does differences have to be taken, which sparse rows do not have.
    """
    # A product of Python floats overflows to infinity without a warning.
    lost = EPS * float(gamma) * float(square)
    if is_sparse and lost > 1e-8:
        raise ValueError(
            f"X has rows of length {np.sqrt(square):.2g}, and with gamma={gamma:.2g} the "
            "distances of sparse rows lose too many digits: centre X, or rescale it."
        )
    return lost, lost > 1e-10


def near_origin(*sets) -> tuple:
    """Return sets of samples, dense ones minus the mean of the last, where that keeps digits."""
    # By |a|^2 + |b|^2 - 2 <a, b> the error is 1e-16 of the squared distance from the origin.
    last = sets[-1]
    if any(is_sparse(X) for X in sets):
        return sets
    with np.errstate(over="ignore", invalid="ignore"):
        # In double precision, and so are the sets then: less than single precision has would be
        # another problem.
        mean = last.mean(axis=0, dtype=np.float64)
        spread = float(np.mean((last - mean) ** 2)) * mean.size
        if not spread < float(mean @ mean) < np.inf:
            return sets
    return tuple(X - mean for X in sets)


def square_norms(X: Matrix) -> np.ndarray:
    """Return the squared lengths of samples."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _from_products(P: np.ndarray, squares_A, squares_B) -> None:
    """Turn inner products into squared distances, in place."""
    for rows in in_cache(P):
        P[rows] *= -2.0
        # Add both squares first, which keeps symmetric matrices symmetric.
        P[rows] += squares_A[rows, None] + squares_B
        np.maximum(P[rows], 0.0, out=P[rows])


def in_cache(matrix: np.ndarray) -> Iterator[slice]:
    """Yield blocks of rows that stay in the processor's cache."""
    n_rows = max(2**15 // max(prod(matrix.shape[1:]), 1), 1)
    return (slice(first, first + n_rows) for first in range(0, len(matrix), n_rows))
