"""The path of support vector machines over C."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, validate_params

from skscreen.core.certificate import ScreeningEvent
from skscreen.core.memory import check_memory
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.grid import positive_values
from skscreen.fitting.warning import warn_user
from skscreen.samples.labels import Labels
from skscreen.svm.estimator import ScreenedSVC, describe
from skscreen.svm.path_solver import SamplePathSolver, SamplePoint, eps_limit
from skscreen.svm.problem import BinaryFit, SVMProblem

# Share of `eps` that the duality gap at the stored points may use up.
_GAP_SHARE = 0.01

# Bytes of a sample at one C: its dual variable, with and without sign.
_KEPT = 16.0


@dataclass(frozen=True)
class SVCPath:
    """Solutions along a path, C ascending.

    Iterating yields the solutions; indexing gives one. The arrays below have one entry a C.

    Attributes
    ----------
    model : ScreenedSVC
        With the parameters of the path; not fitted, see `estimator`.
    X : ndarray or CSR of shape (n_samples, n_features)
        Training samples.
    labels : Labels
        Classes and weights of those that take part.
    fits : tuple of BinaryFit
    C_min : float
        Up to here all dual variables are at C s_i; 0 with an unpenalised intercept.
    """

    model: ScreenedSVC
    X: object
    labels: Labels
    fits: tuple[BinaryFit, ...]
    C_min: float

    def __repr__(self) -> str:
        """Summarise in a line; the data would fill pages."""
        return (
            f"SVCPath({len(self)} values of C from {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}, relative "
            f"duality gaps <= {self.dual_gaps.max():.1e})"
        )

    def __len__(self) -> int:
        """Return the number of values of C."""
        return len(self.fits)

    def __iter__(self) -> Iterator[BinaryFit]:
        """Iterate over the solutions."""
        return iter(self.fits)

    def __getitem__(self, index: int) -> BinaryFit:
        """Return one solution."""
        return self.fits[index]

    @property
    def points(self) -> list[SamplePoint]:
        """Certificates and histories."""
        return [fit.point for fit in self]

    @property
    def Cs(self) -> np.ndarray:
        """Values of C, ascending."""
        return np.array([point.C for point in self.points])

    @property
    def lams(self) -> np.ndarray:
        """1 / C, as `inspection` draws paths."""
        return 1.0 / self.Cs

    @property
    def coefs(self) -> np.ndarray:
        """Weights of the features, (n_Cs, n_features); linear kernel only."""
        if self.fits[0].coef is None:
            raise AttributeError(
                f"coefs exist for kernel='linear' only, not for {self.model.kernel!r}; use "
                "dual_coefs."
            )
        return np.stack([fit.coef for fit in self])

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts."""
        return np.array([fit.intercept for fit in self])

    @property
    def dual_coefs(self) -> np.ndarray:
        """y_i alpha_i, (n_Cs, n_samples); zero for samples of weight zero."""
        out = np.zeros((len(self), self.X.shape[0]))
        out[:, self.labels.rows] = [fit.coefficients for fit in self]
        return out

    @property
    def objectives(self) -> np.ndarray:
        """Primal objectives of the full problem."""
        return np.array([point.solution.primal for point in self.points])

    @property
    def dual_gaps(self) -> np.ndarray:
        """Relative duality gaps of the full problem."""
        return np.array([point.solution.relative_gap for point in self.points])

    @property
    def n_iters(self) -> np.ndarray:
        """Steps of the solvers."""
        return np.array([point.solution.n_iter for point in self.points])

    @property
    def screening_rates(self) -> np.ndarray:
        """Share of the decidable samples that were proved to be at a bound at the end."""
        return np.array([point.screening_rate() for point in self.points])

    @property
    def path_screening_rates(self) -> np.ndarray:
        """The same before the first step, by the reference at the C before."""
        return np.array([point.screening_rate("path") for point in self.points])

    @property
    def seconds(self) -> np.ndarray:
        """Time of each solve."""
        return np.array([point.seconds for point in self.points])

    @property
    def converged(self) -> np.ndarray:
        """Whether each duality gap met the tolerance."""
        return np.array([point.solution.converged for point in self.points])

    @property
    def screening_history(self) -> list[ScreeningEvent]:
        """All screening steps."""
        return [event for point in self.points for event in point.history]

    def estimator(self, index: int) -> ScreenedSVC:
        """Return the fitted estimator of one value of C.

        Parameters
        ----------
        index : int
            Place of the value in `Cs`.

        Returns
        -------
        ScreenedSVC

        Raises
        ------
        IndexError
            If the path has no such place.
        """
        return fitted(self.model, self.X, self.labels, [self.fits[index]])


def fitted(model: ScreenedSVC, X, labels: Labels, fits: Sequence[BinaryFit]) -> ScreenedSVC:
    """Return the fitted estimator of one value of C, all of whose problems are solved.

    Parameters
    ----------
    model : ScreenedSVC
        What built the problems on X.
    X : array or CSR of shape (n_samples, n_features)
    labels : Labels
    fits : sequence of BinaryFit
    """
    out = clone(model).set_params(C=fits[0].point.C)
    out.n_features_in_, out._kernel = model.n_features_in_, model._kernel
    out._training = model._training
    if hasattr(model, "feature_names_in_"):
        out.feature_names_in_ = model.feature_names_in_
    return out._store(X, labels, fits)


