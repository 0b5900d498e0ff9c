"""The path of support vector regressions over C."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, validate_params

from skscreen.fitting.path import with_options
from skscreen.samples.kernel import Kernel
from skscreen.samples.targets import Targets
from skscreen.svm.path import OnePath, PathOverC, check_grid, follow_C
from skscreen.svm.regression_problem import build_regression, signed
from skscreen.svm.regressor import fitted
from skscreen.svm.svr import ScreenedSVR


@dataclass(frozen=True, repr=False)
class SVRPath(PathOverC):
    """Solutions along a path of regressions, C ascending.

    Iterate over it or index it to get the fitted estimators; `solutions` are what the solvers
    found. The arrays below have one entry for each C. The solutions have two dual variables for
    each sample of positive weight, see the notes of `ScreenedSVR`.

    Attributes
    ----------
    model : ScreenedSVR
        The parameters of the path. It is not fitted.
    solutions : tuple of SampleSolution
    X : ndarray or CSR of shape (n_samples, n_features)
        Training samples.
    targets : Targets
        Targets and weights of the samples of positive weight.
    kernel : Kernel
    C_min : float
        Up to this C the solution is proportional to C; 0 with a free intercept.
    """

    X: object
    targets: Targets
    kernel: Kernel
    C_min: float

    @property
    def dual_coefs(self) -> np.ndarray:
        """Dual variables with signs, (n_Cs, n_samples); zero for samples of weight zero."""
        out = np.zeros((len(self), self.X.shape[0]))
        out[:, self.targets.rows] = [signed(solution) for solution in self.solutions]
        return out

    def __getitem__(self, index: int) -> ScreenedSVR:
        """Return the fitted estimator of the value of C at a place in `Cs`."""
        return fitted(self.model, self.X, self.targets, self.kernel, self.solutions[index])


@with_options(ScreenedSVR, "C", "store", "shrinking")
@validate_params(
    {
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "C_max": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=False,
)
def svr_path(
    X, y, Cs=None, *, eps=None, C_max=1e4, sample_weight=None, callbacks=(), **options
) -> SVRPath:
    """Fit support vector regressions for a path of values of C, each with a certificate.

    Each fit starts from the previous solution. The values of C are `Cs`, or they are chosen such
    that for every C between two of them the scaled solution at the smaller one is within a relative
    error `eps` of the optimal objective. These values start where the solution is still
    proportional to C. They end at `C_max`, or at a solution without losses, which stays optimal for
    every larger C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Targets.
    Cs : array-like of shape (n_Cs,), optional
        Values of C, in any order. Not together with `eps`.
    eps : float, optional
        Relative error, in (0, 1). By default 1e-3 if `Cs` is not given. (The width of the tube is
        `epsilon`.)
    C_max : float, default=1e4
        Largest C of a path with `eps`; ignored if `Cs` is given.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0, which multiply C.
    callbacks : sequence of callbacks, optional
        Callbacks of scikit-learn >= 1.9. Each value of C is a task; a callback that asks to stop
        ends the path.
    **options
        Parameters of `ScreenedSVR`, except `C`, `store` and `shrinking`.

    Returns
    -------
    SVRPath
        After Ctrl-C it holds the solutions found so far.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As in `ScreenedSVR`, or if the dual variables for all `Cs` would not fit into memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach the tolerance at some C (see `SVRPath.converged`). A path
        with `eps` ends there if that precision can no longer be guaranteed.
    UserWarning
        If the path was interrupted.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Appendix D, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svr_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = svr_path(scale(X), scale(y), Cs=[0.1, 1.0, 10.0])
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    grid = check_grid(Cs, eps)
    model = ScreenedSVR(**options)
    model._validate_params()
    # With many samples, kernel values in tiles are cheaper than the matrix, even for all C
    # together.
    problem = build_regression(model, X, y, sample_weight, once=model.kernel == "rbf")
    path = OnePath(problem.path_solver(), problem.finish)
    solutions = follow_C(model, path, grid, eps, C_max, callbacks)
    return SVRPath(model, solutions, problem.X, problem.targets, problem.kernel, path.C_min)
