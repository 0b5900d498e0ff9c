"""Perceptual scales from comparisons of differences, for objects in a known order."""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit, log_expit, log_ndtr
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscreen.core.memory import check_memory
from skscreen.embedding.problem.answers import (
    Answers,
    Layout,
    check_total,
    learn_answers,
    read_answers,
    usable_answers,
)
from skscreen.embedding.problem.objects import learn_objects
from skscreen.embedding.problem.responses import RESPONSES
from skscreen.embedding.tools.chance import warn_at_chance
from skscreen.fitting.warning import warn_user

_HALVINGS = 60
# Fewer triplets than this may all have their pivot at an end by chance.
_LEAST_TRIADS = 20
# Smallest total weight whose reciprocal is finite.
_SMALLEST_TOTAL = 1e-200

# Matrices of the size of the Hessian at a time.
_MATRICES = 4


class DifferenceScaling(BaseEstimator):
    r"""Perceptual scale by maximum likelihood difference scaling (MLDS).

    The objects have a known order, such as that of their contrast, and each answer compares two
    differences. With a value s_v for each object, s_0 = 0, the answer "i and j differ less than l
    and k", with i before j and l before k, has the probability

    .. math::

        F(z), \quad z = (s_k - s_l) - (s_j - s_i),

    where F is the normal or the logistic distribution function. The fit minimises the weighted mean
    of -log F(z) over all answers, plus reg / 2 |s|^2. This is a generalised linear model.

    Parameters
    ----------
    link : {"probit", "logit"}, default="probit"
        Distribution function: normal, for noise of standard deviation 1, or logistic.
    reg : float, default=1e-6
        Strength of the ridge, from 1e-12 to 1e12, which makes the solution unique and finite.
    objects : int, array-like of shape (n_objects,) or None, default=None
        Names of the objects in their order, required if X holds names; or the number of objects 0,
        1, 2, ... None takes the numbers that occur in X, in their order.
    columns : list or None, default=None
        Columns of X that hold the objects, in their order, by label or by number; None is all.
    pivot : label, int or None, default=None
        In triplets, the column of the object that is compared with the two others; None is the
        first.
    response : {"auto", "position", "chosen", "sign", "count"}, default="auto"
        What y holds; see `OrdinalEmbedding`.
    tol : float, default=1e-8
        The fit stops when the objective is provably within this relative distance of its minimum.
    max_iter : int, default=100
        Largest number of Newton steps.

    Attributes
    ----------
    scale_ : ndarray of shape (n_objects,)
        Values of the objects: 0 for the first one, in units of the one that is largest in size,
        which is 1, or -1 if the answers say that the order is the reverse.
    noise_ : float
        Standard deviation (for "logit", scale) of the noise of a judgement, in the units of
        `scale_`.
    standard_errors_ : ndarray of shape (n_objects,)
        Standard errors of `scale_` for a fixed unit, from the curvature of the likelihood; 0 for
        the first object.
    log_likelihood_ : float
        Log-likelihood, as a weighted sum over the answers.
    dual_gap_ : float
        Bound on the relative distance of the objective from its minimum.
    embedding_ : ndarray of shape (n_objects, 1)
        `scale_` as an embedding.
    objects_ : ndarray of shape (n_objects,)
    n_iter_ : int

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
        other objects, or if the answers agree with the scale no better than random answers would.

    Notes
    -----
    The ridge makes the objective strongly convex: if its gradient is g, it is above its minimum by
    at most |g|^2 / (2 reg). `tol` limits this bound relative to the objective. If no answers
    contradict each other, the likelihood has no maximum, and only the ridge keeps the scale finite;
    `noise_` is then small and meaningless. The values need not be monotone in the order.

    References
    ----------
    L. T. Maloney, J. N. Yang (2003). Maximum likelihood difference scaling. Journal of Vision 3, 5.

    K. Knoblauch, L. T. Maloney (2008). MLDS: maximum likelihood difference scaling in R. Journal of
    Statistical Software 25(2). Section 2.3, the generalised linear model.

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
        "link": [StrOptions({"probit", "logit"})],
        "reg": [Interval(Real, 1e-12, 1e12, closed="both")],
        "objects": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "columns": [list, tuple, np.ndarray, None],
        "pivot": [object],
        "response": [StrOptions(RESPONSES)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        link="probit",
        reg=1e-6,
        objects=None,
        columns=None,
        pivot=None,
        response="auto",
        tol=1e-8,
        max_iter=100,
    ):
        self.link = link
        self.reg = reg
        self.objects = objects
        self.columns = columns
        self.pivot = pivot
        self.response = response
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sample_weight=None) -> Self:
        """Find the scale.

        Parameters
        ----------
        X, y, sample_weight
            Answers as `OrdinalEmbedding.fit` takes them: triplets (i, j, k), i differs less from j
            than from k, or quadruplets (i, j, l, k), i and j differ less than l and k. Objects are
            0, 1, 2, ... in their order, or names, whose order is given by `objects`.

        Returns
        -------
        DifferenceScaling
        """
        vars(self).pop("scale_", None)
        answers = self._read(X, y, sample_weight)
        design = _design(answers.rows, len(self.objects_))
        m = len(answers.rows)
        weights = np.ones(m) if answers.weights is None else answers.weights
        values, hessian = self._minimise(design, weights / weights.sum())
        unit = float(np.abs(values).max()) or 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", linalg.LinAlgWarning)
            covariance = linalg.inv(hessian) / max(weights.sum(), _SMALLEST_TOTAL)
        self.scale_ = np.append(0.0, values / unit)
        self.noise_ = 1.0 / unit
        self.standard_errors_ = np.append(0.0, np.sqrt(np.diag(covariance))) / unit
        self.log_likelihood_ = float(weights @ _log_distribution(self.link, design @ values))
        self.embedding_ = self.scale_[:, None].copy()
        hint = "the pivot, what y holds (response) and the order of objects"
        right = self._agree(answers.rows) > 0
        warn_at_chance(right, answers.weights, len(self.scale_) - 2, 0.5, hint)
        return self

    def predict(self, X) -> np.ndarray:
        """Return whether answers agree with the scale: 1, -1, or 0 for a tie.

        Parameters
        ----------
        X : array-like of shape (n_answers, 3) or (n_answers, 4)

        Returns
        -------
        ndarray of shape (n_answers,), int
        """
        check_is_fitted(self)
        return self._agree(read_answers(X, layout=Layout.of(self), objects=self.objects_).rows)

    def score(self, X, y=None, sample_weight=None) -> float:
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
        layout = Layout.of(self, self.response_)
        rows, weights, _ = read_answers(X, y, sample_weight, layout, objects=self.objects_)
        check_total(weights)
        return float(np.average(self._agree(rows) > 0, weights=weights))

    def __sklearn_tags__(self):
        """Say that indices of objects are not negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scale_")

    def _agree(self, rows: np.ndarray) -> np.ndarray:
        known = (rows < len(self.scale_)).all(axis=1)
        agree = np.zeros(len(rows), dtype=np.int64)
        agree[known] = np.sign(_design(rows[known], len(self.scale_)) @ self.scale_[1:])
        return agree

    def _read(self, X, y, sample_weight) -> Answers:
        learn = partial(learn_objects, objects=self.objects, ordered=True)
        declared = self.objects is not None
        answers, self.objects_, self.response_ = learn_answers(
            X, y, sample_weight, Layout.of(self), learn, declared=declared
        )
        n = len(self.objects_)
        answers = usable_answers(answers, equal=True)
        if self.pivot is None:
            _warn_of_pivot(answers.rows)
        check_memory(_MATRICES * 8.0 * n**2, f"A Hessian of {n:,} objects", "Use fewer objects.")
        self.n_features_in_ = answers.rows.shape[1]
        return answers

    def _minimise(self, design, weights) -> tuple[np.ndarray, np.ndarray]:
        """Values of all objects but the first, and the Hessian there."""
        values, steps = np.zeros(design.shape[1]), 0
        objective, gradient, hessian = self._evaluate(design, weights, values)
        while True:
            self.dual_gap_ = float(gradient @ gradient) / (2.0 * self.reg * objective)
            if self.dual_gap_ <= self.tol or steps == self.max_iter:
                break
            step = linalg.solve(hessian, gradient, assume_a="pos")
            length, before = 1.0, objective
            for _ in range(_HALVINGS):
                found = self._evaluate(design, weights, values - length * step)
                if found[0] < before:
                    break
                length *= 0.5
            else:
                # Rounding errors prevent further progress.
                break
            values, steps = values - length * step, steps + 1
            objective, gradient, hessian = found
        self.n_iter_ = steps
        if self.dual_gap_ > self.tol:
            warn_user(
                f"{steps} Newton steps brought the objective to within {self.dual_gap_:.3g} of its "
                f"minimum, not to tol={self.tol:g}. Raise max_iter, tol or reg.",
                ConvergenceWarning,
            )
        return values, hessian

    def _evaluate(self, design, weights, values):
        z = design @ values
        logs = _log_distribution(self.link, z)
        if self.link == "probit":
            slopes = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - logs)
            curvatures = slopes * np.maximum(z + slopes, 0.0)
        else:
            slopes = expit(-z)
            curvatures = slopes * expit(z)
        objective = -float(weights @ logs) + 0.5 * self.reg * float(values @ values)
        gradient = -(design.T @ (weights * slopes)) + self.reg * values
        hessian = (design.T @ design.multiply((weights * curvatures)[:, None])).toarray()
        return objective, gradient, hessian + self.reg * np.eye(len(values))


