"""Data that are hard on rounding errors or on steps, made of easier ones.

`HARD` are functions of features, classes and a generator, which return features and classes;
`UNEVEN` are functions of two columns, one of them in another unit.
"""

import numpy as np


def duplicates(X, y, rng):
    X = X.copy()
    X[: len(X) // 2] = X[rng.integers(len(X), size=len(X) // 2)]
    return X, y


def outliers(X, y, rng):
    few = rng.permutation(len(X))[: max(len(X) // 30, 2)]
    X = X.copy()
    X[few] *= 10.0 ** rng.uniform(2, 6)
    return X, y


def collinear(X, y, rng):
    first = X[:, :1]
    nearly = first + 1e-9 * rng.normal(size=first.shape)
    return np.hstack([X, np.full(first.shape, 3.7), -2.0 * first, nearly]), y


def scales(X, y, rng):
    return X * 10.0 ** rng.uniform(-6, 6), y


def ill_conditioned(X, y, rng):
    return X * np.logspace(0, -rng.uniform(4, 8), X.shape[1]), y


def tied(X, y, rng):
    return np.round(X), y


def nearly_tied(X, y, rng):
    return np.round(X) + 10.0 ** rng.uniform(-12, -6) * rng.normal(size=X.shape), y


def flipped(X, y, rng):
    flips = rng.random(len(y)) < 0.2
    flips[:6] = False
    return X, np.where(flips, y[::-1], y)


def off_centre(X, y, rng):
    return X + 10.0 ** rng.uniform(2, 5), y


def single_precision(X, y, rng):
    return X.astype(np.float32).astype(np.float64), y


def on_a_line(X, y, rng):
    return np.outer(X[:, 0], np.arange(1.0, X.shape[1] + 1.0)), y


HARD = {
    "duplicates": duplicates, "outliers": outliers, "collinear": collinear, "scales": scales,
    "ill-conditioned": ill_conditioned, "tied": tied, "nearly tied": nearly_tied,
    "flipped labels": flipped, "off centre": off_centre, "single precision": single_precision,
}  # fmt: skip
UNEVEN = {
    "time stamps": lambda X: np.c_[X, 1.7e9 + np.arange(len(X))],
    "all of 1e6": lambda X: X * 1e6,
    "one of 1e8": lambda X: X * [1.0, 1e8],
    "one of 1e-8": lambda X: X * [1.0, 1e-8],
}
