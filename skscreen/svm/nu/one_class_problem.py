"""The problem of a one-class SVM: its samples, its solution as users hold it, what that proves.

With v_i = f_i - t_i a sample is outside where v_i < rho = -b; t = 0 of a half-space. Of the
smallest sphere t_i is T K_ii / 2 for the sum T of dual variables, its centre c = w / T, and

    v_i - rho = T / 2 (R^2 - |phi(x_i) - c|^2),   R^2 = |c|^2 - 2 rho / T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import validate_data

from skscreen.core.certificate import Certificate
from skscreen.core.checks import Matrix, MatrixLike, check_samples, refuse_masked
from skscreen.core.floats import EPS
from skscreen.core.sklearn_private import num_samples
from skscreen.samples.intercept import best_intercepts
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel, as_given, is_table
from skscreen.samples.labels import taking_part
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certificate import at_intercepts
from skscreen.svm.dual import Dual, Sums, VanishedError
from skscreen.svm.nu.decided import Region, radius_at, region_of
from skscreen.svm.nu.samples import NuSamples, limit_of, values_at_nu
from skscreen.svm.nu.solve import NuSolution, NuSolver, by_libsvm, check_total, vanished
from skscreen.svm.problem import TrainingSet, accepted, taken, with_kernel
from skscreen.svm.roads import Road
from skscreen.svm.screening.bounds import SLACK
from skscreen.svm.training_data import own_unless_made

_AT_ORIGIN = "the origin is among the samples that are kept, and w = 0 tells none from another"


@dataclass(frozen=True)
class Unlabelled:
    """Samples of positive weight: rows and weights, both (n,)."""

    rows: np.ndarray
    repetitions: np.ndarray


class OneSide:
    """The one problem of samples without labels, in the place of a `Division`."""

    n_problems, shift = 1, 0.0

    def __init__(self, n: int, sample_weight: ArrayLike | None):
        self.labels = Unlabelled(*taking_part(n, sample_weight))
        self.everyone = np.arange(self.labels.rows.size)

    def rows(self, problem: int) -> np.ndarray:
        """Return which of the samples take part: all."""
        return self.everyone

    def signs(self, problem: int) -> np.ndarray:
        """Return the signs of the samples: all +1."""
        return np.ones(self.everyone.size)

    def dual_coefs(self, betas: Sequence[np.ndarray]) -> np.ndarray:
        """Return dual variables as a row."""
        return betas[0][None]

    def by_class(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some samples, and their number, (1,): there are no classes."""
        return found, np.array([found.size])

    def check(self, n_features: int) -> None:
        """Refuse nothing: there is one problem."""


@dataclass(frozen=True)
class Held:
    """A solution as users hold it.

    `rho` in the scale of v; how far below and above it that of any exact solution may be, and how
    far exact scores may be from the known ones, over |phi(x)|. `square` is |w|^2.
    """

    solution: NuSolution
    total: float
    rho: float
    square: float
    objective: float
    below: float = np.inf
    above: float = np.inf
    radius: float = np.inf


