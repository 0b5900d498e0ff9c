"""Linear support vector machines, exact and with screening: `LinearSVC` as users know it."""

from typing import ClassVar

from skscreen.core.sklearn_private import SparseCoefMixin, StrOptions
from skscreen.samples.multiclass import LOSSES
from skscreen.svm.estimator import BaseSVC
from skscreen.svm.parameters import LINEAR, OF_CLASSES
from skscreen.svm.screened.own import OwnScreening


class ScreenedLinearSVC(OwnScreening, SparseCoefMixin, BaseSVC):
    r"""Linear support vector classifier, solved exactly with safe screening and a certificate.

    For two classes, :math:`y_i = \pm 1`, and :math:`f(x) = \langle w, x \rangle + b` the fit
    minimises

    .. math::

        P(w, b) = \tfrac12 (\lVert w \rVert^2 + b^2 / B^2) + C \sum_i s_i \max(0, 1 - y_i f(x_i))^2

    with sample weights s_i and B = `intercept_scaling`: the problem of scikit-learn's `LinearSVC`,
    with its penalised intercept. It stops on the relative duality gap of the full problem. On the
    way it drops samples that provably cannot be support vectors. More than two classes are handled
    one-vs-rest. `X` may be dense or sparse; no kernel matrix is formed.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in `LinearSVC`.
    penalty : {"l2", "l1"}, default="l2"
        "l1" takes sum_j |w_j| + |b| / B in place of the squares: few features have weights. It
        needs the squared hinge. Features that provably have no weight are left out on the way.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The squared hinge as in P, or the hinge C s_i max(0, 1 - y_i f(x_i)), whose dual variables
        are at most C s_i.
    dual : bool or "auto", default="auto"
        Has no effect: the primal and the dual problem are solved together, which certifies the
        solution.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        More than two classes: "ovr" one against the rest, "crammer_singer" one problem for all
        classes, see the notes. It ignores `loss`, `penalty`, `screening`, `solver`, `store` and
        `n_jobs`. `ScreenedSVC` has one-vs-one.
    fit_intercept : bool, default=True
        Whether to fit an intercept b; otherwise b = 0.
    intercept_scaling : float, default=1.0
        B > 0; the larger, the weaker the penalty on b.
    screening : bool or {"intersection", "ball1", "ball2", "gap"}, default=True
        Whether samples are dropped, and which bounds prove that they can be, see `ScreenedSVC`.
    solver : {"auto", "coordinate-descent", "second-order"}, default="auto"
        Algorithm, see the notes. "auto" chooses, and switches during the fit.
    tol : float, default=1e-6
        Relative duality gap of the full problem at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of steps for each problem. None means limits that ordinary data do not reach.
    class_weight : dict, "balanced" or None, default=None
        Factors >= 0 that multiply the weights of the samples of each class, 1 for classes not in
        the dict. "balanced" gives all classes the same total weight. With more than two classes a
        class weight counts in the problem of its class; the samples of the rest have their sample
        weights there, as in `LinearSVC`. Classes of weight 0 are left out of all problems.
    store : str, path, Store or None, default=None
        A folder for solutions, from which fits with another C start; see `ScreenedSVC`.
    n_jobs : int or None, default=None
        Threads for the two-class problems of a multiclass fit.
    verbose : int, default=0
        1 says how the problems are solved, and shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the order in which coordinate descent visits the samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes whose samples all have weight zero are among them and never predicted: coefficients
        are those of the fit without them, and `decision_function` has smaller values for them.
    coef_ : ndarray of shape (n_problems, n_features_in_), or CSR after `sparsify`
        Weights of the features. There is one problem for two classes, otherwise one for each class.
    intercept_ : ndarray of shape (n_problems,)
    objective_ : float or ndarray of shape (n_problems,)
        P(w, b); an array for more than two classes. A float for "crammer_singer".
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem; the largest of all problems.
    n_iter_ : int
        Steps of the solver; the largest number of all problems.
    screening_history_ : structured ndarray of shape (n_steps,)
        A row for each screening step, see `ScreenedSVC`.
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
    PragamSVC : Linear SVM with a free intercept, to a lower precision.

    Notes
    -----
    For the squared hinge, "second-order" is Newton's method on P. "auto" uses it for narrow data,
    of few rows in one compiled call for all classes, and coordinate descent for wide data.
    Multiclass problems on wide sparse data, and of ten classes or more on few rows of a hundred
    features or more, are first solved together, in single precision, and then each continues in
    double precision. For the hinge, "auto" starts with coordinate descent, and
    switches to a second-order method (smoothed Newton) when that is estimated to be cheaper, for
    narrow data or large C.

    With a `tol` of at most 1e-8, and at most 500 samples of margin 1, or below 1 with the squared
    hinge, a final linear solve usually brings the gap below 1e-12; not for sparse data with more
    than 100,000 entries.

    With ``multi_class="crammer_singer"`` the fit minimises

    .. math::

        \tfrac12 \sum_k (\lVert w_k \rVert^2 + b_k^2 / B^2)
        + C \sum_i s_i \max_k ([k \neq y_i] + f_k(x_i) - f_{y_i}(x_i))

    over the scores f_k of all classes together, by the sequential dual method, with the gap of this
    problem. `dual_coef_` has a row for each class, whose sum over the rows is zero. For two classes
    `coef_` and `intercept_` are those of the second less those of the first, in one row. No samples
    are screened, and `screened` is an error.

    Samples of weight zero are ignored.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Problem (1), Theorem 8, Lemma 9.

    K. Crammer, Y. Singer (2001). On the algorithmic implementation of multiclass kernel-based
    vector machines. JMLR 2. Section 3.

    S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin (2008). A sequential dual
    method for large scale multi-class linear SVMs. KDD. Section 2.

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
        **LINEAR,
        **OF_CLASSES,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions(set(LOSSES))],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
    }

    # Parameters of `ScreenedSVC` that are fixed here.
    kernel, gamma, degree, coef0, cache_size = "linear", "scale", 3, 0.0, 1000
    intercept, decision_function_shape, break_ties = "penalised", "ovr", False
    by_weights = True

    def __init__(
        self, C=1.0, *, penalty="l2", loss="squared_hinge", dual="auto", multi_class="ovr",
        fit_intercept=True, intercept_scaling=1.0, screening=True, solver="auto", tol=1e-6,
        max_iter=None, class_weight=None, store=None, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
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
        self.store = store
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
