"""Support vector machines with kernels, exact and with screening: `SVC` as users know it."""

from typing import ClassVar

from skscreen.core.sklearn_private import StrOptions
from skscreen.samples.multiclass import LOSSES
from skscreen.svm.estimator import BaseSVC
from skscreen.svm.parameters import KERNEL, OF_CLASSES
from skscreen.svm.screened.own import OwnScreening


class ScreenedSVC(OwnScreening, BaseSVC):
    r"""Support vector classifier, solved exactly with safe screening and a certificate.

    For two classes, :math:`y_i = \pm 1`, and :math:`f(x) = \langle w, \phi(x) \rangle + b` the fit
    minimises

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2 + C \sum_i s_i \max(0, 1 - y_i f(x_i))

    with sample weights s_i: the problem of scikit-learn's `SVC`. It stops on the relative duality
    gap of the full problem. Where this saves time, it drops samples that provably cannot be support
    vectors or must be at the upper bound C s_i. More than two classes are handled one-vs-one, by
    votes, or one-vs-rest; these problems share one copy of the data, and kernel values.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in scikit-learn's `SVC`. `np.inf` is a hard margin, for
        separable classes.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "hinge" is the loss of `SVC`, as in P. "squared_hinge", the default of `LinearSVC`, is its
        square, C s_i max(0, 1 - y_i f(x_i))^2. Its dual variables have no upper bound, so screening
        can only prove alpha_i = 0.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        The same formulas as in scikit-learn. "linear" works on the rows of `X`, without a kernel
        matrix. A callable takes two sets of samples and returns the kernel matrix between them,
        which becomes `float64`. It is called as by `SVC`, with the samples as they are given, of
        whatever kind, and its second argument is always the set of all training samples, which the
        model keeps. For many new samples it is called for blocks of them, so that the matrix of a
        block takes an eighth of scikit-learn's `working_memory`, 128 MB by default. A kernel
        should be positive semi-definite, which "sigmoid" seldom is; see `indefinite`. This is
        checked before the fit on 256 samples and, if the matrix fits into `cache_size`, on all
        pairs, and again by the certificate.
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid": 1 / (n_features * X.var()), 1 / n_features, or a number >=
        0. The variance is weighted by the sample weights. Ignored by other kernels.
    degree : int, default=3
        Of "poly", >= 0.
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    fit_intercept : bool, default=True
        Whether to fit an intercept b; otherwise b = 0.
    intercept : {"free", "penalised"}, default="free"
        "free": b is not penalised, as in `SVC`. "penalised": b^2 / (2 B^2) is added to P, as in
        `LinearSVC`; this is the same as a constant feature of value B, or the kernel K + B^2.
    intercept_scaling : float, default=1.0
        B > 0; the larger, the weaker the penalty on b. Not used by a free intercept.
    screening : bool or {"intersection", "ball1", "ball2", "gap"}, default=True
        Whether samples are dropped, and which bounds prove that they can be; the solution does not
        depend on it. True is what pays: "intersection" for the linear kernel, "gap" for others.
        "gap" uses the duality gap at the end of the solve, and with rows during it. The others also
        use the solution at another C, if a path or `store` provides one: it
        bounds the margins within the ball of the scaled solution ("ball1"), the ball of dual
        variables that its margins suggest ("ball2"), or the intersection of both ("intersection"),
        which decides most. These are the tests BT1, BT2 and IT of the paper. With `store`, and for
        the squared hinge, all three are "ball1".
    solver : str, default="auto"
        Algorithm for the linear kernel, see the notes: "coordinate-descent" or "second-order".
        "auto" chooses, and switches during the fit. Other kernels have one algorithm.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of steps for one value of C, of all solvers together. None and -1 mean limits
        that ordinary data do not reach.
    shrinking : bool, default=True
        Has no effect: screening takes its place, see `screening`.
    probability : bool, default=False
        Whether to have `predict_proba`, for which samples are scored in 5 folds, as in `SVC`; with
        the warning of scikit-learn 1.9 that such a parameter goes. Better use
        ``CalibratedClassifierCV(ScreenedSVC(), ensemble=False)``.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How to handle more than two classes: one-vs-one, a problem for each pair of classes as in
        `SVC`, or one-vs-rest, a problem for each class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function` for one-vs-one. "ovr": a column for each class, with its votes
        plus less than half a vote for its scores. "ovo": a column for each pair, with its scores.
    break_ties : bool, default=False
        Whether `predict` breaks ties in the votes by the scores, by taking the largest entry of
        `decision_function`; otherwise it returns the first class with the most votes. For
        one-vs-one, and not with ``decision_function_shape="ovo"``.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 that multiply the weights of the samples of each class, 1 for classes not in
        the dict. "balanced" gives all classes the same total weight. With "ovr" and more than two
        classes a class weight counts in the problem of its class; the samples of the rest have
        their sample weights there, as in `LinearSVC`.
    indefinite : {"warn", "error", "shift"}, default="warn"
        What to do if the kernel matrix is not positive semi-definite. "warn" warns and takes the
        solution of LIBSVM, as `SVC` does; nothing certifies it, and `dual_gap_` is nan. LIBSVM
        solves problems with the hinge and a free intercept; for others "warn" warns and is "shift".
        "error" raises an error. "shift" adds a constant to the diagonal that makes the smallest
        eigenvalue zero, see `kernel_shift_`; kernel values with other samples are not changed. For
        kernels that may be indefinite this takes an eigenvalue decomposition. With a free intercept
        only the centred matrix must be positive semi-definite, so conditionally positive definite
        kernels such as -|x - x'| are solved as others.
    cache_size : float, default=1000
        Megabytes for a kernel matrix, > 0. If it is larger, values are recomputed as needed. Single
        fits of more than 2,000 samples have no matrix.
    store : str, path, Store or None, default=None
        A folder for solutions. Fits of the same data with other values of C, in this process or
        another, start from the nearest stored solutions and use them for screening, so a grid
        search over C costs little more than a path for each fold. With an RBF kernel and several
        gammas a store may cost more than it saves. The solution is the same, within `tol`. Kernel
        matrices are not stored there but kept in the memory of the process. Fits that take less
        time than reading a file have no stored solutions: with up to 150 samples of few features,
        and, for the hinge with "rbf" or "poly", with up to 1,000 of two classes and one-vs-one up
        to 2,000, or no two classes of more than 400. Ignored for callable kernels. See `Store`.
    n_jobs : int or None, default=None
        Threads for the two-class problems of a multiclass fit, and at most so many for kernel
        values. None is one for the problems, and for kernel values all processors where that pays.
    verbose : int, default=0
        1 says how the problems are solved, and shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the order in which coordinate descent visits the samples, and of the folds of
        `probability`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes whose samples all have weight zero are among them and never predicted: coefficients
        are those of the fit without them, and `decision_function` has smaller values for them.
    coef_ : ndarray of shape (n_problems, n_features_in_)
        Weights of the features, for the linear kernel. There is one problem for two classes,
        otherwise one for each class or for each pair of classes (0, 1), (0, 2), ..., (1, 2), ...;
        the scores of a pair are positive for its first class. As in `SVC`, files of models (pickle,
        joblib) and copies do not hold the weights of pairs, but for few that the dual variables do
        not give again: saving and loading sum up support vectors, on one kind of processor to the
        same bits.
    intercept_ : ndarray of shape (n_problems,)
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, the samples with a dual variable > 0 in some problem,
        ordered by class.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features_in_)
        Empty for a precomputed kernel. CSR for sparse samples, and so are `coef_` and `dual_coef_`.
    dual_coef_ : ndarray of shape (n_problems, n_SV) or (n_classes - 1, n_SV)
        y_i alpha_i. For one-vs-one the layout is that of `SVC`: a row for each other class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    kernel_shift_ : ndarray of shape (n_problems,)
        Constant added to the diagonal of the kernel matrix of each problem; 0 for definite kernels.
    objective_ : float or ndarray of shape (n_problems,)
        P(w, b); an array for more than two classes.
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem; the largest of all problems, nan
        where there is no certificate, see `indefinite`.
    gamma_ : float
        The value of gamma. Only for kernels with a gamma.
    n_iter_ : int
        Steps of the solver; the largest number of all problems.
    screening_history_ : structured ndarray of shape (n_steps,)
        For each screening step: "where" it happened, the value of C ("parameter", see
        `screening_parameter_`), the "iteration", how many samples are proven to have alpha_i = 0
        ("zero") and alpha_i = C s_i ("at_bound"), how many are "undecided", the "rate", which is
        the share of all samples that are decided, and "seconds". Empty where no samples are left
        out on the way, as in one-vs-one problems that share kernel values, in small problems, and
        where kernel values are computed as needed. What the solution decides is `screened(X, y)`.
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
    UserWarning
        If the kernel is not positive semi-definite, with ``indefinite="warn"``.

    See Also
    --------
    ScreenedLinearSVC : Linear SVM on the rows of `X`, with a penalised intercept.

    Notes
    -----
    The linear kernel is solved on the rows of `X`, without kernel values: "auto" starts with
    coordinate descent, and switches to a second-order method (smoothed Newton) when that is
    estimated to be cheaper, for narrow data or large C. A free intercept takes proximal point steps
    around either. Other kernels have working sets, each solved by SMO and Newton's method. Kernel
    values that do not fit into `cache_size` are recomputed. Matrices of low rank on which that is
    slow are factored.

    With the hinge and "auto", up to 2,000 samples one-vs-one, any number of them if no two classes
    have more than 400, and 1,000 of two classes, are solved in one compiled call by SMO and
    Newton's method in double precision, with the kernel values of support vectors, and without
    screening, which would take more time than it saves. Of two classes that goes for RBF and
    polynomial kernels, and for the linear one with a free intercept; one-vs-one for any kernel
    whose matrix is positive semi-definite, and for the linear one if no two classes have more than
    400 samples. With RBF and polynomial kernels up to 2,000 dense samples of two classes with up to
    200 features begin so, and end so unless that takes more than 4,000 steps.

    With a `tol` of at most 1e-8, and at most 500 samples of margin 1, a final linear solve usually
    brings the gap below 1e-12; not for linear problems of sparse data with more than 100,000
    entries.

    Samples of weight zero are ignored. A sample has the weight of its true class in every problem,
    also where it is one of the rest.

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
        **KERNEL,
        **OF_CLASSES,
        "loss": [StrOptions(set(LOSSES))],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    def __init__(
        self, C=1.0, *, loss="hinge", kernel="rbf", gamma="scale", degree=3, coef0=0.0,
        fit_intercept=True, intercept="free", intercept_scaling=1.0, screening=True, solver="auto",
        tol=1e-6, max_iter=None, shrinking=True, probability="deprecated", multi_class="ovo",
        decision_function_shape="ovr", break_ties=False, class_weight=None, indefinite="warn",
        cache_size=1000, store=None, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
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
        self.store = store
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
