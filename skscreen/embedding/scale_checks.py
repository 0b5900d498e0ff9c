"""How sure a perceptual scale is, and how well its model fits: both by simulated answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar

from skscreen.answers.given import group_codes
from skscreen.core.memory import check_memory
from skscreen.embedding.problem.answers import draw_counts
from skscreen.embedding.problem.conjoint import stimulus_values
from skscreen.embedding.problem.scale import (
    ScaleFit,
    distribution,
    fit_scale,
    log_distribution,
)
from skscreen.fitting.warning import warn_user


@dataclass(frozen=True)
class ScaleBootstrap:
    """Scales of simulated or resampled answers.

    Attributes
    ----------
    scales : ndarray of shape (n_samples, n_objects)
        Like `DifferenceScaling.scale_`, each in its own unit. With a conjoint model of shape
        (n_samples, n_levels_1, n_levels_2, ...).
    noises : ndarray of shape (n_samples,)
        Like `DifferenceScaling.noise_`.
    """

    scales: np.ndarray
    noises: np.ndarray

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Return the quantiles of each value between which the share `level` of the samples is.

        Parameters
        ----------
        level : float, default=0.95
            In (0, 1).

        Returns
        -------
        ndarray of shape (2, n_objects), or (2, n_levels_1, n_levels_2, ...)
            Lower and upper ends.
        """
        check_scalar(level, "level", Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
        return np.quantile(self.scales, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)


@dataclass(frozen=True)
class GoodnessOfFit:
    """Whether answers look as the model of a scale says.

    Attributes
    ----------
    deviance : float
        -2 times the log-likelihood.
    null_deviance : float
        That of answers by chance.
    explained : float
        1 - deviance / null_deviance.
    aic : float
        Akaike's criterion, the deviance plus twice the number of parameters.
    residuals : ndarray of shape (n_answers,)
        Deviance residuals of the answers that were used, in ascending order.
    envelope : ndarray of shape (2, n_answers)
        Quantiles 0.025 and 0.975 of the sorted residuals of simulated answers.
    n_runs : int
        How often the sign of the residuals changes where answers are sorted by their probability.
    simulated_runs : ndarray of shape (n_samples,), int
        The same for simulated answers.
    p_value : float
        Share of the simulations with at most `n_runs` changes. Where it is small, the residuals
        hang together: the answers do not follow the model.
    """

    deviance: float
    null_deviance: float
    explained: float
    aic: float
    residuals: np.ndarray
    envelope: np.ndarray
    n_runs: int
    simulated_runs: np.ndarray
    p_value: float


def bootstrap(
    model: BaseEstimator, n_samples: int, groups: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> ScaleBootstrap:  # fmt: skip
    """Return scales of simulated answers, or of participants drawn with replacement."""
    n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
    needed = 8.0 * n_samples * model.scale_.size
    check_memory(needed, f"{n_samples:,} scales", "Use a smaller n_samples.")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    if groups is None:
        found = [fit for _, _, fit in _simulated(model, n_samples, rng)]
    else:
        judged = model.judgements_
        codes = group_codes(groups, model.n_trials_, judged.trials)
        drawn = (judged.weights * draw_counts(codes, rng) for _ in range(n_samples))
        found = [_refit(model, judged.design, weights) for weights in drawn]
    _warn_unconverged(model, found)
    if model.model != "difference":
        shape = tuple(map(len, model.objects_))
        values = [
            stimulus_values(fit.values, shape, model.model, model.attribute)[1] for fit in found
        ]
        return ScaleBootstrap(np.array(values), np.ones(n_samples))
    scales = np.array([np.append(0.0, fit.values) for fit in found])
    units = np.abs(scales).max(axis=1)
    units[units == 0.0] = 1.0
    return ScaleBootstrap(scales / units[:, None], 1.0 / units)


def goodness_of_fit(
    model: BaseEstimator, n_samples: int, random_state: int | np.random.RandomState | None
) -> GoodnessOfFit:
    """Compare the residuals of the answers with those of simulated ones."""
    n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
    judged, values = model.judgements_, model.coef_
    needed = 8.0 * n_samples * len(judged.weights)
    check_memory(needed, f"{n_samples:,} sets of residuals", "Use a smaller n_samples.")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    observed = judged.sides * _sizes(model, judged.design, values)
    runs = _runs(observed, judged.sides * (judged.design @ values))
    simulated, counts, found = [], [], []
    for signs, design, fit in _simulated(model, n_samples, rng):
        # An answer that reverses the row is the other side.
        residuals = judged.sides * signs * _sizes(model, design, fit.values)
        simulated.append(np.sort(residuals))
        counts.append(_runs(residuals, judged.sides * (judged.design @ fit.values)))
        found.append(fit)
    _warn_unconverged(model, found)
    null = 2.0 * np.log(2.0) * model.weight_
    return GoodnessOfFit(
        deviance=model.deviance_,
        null_deviance=null,
        explained=1.0 - model.deviance_ / null,
        aic=model.deviance_ + 2.0 * model.n_parameters_,
        residuals=np.sort(observed),
        envelope=np.quantile(simulated, [0.025, 0.975], axis=0),
        n_runs=runs,
        simulated_runs=np.array(counts),
        p_value=float(np.mean(np.array(counts) <= runs)),
    )


def _sizes(model: BaseEstimator, design: sparse.csr_array, values: np.ndarray) -> np.ndarray:
    """Sizes of the deviance residuals."""
    logs = log_distribution(model.link, design @ values)
    return np.sqrt(-2.0 * model.judgements_.weights * logs)


def _simulated(
    model: BaseEstimator, n_samples: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, sparse.csr_array, ScaleFit]]:
    """Yield simulated answers: 1 or -1, which reverses a row, their design, and the fit."""
    judged = model.judgements_
    right = distribution(model.link, judged.design @ model.coef_)
    for _ in range(n_samples):
        signs = np.where(rng.uniform(size=len(right)) < right, 1.0, -1.0)
        design = judged.design.multiply(signs[:, None]).tocsr()
        yield signs, design, _refit(model, design, judged.weights)


def _refit(model: BaseEstimator, design: sparse.csr_array, weights: np.ndarray) -> ScaleFit:
    shares = weights / weights.sum()
    return fit_scale(design, shares, model.link, model.reg, _rough_tol(model), model.max_iter)


def _rough_tol(model: BaseEstimator) -> float:
    """Relative gap of fits to simulated answers, whose spread is far larger than it leaves."""
    return max(model.tol, 1e-5)


def _warn_unconverged(model: BaseEstimator, found: list[ScaleFit]) -> None:
    tol = _rough_tol(model)
    count = sum(fit.dual_gap > tol for fit in found)
    if count:
        warn_user(
            f"{count} of {len(found)} fits to simulated answers did not reach tol={tol:g}: "
            "raise max_iter, tol or reg.",
            ConvergenceWarning,
        )


def _runs(residuals: np.ndarray, z: np.ndarray) -> int:
    """How often the sign changes in the order of z."""
    positive = residuals[np.argsort(z, kind="stable")] > 0.0
    return int(np.count_nonzero(positive[1:] != positive[:-1]))