@validate_params(
    {
        "eps": [Interval(Real, 0, 1, closed="neither"), None],
        "C_max": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=False,
)
def svc_path(
    X, y, *, Cs=None, eps=None, C_max=1e4, sample_weight=None, callbacks=(), **options
) -> SVCPath:
    """Fit support vector machines along a path over C, each certified and reusing the one before.

    Either on the grid `Cs`, or on a grid that the data make: the eps-approximation path starts at
    C_min, up to which the solution is known in closed form (with a free intercept, at a C up to
    which it is proportional to C), and takes the next C so that everywhere between the stored
    solution of smaller C stays within a relative error `eps` of the optimal objective, up to
    `C_max`. It ends before where the last solution has no losses, up to its tolerance: it stays
    optimal for every larger C.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes.
    Cs : array-like of shape (n_Cs,), optional
        Values of C; sorted into ascending order, each once. Not with `eps`.
    eps : float, optional
        Relative error, in (0, 1); 1e-3 where `Cs` is not given.
    C_max : float, default=1e4
        Where the eps-path ends; without effect on a given grid.
    sample_weight : array-like of shape (n_samples,), optional
        Factors >= 0 of C.
    callbacks : sequence of callbacks, optional
        Of scikit-learn >= 1.9; each value of C is a task. One that asks to stop ends the path.
    **options
        Parameters of `ScreenedSVC` but `C` and `memory`.

    Returns
    -------
    SVCPath
        If the path is interrupted from the keyboard: what was finished by then.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments or data; the message names the argument.
    MemoryError
        As for `ScreenedSVC`, or if the dual variables of all `Cs` would not fit.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` steps did not reach the tolerance at some C (see `SVCPath.converged`). An
        eps-path ends there if the promise could not be kept any longer.
    UserWarning
        If the path was interrupted.

    References
    ----------
    K. Ogawa, Y. Suzuki, S. Suzumura, I. Takeuchi (2014). Safe sample screening for support vector
    machines. arXiv:1401.6740. Appendix D, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skscreen import svc_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = svc_path(scale(X), y, Cs=[0.01, 0.1, 1.0])
    >>> bool(path.dual_gaps.max() <= 1e-6)
    True
    """
    if "C" in options:
        raise TypeError("svc_path() takes Cs, not C.")
    if options.get("memory") is not None:
        raise ValueError("memory has no use on a path, which keeps its own references.")
    if Cs is not None and eps is not None:
        raise ValueError("Cs and eps were both given; pass a grid, or the precision of one.")
    grid = None if Cs is None else positive_values("Cs", Cs)
    model = ScreenedSVC(**options)
    model._validate_params()
    X, problem = model._build(X, y, sample_weight)
    if problem.labels.n_problems > 1:
        raise ValueError(f"y must have two classes, got {problem.labels.classes.size}.")
    solver = problem.path_solver(0)
    if grid is None:
        points = _eps_points(solver, eps or 1e-3, float(C_max), model.tol)
    else:
        total = len(grid)
        what = f"Dual variables of {X.shape[0]:,} samples for {total:,} values of C"
        check_memory(_KEPT * X.shape[0] * total, what, "Use fewer values.")
        points = ((solver.solve(C, model.tol), (t + 1) / total) for t, C in enumerate(grid))
    if callbacks:
        model.set_callbacks(*callbacks)
    fits = _follow(model, problem, points, None if grid is None else len(grid))
    model._warn_unless_converged([fit.point for fit in fits])
    return SVCPath(model, X, problem.labels, tuple(fits), solver.C_min)


@with_callbacks
def _follow(
    model: ScreenedSVC,
    problem: SVMProblem,
    points: Iterator[tuple[SamplePoint, float]],
    total: int | None,
) -> list[BinaryFit]:
    """Solve along a path until it, a callback or the user ends it."""
    fits = []
    with Tasks(model, total, "C") as tasks:
        try:
            for point, done in points:
                fits.append(problem.finish(0, point))
                if tasks.end_task(done, describe(point)):
                    break
        except KeyboardInterrupt:
            if not fits:
                raise
            warn_user(f"Interrupted: the path ends after {len(fits)} values.")
    return fits


def _eps_points(
    solver: SamplePathSolver, eps: float, C_max: float, tol: float
) -> Iterator[tuple[SamplePoint, float]]:
    """Solve for the values of C of the eps-path; also yields how far on the way each is."""
    C, tol = min(solver.C_start, C_max), min(tol, _GAP_SHARE * eps)
    way = math.log(C_max / C)
    while True:
        point = solver.solve(C, tol)
        solution = point.solution
        # Of the stored objective, which is so much more than the optimal one at most.
        limit = C * eps_limit(solution, eps / (1.0 + eps))
        hinge = float(solution.primal + solution.dual - solution.alpha.sum())
        # No loss but what the tolerance leaves: the hard-margin solution, good for every larger C.
        ends = C == C_max or limit <= C or (limit >= C_max and hinge <= tol * solution.primal)
        yield point, 1.0 if ends else 1.0 - math.log(C_max / C) / way
        if ends:
            return
        C = min(limit, C_max)
