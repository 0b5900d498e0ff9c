"""Two-class data for the checks of decisions about samples: real and adversarial."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from tests.awkward_data import HARD

REAL = {"cancer": load_breast_cancer, "wine": load_wine}
KINDS = (*REAL, "blobs", *HARD, "wide")


def data(kind: str, rng, n: int):
    """Return features and which samples are positive, at most n of them."""
    if kind in REAL:
        X, y = REAL[kind](return_X_y=True)
        keep = rng.permutation(len(X))[:n]
        return scale(X)[keep], y[keep] == 1
    if kind == "wide":
        return blobs(rng, max(n // 3, 10), 3 * n)
    X, labels = blobs(rng, n, rng.integers(2, 20))
    return HARD[kind](X, labels, rng) if kind in HARD else (X, labels)


def blobs(rng, n: int, d: int):
    """Two overlapping clouds."""
    labels = np.arange(n) % 2 == 0
    return rng.normal(size=(n, d)) + rng.uniform(0.1, 2.0) * labels[:, None], labels
