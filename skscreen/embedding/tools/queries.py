"""Choice of the triplets to ask next."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.memory import check_memory
from skscreen.embedding.problem.objective import margins
from skscreen.embedding.tools.bootstrap import draw_sample
from skscreen.fitting.warning import warn_user

STRATEGIES = ("information", "uncertainty", "random")


def next_queries(
    model: Any, n: int, strategy: str = "information", *, candidates: Any = None,
    heads: Any = None, repeats: bool = False, n_samples: int = 20,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:  # fmt: skip
    r"""Choose the triplets to ask next.

    The model is refitted to resampled answers (`OrdinalEmbedding.bootstrap`). If these embeddings
    agree on the answer to a question, there is no need to ask it. Let p_s be the probability of an
    answer under embedding s, a logistic function of the difference of squared distances with a
    share of answers at random, fitted to the answers that the embedding has not seen. With the
    entropy H,

    .. math::

        \text{information} = H(\bar p) - \overline{H(p_s)}, \qquad
        \text{uncertainty} = H(\bar p), \qquad \bar p = \text{mean of } p_s.

    The second is also large if two distances are nearly equal, so that only people disagree.
    Questions are drawn with probabilities proportional to this score, so that a batch is not about
    a single object.

    Parameters
    ----------
    model : OrdinalEmbedding
        Fitted.
    n : int
        Number of questions, >= 1.
    strategy : {"information", "uncertainty", "random"}, default="information"
    candidates : array-like of shape (n_candidates, 3), default=None
        Questions (i, j, k), with objects as in the fit: is i nearer to j or to k? None draws a few
        thousand at random, of all objects of the answers.
    heads : array-like of shape (n_heads,), default=None
        Only ask questions whose first object is one of these, for instance new objects. Objects
        that are in no answer are assumed to be at the point of a random other object.
    repeats : bool, default=False
        Whether three objects that an answer of the fit, or another question, already compares may
        be asked about. If False, they are only where there are not enough others, with a warning.
        Not used for `candidates`.
    n_samples : int, default=20
        Number of embeddings, >= 2.
    random_state : int, RandomState or None, default=None
        Seed of the resampled answers and of the draw of questions.

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
    ConvergenceWarning
        If refits did not reach `tol` of the model; see `OrdinalEmbedding.bootstrap`.
    UserWarning
        If some of the questions are about three objects that were compared before.

    References
    ----------
    O. Tamuz, C. Liu, S. Belongie, O. Shamir, A. T. Kalai (2011). Adaptively learning the crowd
    kernel. ICML, 673-680. Section 4.

    G. Canal, S. Fenu, C. Rozell (2020). Active ordinal querying for tuplewise similarity learning.
    AAAI, 3332-3340. Equation 4.

    A. Kirsch, S. Farquhar, P. Atighehchian, A. Jesson, F. Branchaud-Charron, Y. Gal (2023).
    Stochastic batch acquisition. TMLR. Section 3.

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
    n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=2)
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}.")
    rng = check_random_state(random_state)
    pool = _pool(model, n, candidates, heads, rng)
    if len(pool) < n:
        raise ValueError(f"n must be at most {len(pool)}, the number of candidates, got {n}.")
    scores = np.ones(len(pool))
    if strategy != "random":
        mixed, each = _entropies(model, pool, n_samples, rng)
        # Rounding can make it negative.
        scores = np.maximum(mixed - each, 0.0) if strategy == "information" else mixed
    # The largest keys are a draw without replacement, in proportion to the scores.
    keys = np.log(np.maximum(scores, 1e-300)) + rng.gumbel(size=len(pool))
    order = np.argsort(-keys, kind="stable")
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


def _pool(model: Any, n: int, candidates: Any, heads: Any, rng: Any) -> np.ndarray:
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


def _places(model: Any, names: Any, argument: str, ndim: int) -> np.ndarray:
    """Return the places of objects of the fit, given by name."""
    if isinstance(names, str) or not hasattr(names, "__len__") or not len(names):
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


def _entropies(model, pool: np.ndarray, n_samples: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Entropy of the mean answer over embeddings, and mean entropy of their answers."""
    sample = draw_sample(model, n_samples, None, None, rng)
    differences = np.array([margins(points, pool.astype(np.int32)) for points in sample.points])
    p = sample.response.probability(differences)
    mean = p.mean(axis=0)
    return entr(mean) + entr(1.0 - mean), (entr(p) + entr(1.0 - p)).mean(axis=0)
