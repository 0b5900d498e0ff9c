"""Perceptual scales from comparisons of differences, for objects in a known order."""

import warnings
from functools import partial
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import linalg
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skscreen.core.inputs import same_pairs
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import Interval, StrOptions, fit_context, num_samples
from skscreen.embedding.problem.answers import (
    Layout,
    check_total,
    learn_answers,
    usable_answers,
    weights_of,
)
from skscreen.embedding.problem.reading.columns import TELLING
from skscreen.embedding.problem.reading.conjoint import (
    MODELS,
    conjoint_design,
    learn_levels,
    read_conjoint,
    stimulus_values,
)
from skscreen.embedding.problem.reading.objects import learn_objects
from skscreen.embedding.problem.reading.responses import RESPONSES
from skscreen.embedding.problem.reading.table import read_table, refuse_other_rows
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
from skscreen.embedding.scale_checks import ScaleChecksMixin
from skscreen.embedding.tools.fitted import (
    answers_after_fit,
    check_columns_of_fit,
    learn_columns,
    learned_columns,
)
from skscreen.embedding.verdict import warn_at_chance, warn_of_pivot, warn_one_sided
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


class DifferenceScaling(CallbackSupportMixin, ScaleChecksMixin, BaseEstimator):
    r"""Perceptual scales by maximum likelihood: of differences (MLDS) and conjoint (MLCM).

    The objects have a known order, such as that of their contrast, and each answer compares two
    differences. With a value s_v for each object, s_0 = 0, the answer "i and j differ less than l
    and k", with i before j and l before k, has the probability

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
    objects : int, array-like of shape (n_objects,) or None, default=None
        Names of the objects in their order, required if X holds names; or the number of objects 0,
        1, 2, ... None takes the numbers that occur in X, in their order. With a conjoint model a
        list of that for each attribute.
    columns, pivot, response
        What y and the columns of X hold; see `OrdinalEmbedding`.
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
        The answers of the fit as rows of this model: `design`, `weights`, `sides` and `trials`, the
        rows of X.
    n_trials_ : int
        Number of rows of X.
    weight_ : float
        Number of answers, or the sum of their weights.
    dual_gap_ : float
        Relative duality gap.
    embedding_ : ndarray of shape (n_objects, 1)
        `scale_` as an embedding.
    objects_ : ndarray of shape (n_objects,)
    n_iter_ : int
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number of columns of X, and their names, if they are all strings.

    Raises
    ------
    ValueError
        For invalid parameters or answers; the message names the argument.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`.
    UserWarning
        If answers that no scale could satisfy are left out, if the pivot is never between the two
        other objects, if all answers say that the higher pair differs more, or if they agree with
        the scale no better than random answers would.

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
        "objects": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "columns": ["array-like", None],
        "pivot": [object],
        "response": [StrOptions(RESPONSES)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self, *, model="difference", attribute=0, link="probit", reg=1e-9, objects=None,
        columns=None, pivot=None, response="auto", tol=1e-8, max_iter=None, verbose=0,
    ):  # fmt: skip
        self.model = model
        self.attribute = attribute
        self.link = link
        self.reg = reg
        self.objects = objects
        self.columns = columns
        self.pivot = pivot
        self.response = response
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Find the scale.

        Parameters
        ----------
        X : array-like of shape (n_answers, 3) or (n_answers, 4)
            Answers as `OrdinalEmbedding.fit` takes them: triplets (i, j, k), i differs less from j
            than from k, or quadruplets (i, j, l, k), i and j differ less than l and k. With a
            conjoint model, of shape (n_answers, 2 n_attributes): for each attribute its level in
            the first and in the second of two stimuli.
        y : array-like of shape (n_answers,), optional
            What was answered, as `response` says. With a conjoint model True or 1 where the first
            stimulus is the greater one, False, -1 or 0 where the second is.
        sample_weight : array-like of shape (n_answers,), optional
            Weights >= 0 of the answers.

        Returns
        -------
        DifferenceScaling
        """
        forget(self)
        judged = self._read(X, y, sample_weight)
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
        self.n_trials_ = num_samples(X)
        z = design @ fit.values
        self.log_likelihood_ = float(counts @ log_distribution(self.link, z))
        self.deviance_, self.n_parameters_ = -2.0 * self.log_likelihood_, len(fit.values)
        self.weight_ = float(counts.sum())
        penalty = 0.5 * self.reg * float(fit.values @ fit.values)
        self.objective_ = penalty - self.log_likelihood_ / self.weight_
        hint = "the pivot, what y holds (response) and the order of objects"
        if self.model != "difference":
            hint = "the attribute, what y holds (response) and the order of the columns"
        # The unit of the values changes no answer.
        told = z != 0.0
        if (
            not warn_at_chance(z[told] > 0.0, counts[told], len(fit.values) - 1, 0.5, hint)
            and self.model == "difference" and len(z) >= TELLING and fit.values[-1] < 0.0
        ):  # fmt: skip
            warn_user(
                "The scale falls from the first object to the last one, as if the answers were "
                "reversed: a row says that its second pair differs more, or with y False, -1 or 0 "
                "that its first does. Pass the reverse of y, or objects in ascending order."
            )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return whether answers agree with the scale: 1, -1, or 0 for a tie.

        Parameters
        ----------
        X : array-like of shape (n_answers, n_columns)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_answers,), int
        """
        check_is_fitted(self)
        return self._agree(X, None, None, self.response)[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        agree, weights = self._agree(X, y, sample_weight, self.response_)
        check_total(weights)
        return float(np.average(agree > 0, weights=weights))

    def likelihood_ratio_test(self, larger: "DifferenceScaling") -> LikelihoodRatio:
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
        >>> from skscreen import DifferenceScaling
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(4, size=(600, 4))
        >>> first_is_greater = X[:, 0] - X[:, 1] + rng.normal(size=600) > 0.0
        >>> one = DifferenceScaling(model="independent").fit(X, first_is_greater)
        >>> both = DifferenceScaling(model="additive").fit(X, first_is_greater)
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

    def __sklearn_tags__(self):
        """Say that indices of objects are not negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scale_")

    def _read(self, X, y, sample_weight) -> Judgements:
        """Read the answers of a fit; set what they tell."""
        if self.model != "difference":
            refuse_other_rows(X, y, "y")
            table = read_table(X, self.columns)
            self.objects_ = learn_levels(table, self.objects)
            self.response_ = self.response
            learn_columns(self, X, table.codes.shape[1])
            return self._conjoint(table, y, sample_weight)
        learn = partial(learn_objects, ordered=True)
        answers, self.objects_, self.response_ = learn_answers(
            X, y, sample_weight, Layout.of(self), self.objects, learn
        )
        n = len(self.objects_)
        _refuse_conjoint(answers.rows)
        answers = usable_answers(answers, equal=True)
        if self.pivot is None:
            warn_of_pivot(answers.rows)
        if y is not None:
            warn_one_sided(answers.rows, self.response_)
        if not np.any(answers.rows == 0):
            warn_user(
                f"The first of the objects, {self.objects_[0]!s}, is in no answer of X: the scale, "
                "which is 0 there, says how the others differ from each other only."
            )
        _check_hessian(n, "objects", "objects")
        learn_columns(self, X, answers.rows.shape[1])
        return judgements_of(answers, n)

    def _conjoint(self, table, y, sample_weight) -> Judgements:
        """Read conjoint trials."""
        trials = read_conjoint(table, y, self.objects_, self.response_)
        shape = tuple(map(len, self.objects_))
        n = sum(shape) if self.model != "full" else int(np.prod(shape, dtype=np.float64))
        _check_hessian(n, "stimuli", "levels")
        if self.model == "independent" and not self.attribute < len(shape):
            raise ValueError(
                f"attribute must be one of {len(shape)}, counted from 0, got {self.attribute}."
            )
        weights = weights_of(sample_weight, trials, len(table.codes))
        check_total(weights)
        weights = np.ones(len(trials.rows)) if weights is None else weights
        design = conjoint_design(trials, shape, self.model, self.attribute)
        return Judgements(design, weights, sides_of(trials.first, trials.second), trials.rows)

    def _agree(self, X, y, sample_weight, response) -> tuple[np.ndarray, np.ndarray | None]:
        """Whether answers agree, 1, 0 or -1, and their weights."""
        if self.model != "difference":
            check_columns_of_fit(self, X)
            refuse_other_rows(X, y, "y")
            table = read_table(X, self.columns, learned=learned_columns(self))
            judged = self._conjoint(table, y, sample_weight)
            return np.sign(judged.design @ self.coef_).astype(np.int64), judged.weights
        rows, weights, _ = answers_after_fit(self, X, y, sample_weight, response)
        known = (rows < len(self.scale_)).all(axis=1)
        agree = np.zeros(len(rows), dtype=np.int64)
        agree[known] = np.sign(design_of(rows[known], len(self.scale_)) @ self.scale_[1:])
        return agree, weights

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


def _refuse_conjoint(rows: np.ndarray) -> None:
    """Raise where many quadruplets compare nothing, as levels of two attributes would."""
    if rows.shape[1] == 4 and len(rows) >= TELLING:
        count = int(np.count_nonzero(same_pairs(rows)))
        if count > 0.1 * len(rows):
            raise ValueError(
                f"X must compare two pairs of different objects; {count} of its {len(rows)} rows "
                "name an object twice. If a row has the levels of two attributes in two stimuli, "
                "(first, second) of the one and of the other, pass model='additive'."
            )
