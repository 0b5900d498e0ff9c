"""Random answers about distances."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array, check_random_state, check_scalar

from skscreen.core.memory import check_memory

# Where so many draws in a row were ties there is nothing to compare.
_DRAWS = 100

# For a triplet: its indices, drawn and arranged, and distances; measured.
_BYTES = 100

# Its square is a number.
_LARGEST = 1e150

# Numbers in a block of differences.
_BLOCK = 2**18


def make_triplets(
    X, n_triplets: int, *, metric="euclidean", noise=0.0, random_state=None
) -> np.ndarray:
    """Draw triplets of which objects are nearer to each other.

    Parameters
    ----------
    X : array-like of shape (n_objects, n_features), or (n_objects, n_objects)
        Points, or with ``metric="precomputed"`` their distances.
    n_triplets : int
        Drawn with replacement; ties are drawn again.
    metric : {"euclidean", "precomputed"}, default="euclidean"
    noise : float, default=0.0
        Share, in [0, 1], of triplets that are turned round at random.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    ndarray of shape (n_triplets, 3), int64
        Rows (i, j, k): object i is nearer to j than to k.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if nearly all distances are equal; the message names the argument.
    MemoryError
        If so many triplets would not fit into the free memory.

    Examples
    --------
    >>> from skscreen.datasets import make_triplets
    >>> make_triplets([[0.0], [1.0], [3.0]], 1000, random_state=0).shape
    (1000, 3)
    """
    if not isinstance(metric, str) or metric not in ("euclidean", "precomputed"):
        raise ValueError(f"metric must be 'euclidean' or 'precomputed', got {metric!r}.")
    if not isinstance(noise, Real) or not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise must be in [0, 1], got {noise}.")
    n_triplets = int(check_scalar(n_triplets, "n_triplets", Integral, min_val=1))
    X = check_array(X, dtype=np.float64, ensure_min_samples=3, input_name="X")
    if np.abs(X).max() > _LARGEST:
        raise ValueError(f"X must hold numbers of at most {_LARGEST:g} in size: rescale it.")
    if metric == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be a square matrix of distances, got shape {X.shape}.")
    check_memory(_BYTES * n_triplets, f"{n_triplets:,} triplets", "Use a smaller n_triplets.")
    rng, n = check_random_state(random_state), len(X)
    triplets = np.empty((n_triplets, 3), dtype=np.int64)
    missing = np.arange(n_triplets)
    for _ in range(_DRAWS):
        i, j, k = _three_objects(n, len(missing), rng)
        if metric == "precomputed":
            near, far = X[i, j], X[i, k]
        else:
            near, far = _square_distances(X, i, j), _square_distances(X, i, k)
        turned = near > far
        triplets[missing] = np.stack([i, np.where(turned, k, j), np.where(turned, j, k)], axis=1)
        missing = missing[near == far]
        if missing.size == 0:
            break
    else:
        raise ValueError("X has nothing to compare: nearly all of its distances are equal.")
    wrong = rng.uniform(size=n_triplets) < noise
    triplets[wrong] = triplets[wrong][:, [0, 2, 1]]
    return triplets


def _square_distances(X, i, j):
    """Distances of many pairs, by blocks: their differences are a multiple of the data."""
    out, size = np.empty(len(i)), max(_BLOCK // X.shape[1], 1)
    for first in range(0, len(i), size):
        part = slice(first, first + size)
        out[part] = np.sum((X[i[part]] - X[j[part]]) ** 2, axis=1)
    return out


def _three_objects(n, size, rng):
    """Three different objects each, uniformly."""
    i = rng.randint(n, size=size)
    j = (i + rng.randint(1, n, size=size)) % n
    # Of the n - 2 others, those after the first of i and j are one further, after both two.
    k = rng.randint(n - 2, size=size)
    k = k + (k >= np.minimum(i, j))
    return i, j, k + (k >= np.maximum(i, j))
