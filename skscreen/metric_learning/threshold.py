"""The distance up to which pairs count as similar: the best one on labelled pairs."""

from numbers import Real

import numpy as np

_STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def check_calibration(
    strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
) -> None:
    """Check the arguments of a calibration before time is spent on it."""
    if not isinstance(strategy, str) or strategy not in _STRATEGIES:
        raise ValueError(
            f"strategy must be one of {', '.join(map(repr, _STRATEGIES))}, got {strategy!r}."
        )
    if strategy in ("max_tpr", "max_tnr") and not (
        isinstance(min_rate, Real) and 0.0 <= float(min_rate) <= 1.0
    ):
        raise ValueError(
            f"min_rate must be a number from 0 to 1 for strategy={strategy!r}, got {min_rate!r}."
        )
    # Its square must be finite.
    if strategy == "f_beta" and not (isinstance(beta, Real) and abs(float(beta)) <= 1e100):
        raise ValueError(f"beta must be a real number for strategy='f_beta', got {beta!r}.")


def best_threshold(
    distances: np.ndarray, similar: np.ndarray, strategy: str = "accuracy",
    min_rate: float | None = None, beta: float = 1.0,
) -> float:  # fmt: skip
    """Return the threshold best by a strategy, the smallest of equals; similar (n,) is bool."""
    # Candidates lie in the middle between two distances, so that rounding errors decide nothing.
    order = np.argsort(distances, kind="stable")
    distances, similar = distances[order], similar[order]
    # Thresholds fit only between different distances.
    ends = np.flatnonzero(np.append(np.diff(distances) > 0.0, True))
    low, high = distances[0], distances[-1]
    thresholds = np.concatenate((
        [low - (0.5 * abs(low) or 1.0)],
        distances[ends[:-1]] + 0.5 * np.diff(distances)[ends[:-1]],
        [high + 1e-9 * abs(high)],
    ))  # fmt: skip
    accepted = np.append(0, ends + 1)
    right = np.append(0, np.cumsum(similar)[ends])
    # Rates of nothing are 0.
    tpr = right / max(right[-1], 1)
    n_wrong = accepted[-1] - right[-1]
    tnr = (n_wrong - (accepted - right)) / max(n_wrong, 1)
    if strategy == "accuracy":
        scores = right + n_wrong - (accepted - right)
    elif strategy == "f_beta":
        # F-score from counts (van Rijsbergen 1979); 0 if no pair is accepted.
        scores = (1.0 + beta**2) * right / np.maximum(beta**2 * right[-1] + accepted, 1e-300)
    elif strategy == "max_tpr":
        scores = np.where(tnr >= min_rate, tpr, -1.0)
    else:
        scores = np.where(tpr >= min_rate, tnr, -1.0)
    return float(thresholds[np.argmax(scores)])