class OneClassProblem:
    """The problem of an estimator and samples, with what solves it for one nu, or `several`."""

    def __init__(
        self, model: BaseEstimator, X: MatrixLike, sample_weight: ArrayLike | None,
        gamma: float | str | None = None, several: bool = False,
    ):  # fmt: skip
        X = _validated(model, X)
        division = OneSide(num_samples(X), sample_weight)
        X, kernel = with_kernel(model, X, division.labels, gamma)
        self.data, self._model, self._several = TrainingSet(X, division, kernel), model, several
        self.weights = division.labels.repetitions
        self._part = taken(X, division.labels.rows, kernel)
        self.is_sphere = model.shape == "sphere"

    @cached_property
    def given(self) -> NuSamples:
        """The samples that take part."""
        # A kernel without a centre has no sphere.
        indefinite = "error" if self.is_sphere else "warn"
        return NuSamples.of(
            self._model, self._part, self.data.kernel, [self.weights.size],
            values=lambda: values_at_nu(self._part, self.data.kernel, self._several),
            one_class=True, indefinite=indefinite,
        )  # fmt: skip

    @property
    def road(self) -> Road:
        """How it is solved."""
        return self.given.road

    @cached_property
    def solver(self) -> NuSolver:
        """What solves for one nu after the other."""
        n = self.weights.size
        losses = SampleLosses(np.zeros(n), self.weights, np.zeros(n))
        dual = Dual.of(losses, np.ones(n), True, Sums(np.array([self.weights.sum()])))
        lengths = self.given.samples.norms**2 if self.is_sphere else None
        return NuSolver(self.given, dual, lengths, limit_of(self._model))

    def release(self, given: Any) -> None:
        """Keep no more than estimators are made of, and nothing that the user may change."""
        for name in ("given", "solver"):
            vars(self).pop(name, None)
        self.data = replace(self.data, X=own_unless_made(self.data.X, given))
        self._part = None

    def solve(self, nu: float, tol: float) -> Held:
        """Solve for one nu."""
        check_total(nu, self.weights)
        try:
            # The offset may be a little off the best one.
            return self.held(self.solver.solve(nu, 0.9 * tol), tol)
        except VanishedError:
            raise vanished(_AT_ORIGIN, nu) from None
        except IndefiniteError:
            if self.is_sphere:
                raise
        kernel = self.data.kernel
        K = self._part if kernel.name == "precomputed" else kernel.between(self._part, self._part)
        # At 1 LIBSVM writes beyond its arrays, if rounding leaves some of the sum of weights over.
        most, limit = min(nu, 1.0 - 1e-9), limit_of(self._model)
        found = by_libsvm(OneClassSVM, K, None, self.weights, limit, nu=most)
        found = replace(found, nu=nu)
        square, total = float(found.beta @ found.scores), nu * float(self.weights.sum())
        lost = float(self.weights @ np.maximum(-found.b - found.scores, 0.0))
        return Held(found, total, -found.b, square, 0.5 * square + lost + total * found.b)

    def held(self, found: NuSolution, tol: float) -> Held:
        """Return a solution with an offset below which, surely, there is no more than its share."""
        solver, dual = self.solver, self.solver.at(found.nu)
        total, beta, f, norms = float(dual.sums[0]), found.beta, found.scores.copy(), solver.norms
        length = float(beta @ norms)
        errors = SLACK * EPS * length * norms
        gap, primal = found.certificate.gap, found.certificate.primal
        if solver.few is not None and found.errors is not None:
            # Of few samples bounds are those of kernel values too; decision functions have others.
            errors = np.maximum(errors, found.errors)
            noise = float(errors.max()) + max(float(errors.max()), self._later_errors(beta))
        elif isinstance(samples := solver.samples, LinearSamples):
            errors = np.maximum(errors, samples.rounding(np.asarray(found.w), found.b))
            gap += max(dual.largest_gap(beta, f, errors)[0].gap - dual.view(beta, f).gap, 0.0)
            noise = float(errors.max())
        else:
            noise = float((errors + samples.value_errors(beta)).max())
            rough = errors if found.errors is None else errors + found.errors
            apart = np.abs(f - dual.target + found.b)
            near = np.flatnonzero((apart <= 2.0 * rough) & (rough > 2.0 * errors))
            used = np.flatnonzero(beta)
            f[near] = samples.gram.dot(used, beta[used], near, double=True)[0]
            rough[near] = errors[near]
            errors = rough
        v = f - dual.target
        safe = 0.5 * sum(best_intercepts(v - errors, dual.high, total))
        # Scores that are computed again have rounding errors of their own.
        rho = min(-found.b, safe) - noise - 8.0 * EPS * float(np.abs(v).max())
        # P rises by no more than that; but scores may be known better by now.
        found = replace(found, scores=f)
        known = at_intercepts(dual, found, -rho, errors)
        gap = min(gap + total * max(-found.b - rho, 0.0), known.gap)
        square = found.square
        lost = float(dual.high @ np.maximum(rho - v, 0.0))
        scale = 2.0 / total**2 if self.is_sphere else 1.0
        objective = scale * (0.5 * square + lost - rho * total)
        if self.is_sphere:
            # Relative to P, which is positive and does not depend on where the origin is.
            primal, gap = objective, scale * gap
        else:
            # Losses at the offset are less than at the best one.
            primal = min(primal, 0.5 * square + lost)
        shown = Certificate(primal, primal - gap, gap)
        converged = gap <= tol * primal
        solution = replace(found, certificate=shown, b=-rho, converged=converged)
        radius, region = self._proof(dual, beta, f, errors, found)
        return Held(
            solution, total, rho, square, objective, rho + float(region.high[0]),
            -rho - float(region.low[0]), radius,
        )  # fmt: skip

    def _later_errors(self, beta: np.ndarray) -> float:
        """Bound the errors of decision functions of few samples: by inner products, of an RBF."""
        X, kernel = self._part, self.data.kernel
        if kernel.name != "rbf":
            return 0.0
        # No sample is further from any mean of others than twice the longest is from the origin.
        largest = 4.0 * kernel.gamma * float(square_norms(X).max())
        relative = 4.0 * EPS * (X.shape[1] + 4.0) * (1.0 + largest)
        if relative < 1e-12:
            return relative * float(beta.sum())
        return float(Gram(X, kernel, cache_size=0.0).sum_errors(beta).max())

    def _proof(self, dual: Dual, beta, f, errors, found: NuSolution) -> tuple[float, Region]:
        """Return how far exact scores may be, over |phi(x)|, and where exact offsets may be."""
        norms = self.solver.norms
        shift = found.apart + found.rounding + SLACK * EPS * float(beta @ norms)
        radius = radius_at(dual, beta, f, errors, found.apart, shift) + 0.5 * found.apart
        return radius, region_of(dual, f, radius * norms)


def _validated(model: BaseEstimator, X: MatrixLike) -> Any:
    """Validate samples, of any kind for a function; sets the features."""
    refuse_masked(X, "X")
    if callable(model.kernel):
        X = as_given(X)
        if is_table(X):
            validate_data(model, X, skip_check_array=True)
        return X
    X = check_samples(X, model=model, **accepted(model))
    if model.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square kernel matrix for kernel='precomputed', got shape {X.shape}."
        )
    return X


def own_values(kernel: Kernel, X: Matrix, what: str) -> np.ndarray:
    """Return K(x, x) of samples, which a kernel matrix does not tell; `what` needs them."""
    if kernel.name == "precomputed":
        raise ValueError(
            f"{what} needs K(x, x) of new samples, which kernel='precomputed' and functions do not "
            "tell; choose another kernel."
        )
    if kernel.name == "rbf":
        return np.ones(X.shape[0])
    return kernel.of_products(square_norms(X))
