"""Refits to resampled trials or participants."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skscreen.answers.answers import Answers
from skscreen.answers.given import group_codes
from skscreen.concepts.matching import match
from skscreen.concepts.problem.objective import Objective, check_free
from skscreen.concepts.reading import read
from skscreen.concepts.solver import solve_concepts
from skscreen.concepts.threads import map_in_threads
from skscreen.core.memory import check_memory
from skscreen.core.threads import one_blas_thread
from skscreen.fitting.warning import warn_user


class ConceptBootstrap(NamedTuple):
    """Dimensions of resampled trials, matched with those of all trials.

    Parameters
    ----------
    embeddings : ndarray of shape (n_samples, n_objects, n_dimensions)
        Refitted dimensions, in the order of `embedding_`; NaN where a refit has lost one.
    correlations : ndarray of shape (n_samples, n_dimensions)
        Pearson's r of each dimension with its partner in each refit; 0 where a refit has lost one.
    standard_errors : ndarray of shape (n_objects, n_dimensions)
        Standard deviations of the entries over the refits.
    """

    embeddings: np.ndarray
    correlations: np.ndarray
    standard_errors: np.ndarray

    def __repr__(self) -> str:
        n_samples, n_objects, n_dimensions = self.embeddings.shape
        return (
            f"ConceptBootstrap({n_samples} refits of {n_dimensions} dimensions of {n_objects} "
            f"objects; median r {np.median(self.correlations):.3f})"
        )


def resample(
    model: BaseEstimator,
    n_samples: int,
    groups: ArrayLike | None,
    n_jobs: int | None,
    random_state: np.random.RandomState,
) -> ConceptBootstrap:
    """Refit trials, or all those of a participant, drawn with replacement, from the fitted ones."""
    reading, X = read(model.answers_, None, None), model.embedding_[model.compared_]
    codes = drawn_units(groups, model.answers_, model.n_trials_)[reading.rows]
    trials = reading.trials
    threads = min(effective_n_jobs(n_jobs), n_samples)
    check_free(trials, X.shape[1], threads)
    needed = 8.0 * n_samples * model.embedding_.size
    check_memory(needed, f"{n_samples:,} embeddings", "Use a smaller n_samples.")
    objective = Objective(trials, model.l1_, model.l2_)
    seeds = random_state.randint(2**31 - 1, size=n_samples).tolist()

    def refit(check: Callable[[], None], seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
        rng = np.random.default_rng(seed)
        n_groups = int(codes.max()) + 1
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)[codes]
        # A draw without any trial of the fit, which had other groups only, tells nothing.
        times = times if times.any() else np.ones_like(times)
        found = solve_concepts(
            objective.drawn(times, model.l1_, model.l2_), X, model.max_iter, model.tol,
            lambda *_: check(),
        )  # fmt: skip
        partner, r = match(X, found.X)
        points = np.full(model.embedding_.shape, np.nan)
        has = partner >= 0
        points[:, has] = 0.0
        points[np.ix_(model.compared_, has)] = found.X[:, partner[has]]
        return points, np.where(has, r, 0.0), found.converged

    with one_blas_thread():
        found = list(map_in_threads(refit, [(seed,) for seed in seeds], n_jobs))
    embeddings, r, converged = (np.array(part) for part in zip(*found, strict=True))
    if not converged.all():
        warn_user(
            f"{np.count_nonzero(~converged)} of {n_samples} refits did not reach "
            f"tol={model.tol:g} in max_iter={model.max_iter} iterations. Raise max_iter.",
            ConvergenceWarning,
        )
    return ConceptBootstrap(embeddings, r, _spread(embeddings))


def drawn_units(groups: ArrayLike | None, answers: Answers, n_trials: int) -> np.ndarray:
    """Return the number of what each row is drawn with: its group, or its trial without groups."""
    if groups is None:
        return np.unique(answers.trials, return_inverse=True)[1]
    return group_codes(groups, n_trials, answers.trials)


def _spread(embeddings: np.ndarray) -> np.ndarray:
    """Return standard deviations over refits that have a dimension, NaN for less than two."""
    n = np.sum(~np.isnan(embeddings), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(embeddings, axis=0) / n
        return np.sqrt(np.nansum((embeddings - mean) ** 2, axis=0) / np.where(n > 1, n - 1, np.nan))
