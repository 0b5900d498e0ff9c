"""How sure a perceptual scale is, and how well its model fits: both by simulated answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.memory import check_memory
from skscreen.embedding.problem.answers import draw_counts, read_groups
from skscreen.embedding.problem.reading.conjoint import stimulus_values
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


class ScaleChecksMixin(BaseEstimator):
    """Mixin of `DifferenceScaling`: bootstrap and goodness of fit."""

    objects_: Any  # an array, or a list of one for each attribute

    def bootstrap(
        self, n_samples: int = 1000, *, groups: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> ScaleBootstrap:  # fmt: skip
        """Fit the scale to simulated answers, or to participants drawn with replacement.

        Parameters
        ----------
        n_samples : int, default=1000
            At least 1.
        groups : array-like of shape (n_answers,), default=None
            Participant of each row of X of the fit. Participants are then drawn with replacement,
            each with all his or her answers. None simulates an answer to each question with the
            probability that the scale says, as boot.mlds of the R package MLDS does.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ScaleBootstrap

        Warns
        -----
        ConvergenceWarning
            If fits did not reach `tol`; one warning for all of them.

        Examples
        --------
        >>> import numpy as np
        >>> from skscreen import DifferenceScaling
        >>> from skscreen.datasets import make_triplets
        >>> contrast = np.linspace(0.0, 1.0, 10)
        >>> answers = make_triplets(np.sqrt(contrast)[:, None], 500, noise=0.05, random_state=0)
        >>> model = DifferenceScaling().fit(answers)
        >>> low, high = model.bootstrap(100, random_state=0).interval()
        >>> bool(low[3] < model.scale_[3] < high[3])
        True
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        needed = 8.0 * n_samples * self.scale_.size
        check_memory(needed, f"{n_samples:,} scales", "Use a smaller n_samples.")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        if groups is None:
            found = [fit for _, _, fit in self._simulated(n_samples, rng)]
        else:
            judged = self.judgements_
            codes = read_groups(groups, self.n_trials_)[judged.trials]
            drawn = (judged.weights * draw_counts(codes, rng) for _ in range(n_samples))
            found = [self._refit(judged.design, weights) for weights in drawn]
        self._warn_unconverged(found)
        if self.model != "difference":
            shape = tuple(map(len, self.objects_))
            values = [
                stimulus_values(fit.values, shape, self.model, self.attribute)[1] for fit in found
            ]
            return ScaleBootstrap(np.array(values), np.ones(n_samples))
        scales = np.array([np.append(0.0, fit.values) for fit in found])
        units = np.abs(scales).max(axis=1)
        units[units == 0.0] = 1.0
        return ScaleBootstrap(scales / units[:, None], 1.0 / units)

    def goodness_of_fit(
        self, n_samples: int = 1000, *, random_state: int | np.random.RandomState | None = None
    ) -> GoodnessOfFit:
        """Compare the residuals of the answers with those of answers that follow the model.

        As binom.diagnostics of the R package MLDS: the answers are simulated and the scale is
        fitted to them, `n_samples` times. A question is sorted by the probability that the answer
        is its second pair of objects, the one with the higher first object.

        Parameters
        ----------
        n_samples : int, default=1000
            At least 1.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        GoodnessOfFit

        References
        ----------
        S. N. Wood (2006). Generalized additive models: an introduction with R. Section 2.6,
        exercise 2.
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        judged, values = self.judgements_, self.coef_
        needed = 8.0 * n_samples * len(judged.weights)
        check_memory(needed, f"{n_samples:,} sets of residuals", "Use a smaller n_samples.")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        observed = judged.sides * self._sizes(judged.design, values)
        runs = _runs(observed, judged.sides * (judged.design @ values))
        simulated, counts, found = [], [], []
        for signs, design, fit in self._simulated(n_samples, rng):
            # An answer that reverses the row is the other side.
            residuals = judged.sides * signs * self._sizes(design, fit.values)
            simulated.append(np.sort(residuals))
            counts.append(_runs(residuals, judged.sides * (judged.design @ fit.values)))
            found.append(fit)
        self._warn_unconverged(found)
        null = 2.0 * np.log(2.0) * self.weight_
        return GoodnessOfFit(
            deviance=self.deviance_,
            null_deviance=null,
            explained=1.0 - self.deviance_ / null,
            aic=self.deviance_ + 2.0 * self.n_parameters_,
            residuals=np.sort(observed),
            envelope=np.quantile(simulated, [0.025, 0.975], axis=0),
            n_runs=runs,
            simulated_runs=np.array(counts),
            p_value=float(np.mean(np.array(counts) <= runs)),
        )

    def _sizes(self, design: sparse.csr_array, values: np.ndarray) -> np.ndarray:
        """Sizes of the deviance residuals."""
        logs = log_distribution(self.link, design @ values)
        return np.sqrt(-2.0 * self.judgements_.weights * logs)

    def _simulated(
        self, n_samples: int, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, sparse.csr_array, ScaleFit]]:
        """Yield simulated answers: 1 or -1, which reverses a row, their design, and the fit."""
        judged = self.judgements_
        right = distribution(self.link, judged.design @ self.coef_)
        for _ in range(n_samples):
            signs = np.where(rng.uniform(size=len(right)) < right, 1.0, -1.0)
            design = judged.design.multiply(signs[:, None]).tocsr()
            yield signs, design, self._refit(design, judged.weights)

    def _refit(self, design: sparse.csr_array, weights: np.ndarray) -> ScaleFit:
        shares = weights / weights.sum()
        return fit_scale(design, shares, self.link, self.reg, self._rough_tol, self.max_iter)

    @property
    def _rough_tol(self) -> float:
        """Relative gap of fits to simulated answers, whose spread is far larger than it leaves."""
        return max(self.tol, 1e-5)

    def _warn_unconverged(self, found: list[ScaleFit]) -> None:
        tol = self._rough_tol
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
