"""Perceptual scales from comparisons of differences, for objects in a known order."""

from __future__ import annotations

import warnings
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skscreen.answers.answers import Answers, AnswersLike
from skscreen.answers.given import Given, given_answers, places_of
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import Interval, StrOptions, fit_context
from skscreen.embedding import scale_checks
from skscreen.embedding.problem.answers import counted, pieces
from skscreen.embedding.problem.conjoint import (
    MODELS,
    conjoint_design,
    count_pieces,
    learn_levels,
    stimuli_of,
    stimulus_values,
)
from skscreen.embedding.problem.scale import (
    Judgements,
    ScaleFit,
    design_of,
    fit_scale,
    information,
    judgements_of,
    log_distribution,
    sides_of,
)
from skscreen.embedding.verdict import warn_at_chance, warn_pieces
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import forget
from skscreen.fitting.progress import share_of_decades
from skscreen.fitting.warning import warn_user


class LikelihoodRatio(NamedTuple):
    """Test of a model against a larger one.

    Parameters
    ----------
    statistic : float
        Difference of the deviances.
    df : int
        Difference of the numbers of parameters.
    p_value : float
        Probability of a larger statistic if the smaller model is true.
    """

    statistic: float
    df: int
    p_value: float


class DifferenceScaling(CallbackSupportMixin, BaseEstimator):
    r"""Perceptual scales by maximum likelihood: of differences (MLDS) and conjoint (MLCM).

    The objects have a known order, such as that of their contrast. It is the order of
    ``answers.objects``, which `read_answers` sorts unless you pass it ``objects`` in order. Each
    answer compares two differences. With a value s_v for each object, s_0 = 0, the answer "i and j
    differ less than l and k", with i before j and l before k, has the probability

    .. math::

        F(z), \quad z = (s_k - s_l) - (s_j - s_i),

    where F is the normal or the logistic distribution function. The fit minimises the weighted mean
    of -log F(z) over all answers, plus reg / 2 |s|^2. This is a generalised linear model.

    The conjoint models are for pairs of stimuli, each with a level of two or more attributes. The
    answer "the first is greater than the second" has the probability F(z), where z is the
    difference of the values of both. The value of a stimulus is that of its level of one attribute
    ("independent"), the sum over all attributes ("additive"), or a number of its own ("full").
    The value of the first level of each attribute, or of the first stimulus, is 0.

    Parameters
    ----------
    model : {"difference", "independent", "additive", "full"}, default="difference"
        Difference scaling, or one of the conjoint models.
    attribute : int, default=0
        The attribute of the model "independent", counted from 0.
    link : {"probit", "logit"}, default="probit"
        Distribution function: normal, for noise of standard deviation 1, or logistic.
    reg : float, default=1e-9
        Strength of the ridge, from 1e-12 to 1e12, which makes the solution unique and finite.
    tol : float, default=1e-8
        Relative duality gap at which the fit stops.
    max_iter : int or None, default=None
        Largest number of Newton steps; None is 100.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    scale_ : ndarray of shape (n_objects,)
        Values of the objects: 0 for the first one, in units of the one that is largest in size,
        which is 1, or -1 if the answers say that the order is the reverse. With a conjoint model
        the values of all stimuli, of shape (n_levels_1, n_levels_2, ...), in units of the noise.
    scales_ : list of ndarray of shape (n_levels,), or None
        Only of the conjoint models: values of the levels of each attribute, in units of the noise;
        None for "full".
    noise_ : float
        Standard deviation (for "logit", scale) of the noise of a judgement, in the units of
        `scale_`.
    standard_errors_ : ndarray of shape (n_objects,)
        Standard errors of `scale_` for a fixed unit, from Fisher's information, as of R's glm; 0
        for the first object. With a conjoint model of `scales_`, or of `scale_` for "full".
    objective_ : float
        Minus the log-likelihood, divided by `weight_`, plus reg / 2 |s|^2.
    log_likelihood_, deviance_ : float
        Log-likelihood, as a weighted sum over the answers, and -2 times it.
    n_parameters_ : int
    coef_ : ndarray of shape (n_parameters_,)
        Coefficients of the generalised linear model: the values in units of the noise, without
        those that are 0 by definition.
    judgements_ : Judgements
        The answers of the fit as rows of this model: `design`, `weights`, `sides` and `trials`.
    n_trials_ : int
        Number of trials, or of rows of an array.
    weight_ : float
        Number of answers, or the sum of their weights.
    dual_gap_ : float
        Relative duality gap.
    embedding_ : ndarray of shape (n_objects, 1)
        `scale_` as an embedding.
    objects_ : ndarray of shape (n_objects,), or list of one for each attribute
        Names of the objects in their order. With a conjoint model the levels of each attribute:
        numbers ascending, names in the order in which ``answers.objects`` has them.
    n_pieces_ : int
        Number of sets of objects, or of levels, that no chain of answers connects: 1 is a scale.
    n_iter_ : int
    n_features_in_ : int
        Number of objects in an answer.

    Raises
    ------
    ValueError
        For invalid parameters or answers; the message names the argument.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.
    UserWarning
        If no answer connects some objects with others, or if answers agree with the scale no better
        than random answers would.

    Notes
    -----
    With the gradient g of the objective, the duality gap is |g|^2 / (2 reg). If no answers
    contradict each other, only the ridge keeps the scale finite; `noise_` is then small and
    meaningless. The values need not be monotone in the order.

    References
    ----------
    L. T. Maloney, J. N. Yang (2003). Maximum likelihood difference scaling. Journal of Vision 3, 5.

    K. Knoblauch, L. T. Maloney (2008). MLDS: maximum likelihood difference scaling in R. Journal of
    Statistical Software 25(2). Section 2.3, the generalised linear model.

    Y.-X. Ho, M. S. Landy, L. T. Maloney (2008). Conjoint measurement of gloss and surface texture.
    Psychological Science 19, 196-204.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import DifferenceScaling
    >>> from skscreen.datasets import make_triplets
    >>> contrast = np.linspace(0.0, 1.0, 10)
    >>> answers = make_triplets(np.sqrt(contrast)[:, None], 500, noise=0.05, random_state=0)
    >>> model = DifferenceScaling().fit(answers)
    >>> bool(model.scale_[3] > contrast[3])
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "model": [StrOptions({"difference", *MODELS})],
        "attribute": [Interval(Integral, 0, None, closed="left")],
        "link": [StrOptions({"probit", "logit"})],
        "reg": [Interval(Real, 1e-12, 1e12, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    objects_: Any  # an array, or a list of one for each attribute
    standard_errors_: Any

    def __init__(
        self, *, model="difference", attribute=0, link="probit", reg=1e-9, tol=1e-8,
        max_iter=None, verbose=0,
    ):  # fmt: skip
        self.model = model
        self.attribute = attribute
        self.link = link
        self.reg = reg
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: AnswersLike, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the scale.

        Parameters
        ----------
        X : Answers, or array-like of shape (n_answers, 3) or (n_answers, 4)
            Triplets or quadruplets, as `read_answers` reads them; with a conjoint model answers of
            kind "paired", whose objects are tuples of levels. Rows of an array are triplets
            (i, j, k): i differs less from j than from k; or quadruplets (i, j, k, l): i and j
            differ less than k and l. Numbers are names of objects, in ascending order.
        y : array-like of shape (n_answers,), optional
            Only with an array: False or -1 where a row says the reverse, True or 1 where it does
            not.
        sample_weight : array-like of shape (n_trials,), optional
            Weights >= 0 of the trials.

        Returns
        -------
        DifferenceScaling
        """
        forget(self)
        given = self._given(X, y)
        answers = counted(given, sample_weight)
        self.n_trials_, self.n_features_in_ = given.n_trials, answers.rows.shape[1]
        judged = self._learn(answers)
        design, counts = judged.design, judged.weights
        with Tasks(self, None, "iteration") as tasks:
            fit = fit_scale(
                design, counts / counts.sum(), self.link, self.reg, self.tol, self.max_iter,
                lambda gap: tasks.end_task(share_of_decades(gap, self.tol), f"gap={gap:.1e}"),
            )  # fmt: skip
        expected = information(design, counts / counts.sum(), self.link, self.reg, fit.values)
        # The reciprocal of a smaller total weight would not be finite.
        self._store(fit, expected * max(counts.sum(), 1e-200))
        self.judgements_, self.coef_ = judged, fit.values
        z = design @ fit.values
        self.log_likelihood_ = float(counts @ log_distribution(self.link, z))
        self.deviance_, self.n_parameters_ = -2.0 * self.log_likelihood_, len(fit.values)
        self.weight_ = float(counts.sum())
        penalty = 0.5 * self.reg * float(fit.values @ fit.values)
        self.objective_ = penalty - self.log_likelihood_ / self.weight_
        # The unit of the values changes no answer.
        told = z != 0.0
        warn_pieces(self.n_pieces_)
        warn_at_chance(z[told] > 0.0, counts[told], len(fit.values) - 1, 0.5)
        return self

    def predict(self, X: AnswersLike) -> np.ndarray:
        """Return whether answers agree with the scale: 1, -1, or 0 for a tie.

        Parameters
        ----------
        X : Answers, or array-like
            As in `fit`; objects are matched by name.

        Returns
        -------
        ndarray of shape (n_trials,), int
            Of a trial that says several things the least of these.
        """
        check_is_fitted(self)
        given = self._given(X)
        return given.least(self._agree(given.answers))

    def score(
        self, X: AnswersLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the share of answers that agree with the scale; ties do not.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        answers = counted(self._given(X, y), sample_weight)
        return float(np.average(self._agree(answers) > 0, weights=answers.weights))

    def likelihood_ratio_test(self, larger: DifferenceScaling) -> LikelihoodRatio:
        """Test whether a model with more parameters fits the same answers better.

        Under this model, and with many answers, the difference of the deviances follows a
        chi-squared distribution with as many degrees of freedom as there are parameters more.

        Parameters
        ----------
        larger : DifferenceScaling
            Fitted to the same answers, with a model of which this one is a special case:
            "independent" of "additive" of "full".

        Returns
        -------
        LikelihoodRatio
            `statistic`, `df` and `p_value`.

        Raises
        ------
        ValueError
            If `larger` has another model, another link or other answers.

        Examples
        --------
        >>> import numpy as np
        >>> from skscreen import DifferenceScaling, read_answers
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(4, size=(600, 4))
        >>> first_is_greater = X[:, 0] - X[:, 2] + rng.normal(size=600) > 0.0
        >>> answers = read_answers(
        ...     X, [(0, 1), (2, 3)], kind="paired", chosen=first_is_greater, response="sign"
        ... )
        >>> one = DifferenceScaling(model="independent").fit(answers)
        >>> both = DifferenceScaling(model="additive").fit(answers)
        >>> bool(one.likelihood_ratio_test(both).p_value > 0.05)
        True
        """
        check_is_fitted(self)
        check_is_fitted(larger)
        models = self.model, larger.model
        if models not in combinations(MODELS, 2):
            raise ValueError(
                "larger must have a model of which this one is a special case, 'independent' of "
                f"'additive' of 'full'; got {models[1]!r}, and this one is {models[0]!r}."
            )
        if self.link != larger.link:
            raise ValueError(f"larger must have link={self.link!r}, got {larger.link!r}.")
        one, two = self.judgements_, larger.judgements_
        if not (
            np.array_equal(one.sides, two.sides)
            and np.array_equal(one.trials, two.trials)
            and np.allclose(one.weights, two.weights, rtol=1e-9, atol=0.0)
        ):
            raise ValueError("larger must be fitted to the same answers as this model.")
        df = larger.n_parameters_ - self.n_parameters_
        statistic = max(self.deviance_ - larger.deviance_, 0.0)
        return LikelihoodRatio(statistic, df, float(chi2.sf(statistic, df)))

    def bootstrap(
        self, n_samples: int = 1000, *, groups: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> scale_checks.ScaleBootstrap:  # fmt: skip
        """Fit the scale to simulated answers, or to participants drawn with replacement.

        Parameters
        ----------
        n_samples : int, default=1000
            At least 1.
        groups : array-like of shape (n_trials,), default=None
            Participant of each trial of the fit, such as ``answers.groups``. Participants are then
            drawn with replacement, each with all his or her answers. None simulates an answer to
            each question with the probability that the scale says, as boot.mlds of the R package
            MLDS does.
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
        return scale_checks.bootstrap(self, n_samples, groups, random_state)

    def goodness_of_fit(
        self, n_samples: int = 1000, *, random_state: int | np.random.RandomState | None = None
    ) -> scale_checks.GoodnessOfFit:
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
        return scale_checks.goodness_of_fit(self, n_samples, random_state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scale_")

    def _given(self, X: AnswersLike, y: ArrayLike | None = None) -> Given:
        """Return the answers that a method was given."""
        if self.model != "difference":
            return given_answers(X, y, kinds=("paired",), arrays=())
        return given_answers(X, y, kinds=("triplets", "quadruplets"))

    def _learn(self, answers: Answers) -> Judgements:
        """Return the answers of a fit for its model; set their objects."""
        if self.model == "difference":
            self.objects_ = answers.objects
            n = len(self.objects_)
            _check_hessian(n, "objects", "objects")
            self.n_pieces_ = int(pieces(answers.rows, n).max()) + 1
            return judgements_of(answers, n)
        self.objects_ = learn_levels(answers)
        shape = tuple(map(len, self.objects_))
        if self.model == "independent" and not self.attribute < len(shape):
            raise ValueError(
                f"attribute must be one of {len(shape)}, counted from 0, got {self.attribute}."
            )
        n = sum(shape) if self.model != "full" else int(np.prod(shape, dtype=np.float64))
        _check_hessian(n, "stimuli", "levels")
        stimuli = stimuli_of(answers, self.objects_)
        design = conjoint_design(stimuli, shape, self.model, self.attribute)
        weights = np.ones(len(stimuli)) if answers.weights is None else answers.weights
        self.n_pieces_ = count_pieces(stimuli, shape, self.model, self.attribute)
        return Judgements(design, weights, sides_of(stimuli[:, 0], stimuli[:, 1]), answers.trials)

    def _agree(self, answers: Answers) -> np.ndarray:
        """Return whether rows agree with the scale, 1, 0 or -1."""
        if self.model == "difference":
            rows = places_of(answers, self.objects_, strangers=True)
            known, agree = (rows >= 0).all(axis=1), np.zeros(len(rows), dtype=np.int64)
            agree[known] = np.sign(design_of(rows[known], len(self.scale_)) @ self.scale_[1:])
            return agree
        stimuli, shape = stimuli_of(answers, self.objects_), tuple(map(len, self.objects_))
        design = conjoint_design(stimuli, shape, self.model, self.attribute)
        return np.sign(design @ self.coef_).astype(np.int64)

    def _store(self, fit: ScaleFit, expected: np.ndarray) -> None:
        """Set the values of the scale and what is known of them, by Fisher's information."""
        self.dual_gap_, self.n_iter_ = fit.dual_gap, fit.n_iter
        if fit.dual_gap > self.tol:
            warn_user(
                f"{fit.n_iter} Newton steps brought the relative duality gap to "
                f"{fit.dual_gap:.3g}, not to tol={self.tol:g}. Raise max_iter, tol or reg.",
                ConvergenceWarning,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", linalg.LinAlgWarning)
            covariance = linalg.inv(expected)
        errors = np.sqrt(np.diag(covariance))
        if self.model == "difference":
            unit = float(np.abs(fit.values).max()) or 1.0
            self.scale_, self.noise_ = np.append(0.0, fit.values / unit), 1.0 / unit
            self.standard_errors_ = np.append(0.0, errors) / unit
            self.embedding_ = self.scale_[:, None].copy()
            return
        self.noise_ = 1.0
        shape = tuple(map(len, self.objects_))
        self.scales_, self.scale_ = stimulus_values(fit.values, shape, self.model, self.attribute)
        of_levels, of_stimuli = stimulus_values(errors, shape, self.model, self.attribute)
        self.standard_errors_ = of_stimuli if of_levels is None else of_levels


def _check_hessian(n: int, what: str, of_which: str) -> None:
    """Refuse Hessians that would not fit; there are four of them at a time."""
    check_memory(32.0 * n**2, f"A Hessian of {n:,} {what}", f"Use fewer {of_which}.")
