"""First step to a problem: samples, centred and in range, and the linear term of features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skscreen.core.floats import LARGEST
from skscreen.core.memory import check_memory
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.supervision import as_numbers


@dataclass(frozen=True)
class Samples:
    """Samples X = unit Z V' + mean in coordinates Z, and the linear term C of the features."""

    given: np.ndarray  # X (n, d), in double or single precision
    Z: np.ndarray  # (n, r), in double precision
    unit: float  # a power of two; 1 unless fourth powers of the data would overflow
    V: sparse.csr_array | None  # (d, r) leaves constant features out; None for the identity
    C: np.ndarray | None  # (d, d), or (d,) for a diagonal metric; None for 0

    @property
    def is_separable(self) -> bool:
        """Whether what no sample differs in has no part in the optimum, as without C."""
        # So it is for multiples >= 0 of the identity, and for weights >= 0 of single features.
        C = self.C
        if C is None or C.ndim == 1:
            return C is None or bool(np.all(C >= 0.0))
        return bool(C[0, 0] >= 0.0 and np.array_equal(C, C[0, 0] * np.eye(len(C))))


def read_samples(X: np.ndarray, linear_term: ArrayLike | None, diagonal: bool) -> Samples:
    """Return samples (n, d) and a parameter `linear_term`."""
    C = _check_linear_term(linear_term, X.shape[1], diagonal)
    # Four copies: centred, in order, padded, and mapped in an evaluation.
    check_memory(32.0 * X.size, f"{len(X):,} samples", "Use fewer of them.")
    Z, unit = _scaled(_centred(X))
    _warn_of_scales(Z)
    return Samples(X, Z, unit, None, C)


def without_constant_features(samples: Samples) -> Samples:
    """Return samples in the coordinates that vary, unless the linear term needs the others."""
    # A constant feature has no weight; its zeros would carry rounding errors of the others.
    varies = samples.Z.any(axis=0)
    if not samples.is_separable or varies.all() or not varies.any():
        return samples
    V = sparse.eye_array(varies.size, format="csc")[:, np.flatnonzero(varies)].tocsr()
    return Samples(samples.given, samples.Z @ V, samples.unit, V, samples.C)


def _check_linear_term(
    term: ArrayLike | None, n_features: int, diagonal: bool
) -> np.ndarray | None:
    """Return C of shape (d, d), or (d,) for a diagonal metric; None for none."""
    if term is None:
        return None
    d, shapes = n_features, "(n_features,) or " if diagonal else ""
    expected = (
        f"linear_term must be 'trace', None, or a symmetric matrix of shape "
        f"{shapes}(n_features, n_features) = ({d}, {d})"
    )
    if isinstance(term, str):
        if term != "trace":
            raise ValueError(f"{expected}, got {term!r}.")
        return np.ones(d) if diagonal else np.eye(d)
    C = as_numbers(term, "linear_term")
    if not (C.shape == (d, d) or (diagonal and C.shape == (d,))):
        raise ValueError(f"{expected}, got shape {C.shape}.")
    outside = ~(np.abs(C) <= LARGEST)
    if outside.any():
        place = np.argwhere(outside)[0].tolist()
        raise ValueError(
            f"linear_term must hold numbers from {-LARGEST:g} to {LARGEST:g}, got "
            f"{C[tuple(place)]:g} at {place}."
        )
    if C.ndim == 2:
        differs = np.abs(C - C.T) > 1e-10 * np.abs(C).max(initial=0.0)
        if differs.any():
            i, j = np.argwhere(differs)[0].tolist()
            raise ValueError(
                f"{expected}, got {C[i, j]:g} at [{i}, {j}] and {C[j, i]:g} at [{j}, {i}]; "
                "(C + C.T) / 2 has the same products with metrics."
            )
        C = C.diagonal() if diagonal else 0.5 * (C + C.T)
    return np.array(C, dtype=np.float64)


def _centred(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        # Subtract a sample first: the rounding error of a large mean would remain in all samples.
        X = np.subtract(X, X[0], dtype=np.float64)
        X -= X.mean(axis=0)
    return X


def _scaled(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return centred samples, divided in place by a power of two where they are huge or tiny."""
    largest = float(np.abs(X).max())
    # Fourth powers of these are finite; squares of those below.
    if largest == 0.0 or 1.0 / LARGEST < largest < LARGEST:
        return X, 1.0
    if not 1e-154 < largest < 1e154:
        raise ValueError(f"X deviates by up to {largest:g} from its mean; rescale it.")
    unit = 2.0 ** (math.frexp(largest)[1] - 1)
    X /= unit
    return X, unit


def _warn_of_scales(X: np.ndarray) -> None:
    """Warn of a feature that alone decides who is near."""
    spreads = np.sort(X.std(axis=0))
    # Features that are not rounding errors, and those that decide something beside others.
    known, large = (spreads[spreads > share * spreads[-1]] for share in (1e-12, 1e-6))
    spreads = large if large.size > 1 else known
    if spreads.size > 1 and spreads[-1] > 100.0 * spreads[(spreads.size - 1) // 2]:
        ratio = spreads[-1] / spreads[(spreads.size - 1) // 2]
        warn_user(
            f"One feature has {ratio:.0f} times the median scale of the features, so it dominates "
            "the distances. Put a StandardScaler() before this estimator, in a pipeline."
        )
