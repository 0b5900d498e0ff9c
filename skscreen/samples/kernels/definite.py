"""Which kernel matrices are positive semi-definite, and others made so where that can be meant.

With an unpenalised intercept the dual variables with signs c_i sum to zero, so that the quadratic
form c'Kc is that of the centred matrix HKH, H = I - 11'/n. It is convex where HKH is positive
semi-definite: the kernel is *conditionally* so, as -|x - x'| is. Both problems have the same dual
variables, and the scores differ by a constant, the means of the columns of K times c, which the
intercept takes up. What is still negative is made up for by a multiple of the identity.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from skscreen._compiled import samples as loops
from skscreen.core.memory import check_memory
from skscreen.samples.kernels.distances import BLOCK

# Negative eigenvalues and asymmetry that rounding errors explain, over the largest kernel value.
INDEFINITE = 1e-7


class IndefiniteError(ValueError):
    """A kernel is not positive semi-definite."""


def indefinite_message(found: str) -> str:
    """Return the text of the error for kernels that are not positive semi-definite."""
    return (
        f"the kernel is not positive semi-definite ({found}): the problem is not convex and no "
        "solution could be certified; choose another kernel or other parameters. ScreenedSVC, "
        "ScreenedSVR, svc_path and svr_path can add to the diagonal what is missing, with "
        "indefinite='shift', or take the solution without a certificate, with indefinite='warn'"
    )


def check_symmetric(K: np.ndarray, what: str) -> None:
    """Refuse a matrix that is not square and symmetric; `what` it is begins the message."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{what} must be square, got shape {K.shape}.")
    largest, most, _ = loops.flaws(np.ascontiguousarray(K, np.float64), np.zeros(len(K)))
    if not np.isfinite(largest):
        raise ValueError("the kernel has values that are not finite on X")
    if most <= INDEFINITE * largest:
        return
    for first in range(0, len(K), BLOCK):
        part = slice(first, first + BLOCK)
        apart = np.abs(K[part] - K[:, part].T)
        if apart.max() > INDEFINITE * largest:
            i, j = np.unravel_index(apart.argmax(), apart.shape)
            i += first
            raise ValueError(
                f"{what} must be symmetric, got {K[i, j]:g} in row {i}, column {j} and {K[j, i]:g} "
                f"in row {j}, column {i}. SVC would take it, and end at a point that is "
                "optimal for no problem, as it reads rows as columns: pass the symmetric part, "
                "(K + K.T) / 2."
            )


def check_minors(K: np.ndarray, diagonal: np.ndarray) -> None:
    """Refuse a symmetric matrix with an indefinite minor of two rows."""
    roots = np.sqrt(np.maximum(diagonal, 0.0))
    _, _, excess = loops.flaws(np.ascontiguousarray(K, np.float64), roots)
    if excess <= INDEFINITE * diagonal.max():
        return
    for first in range(0, len(K), BLOCK):
        part = slice(first, first + BLOCK)
        beyond = np.abs(K[part]) - roots[part, None] * roots
        if beyond.max() == excess:
            i, j = np.unravel_index(beyond.argmax(), beyond.shape)
            raise IndefiniteError(indefinite_message(f"see samples {first + i} and {j}"))


def check_definite(K: np.ndarray) -> None:
    """Refuse a symmetric matrix that is not finite, or has a negative eigenvalue."""
    if not np.all(np.isfinite(K)):
        raise ValueError("the kernel has values that are not finite on X")
    _refuse_some(K, (32, len(K)), free=False)


def _refuse_some(K: np.ndarray, sizes: tuple[int, ...], free: bool) -> None:
    """Refuse a matrix that is indefinite on few samples: their eigenvalues take less time."""
    for size in sizes:
        some = np.linspace(0, len(K) - 1, min(len(K), size)).astype(np.int64)
        part = K[np.ix_(some, some)]
        missing(_centred(part) if free else part, shift=False)


class DefiniteMatrix(NamedTuple):
    """A kernel matrix that was made positive semi-definite."""

    K: np.ndarray
    means: np.ndarray | None  # (n,), of columns, taken out for an unpenalised intercept
    shift: float  # what was added to the diagonal


def made_definite(K: np.ndarray, *, free: bool, shift: bool) -> DefiniteMatrix:
    """Return a definite matrix (n, n), for sums of zero where `free`; refuse it without `shift`."""
    check_memory(3.0 * K.nbytes, f"The eigenvalues of {len(K):,} samples", "Use fewer samples.")
    if not shift:
        _refuse_some(K, (32, 256), free)
    means = K.mean(axis=0) if free else None
    K = _centred(K) if free else np.array(K, dtype=np.float64)
    added = missing(K, shift)
    K[np.diag_indices_from(K)] += added
    return DefiniteMatrix(K, means, added)


def _centred(K: np.ndarray) -> np.ndarray:
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def missing(K: np.ndarray, shift: bool) -> float:
    """Return what the diagonal lacks, or refuse what lacks anything."""
    values = eigvalsh(K)
    smallest, size = float(values[0]), float(np.abs(values).max())
    if smallest >= -INDEFINITE * size:
        return 0.0
    if not shift:
        raise IndefiniteError(indefinite_message(f"eigenvalue {smallest:.3g} on {len(K)} samples"))
    # Eigenvalues have rounding errors.
    return -smallest + 1e-9 * size
