"""Support vector machines with kernels, exact and with screening: `SVC` as users know it."""

import os
from numbers import Integral, Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, Options, StrOptions

from skscreen.fitting.store import Store
from skscreen.fitting.threads import N_JOBS
from skscreen.samples.gram import KERNELS
from skscreen.svm.estimator import BaseSVC
from skscreen.svm.problem import LOSSES, SOLVERS
from skscreen.svm.screening.rules import BOUNDS


class ScreenedSVC(BaseSVC):
    r"""Support vector classifier, solved exactly with safe screening and a certificate.

    For two classes, :math:`y_i = \pm 1`, and :math:`f(x) = \langle w, \phi(x) \rangle + b` the fit
    minimises

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i))

    with sample weights s_i: the problem of scikit-learn's `SVC`. It stops on the relative duality
    gap of the full problem, and leaves out on the way, provably, samples that cannot be support
    vectors or must be at the upper bound C s_i. More than two classes are told apart one against
    one, by votes, or one against the rest; these problems share one copy of the data or one kernel
    matrix.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in scikit-learn's `SVC`. `np.inf` is a hard margin, for
        classes that can be separated.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" is the loss of `SVC`, as in P. "squared_hinge", which `LinearSVC` has by default, is
        its square, C s_i max(0, 1 - y_i f(x_i))^2: its dual variables have no upper bound, so that
        screening proves alpha_i = 0 only.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        With scikit-learn's formulas. "linear" works on the rows of `X`, without a kernel matrix,
        where the intercept is penalised. A callable takes two arrays of samples and returns the
        matrix between them. Samples that are no rows of numbers, such as strings, are handed to it
        as they are, and the second array has all training samples. A kernel must be positive
        semi-definite, which "sigmoid" seldom is; see `indefinite`. Checked before on 256 samples
        and all pairs, and again by the certificate.
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid": 1 / (n_features * X.var()), 1 / n_features, or a number
        >= 0. The variance counts samples by their weights. With another kernel it is a warning.
    degree : int, default=3
        Of "poly", >= 0.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether there is a b; without it b = 0.
    intercept : {"free", "penalised"}, default="free"
        Whether b is not penalised at all, as in `SVC`, or by b^2 / (2 B^2) in addition to P: a
        feature of constant value B, as in `LinearSVC`; for a kernel K + B^2.
    intercept_scaling : float, default=1.0
        B > 0: the larger, the weaker the penalty of b. Not used by a free intercept.
    screening : {"intersection", "ball1", "ball2", "gap"} or None, default="intersection"
        What proves that samples can be left out; the solution is the same. "gap" uses the duality
        gap during the solve. The others also use the solution at another C, which paths and
        `memory` know: that solution and a bound around it prove where the margins can be, within
        one ball ("ball1"), another ("ball2"), or where both balls overlap ("intersection"), which
        decides most. (The paper's tests BT1, BT2 and IT.)
    solver : str, default="auto"
        Algorithm, see the notes: "coordinate-descent", "second-order" or "active-set" for the
        linear kernel with a penalised intercept, else "active-set" or "smo". "auto" chooses as it
        goes.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Most steps for one value of C, of all solvers together; None or -1 takes limits of
        the solvers that ordinary data do not meet.
    shrinking : bool, default=True
        Without effect: samples are left out by proof, see `screening`.
    probability : bool, default=False
        True is refused: ``CalibratedClassifierCV(ScreenedSVC(), ensemble=False)`` has
        probabilities, also in the place of ``SVC(probability=True)``.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are told apart: by a problem for each pair of classes, one against
        one, as in `SVC`, or for each class, one against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Of `decision_function` where classes are told apart one against one: a column a class, votes
        and less than half a vote for scores, or a column a pair, the scores.
    break_ties : bool, default=False
        Whether `predict` breaks ties of votes by the scores: it takes the largest entry of
        `decision_function`, else the first class with the most votes. For one against one, and not
        with ``decision_function_shape="ovo"``.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 of the weights of samples by class; one for those that a dict lacks.
        "balanced" makes the sum of weights of all classes equal.
    indefinite : {"error", "shift"}, default="error"
        What to do with a kernel matrix that is not positive semi-definite: refuse it, or add to its
        diagonal what its smallest eigenvalue lacks, see `kernel_shift_`. The kernel values of other
        samples stay as they are. Costs the eigenvalues of the matrix, for the kernels that may be
        indefinite. With a free intercept only the centred matrix needs to be positive
        semi-definite: kernels that are so conditionally, as -|x - x'| is, are no error.
    cache_size : float, default=1000
        Megabytes for kernel values, > 0. A larger kernel matrix is recomputed by rows, and each
        thread keeps that much of it.
    memory : str, path, Store or None, default=None
        A folder where solved problems are kept: fits of the same data with other values of C, in
        this process or another, start from the nearest ones and screen by them. So a grid search
        over C costs little more than a path for each fold. The solution is the same, within `tol`.
        Kernel matrices stay in the memory of the process. Fits of up to 150 samples take less time
        than a file, and have none. See `Store`.
    n_jobs : int or None, default=None
        Threads for the problems of more than two classes.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Order in which coordinate descent goes through the samples; None is the same as 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_problems, n_features_in_)
        Weights of the features, for the linear kernel. One problem for two classes, else one for
        each class or for each pair of classes, (0, 1), (0, 2), ..., (1, 2), ...; of a pair, scores
        are positive for the first class.
    intercept_ : ndarray of shape (n_problems,)
    support_ : ndarray of shape (n_SV,)
        Indices of the samples with a dual variable > 0 in some problem, by class.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features_in_)
        Empty for a precomputed kernel. CSR for sparse samples, and so are `coef_` and `dual_coef_`.
    dual_coef_ : ndarray of shape (n_problems, n_SV) or (n_classes - 1, n_SV)
        y_i alpha_i. One against one as in `SVC`: a sample has a row for each other class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    kernel_shift_ : ndarray of shape (n_problems,)
        What was added to the diagonal of the kernel matrix of each problem; 0 for definite kernels.
    objective_ : ndarray of shape (n_problems,)
        P(w, b).
    dual_gap_ : float
        (P - D) / P of the full problem, the largest of all problems.
    n_iter_ : ndarray of shape (n_problems,)
        Steps of the solver.
    screening_history_ : list of ScreeningEvent
        For each screening step how many samples are proved to have alpha_i = 0 ("zero") and
        alpha_i = C s_i ("linear"); lam = 1 / C. Empty for problems one against one that share
        kernel values.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, labels or weights; the message names the argument.
    MemoryError
        If kernel matrices, systems of Newton's method or the solutions of many classes would not
        fit into the free memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    See Also
    --------
    ScreenedLinearSVC : The linear kernel on the rows of `X`, with a penalised intercept.

    Notes
    -----
    "auto" begins a linear problem with coordinate descent and goes over to a second-order method
    (smoothed Newton) or, on wide data, to an active-set method where that is estimated to be
    cheaper: when C is large. With kernels, and for a free intercept, SMO begins and the active-set
    method ends. Both need kernel values, of the linear kernel too; what `cache_size` cannot hold is
    computed again and again.

    If at most 500 samples have a margin of 1, a final linear solve usually brings the gap below
    1e-12, far below `tol`; not for linear problems of sparse data with more than 100,000 entries.

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
    >>> from skscreen import ScreenedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), ScreenedSVC())
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "loss": [StrOptions(set(LOSSES))],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept": [StrOptions({"penalised", "free"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "screening": [StrOptions(BOUNDS.keys()), None],
        "solver": [StrOptions({*SOLVERS["linear"], *SOLVERS["kernel"]})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "shrinking": ["boolean"],
        "probability": ["boolean"],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "indefinite": [StrOptions({"error", "shift"})],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "memory": [str, os.PathLike, Store, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        fit_intercept=True,
        intercept="free",
        intercept_scaling=1.0,
        screening="intersection",
        solver="auto",
        tol=1e-6,
        max_iter=None,
        shrinking=True,
        probability=False,
        multi_class="ovo",
        decision_function_shape="ovr",
        break_ties=False,
        class_weight=None,
        indefinite="error",
        cache_size=1000,
        memory=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
    ):
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.intercept = intercept
        self.intercept_scaling = intercept_scaling
        self.screening = screening
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.probability = probability
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.class_weight = class_weight
        self.indefinite = indefinite
        self.cache_size = cache_size
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
