"""Uncertainty of the points of an embedding, by refits to resampled answers."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.linalg import orthogonal_procrustes
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar

from skscreen.answers.given import group_codes
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import validate_params
from skscreen.core.threads import N_JOBS
from skscreen.embedding.problem.answers import compacted, draw_counts, pieces
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, answer_margins
from skscreen.embedding.solvers.solve import solve_embedding
from skscreen.embedding.solvers.state import Settings
from skscreen.embedding.tools.redraw import Response, redraw
from skscreen.fitting.warning import warn_user


class Bootstrap(NamedTuple):
    """Embeddings of resampled answers.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_objects, n_components)
        Points, rotated, reflected, shifted and scaled to match the embedding of all answers.
        Infinite for objects that the answers do not fix.
    left_out : ndarray of shape (n_samples, n_answers), bool
        Rows of ``answers_.rows`` that were not drawn, and so are unseen answers for that sample.
    """

    points: np.ndarray
    left_out: np.ndarray

    def __repr__(self) -> str:
        n_samples, n_objects, n_components = self.points.shape
        return f"Bootstrap({n_samples} maps of {n_objects} objects in {n_components} dimensions)"


class Sample(NamedTuple):
    """A bootstrap, and what was learned on the way."""

    # (n_samples, n_objects, n_components), finite: what is not fixed is anywhere in the map.
    points: np.ndarray
    left_out: np.ndarray  # (n_samples, n_answers), bool
    fixed: np.ndarray  # (n_objects,), bool: which objects answers connect with most of the others


@validate_params({"n_jobs": N_JOBS}, prefer_skip_nested_validation=False)
def bootstrap(
    model: BaseEstimator, n_samples: int, groups: ArrayLike | None, n_jobs: int | None,
    random_state: int | np.random.RandomState | None,
) -> Bootstrap:  # fmt: skip
    """Return embeddings of resampled answers of a model."""
    sample = draw_sample(model, n_samples, groups, n_jobs, check_random_state(random_state))
    if not sample.fixed.all():
        names = [str(name) for name in model.objects_[~sample.fixed]]
        more = f" and {len(names) - 5} others" if len(names) > 5 else ""
        warn_user(
            f"The answers do not fix the place of {', '.join(names[:5])}{more}: no chain of "
            "answers connects them with most of the objects. Their regions are infinite."
        )
        sample.points[:, ~sample.fixed] = np.inf
    return Bootstrap(sample.points, sample.left_out)


def draw_sample(
    model: BaseEstimator, n_samples: int, groups: ArrayLike | None, n_jobs: int | None,
    random_state: np.random.RandomState,
) -> Sample:  # fmt: skip
    """Refit resampled answers, and draw the objects with few answers."""
    n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
    answers = model.answers_
    rows, weights = answers.rows, answers.weights
    needed = n_samples * (8.0 * model.embedding_.size + 9.0 * len(rows))
    check_memory(needed, f"{n_samples:,} embeddings", "Use a smaller n_samples.")
    codes = None if groups is None else group_codes(groups, model.n_trials_, answers.trials)
    fixed, batches = _connected(rows, len(model.embedding_))
    counts = np.bincount(rows.ravel(), minlength=len(fixed)) * fixed.astype(float)
    # Epochs of other solvers are no iterations of L-BFGS.
    counted = model.formulation == "nonconvex" and model.solver in ("auto", "lbfgs")
    settings = Settings(
        tol=min(float(model.tol), 1.0), max_iter=model.max_iter if counted else None
    )
    loss, (own, compared) = EmbeddingLoss.of(model), compacted(rows, len(fixed))
    X, participants = model.embedding_[compared], np.arange(len(rows)) if codes is None else codes
    seeds = random_state.randint(2**31 - 1, size=n_samples + 1).tolist()

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Points of one sample, which answers are not in it, and whether the refit converged."""
        times = draw_counts(participants, np.random.default_rng(seed))
        drawn = times > 0
        totals = times[drawn] * (1.0 if weights is None else weights[drawn])
        problem = EmbeddingProblem(own[drawn], totals, len(X), loss, model.reg_)
        found = solve_embedding(problem, X.shape[1], "lbfgs", settings, 0, X)
        points = np.zeros_like(model.embedding_)
        points[compared] = nearest_similar(found.embedding, X, counts[compared])
        return points, ~drawn, found.converged

    found = Parallel(n_jobs, require="sharedmem")(delayed(draw)(seed) for seed in seeds[:-1])
    points, left_out, converged = (np.array(part) for part in zip(*found, strict=True))
    if not converged.all():
        warn_user(
            f"{np.count_nonzero(~converged)} of {n_samples} refits did not reach "
            f"tol={model.tol:g}: raise {'max_iter or tol' if counted else 'tol'}.",
            ConvergenceWarning,
        )
    seen = np.concatenate([
        answer_margins(one, rows[out], loss) for one, out in zip(points, left_out, strict=True)
    ])  # fmt: skip
    rng = np.random.default_rng(seeds[-1])
    response = Response.fit(seen, rng)
    times = np.ones((n_samples, len(rows)))
    if weights is not None:
        times *= weights / weights.mean()
    if codes is not None:
        # Twice, so that the noise of a drawn place adds little to that of participants.
        times *= 2.0 * rng.exponential(size=(n_samples, codes.max() + 1))[:, codes]
    redraw(points, rows, times, counts, loss, response, rng)
    _scatter(points, fixed, batches, rng)
    return Sample(points, left_out, fixed)


def _connected(rows: np.ndarray, n_objects: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether each object belongs to the largest connected batch, and the batch of each."""
    batches = pieces(rows, n_objects)
    # Ties go to the batch with the most answers.
    sizes = np.bincount(batches) + np.bincount(batches[rows[:, 0]], minlength=batches.max() + 1) / (
        len(rows) + 1.0
    )
    return batches == np.argmax(sizes), batches


def _scatter(
    points: np.ndarray, fixed: np.ndarray, batches: np.ndarray, rng: np.random.Generator
) -> None:
    """Put batches that nothing connects with the map anywhere in it, turned at random."""
    inside, p = np.flatnonzero(fixed), points.shape[2]
    # At once, as there may be a million objects that are in no answer.
    alone = ~fixed & (np.bincount(batches)[batches] == 1)
    drawn = rng.choice(inside, size=(len(points), np.count_nonzero(alone)))
    points[:, alone] = np.take_along_axis(points, drawn[:, :, None], axis=1)
    for batch in np.unique(batches[~fixed & ~alone]):
        members = np.flatnonzero(batches == batch)
        for places in points:
            turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
            own = places[members]
            places[members] = (own - own.mean(axis=0)) @ turn + places[rng.choice(inside)]


def nearest_similar(
    points: np.ndarray, target: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return points shifted, turned, reflected and scaled towards others (Procrustes)."""
    shares = np.ones(len(points)) if weights is None else weights
    shares = (shares / shares.sum())[:, None]
    middle = (shares * target).sum(axis=0)
    centred = points - (shares * points).sum(axis=0)
    rotation, size = orthogonal_procrustes(shares * centred, target - middle)
    total = float(np.vdot(shares * centred, centred))
    scale = size / total if total > 0.0 else 1.0
    return scale * centred @ rotation + middle
