"""One-class support vector machines: a half-space or a sphere that keeps all but a few samples."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from skscreen.core.certificate import HISTORY
from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import StrOptions, fit_context
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget
from skscreen.fitting.progress import say
from skscreen.svm.estimator import BaseSVM, set_learned
from skscreen.svm.nu.decided import NuScreening, screening
from skscreen.svm.nu.estimator import OF_NU, warn_of
from skscreen.svm.nu.one_class_problem import Held, OneClassProblem, own_values
from skscreen.svm.nu.samples import known_duals
from skscreen.svm.problem import asked
from skscreen.svm.scores import DecisionRule, raw_scores

# Scores closer together than this share of them are not told apart.
_TOLERANCE = 1e-9


class ScreenedOneClassSVM(OutlierMixin, BaseSVM):
    r"""One-class support vector machine, solved exactly with a certificate: novelty, outliers.

    With :math:`f(x) = \langle w, \phi(x) \rangle` the fit minimises

    .. math::

        P(w, \rho) = \tfrac12 \lVert w \rVert^2 + \sum_i s_i \max(0, \rho - f(x_i))
        - \nu S \rho, \quad S = \sum_i s_i,

    with sample weights s_i: a half-space, far from the origin, that all but a share `nu` of the
    samples lie in. It stops on the duality gap of the full problem. The problem is that of
    scikit-learn's `OneClassSVM`.

    With ``shape="sphere"`` it is the smallest sphere that holds all but a share of the samples, the
    support vector data description of Tax and Duin,

    .. math::

        P(c, R) = R^2 + \frac{1}{\nu S} \sum_i s_i \max(0, \lVert \phi(x_i) - c \rVert^2 - R^2).

    For kernels with K(x, x) = 1, such as the RBF kernel, both call the same samples outliers.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]. At most this share of the weight of the training samples lies outside, at any
        `tol`, and at least this share are support vectors (at the optimum). It is no bound on the
        share of *new* samples that are called outliers, which is larger as a rule:
        `calibrate_offset` sets that.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        See `ScreenedSVC`. "linear" is solved by rows, without kernel values.
    gamma, degree, coef0
        See `ScreenedSVC`.
    shape : {"plane", "sphere"}, default="plane"
        What holds the samples. A sphere needs K(x, x) of new samples, which "precomputed" and
        functions do not tell.
    tol : float, default=1e-6
        Relative duality gap, > 0. For a half-space it is relative to 1/2 |w|^2 and the losses; P
        itself is negative. It is the same for any scale of the samples and of their weights.
    max_iter : int or None, default=None
        Limit of the steps of the solver; None and -1 are its own.
    shrinking : bool, default=True
        Ignored; there for programs written for `OneClassSVM`.
    cache_size : float, default=1000
        Megabytes for a kernel matrix, > 0. Fits of more than 1,000 samples have none.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the samples with a dual variable > 0, ascending.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features_in_)
        Empty for a precomputed kernel. CSR for sparse samples, and so are `coef_` and `dual_coef_`.
    dual_coef_ : ndarray of shape (1, n_SV)
        Dual variables alpha_i, at most s_i, whose sum is nu S. Of a sphere those of the centre,
        whose sum is 1.
    coef_ : ndarray of shape (1, n_features_in_)
        Weights of the features, for the linear kernel; of a sphere its centre.
    offset_ : float
        ``score_samples = decision_function + offset_``: rho, or -R^2.
    intercept_ : ndarray of shape (1,)
        Minus the offset.
    radius_ : float
        R, of a sphere.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    objective_ : float
        P.
    dual_gap_ : float
        Relative duality gap of the full problem; nan where there is no certificate, as the kernel
        is not positive semi-definite.
    gamma_ : float
        The value of gamma. Only for kernels with a gamma.
    n_iter_ : int
        Steps of the solver.
    history_ : structured ndarray
        What was known on the way: "iteration", "seconds", "primal", "dual", "gap"; the last is
        relative.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data or weights; the message names the argument. A ValueError where
        w = 0 is the solution: the origin is among what is kept. Then nu has to be larger.
    MemoryError
        If kernel matrices or systems would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.
    UserWarning
        If the kernel is not positive semi-definite: then the solution is LIBSVM's.

    See Also
    --------
    one_class_path : The solutions for many values of nu.

    Notes
    -----
    The offset is the best one for w, a quantile of the training scores, and not the mean over some
    support vectors; it is as much lower as rounding errors of scores may be, so that no sample on
    the boundary is outside.

    Samples of weight zero are ignored.

    References
    ----------
    B. Schölkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola, R. C. Williamson (2001). Estimating the
    support of a high-dimensional distribution. Neural Computation 13.

    D. M. J. Tax, R. P. W. Duin (2004). Support vector data description. Machine Learning 54.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import ScreenedOneClassSVM
    >>> rng = np.random.default_rng(0)
    >>> X, held_out = rng.normal(size=(2, 500, 2))
    >>> model = ScreenedOneClassSVM(nu=0.05).fit(X).calibrate_offset(held_out, 0.05)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    _parameter_constraints: ClassVar[dict] = {**OF_NU, "shape": [StrOptions({"plane", "sphere"})]}

    # What a `BaseSVM` asks for.
    fit_intercept, intercept, multi_class = True, "free", "one class"
    _decision: DecisionRule
    # |c|^2 of a sphere; the unit of a score; how far exact scores and offsets are, see `Held`.
    _square: float
    _unit: float
    _apart: tuple[float, float, float]

    def __init__(
        self, nu=0.5, *, kernel="rbf", gamma="scale", degree=3, coef0=0.0, shape="plane", tol=1e-6,
        max_iter=None, shrinking=True, cache_size=1000, verbose=0,
    ):  # fmt: skip
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.shape = shape
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: MatrixLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            How often a sample counts; samples of weights <= 0 are left out.

        Returns
        -------
        self
        """
        forget(self)
        problem = OneClassProblem(self, X, sample_weight)
        say(self.verbose, problem.road)
        with Tasks(self, 1, "fit") as tasks:
            held = problem.solve(float(self.nu), float(self.tol))
            tasks.end_task(1.0, held.solution)
        warn_of(self, [held.solution])
        return with_solution(self, problem, held)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return how far inside samples are: f(x) - rho, or R^2 - |phi(x) - c|^2.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
            Negative outside.
        """
        return self._decide(X)[0]

    def _decide(self, X: MatrixLike) -> tuple[np.ndarray, Any]:
        """Return the decision function, and samples as the kernel takes them."""
        check_is_fitted(self)
        X = asked(self, self._decision.kernel, X)
        if self.shape == "plane":
            return raw_scores(self, self._decision, X)[:, 0], X
        scores = raw_scores(self, self._decision, X)[:, 0] - self.intercept_
        own = own_values(self._decision.kernel, X, "shape='sphere'")
        return (2.0 * scores - own - self._square) + self.intercept_, X

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """Return f(x), or -|phi(x) - c|^2: the larger, the more usual.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            ``decision_function(X) + offset_``.
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Return 1 for samples inside, and on the boundary, and -1 for those outside.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def calibrate_offset(self, X: MatrixLike, rate: float) -> Self:
        """Set the offset by held-out usual samples: a share `rate` of false alarms, on average.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Usual samples, drawn as new ones will be, and not those of the fit: these lie further
            inside, and more than a share `rate` of new samples would be outside.
        rate : float
            False alarms among usual samples, in (0, 1).

        Returns
        -------
        self
            With another `offset_`, `intercept_` and `radius_`.

        Raises
        ------
        ValueError
            If there are too few samples for such a rate: fewer than 1 / rate - 1.

        Notes
        -----
        The offset is the k-th smallest score, k the whole part of rate (m + 1) for m samples. A new
        sample that is exchangeable with them has a lower score with a probability of at most k / (m
        + 1), whatever the distribution (split conformal prediction). Over draws of the samples the
        rate of false alarms varies by about sqrt(rate (1 - rate) / m).
        """
        if not isinstance(rate, Real) or not 0.0 < rate < 1.0:
            raise ValueError(f"rate must be a number in (0, 1), got {rate!r}.")
        scores = self.score_samples(X)
        place = int(np.floor(rate * (scores.size + 1) * (1.0 + 1e-12))) - 1
        if place < 0:
            raise ValueError(
                f"rate={rate:g} needs at least {int(np.ceil(1.0 / rate - 1.0))} samples in X, got "
                f"{scores.size}: with fewer no score is rare enough."
            )
        ends = [scores, scores]
        if self._apart[0] < np.inf and self._decision.kernel.name != "precomputed":
            width = self._apart[0] * np.sqrt(self._own_values(X)) * self._unit
            ends = [scores - width, scores + width]
        found, low, high = (float(np.partition(part, place)[place]) for part in (scores, *ends))
        self._set_offset(found)
        self._apart = self._apart[0], (found - low) / self._unit, (high - found) / self._unit
        return self

    def _own_values(self, X: MatrixLike) -> np.ndarray:
        return own_values(self._decision.kernel, asked(self, self._decision.kernel, X), "This")

    def _set_offset(self, offset: float) -> None:
        self.offset_, self.intercept_ = offset, np.array([-offset])
        if self.shape == "sphere":
            self.radius_ = float(np.sqrt(max(-offset, 0.0)))

    def certain(self, X: MatrixLike) -> np.ndarray:
        """Return which samples every exact solution puts on the same side.

        By the duality gap no exact score is further from that of this solution than sqrt(gap K(x,
        x)), and exact offsets, also of `calibrate_offset`, are between quantiles of scores moved by
        so much.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            All False where there is no certificate.

        Raises
        ------
        ValueError
            If the kernel is precomputed or a function, as K(x, x) is not known.
        """
        decision, X = self._decide(X)
        own = own_values(self._decision.kernel, X, "certain")
        radius, below, above = self._apart
        size = abs(self.offset_) + np.abs(decision + self.offset_)
        width = radius * np.sqrt(own) * self._unit + _TOLERANCE * size
        inside = decision - width > above * self._unit
        outside = decision + width < -below * self._unit
        return inside | outside

    def screened(
        self, X: MatrixLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NuScreening:
        """Return which training samples are outliers, or no support vectors, in any exact solution.

        Parameters
        ----------
        X, y, sample_weight
            As in the fit.

        Returns
        -------
        NuScreening

        Raises
        ------
        ValueError
            If X holds other samples than the fit did.
        """
        check_is_fitted(self)
        return screened_at(self, float(self.nu), X, sample_weight)


def with_solution(
    model: ScreenedOneClassSVM, problem: OneClassProblem, held: Held
) -> ScreenedOneClassSVM:
    """Set what an estimator learns from a solution; return it."""
    found, sphere = held.solution, problem.is_sphere
    unit = 2.0 / held.total if sphere else 1.0
    square = held.square / held.total**2
    offset = 2.0 / held.total * held.rho - square if sphere else held.rho
    scale = 1.0 / held.total if sphere else 1.0
    shown = found.shown(beta=scale * found.beta, w=None if found.w is None else scale * found.w)
    more = {
        "offset_": offset,
        "intercept_": np.array([-offset]),
        "objective_": held.objective,
        "history_": np.array(found.history_rows, HISTORY),
        "_square": square,
        "_unit": unit,
        "_apart": (held.radius, held.below, held.above),
    }
    if sphere:
        more["radius_"] = float(np.sqrt(max(-offset, 0.0)))
    return set_learned(model, problem.data, [shown], **more)


def fitted_at(
    model: ScreenedOneClassSVM, problem: OneClassProblem, held: Held
) -> ScreenedOneClassSVM:
    """Return a new estimator of one of several solutions."""
    return with_solution(clone_for(model, nu=held.solution.nu), problem, held)


def screened_at(
    model: ScreenedOneClassSVM, nu: float, X: MatrixLike, sample_weight: ArrayLike | None
) -> NuScreening:
    """Return what a fitted estimator proves about the samples of its fit at a nu."""
    problem = OneClassProblem(model, X, sample_weight, getattr(model, "gamma_", None))
    rows = problem.data.labels.rows
    beta = known_duals(model, problem.data)[0, rows]
    if model.shape == "sphere":
        beta = beta * float(model.nu) * float(problem.weights.sum())
    dual, region = problem.solver.region(beta, nu)
    return screening(nu, problem.data.X.shape[0], [(rows, dual, region, False)])
