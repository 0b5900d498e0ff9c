"""What an SVM is learned from: labels, weights and a kernel, checked and brought to one form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import fsum

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from skscreen.core.memory import check_memory
from skscreen.path.matrices import KnownRows, kept_matrix, kept_rows
from skscreen.path.samples import SamplePathSolver, SamplePoint
from skscreen.path.store import Store, content_key
from skscreen.problems.gram import (
    Gram,
    KernelSamples,
    LinearKernelSamples,
    kernel_values,
)
from skscreen.problems.gram_kernels import add_rows
from skscreen.problems.samples import LinearSamples, compress
from skscreen.solvers import kernel, linear
from skscreen.solvers.sample_solution import SampleSolution

SOLVERS = {"linear": linear.SOLVERS, "kernel": kernel.SOLVERS}

_LARGEST_TOL = 1e100

# Of the square of numbers, the variance that rounding errors leave of a constant.
_NOISE = 1e-14

# A variable with and without sign, of a problem and in the matrix of all.
_BYTES_PER_VARIABLE = 32


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; what decision functions need after the Gram matrix is gone.

    Parameters
    ----------
    name : str or callable
    gamma, degree, coef0 : float
    """

    name: str | Callable
    gamma: float
    degree: float
    coef0: float

    def scores(self, X, support_vectors, dual_coef: np.ndarray) -> np.ndarray:
        """Return sum_j K(x, x_j) dual_coef_j for the rows of X, by blocks of limited size."""
        if self.name == "precomputed":
            return X @ dual_coef
        out = np.zeros((X.shape[0], dual_coef.shape[1]))
        # A tolerance may be met without any support vector.
        for part in _parts(X.shape[0], len(dual_coef)) if len(dual_coef) else ():
            out[part] = self.between(X[part], support_vectors) @ dual_coef
        return out

    def scores_again(
        self, X, support_vectors, dual_coef: np.ndarray, support: np.ndarray, known: KnownRows
    ) -> np.ndarray:
        """Return the same as `scores`, from kernel values known for the same X.

        Parameters
        ----------
        X, support_vectors, dual_coef
        support : ndarray of shape (n_SV,)
            Rows of `known` that belong to the support vectors.
        known : KnownRows
            K between all training samples and X.
        """
        K = known.with_rows(support, lambda places: self.between(support_vectors[places], X))
        out = np.zeros((dual_coef.shape[1], X.shape[0]))
        for column, scores in zip(dual_coef.T, out, strict=True):
            index = np.flatnonzero(column)
            add_rows(K, support[index], column[index], scores)
        return out.T

    def between(self, X, Y) -> np.ndarray:
        """Return the kernel matrix between two sets of samples."""
        return kernel_values(self.name, X, Y, **self._settings)

    def gram(self, X, cache_size: float, keep: Callable | None = None) -> Gram:
        """Return the kernel matrix of training samples."""
        return Gram(X, self.name, cache_size=cache_size, keep=keep, **self._settings)

    @property
    def _settings(self) -> dict[str, float]:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}


def _parts(n: int, width: int) -> Iterator[slice]:
    """Split n rows of kernel values into parts of limited size."""
    memory = get_config()["working_memory"] * 2**20
    n_rows = max(int(memory / (8 * max(width, 1))), 1)
    return (slice(first, first + n_rows) for first in range(0, n, n_rows))


@dataclass(frozen=True)
class KnownTraining:
    """What tells training samples from others, and how much may be kept of their kernel values.

    Parameters
    ----------
    key : str
        Of the samples and the kernel.
    n : int
        Number of samples, those of weight zero up to the last other one included.
    max_bytes : int
    """

    key: str
    n: int
    max_bytes: int

    def known_rows(self, X) -> KnownRows | None:
        """Return the kernel values of X that scores of fits before this one have needed."""
        return kept_rows(content_key(self.key, X), self.max_bytes, self.n, X.shape[0])


