"""Linear support vector regressions, exact and with screening: `LinearSVR` as users know it."""

from typing import ClassVar

from skscreen.core.sklearn_private import StrOptions
from skscreen.samples.targets import LOSSES
from skscreen.svm.estimator import BaseSVR
from skscreen.svm.parameters import LINEAR, NOT_NEGATIVE


class ScreenedLinearSVR(BaseSVR):
    r"""Linear support vector regression, solved exactly with safe screening and a certificate.

    With :math:`f(x) = \langle w, x \rangle + b` and targets :math:`y_i` the fit minimises

    .. math::

        P(w, b) = \tfrac12 (\lVert w \rVert^2 + b^2 / B^2)
        + C \sum_i s_i \max(0, |y_i - f(x_i)| - \epsilon)

    with sample weights s_i and B = `intercept_scaling`: the problem of scikit-learn's `LinearSVR`,
    with its penalised intercept. It stops on the relative duality gap of the full problem. `X` may
    be dense or sparse; no kernel matrix is formed.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0; as in `LinearSVR`.
    epsilon : float, default=0.0
        Residuals up to this size cost nothing; >= 0, in the units of the target. 0 means least
        absolute deviations.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss in P, or its square C s_i max(0, |y_i - f(x_i)| - epsilon)^2.
    dual : bool or "auto", default="auto"
        Has no effect: the primal and the dual problem are solved together, which certifies the
        solution.
    fit_intercept : bool, default=True
        Whether to fit an intercept b; otherwise b = 0.
    intercept_scaling : float, default=1.0
        B > 0; the larger, the weaker the penalty on b.
    screening, solver, tol, max_iter
        See `ScreenedLinearSVC`.
    store : str, path, Store or None, default=None
        A folder for solutions, from which fits with another C start; see `ScreenedSVC`.
    verbose : int, default=0
        1 says how the problems are solved, and shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the order in which coordinate descent visits the samples.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
    intercept_ : ndarray of shape (1,)
    objective_ : float
        P(w, b).
    dual_gap_ : float
        Relative duality gap (P - D) / P of the full problem.
    n_iter_ : int
        Steps of the solver.
    screening_history_
        See `ScreenedSVR`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Raises
    ------
    ValueError, TypeError
        For invalid parameters, data, targets or weights; the message names the argument.
    MemoryError
        If systems of Newton's method would not fit into the free memory; names the numbers and
        bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach `tol`; names the gap that was reached.

    See Also
    --------
    ScreenedSVR : With kernels, or with an intercept that is not penalised.

    Notes
    -----
    `C` and `epsilon` are in the units of the target: standardise it, as the intercept is penalised.
    Samples of weight zero are ignored.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import ScreenedLinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> ScreenedLinearSVR().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.3
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LINEAR,
        "epsilon": [NOT_NEGATIVE],
        "loss": [StrOptions(set(LOSSES))],
    }

    # Parameters of `ScreenedSVR` that are fixed here.
    kernel, gamma, degree, coef0, cache_size = "linear", "scale", 3, 0.0, 1000
    intercept, indefinite = "penalised", "error"
    by_weights, flat_coef = True, True

    def __init__(
        self, C=1.0, *, epsilon=0.0, loss="epsilon_insensitive", dual="auto", fit_intercept=True,
        intercept_scaling=1.0, screening=True, solver="auto", tol=1e-6, max_iter=None, store=None,
        verbose=0, random_state=None,
    ):  # fmt: skip
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.dual = dual
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.screening = screening
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.store = store
        self.verbose = verbose
        self.random_state = random_state
