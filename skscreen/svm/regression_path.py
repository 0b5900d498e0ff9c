"""The path of support vector regressions over C."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, validate_params

from skscreen.samples.kernel import Kernel
from skscreen.samples.targets import Targets
from skscreen.svm.path import OnePath, PathOverC, check_path_options, follow_C
from skscreen.svm.regression import ScreenedSVR, fitted
from skscreen.svm.regression_problem import build_regression, signed


@dataclass(frozen=True, repr=False)
class SVRPath(PathOverC):
    """Solutions along a path of regressions, C ascending.

    Iterating yields the solutions; indexing gives one. The arrays below have one entry a C. Dual
    variables of the solutions are those of both sides of all samples that take part.

    Attributes
    ----------
    model : ScreenedSVR
        With the parameters of the path; not fitted, see `estimator`.
    solutions : tuple of SampleSolution
    X : ndarray or CSR of shape (n_samples, n_features)
        Training samples.
    targets : Targets
        Targets and weights of those that take part.
    kernel : Kernel
    C_min : float
        Up to here the solution is proportional to C; 0 with an unpenalised intercept.
    """

    X: object
    targets: Targets
    kernel: Kernel
    C_min: float

    @property
    def dual_coefs(self) -> np.ndarray:
        """Dual variables with signs, (n_Cs, n_samples); zero for samples of weight zero."""
        out = np.zeros((len(self), self.X.shape[0]))
        out[:, self.targets.rows] = [signed(solution) for solution in self]
        return out

    def estimator(self, index: int) -> ScreenedSVR:
        """Return the fitted estimator of one value of C.

        Parameters
        ----------
        index : int
            Place of the value in `Cs`.

        Returns
        -------
        ScreenedSVR

        Raises
        ------
        IndexError
            If the path has no such place.
        """
        return fitted(self.model, self.X, self.targets, self.kernel, self.solutions[index])


@validate_params(
    {
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "C_max": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=False,
)
def svr_path(
    X, y, *, Cs=None, eps=None, C_max=1e4, sample_weight=None, callbacks=(), **options
) -> SVRPath:
    """Fit support vector regressions along a path over C, each certified, reusing the one before.

    Either on the grid `Cs`, or on one that the data determine: between two neighbouring values the
    solution at the smaller C is within a relative error `eps` of the optimal objective. That grid
    starts where the solution is still proportional to C. It ends at `C_max`, or at a solution
    without losses, which stays optimal for every larger C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Targets.
    Cs : array-like of shape (n_Cs,), optional
        Values of C; sorted into ascending order, each once. Not with `eps`.
    eps : float, optional
        Relative error, in (0, 1); 1e-3 where `Cs` is not given. (The width of the tube is
        `epsilon`.)
    C_max : float, default=1e4
        Where the eps-path ends; without effect on a given grid.
    sample_weight : array-like of shape (n_samples,), optional
        Factors >= 0 of C.
    callbacks : sequence of callbacks, optional
        Of scikit-learn >= 1.9; each value of C is a task. One that asks to stop ends the path.
    **options
        Parameters of `ScreenedSVR` but `C` and `memory`.

    Returns
    -------
    SVRPath
        If the path is interrupted from the keyboard: what was finished by then.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As for `ScreenedSVR`, or if the dual variables of all `Cs` would not fit.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach the tolerance at some C (see `SVRPath.converged`). An
        eps-path ends there if the promise could not be kept any longer.
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
    grid = check_path_options("svr_path", Cs, eps, options)
    model = ScreenedSVR(**options)
    model._validate_params()
    # Of many samples kernel values in tiles are cheaper than the matrix, for all C together too.
    problem = build_regression(model, X, y, sample_weight, once=model.kernel == "rbf")
    path = OnePath(problem.path_solver(), problem.finish)
    solutions = follow_C(model, path, grid, eps, C_max, callbacks)
    return SVRPath(model, solutions, problem.X, problem.targets, problem.kernel, path.C_min)