def gamma_value(gamma: str | float, X, weights: np.ndarray) -> float:
    """Return the value of gamma, by scikit-learn's meaning of "scale" and "auto".

    The variance of "scale" counts samples by their weights, as if they were repeated.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    share = weights / (weights.sum() * X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            square, mean = (float((part.T @ share).sum()) for part in (X.multiply(X), X))
            variance, noise = square - mean * mean, _NOISE * square
        else:
            mean = float((X.T @ share).sum())
            variance, noise = float((((X - mean) ** 2).T @ share).sum()), _NOISE**2 * mean * mean
    if not variance < np.inf:
        raise ValueError("X has no finite variance, which gamma='scale' needs: rescale X.")
    value = 1.0 / (X.shape[1] * variance) if variance > noise else 1.0
    return value if value < np.inf else 1.0


@dataclass(frozen=True)
class Labels:
    """Classes and weights of the samples that take part.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    rows : ndarray of shape (n,)
        Indices of the samples of positive weight.
    codes : ndarray of shape (n,)
        Their classes, as indices.
    weights : ndarray of shape (n,)
        Products of sample and class weights, > 0.
    repetitions : ndarray of shape (n,)
        Sample weights.
    """

    classes: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    repetitions: np.ndarray

    @property
    def n_problems(self) -> int:
        """Number of two-class problems: one, or one for each of more than two classes."""
        return 1 if self.classes.size == 2 else self.classes.size

    def take(self, X, pairwise: bool):
        """Return the rows of X that take part, of a kernel matrix the columns too."""
        if self.rows.size == X.shape[0]:
            return X
        return X[self.rows][:, self.rows] if pairwise else X[self.rows]

    def signs(self, problem: int) -> np.ndarray:
        """Return +1 for the class that a problem tells from the rest, -1 for these."""
        positive = 1 if self.classes.size == 2 else problem
        return np.where(self.codes == positive, 1.0, -1.0)


def check_labels(X, y, sample_weight, class_weight) -> Labels:
    """Bring labels and weights to one form; samples of weight zero are left out."""
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    weights = np.ones(y.size)
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
    rows = np.flatnonzero(weights)
    if rows.size == 0:
        raise ValueError("sample_weight must have a positive entry, got only zeros.")
    classes, codes = _classes(y[rows])
    repetitions = weights = weights[rows]
    if class_weight is not None:
        weights = weights * _class_factors(class_weight, classes, codes, weights)[codes]
        positive = np.flatnonzero(weights)
        rows, weights, repetitions = rows[positive], weights[positive], repetitions[positive]
        classes, codes = _classes(y[rows])
    if classes.size < 2:
        raise ValueError(
            "The number of classes in y has to be greater than one; got "
            f"{classes.size} class{'' if classes.size == 1 else 'es'}"
            f"{'' if rows.size == y.size else ' among the samples of positive weight'}."
        )
    return Labels(classes, rows, codes, weights, repetitions)


def _classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes and which of them each label is."""
    classes = np.unique(y)
    # The few classes are sorted already: the inverse that `unique` returns sorts all labels.
    return classes, np.searchsorted(classes, y)


def _class_factors(class_weight, classes, codes, weights) -> np.ndarray:
    if isinstance(class_weight, str):
        # Sums of weights, so that weights still mean repetitions.
        return weights.sum() / (classes.size * np.bincount(codes, weights))
    try:
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    except (TypeError, ValueError):
        factors = np.array([np.nan])
    if not np.all(np.isfinite(factors)) or factors.min() < 0.0:
        raise ValueError(f"class_weight must hold finite numbers >= 0, got {class_weight!r}.")
    # As in scikit-learn: a class that a fold lacks may have a weight, a misspelt one may not.
    unknown = set(class_weight) - set(classes.tolist())
    if unknown and not set(classes.tolist()) <= set(class_weight):
        raise ValueError(
            f"class_weight has entries for {sorted(unknown, key=repr)}, which are not in y; the "
            f"classes are {classes.tolist()}."
        )
    return factors


def check_problems(n_problems: int, n_samples: int, n_features: int) -> None:
    """Refuse dual variables and weights of more classes than would fit, before they are made."""
    what = f"{n_problems:,} problems, one a class, on {n_samples:,} samples"
    needed = _BYTES_PER_VARIABLE * n_problems * (n_samples + n_features)
    check_memory(needed, what, "Are the labels classes? Use fewer.")


def by_rows(kernel_name: str | Callable, free: bool) -> bool:
    """Whether a problem is solved on its rows: kernels alone know an unpenalised intercept."""
    return kernel_name == "linear" and not free


@dataclass(frozen=True)
class Settings:
    """How to solve: the parameters of the estimator that reach a solver."""

    bias: float
    free: bool
    screening: str | None
    solver: str
    max_iter: int | None
    cache_size: float
    random_state: int
    store: Store | None = None


@dataclass(frozen=True)
class BinaryFit:
    """The solution of one two-class problem.

    Parameters
    ----------
    point : SamplePoint
        Without margins, and weights as a vector.
    coefficients : ndarray of shape (n,)
        y_i alpha_i.
    coef : ndarray of shape (n_features,), or None
        Weights of the features, for the linear kernel.
    intercept : float
    """

    point: SamplePoint
    coefficients: np.ndarray
    coef: np.ndarray | None
    intercept: float


