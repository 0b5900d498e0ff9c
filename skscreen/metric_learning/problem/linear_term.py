"""A linear term of the objective: <C, M> for a symmetric C (Yoshida et al. 2019, section 6.3)."""

from typing import Any

import numpy as np

from skscreen.core.floats import LARGEST
from skscreen.core.inputs import as_floats


def check_linear_term(term: Any, n_features: int, diagonal: bool) -> np.ndarray | None:
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
    C = as_floats(term, "iuf")
    if C is None or not (C.shape == (d, d) or (diagonal and C.shape == (d,))):
        got = "no numbers" if C is None else f"shape {C.shape}"
        raise ValueError(f"{expected}, got {got}.")
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


def is_separable(C: np.ndarray | None) -> bool:
    """Whether what no sample differs in has no part in the optimum, as without the term."""
    # So it is for multiples >= 0 of the identity, and for weights >= 0 of single features.
    if C is None or C.ndim == 1:
        return C is None or bool(np.all(C >= 0.0))
    return bool(C[0, 0] >= 0.0 and np.array_equal(C, C[0, 0] * np.eye(len(C))))
