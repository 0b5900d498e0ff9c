"""Support vector regressions with kernels, exact and with screening: `SVR` as users know it."""

from typing import ClassVar

from skscreen.core.sklearn_private import StrOptions
from skscreen.samples.targets import LOSSES
from skscreen.svm.estimator import BaseSVR
from skscreen.svm.parameters import KERNEL, NOT_NEGATIVE


class ScreenedSVR(BaseSVR):
    r"""Support vector regression, solved exactly with safe screening and a certificate.

    With :math:`f(x) = \langle w, \phi(x) \rangle + b` and targets :math:`y_i` the fit minimises

    .. math::

        P(w, b) = \tfrac12 \lVert w \rVert^2 + C \sum_i s_i \max(0, |y_i - f(x_i)| - \epsilon)

    with sample weights s_i: residuals up to `epsilon` cost nothing, larger ones the amount by which
    they exceed it. It stops on the relative duality gap of the full problem. Where this saves time,
    it drops samples that provably cannot be support vectors or must be at the upper bound C s_i.
    The problem is that of scikit-learn's `SVR` and, with
    ``kernel="linear", intercept="penalised"``, of `LinearSVR`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0. `np.inf` is a tube that all targets lie in: no loss at all.
    epsilon : float, default=0.1
        Residuals up to this size cost nothing; >= 0, in the units of the target. 0 means least
        absolute deviations.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss in P, or its square C s_i max(0, |y_i - f(x_i)| - epsilon)^2. The dual variables of
        the square have no upper bound, so screening can only prove that they are 0.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        See `ScreenedSVC`.
    gamma, degree, coef0
        See `ScreenedSVC`.
    fit_intercept : bool, default=True
        Whether to fit an intercept b; otherwise b = 0.
    intercept : {"free", "penalised"}, default="free"
        "free": b is not penalised, as in `SVR`. "penalised": b^2 / (2 B^2) is added to P, as in
        `LinearSVR`.
    intercept_scaling : float, default=1.0
        B > 0; the larger, the weaker the penalty on b. Not used by a free intercept.
    screening, solver, tol, max_iter, shrinking, indefinite, cache_size, store, verbose
        See `ScreenedSVC`; with `store` fits of any size are stored.
    random_state
        See `ScreenedSVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the samples with a dual variable that is not 0, ascending.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features_in_)
        Empty for a precomputed kernel. CSR for sparse samples, and so are `coef_` and `dual_coef_`.
    dual_coef_ : ndarray of shape (1, n_SV)
        Positive where the target is above f(x).
    coef_ : ndarray of shape (1, n_features_in_)
        Weights of the features, for the linear kernel.
    intercept_ : ndarray of shape (1,)
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    objective_ : float
        P(w, b).
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem; nan where there is no certificate, see
        `indefinite` of `ScreenedSVC`.
    gamma_ : float
        The value of gamma. Only for kernels with a gamma.
    kernel_shift_ : float
        Constant added to the diagonal of the kernel matrix, see `indefinite`; otherwise 0.
    n_iter_ : int
        Steps of the solver.
    screening_history_ : structured ndarray of shape (n_steps,)
        A row for each screening step, see `ScreenedSVC`; of dual variables, two for each sample.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, targets or weights; the message names the argument.
    MemoryError
        If the kernel matrix or systems of Newton's method would not fit into the free memory; names
        the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    See Also
    --------
    svr_path : The solutions for many values of C.
    ScreenedLinearSVR : Linear regression on the rows of `X`, with a penalised intercept.
    ScreenedSVC : Classification.

    Notes
    -----
    The problem is solved as a classification problem with hinge losses, in which each row stands
    for two samples: x_i with the threshold y_i - epsilon and -x_i with the threshold -y_i -
    epsilon, which share data and kernel values. So certificates, screening and paths are those of
    classification.

    `C` and `epsilon` are in the units of the target: standardise it, or choose both accordingly.
    Samples of weight zero are ignored.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740.

    A. J. Smola, B. Schölkopf (2004). A tutorial on support vector regression. Statistics and
    Computing 14.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> ScreenedSVR().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **KERNEL,
        "epsilon": [NOT_NEGATIVE],
        "loss": [StrOptions(set(LOSSES))],
    }

    def __init__(
        self, C=1.0, *, epsilon=0.1, loss="epsilon_insensitive", kernel="rbf", gamma="scale",
        degree=3, coef0=0.0, fit_intercept=True, intercept="free", intercept_scaling=1.0,
        screening=True, solver="auto", tol=1e-6, max_iter=None, shrinking=True, indefinite="warn",
        cache_size=1000, store=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.C = C
        self.epsilon = epsilon
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
        self.indefinite = indefinite
        self.cache_size = cache_size
        self.store = store
        self.verbose = verbose
        self.random_state = random_state
