"""Simulated answers about distances, as a person or a crowd would give them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state, check_scalar, gen_batches

from skscreen.answers.formats import check_format, in_format
from skscreen.core.checks import check_samples
from skscreen.core.floats import SQUARABLE
from skscreen.core.memory import check_memory

_NOISE_MODELS = ("flips", "points", "distances")


def make_triplets(
    X: ArrayLike, n_triplets: int | Literal["all"] = "all", *, queries: ArrayLike | None = None,
    landmarks: ArrayLike | None = None, metric: str = "euclidean", noise: float = 0.0,
    noise_model: str = "flips", lapse: float = 0.0, result_format: str = "list-order",
    random_state: int | np.random.RandomState | None = None,
) -> tuple:  # fmt: skip
    """Simulate answers to the question which of two objects is nearer to a third.

    Parameters
    ----------
    X : array-like of shape (n_objects, n_features), or (n_objects, n_objects)
        Points, or with ``metric="precomputed"`` distances.
    n_triplets : int or "all", default="all"
        Number of triplets, drawn with replacement; ties are drawn again. "all" asks each of the n
        (n - 1) (n - 2) / 2 questions about n objects once, and answers ties at random.
    queries : array-like of shape (n_queries, 3), optional
        Questions (i, j, k) to ask, or to draw from: is i nearer to j than to k?
    landmarks : int or array-like of int, optional
        Landmarks, or their number, to be drawn: j and k are always landmarks, and i is any object.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    noise : float, default=0.0
        Size of the noise, >= 0, in the unit of the noise model.
    noise_model : {"flips", "points", "distances"}, default="flips"
        "flips": `noise` is the share of answers, at most 1, that are reversed at random. "points"
        and "distances": for each answer, Gaussian noise with standard deviation `noise` is added to
        each coordinate of the three points, or to the difference of the two distances. "points"
        needs ``metric="euclidean"``.
    lapse : float, default=0.0
        Share of answers, in [0, 1], that are given at random.
    result_format : str, default="list-order"
        "list-order" returns triplets. "list-boolean" and "list-count" return questions and
        responses, which are True and False, or 1 and -1. "tensor-count" returns a sparse array of
        shape (n_objects, n_objects^2) with sums of 1 and -1, which
        `skscreen.preprocessing.triplets_from_tensor` reads.
    random_state : int, RandomState or None, default=None
        Seed of the questions, the noise and the lapses.

    Returns
    -------
    triplets : ndarray of shape (n_triplets, 3), int64
        Rows (i, j, k): object i is nearer to j than to k. For other formats: see `result_format`.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if nearly all distances are equal; the message names the argument.
    MemoryError
        If the triplets would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.datasets import make_triplets
    >>> make_triplets([[0.0], [1.0], [3.0]], 1000, random_state=0).shape
    (1000, 3)
    >>> questions, answers = make_triplets([[0.0], [1.0], [3.0]], result_format="list-boolean")
    >>> questions.tolist(), answers.tolist()
    ([[0, 1, 2], [1, 0, 2], [2, 0, 1]], [True, True, False])
    """
    X = _check_points(X, metric)
    _check_noise(metric, noise, noise_model, lapse)
    check_format(result_format)
    rng, n = check_random_state(random_state), len(X)
    everything = isinstance(n_triplets, str) and n_triplets == "all"
    if not everything:
        n_triplets = int(check_scalar(n_triplets, "n_triplets", Integral, min_val=1))
        _check_memory(n_triplets, f"{n_triplets:,} triplets")
    every, draw = _questions(n, queries, landmarks, rng)
    gain = _gain(X, metric, noise if noise_model != "flips" else 0.0, noise_model, rng)
    if everything:
        rows = every()
        gains = gain(rows)
        right = np.where(gains == 0.0, rng.uniform(size=len(rows)) < 0.5, gains > 0.0)
    else:
        rows, right = _drawn(draw, gain, int(n_triplets))
    if noise_model == "flips":
        right ^= rng.uniform(size=len(rows)) < noise
    if lapse > 0.0:
        lapses = rng.uniform(size=len(rows)) < lapse
        right[lapses] = rng.uniform(size=np.count_nonzero(lapses)) < 0.5
    rows, responses = in_format(rows, right, result_format, n)
    return rows if responses is None else (rows, responses)


def _check_points(X: ArrayLike, metric: str) -> np.ndarray:
    if not isinstance(metric, str) or metric not in ("euclidean", "precomputed"):
        raise ValueError(f"metric must be 'euclidean' or 'precomputed', got {metric!r}.")
    X = check_samples(X, dtype=np.float64, ensure_min_samples=3)
    if np.abs(X).max() > SQUARABLE:
        raise ValueError(f"X must hold numbers of at most {SQUARABLE:g} in size: rescale it.")
    if metric == "euclidean":
        return X
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix of distances, got shape {X.shape}.")
    nearer = X < X.diagonal()[:, None]
    if nearer.any():
        i, j = np.argwhere(nearer)[0]
        raise ValueError(f"X must hold distances, but {j} is nearer to {i} than {i} itself.")
    return X


def _check_noise(metric: str, noise: float, noise_model: str, lapse: float) -> None:
    if not isinstance(noise_model, str) or noise_model not in _NOISE_MODELS:
        raise ValueError(f"noise_model must be one of {_NOISE_MODELS}, got {noise_model!r}.")
    largest = 1.0 if noise_model == "flips" else SQUARABLE
    for name, value, most in (("noise", noise, largest), ("lapse", lapse, 1.0)):
        if not isinstance(value, Real) or not 0.0 <= float(value) <= most:
            raise ValueError(f"{name} must be in [0, {most:g}], got {value!r}.")
    if noise_model == "points" and metric == "precomputed":
        raise ValueError("noise_model must not be 'points' with metric='precomputed'.")


def _questions(
    n: int, queries: ArrayLike | None, landmarks: ArrayLike | None, rng: np.random.RandomState
) -> tuple[Callable, Callable]:
    """Return what makes all questions once, and what draws a number of them."""
    if queries is not None:
        if landmarks is not None:
            raise ValueError("queries and landmarks must not both be given.")
        rows = _check_queries(queries, n)
        return lambda: rows, lambda size: rows[rng.randint(len(rows), size=size)]
    if landmarks is None:
        return lambda: _all_questions(n, np.arange(n)), lambda size: _three_objects(n, size, rng)
    chosen = _check_landmarks(landmarks, n, rng)

    def draw(size: int):
        i = rng.randint(n, size=size)
        j, k = chosen[_two_places(len(chosen), size, rng)]
        # An object is not its own landmark.
        again = (i == j) | (i == k)
        while again.any():
            i[again] = rng.randint(n, size=np.count_nonzero(again))
            again = (i == j) | (i == k)
        return np.stack([i, j, k], axis=1)

    return lambda: _all_questions(n, chosen), draw


def _check_queries(queries: ArrayLike, n: int) -> np.ndarray:
    rows = check_samples(queries, "queries", dtype="numeric")
    if rows.shape[1] != 3 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"queries must have three columns of objects, 0 to {n - 1}.")
    i, j, k = rows.T
    if np.any((i == j) | (i == k) | (j == k)):
        raise ValueError("queries must name three different objects in each row.")
    return rows.astype(np.int64)


def _check_landmarks(landmarks: ArrayLike, n: int, rng: np.random.RandomState) -> np.ndarray:
    if isinstance(landmarks, Integral) and not isinstance(landmarks, bool):
        if not 2 <= int(landmarks) <= n:
            raise ValueError(f"landmarks must be from 2 to {n}, got {landmarks}.")
        return np.sort(rng.permutation(n)[:landmarks])
    try:
        chosen = np.unique(landmarks)
    except TypeError:
        chosen = np.empty(0)
    if chosen.dtype.kind not in "iu" or len(chosen) < 2 or chosen[0] < 0 or chosen[-1] >= n:
        raise ValueError(f"landmarks must be two or more of the objects 0 to {n - 1}.")
    return chosen.astype(np.int64)


def _all_questions(n: int, chosen: np.ndarray) -> np.ndarray:
    """Every object with every pair of others among the chosen ones."""
    size = len(chosen)
    total = n * size * (size - 1) // 2
    _check_memory(total, f"All {total:,} triplets")
    j, k = np.triu_indices(size, 1)
    rows = np.empty((n, len(j), 3), dtype=np.int64)
    rows[:, :, 0] = np.arange(n)[:, None]
    rows[:, :, 1], rows[:, :, 2] = chosen[j], chosen[k]
    i, j, k = (rows[:, :, column].ravel() for column in range(3))
    return rows.reshape(-1, 3)[(i != j) & (i != k)]


def _check_memory(count: int, what: str) -> None:
    # Measured bytes of each: its indices, drawn and arranged, and distances.
    check_memory(100 * count, what, "Use a smaller n_triplets.")


def _drawn(
    draw: Callable[[int], np.ndarray], gain: Callable[[np.ndarray], np.ndarray], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw questions, and others in place of those that are ties."""
    rows, right = np.empty((size, 3), dtype=np.int64), np.empty(size, dtype=bool)
    missing = np.arange(size)
    # Not for ever, as all may be ties.
    for _ in range(100):
        rows[missing] = draw(len(missing))
        gains = gain(rows[missing])
        right[missing] = gains > 0.0
        missing = missing[gains == 0.0]
        if missing.size == 0:
            return rows, right
    raise ValueError("X has nothing to compare: nearly all of its distances are equal.")


