"""Choice of the triplets to ask next."""

from __future__ import annotations

from collections.abc import Sized
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.memory import check_memory
from skscreen.fitting.warning import warn_user


def next_queries(
    model: BaseEstimator, n: int, *, candidates: ArrayLike | None = None,
    heads: ArrayLike | None = None, repeats: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:  # fmt: skip
    """Draw triplets to ask next, about objects that were not compared before.

    Random questions are hard to beat: questions on which resampled maps disagree saved at most 10 %
    of the answers.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted.
    n : int
        Number of questions, >= 1.
    candidates : array-like of shape (n_candidates, 3), default=None
        Questions (i, j, k), with objects as in the fit: is i nearer to j or to k? None draws a few
        thousand at random, of all objects of the answers.
    heads : array-like of shape (n_heads,), default=None
        Only ask questions whose first object is one of these, for instance new objects.
    repeats : bool, default=False
        Whether three objects that an answer of the fit, or another question, already compares may
        be asked about. If False, they are only where there are not enough others, with a warning.
        Not used for `candidates`.
    random_state : int, RandomState or None, default=None
        Seed of the draw of questions.

    Returns
    -------
    ndarray of shape (n, 3)
        Questions, with objects as in the fit; none occurs twice.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments, or if there are fewer than `n` different candidates.
    NotFittedError
        If the model is not fitted.

    Warns
    -----
    UserWarning
        If some of the questions are about three objects that were compared before.

    Examples
    --------
    >>> from skscreen import OrdinalEmbedding, next_queries
    >>> from skscreen.datasets import load_eurodist, make_triplets
    >>> cities = load_eurodist()
    >>> answers = make_triplets(cities.distances, 300, metric="precomputed", random_state=0)
    >>> model = OrdinalEmbedding(random_state=0).fit(answers)
    >>> next_queries(model, 10, random_state=0).shape
    (10, 3)
    """
    check_is_fitted(model, "answers_")
    n = check_scalar(n, "n", Integral, min_val=1)
    rng = check_random_state(random_state)
    pool = _pool(model, n, candidates, heads, rng)
    if len(pool) < n:
        raise ValueError(f"n must be at most {len(pool)}, the number of candidates, got {n}.")
    order = rng.permutation(len(pool))
    if candidates is None and not repeats:
        order = _new_first(pool[order], order, model.answers_.rows, n)
    return model.objects_[pool[order[:n]]]


def _new_first(pool: np.ndarray, order: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Put questions about three objects that come for the first time before all others."""
    # Those of quadruplets are not three.
    known = rows[: 0 if rows.shape[1] == 4 else None, :3]
    trios = np.sort(np.concatenate([known, pool]), axis=1)
    first = np.unique(trios, axis=0, return_index=True)[1] - len(known)
    new = np.zeros(len(pool), dtype=bool)
    new[first[first >= 0]] = True
    count = int(np.count_nonzero(new))
    if count < n:
        warn_user(
            f"{n - count} of {n} questions are about three objects that were compared before, as "
            f"only {count} candidates were not. Use a smaller n, or repeats=True."
        )
    return np.concatenate([order[new], order[~new]])


def _pool(
    model: BaseEstimator, n: int, candidates: ArrayLike | None, heads: ArrayLike | None,
    rng: np.random.RandomState,
) -> np.ndarray:  # fmt: skip
    """Different questions, by positions."""
    n_objects, everything = len(model.objects_), False
    chosen = None if heads is None else _places(model, heads, "heads", 1)
    if candidates is not None:
        rows = _places(model, candidates, "candidates", 2)
        if rows.shape[1] != 3:
            raise ValueError(f"candidates must be triplets, got shape {rows.shape}.")
    else:
        size = max(2000, 50 * n)
        check_memory(24.0 * size, f"{n:,} questions", "Use a smaller n.")
        everything = n_objects**3 <= size
        if everything:
            rows = np.stack(np.unravel_index(np.arange(n_objects**3), (n_objects,) * 3), axis=1)
        else:
            rows = rng.randint(n_objects, size=(size, 3))
    if chosen is not None:
        if candidates is None and not everything:
            rows[:, 0] = rng.choice(chosen, size=len(rows))
        rows = rows[np.isin(rows[:, 0], chosen)]
    i, j, k = rows.T
    rows = np.stack([i, np.minimum(j, k), np.maximum(j, k)], axis=1)
    return np.unique(rows[(i != j) & (i != k) & (j != k)], axis=0)


def _places(model: BaseEstimator, names: ArrayLike, argument: str, ndim: int) -> np.ndarray:
    """Return the places of objects of the fit, given by name."""
    if isinstance(names, str) or not isinstance(names, Sized) or not len(names):
        raise ValueError(f"{argument} must be a list of objects of the fit, got {names!r}.")
    values = np.asarray(names, dtype=object)
    if values.ndim != ndim:
        raise ValueError(f"{argument} must have {ndim} dimension(s), got {values.ndim}.")
    place = {name: k for k, name in enumerate(model.objects_.tolist())}
    try:
        found = [place[name] for name in values.ravel().tolist()]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{argument} must be objects of the fit, got {error}.") from None
    return np.array(found, dtype=np.int64).reshape(values.shape)