class SVMProblem:
    """The two-class problems of a training set, which share its rows or its kernel matrix.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
        The samples that take part.
    labels : Labels
    function : Kernel
    settings : Settings

    Attributes
    ----------
    training : KnownTraining, or None
        With a store.
    """

    def __init__(self, X, labels: Labels, function: Kernel, settings: Settings):
        self.labels, self._settings = labels, settings
        self._rows = X if function.name == "linear" else None
        self._linear = by_rows(function.name, settings.free)
        store, keep, self.training = settings.store, None, None
        if store is not None:
            content = content_key(X)
            key = content_key(content, labels.rows, function)
            keep = partial(kept_matrix, key, store.max_bytes)
            self.training = KnownTraining(key, int(labels.rows[-1]) + 1, store.max_bytes)
            # What the solutions depend on, apart from C and the signs.
            self._key = content, labels.weights, function, settings.bias, settings.free
        self._shared = X if self._linear else function.gram(X, settings.cache_size, keep)
        self._compressed = compress(X) if self._linear else None

    @property
    def thread_safe(self) -> bool:
        """Whether problems can be solved at the same time: a function may not allow it."""
        return self._linear or self._shared.whole is not None or not callable(self._shared.kernel)

    def finish(self, problem: int, point: SamplePoint) -> BinaryFit:
        """Return what stays of a solution."""
        solution, signs = point.solution, self.labels.signs(problem)
        coefficients, coef, w = signs * solution.alpha, None, solution.w
        if self._rows is not None:
            if w is None:
                w = LinearSamples(self._rows, signs).combine(solution.alpha)
            coef = w[: self._rows.shape[1]]
        if self._settings.free:
            intercept = float(solution.b)
        elif w is not None and self._settings.bias:
            intercept = float(self._settings.bias * w[-1])
        else:
            intercept = self._settings.bias**2 * fsum(coefficients)
        lean = replace(point, solution=replace(solution, margins=np.empty(0), w=None))
        return BinaryFit(lean, coefficients, coef, intercept)

    def solve(
        self, problem: int, C: float, tol: float, start: np.ndarray | None = None
    ) -> SamplePoint:
        """Solve one of the two-class problems for one C, with what a store knows about others.

        `start` are dual variables to start from, where they are known.
        """
        solver, store, key = self.path_solver(problem), self._settings.store, None
        if store is not None:
            key = content_key(self.labels.signs(problem), *self._key)
        if start is not None:
            solver.recall(C, start, None, solver.C_min)
        elif key is not None:
            for other, known in store.neighbours(key, C):
                if known["alpha"].shape == known["margins"].shape == self.labels.rows.shape:
                    solver.recall(other, known["alpha"], known["margins"], float(known["C_min"]))
        point = solver.solve(C, tol)
        solution = point.solution
        if key is not None and solution.converged:
            store.put(key, C, alpha=solution.alpha, margins=solution.margins, C_min=solver.C_min)
        return point

    def path_solver(self, problem: int) -> SamplePathSolver:
        """Return what solves one of the two-class problems for values of C."""
        signs, settings = self.labels.signs(problem), self._settings
        if self._linear:
            samples = LinearSamples(self._shared, signs, settings.bias, self._compressed)
            solve = partial(_solve_linear, samples, settings)
        else:
            samples = KernelSamples(self._shared, signs, bias=settings.bias)
            if self._rows is not None:
                samples = LinearKernelSamples(self._shared, LinearSamples(self._rows, signs))
            solve = partial(_solve_kernel, samples, settings)
        screening = settings.screening
        return SamplePathSolver(
            samples, self.labels.weights, solve, screening, free=settings.free,
            max_iter=settings.max_iter,
        )  # fmt: skip


def _solve_linear(samples, settings, bounds, start, margins, codes, tol, left) -> SampleSolution:
    return linear.solve_linear(
        samples, bounds, start=start, fixed=codes, random_state=settings.random_state,
        **_common(settings, tol, left),
    )  # fmt: skip


def _solve_kernel(samples, settings, bounds, start, margins, codes, tol, left) -> SampleSolution:
    return kernel.solve_kernel(
        samples, bounds, start=start, margins=margins, fixed=codes,
        intercept="free" if settings.free else "none", **_common(settings, tol, left),
    )  # fmt: skip


def _common(settings: Settings, tol: float, left: int | None) -> dict:
    limit = {} if left is None else {"max_iter": left}
    return {
        "solver": settings.solver,
        "screening": settings.screening is not None,
        # A larger one asks for nothing either, and products with this are numbers.
        "tol": min(tol, _LARGEST_TOL),
        **limit,
    }
