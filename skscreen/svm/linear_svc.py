"""Linear support vector machines, exact and with screening: `LinearSVC` as users know it."""

import os
from numbers import Integral, Real
from typing import ClassVar

from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils._param_validation import Interval, StrOptions

from skscreen.fitting.store import Store
from skscreen.fitting.threads import N_JOBS
from skscreen.svm.estimator import BaseSVC
from skscreen.svm.problem import LOSSES, SOLVERS
from skscreen.svm.screening.rules import BOUNDS


class ScreenedLinearSVC(SparseCoefMixin, BaseSVC):
    r"""Linear support vector classifier, solved exactly with safe screening and a certificate.

    For two classes, :math:`y_i = \pm 1`, and :math:`f(x) = \langle w, x \rangle + b` the fit
    minimises

    .. math::

        P(w, b) = \tfrac12 (\lVert w \rVert^2 + b^2 / B^2) + C \sum_i s_i \max(0, 1 - y_i f(x_i))^2

    with sample weights s_i and B = `intercept_scaling`: the problem of scikit-learn's `LinearSVC`,
    with its penalised intercept. It stops on the relative duality gap of the full problem, and
    leaves out on the way, provably, samples that cannot be support vectors. More classes are told
    apart one against the rest. `X` is used as it is, dense or sparse; no kernel matrix is formed.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in `LinearSVC`.
    penalty : {"l2"}, default="l2"
        There is no other.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The square as in P, or the hinge C s_i max(0, 1 - y_i f(x_i)) itself, whose dual variables
        are at most C s_i.
    dual : bool or "auto", default="auto"
        Without effect: the primal and the dual problem are solved together, which is what
        certifies the solution.
    multi_class : {"ovr"}, default="ovr"
        There is no other here; `ScreenedSVC` has more.
    fit_intercept : bool, default=True
        Whether there is a b; without it b = 0.
    intercept_scaling : float, default=1.0
        B > 0: the larger, the weaker the penalty of b.
    screening : {"intersection", "ball1", "ball2", "gap"} or None, default="intersection"
        What proves that samples can be left out, see `ScreenedSVC`.
    solver : {"auto", "coordinate-descent", "second-order", "active-set"}, default="auto"
        Algorithm, see the notes. "auto" chooses as it goes.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Most steps of each problem; None takes limits of the solvers that ordinary data do
        not meet.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 of the weights of samples by class; one for those that a dict lacks.
        "balanced" makes the sum of weights of all classes equal.
    memory : str, path, Store or None, default=None
        A folder where solved problems are kept, from which fits with another C start; see
        `ScreenedSVC`.
    n_jobs : int or None, default=None
        Threads for the problems of more than two classes.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Order in which coordinate descent goes through the samples; None is the same as 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features_in_), or CSR after `sparsify`
        Weights of the features. One problem for two classes, else one for each class.
    intercept_ : ndarray of shape (n_problems,)
    support_, support_vectors_, dual_coef_, n_support_
        The samples with a dual variable > 0 in some problem, as for `ScreenedSVC`.
    objective_ : ndarray of shape (n_problems,)
        P(w, b).
    dual_gap_ : float
        (P - D) / P of the full problem, the largest of all problems.
    n_iter_ : int
        Steps of the solver, the most of all problems.
    screening_history_ : list of ScreeningEvent
        For each screening step how many samples are proved to have alpha_i = 0 ("zero") and
        alpha_i = C s_i ("linear", of the hinge only); lam = 1 / C.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, labels or weights; the message names the argument.
    MemoryError
        If systems of Newton's method or the solutions of many classes would not fit into the free
        memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    See Also
    --------
    ScreenedSVC : With kernels, or with an intercept that is not penalised.
    PragamSVC : The problem without a penalty of the intercept, to a lower precision.

    Notes
    -----
    Of the squared hinge "second-order" is Newton's method on P. "auto" takes it for narrow data,
    and coordinate descent for wide ones; with more than two classes on wide rows of few entries it
    begins with all problems at once, whose weights are then read together, in single precision,
    and each goes on from there in double precision. Of the hinge "auto" begins with coordinate
    descent and goes over to a second-order method (smoothed Newton) or, on wide data, to an
    active-set method where that is estimated to be cheaper: when C is large.

    If at most 500 samples have a margin of 1, or below 1 with the squared hinge, a final linear
    solve usually brings the gap below 1e-12, far below `tol`; not for sparse data with more than
    100,000 entries.

    A sample of weight zero is left out. Class weights belong to the true class of a sample, also
    where it is one of the rest.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Problem (1), Theorem 8, Lemma 9.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skscreen import ScreenedLinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ScreenedLinearSVC())
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "penalty": [StrOptions({"l2"})],
        "loss": [StrOptions(set(LOSSES))],
        "dual": ["boolean", StrOptions({"auto"})],
        "multi_class": [StrOptions({"ovr"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "screening": [StrOptions(BOUNDS.keys()), None],
        "solver": [StrOptions(set(SOLVERS["linear"]))],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "memory": [str, os.PathLike, Store, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    # What `ScreenedSVC` leaves open.
    kernel, gamma, degree, coef0, cache_size = "linear", "scale", 3, 0.0, 1000
    intercept, decision_function_shape, break_ties = "penalised", "ovr", False
    sparse_coefs, counts_together = False, True

    def __init__(
        self,
        C=1.0,
        *,
        penalty="l2",
        loss="squared_hinge",
        dual="auto",
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1.0,
        screening="intersection",
        solver="auto",
        tol=1e-6,
        max_iter=None,
        class_weight=None,
        memory=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.screening = screening
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