def _warn_of_pivot(rows: np.ndarray) -> None:
    """Warn where the pivot of triplets is at an end in all, as in triads sorted by level."""
    if rows.shape[1] == 4 or len(rows) < _LEAST_TRIADS:
        return
    pivot, others = rows[:, 0], np.sort(rows[:, 1:], axis=1)
    if not np.any((others[:, 0] < pivot) & (pivot < others[:, 1])):
        warn_user(
            "The first object of a triplet is never between the two others, which its answers then "
            "say little about. Pass pivot=1 (or its label) if the second column is compared with "
            "both others, as in triads of MLDS, or pivot=0 if the first is."
        )


def _log_distribution(link: str, z: np.ndarray) -> np.ndarray:
    return log_ndtr(z) if link == "probit" else log_expit(z)


def _design(rows: np.ndarray, n_objects: int) -> sparse.csr_array:
    """Matrix of z in the values of all objects but the first."""
    i, j, l, k = rows.T if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]].T
    columns = [np.maximum(l, k), np.minimum(l, k), np.maximum(i, j), np.minimum(i, j)]
    entries = np.repeat([1.0, -1.0, -1.0, 1.0], len(rows))
    places = np.tile(np.arange(len(rows)), 4), np.concatenate(columns)
    full = sparse.csr_array((entries, places), shape=(len(rows), n_objects))
    return full[:, 1:]
