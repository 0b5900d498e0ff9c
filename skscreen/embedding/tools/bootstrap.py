"""Uncertainty of the points of an embedding, by refits to resampled answers."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import orthogonal_procrustes
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.memory import check_memory
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.solve import solve
from skscreen.embedding.solvers.state import Settings
from skscreen.fitting.warning import warn_user


class Bootstrap(NamedTuple):
    """Embeddings of resampled answers.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_objects, n_components)
        Points, rotated, reflected, shifted and scaled to match the embedding of all answers.
    left_out : ndarray of shape (n_samples, n_answers), bool
        Rows of `answers_` that were not drawn, and so are unseen answers for that sample.
    """

    points: np.ndarray
    left_out: np.ndarray


class BootstrapMixin:
    """Mixin of ordinal embeddings: refits to resampled answers."""

    def bootstrap(self, n_samples: int = 100, *, n_jobs=None, random_state=None) -> Bootstrap:
        """Refit answers drawn with replacement from those of the fit.

        Each fit starts from `embedding_` and keeps the ridge `reg_`, so it takes a fraction of the
        time of the first fit. Its points are then aligned with `embedding_` by a similarity
        transformation. The spread of the points of an object shows how much its position depends on
        which answers were given. It does not show bias, such as that of the ridge or of too few
        dimensions.

        Parameters
        ----------
        n_samples : int, default=100
            At least 1.
        n_jobs : int or None, default=None
            Threads.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        Bootstrap

        Warns
        -----
        ConvergenceWarning
            If refits did not reach `tol` in `max_iter` iterations of L-BFGS, 200 by default or
            where the fit was by another solver; one warning for all of them.

        References
        ----------
        B. Efron, R. J. Tibshirani (1993). An introduction to the bootstrap. Chapter 6.
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        needed = n_samples * (8.0 * self.embedding_.size + len(self.answers_.rows))
        check_memory(needed, f"{n_samples:,} embeddings", "Use a smaller n_samples.")
        loss, rng = EmbeddingLoss.of(self), check_random_state(random_state)
        tasks = (
            delayed(_draw)(self, loss, np.random.default_rng(seed))
            for seed in rng.randint(2**31 - 1, size=n_samples).tolist()
        )
        found = Parallel(n_jobs, require="sharedmem")(tasks)
        points, left_out, converged = zip(*found, strict=True)
        _warn_unconverged(self, n_samples - sum(converged), n_samples)
        return Bootstrap(np.array(points), np.array(left_out))


def _draw(model, loss: EmbeddingLoss, rng) -> tuple[np.ndarray, np.ndarray, bool]:
    """Points of one sample, which answers are not in it, and whether the refit converged."""
    rows, weights = model.answers_.rows, model.answers_.weights
    counts = np.bincount(rng.integers(len(rows), size=len(rows)), minlength=len(rows))
    drawn = counts > 0
    totals = counts[drawn] * (1.0 if weights is None else weights[drawn])
    X = model.embedding_
    problem = EmbeddingProblem(rows[drawn], totals, len(X), loss, model.reg_)
    # Epochs of other solvers are no iterations of L-BFGS.
    max_iter = model.max_iter if _ends_with_lbfgs(model) else None
    settings = Settings(tol=min(float(model.tol), 1.0), max_iter=max_iter)
    found = solve(problem, X.shape[1], "lbfgs", settings, 0, X)
    return nearest_similar(found.embedding, X), ~drawn, found.converged


def _ends_with_lbfgs(model) -> bool:
    """Whether `max_iter` of a model counts iterations of L-BFGS."""
    return model.formulation == "nonconvex" and model.solver in ("auto", "lbfgs")


def _warn_unconverged(model, count: int, n_samples: int) -> None:
    """Warn once about all refits that stopped early."""
    if count:
        remedy = "max_iter or tol" if _ends_with_lbfgs(model) else "tol"
        warn_user(
            f"{count} of {n_samples} refits did not reach tol={model.tol:g}: raise {remedy}.",
            ConvergenceWarning,
        )


def nearest_similar(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return points shifted, turned, reflected and scaled towards others (Procrustes)."""
    middle = target.mean(axis=0)
    centred = points - points.mean(axis=0)
    rotation, size = orthogonal_procrustes(centred, target - middle)
    total = float(np.vdot(centred, centred))
    scale = size / total if total > 0.0 else 1.0
    return scale * centred @ rotation + middle
