"""Kernel matrices that are not positive semi-definite, made so where that can be meant.

With an unpenalised intercept the dual variables with signs c_i sum to zero, so that the quadratic
form c'Kc is that of the centred matrix HKH, H = I - 11'/n. It is convex where HKH is positive
semi-definite: the kernel is *conditionally* so, as -|x - x'| is. Both problems have the same dual
variables, and the scores differ by a constant, the means of the columns of K times c, which the
intercept takes up. What is still negative is made up for by a multiple of the identity.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh

from skscreen.core.memory import check_memory
from skscreen.samples.gram import INDEFINITE, Gram, IndefiniteError, indefinite_message

# Number of samples whose eigenvalues are checked first, to refuse a wrong matrix early.
_PROBE = 256

# Share of an eigenvalue that is added for its rounding errors.
_MARGIN = 1e-9


@dataclass(frozen=True)
class DefiniteGram:
    """A kernel matrix that was made positive semi-definite.

    Parameters
    ----------
    gram : Gram
    means : ndarray of shape (n,), or None
        Means of the columns that were taken out, for an unpenalised intercept.
    shift : float
        What was added to the diagonal.
    """

    gram: Gram
    means: np.ndarray | None
    shift: float


def made_definite(K: np.ndarray, *, free: bool, shift: bool) -> DefiniteGram:
    """Return a kernel matrix that is positive semi-definite, and what was done to it.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric.
    free : bool
        Whether the dual variables with signs sum to zero.
    shift : bool
        Whether the diagonal may be added to.

    Raises
    ------
    IndefiniteError
        If it is not positive semi-definite, and the diagonal may not be added to.
    """
    check_memory(3.0 * K.nbytes, f"The eigenvalues of {len(K):,} samples", "Use fewer samples.")
    some = np.linspace(0, len(K) - 1, min(len(K), _PROBE)).astype(np.int64)
    if not shift:
        _missing(_centred(K[np.ix_(some, some)]) if free else K[np.ix_(some, some)], shift)
    means = K.mean(axis=0) if free else None
    K = _centred(K) if free else np.array(K, dtype=np.float64)
    missing = _missing(K, shift)
    K[np.diag_indices_from(K)] += missing
    # Whole, whatever the size: it is there already.
    gram = Gram(K, "precomputed", cache_size=K.nbytes / 2**20 + 1.0)
    return DefiniteGram(gram, means, missing)


def _centred(K: np.ndarray) -> np.ndarray:
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def _missing(K: np.ndarray, shift: bool) -> float:
    """Return what the diagonal lacks, or refuse what lacks anything."""
    values = eigvalsh(K)
    smallest, size = float(values[0]), float(np.abs(values).max())
    if smallest >= -INDEFINITE * size:
        return 0.0
    if not shift:
        raise IndefiniteError(indefinite_message(f"eigenvalue {smallest:.3g} on {len(K)} samples"))
    return -smallest + _MARGIN * size
