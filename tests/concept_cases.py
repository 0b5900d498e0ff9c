"""Simulated dimensions, and trials answered by them."""

import numpy as np

from skscreen.answers.answers import Answers


def true_dimensions(n, d, rng, share=0.25, size=1.5):
    """Return sparse dimensions: about a share of the objects has each, of this size."""
    has = rng.random((n, d)) < share
    # No object without any, so that none is like no other.
    has[np.arange(n), rng.integers(d, size=n)] = True
    return has * rng.gamma(4.0, size / 4.0, size=(n, d))


def draw_trials(n, m, rng):
    """Return m trials of three different objects."""
    first = rng.integers(n, size=m)
    second = (first + rng.integers(1, n, size=m)) % n
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = rng.integers(n - 2, size=m)
    third += third >= low
    third += third >= high
    return np.stack([first, second, third], axis=1)


def answer(X, trials, rng):
    """Return the place of the odd one of each trial, drawn by the softmax of the pairs."""
    pairs = [(1, 2), (0, 2), (0, 1)]
    s = np.stack([np.sum(X[trials[:, i]] * X[trials[:, j]], axis=1) for i, j in pairs], axis=1)
    return np.argmax(s + rng.gumbel(size=s.shape), axis=1)


def odd_last(trials, odd):
    """Return trials with the odd one last."""
    order = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
    return np.take_along_axis(trials, order[odd], axis=1)


def answers_of(rows, n, kind="oddoneout", weights=None, groups=None):
    """Return answers about objects 0, ..., n - 1."""
    return Answers(
        kind, np.asarray(rows, dtype=np.int32), weights, np.arange(len(rows)), np.arange(n), groups,
        np.empty(0, dtype=int),
    )  # fmt: skip