def _gain(
    X: np.ndarray, metric: str, noise: float, noise_model: str, rng: np.random.RandomState
) -> Callable:
    """Return the function that says by how much j is nearer than k to i in each row."""

    def gain(rows: np.ndarray):
        i, j, k = rows.T
        if metric == "precomputed":
            near, far = X[i, j], X[i, k]
        else:
            near, far = _square_distances(X, rows, noise if noise_model == "points" else 0.0, rng)
        if noise == 0.0 or noise_model == "points":
            return far - near
        if metric == "euclidean":
            near, far = np.sqrt(near), np.sqrt(far)
        return far - near + noise * rng.normal(size=len(rows))

    return gain


def _square_distances(
    X: np.ndarray, rows: np.ndarray, noise: float, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Distances of near and far pairs, by blocks: the points of all rows are a multiple of X."""
    near, far = np.empty((2, len(rows)))
    for part in gen_batches(len(rows), max(2**18 // X.shape[1], 1)):
        points = X[rows[part]]
        if noise > 0.0:
            points = points + noise * rng.normal(size=points.shape)
        i, j, k = points.swapaxes(0, 1)
        near[part], far[part] = np.sum((i - j) ** 2, axis=1), np.sum((i - k) ** 2, axis=1)
    return near, far


def _two_places(n: int, size: int, rng: np.random.RandomState):
    """Two different numbers below n each, uniformly."""
    j = rng.randint(n, size=size)
    return np.stack([j, (j + rng.randint(1, n, size=size)) % n])


def _three_objects(n: int, size: int, rng: np.random.RandomState):
    """Three different objects in each row, uniformly."""
    i, j = _two_places(n, size, rng)
    # Skip i and j: numbers from the smaller one on move by one, from the larger one on by two.
    k = rng.randint(n - 2, size=size)
    k = k + (k >= np.minimum(i, j))
    return np.stack([i, j, k + (k >= np.maximum(i, j))], axis=1)
