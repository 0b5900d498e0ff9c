"""Problems at a nu with labels or targets, and their solutions as those of a C-SVC or SVR.

Of a pair of classes the intercepts b_g make rho = (b_- - b_+) / 2 and b = (b_- + b_+) / 2: divided
by rho it is the C-SVC at C = 1 / rho. Of a regression epsilon = (b_+ - b_-) / 2, the SVR at that
epsilon. Each has the relative gap of the problem at nu, see `svm.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.svm import NuSVC, NuSVR

from skscreen.core.certificate import Certificate
from skscreen.core.checks import MatrixLike
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import check_bounds, of_rows
from skscreen.samples.losses import SampleLosses
from skscreen.samples.targets import BothSides
from skscreen.svm.certificate import at_intercepts
from skscreen.svm.dual import Dual, Sums, VanishedError
from skscreen.svm.nu.samples import NuSamples, common_weight, limit_of, near_zero
from skscreen.svm.nu.solve import NuSolution, NuSolver, ShownAtNu, by_libsvm, vanished
from skscreen.svm.problem import TrainingSet, divided_as, taken, validated, with_kernel
from skscreen.svm.training_data import own_unless_made

_HULLS_MEET = (
    "the weighted means of so many samples of both classes can be one point, and w = 0 tells none "
    "from another"
)


@dataclass(frozen=True)
class NuFit:
    """The solution of a problem as its solver has it, and as users see it."""

    found: NuSolution
    shown: ShownAtNu
    C: float = np.nan
    epsilon: float = np.nan


class NuProblems:
    """The problems of an estimator and samples, with what solves them for one nu after the other.

    `nu` is the largest one that is to be solved for, by default that of the estimator.
    """

    def __init__(
        self,
        model: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        gamma: float | str | None = None,
        nu: float | None = None,
    ):
        X, y = validated(model, X, y)
        division: Any = divided_as(model, y, sample_weight, 0.0)
        division.check(X.shape[1] if hasattr(X, "shape") else 0)
        self.model, self.division = model, division
        self.twice = isinstance(division, BothSides)
        if not self.twice:
            self._check_nu(float(model.nu if nu is None else nu))
        X, kernel = with_kernel(model, X, division.labels, gamma)
        self.data = TrainingSet(X, division, kernel)
        self._part = taken(X, division.labels.rows, kernel)
        self._solvers: dict[int, NuSolver] = {}
        self._sets: dict[int | None, NuSamples] = {}
        # Of problems with classes the weight on rows that both have, see `common_weight`.
        self._common: dict[int, float] = {}

    def _check_nu(self, nu: float) -> None:
        """Refuse a nu for which there are no dual variables."""
        largest = self.largest_nu
        if nu > largest * (1.0 + 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={nu:g}, and the largest one is {largest:.6g}, "
                "twice the share that the smaller class has of the weight of both. Give a smaller "
                "nu, or class_weight='balanced'."
            )

    @cached_property
    def largest_nu(self) -> float:
        """The largest nu of all problems."""
        found = 1.0
        for k in range(self.division.n_problems):
            weights, y = self._weights(k), self.division.signs(k)
            ends = weights[y > 0.0].sum(), weights[y < 0.0].sum()
            found = min(found, 2.0 * min(ends) / sum(ends))
        return float(found)

    @property
    def kernel(self) -> Kernel:
        """The kernel between samples."""
        return self.data.kernel

    @property
    def labels(self) -> Any:
        """Labels or targets of the samples that take part."""
        return self.division.labels

    @property
    def X(self) -> Any:
        """All samples."""
        return self.data.X

    def _weights(self, problem: int) -> np.ndarray:
        if self.twice:
            return self.division.labels.repetitions
        return self.division.labels.weights[self.division.rows(problem)]

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        """The samples that take part, and what was taken off each."""
        return near_zero(self._part) if self.data.kernel.name == "linear" else (self._part, 0.0)

    def _samples(self, problem: int) -> NuSamples:
        """Return the samples of a problem, which are those of all but for one-vs-one."""
        rows, kernel = self.division.rows(problem), self.data.kernel
        # Problems on all samples share their kernel values.
        place = None if rows.size == self._part.shape[0] else problem
        if place not in self._sets:
            X = of_rows(self._rows[0], rows, kernel.name == "precomputed")
            classes = [rows.size]
            if not self.twice:
                classes = np.unique(self.division.signs(problem), return_counts=True)[1].tolist()
            self._sets[place] = NuSamples.of(
                self.model, X, kernel, classes, regression=self.twice
            )  # fmt: skip
        return self._sets[place]

    @property
    def road(self) -> str:
        """How all problems are solved, in one line."""
        roads = [str(self._samples(k).road) for k in range(self.division.n_problems)]
        return " | ".join(dict.fromkeys(roads))

    def solver(self, problem: int) -> NuSolver:
        """Return what solves a problem."""
        if problem in self._solvers:
            return self._solvers[problem]
        model, division, weights = self.model, self.division, self._weights(problem)
        n, y = weights.size, division.signs(problem)
        C = float(model.C) if self.twice else 1.0
        check_bounds(C, weights)
        half = 0.5 * C * float(weights.sum())
        if self.twice:
            caps = C * weights
            values = division.losses(problem, "epsilon_insensitive").thresholds
            losses = SampleLosses(values, np.tile(caps, 2), np.zeros(2 * n))
        else:
            losses = SampleLosses(np.zeros(n), weights, np.zeros(n))
        sums = Sums(np.array([half, -half]), (y < 0.0).astype(np.int8))
        dual = Dual.of(losses, y, True, sums)
        solver = NuSolver(self._samples(problem), dual, max_iter=limit_of(model))
        self._solvers[problem] = solver
        return solver

    def release(self, given: Any) -> None:
        """Keep no more than estimators are made of, and nothing that the user may change."""
        self._solvers, self._sets = {}, {}
        self.data = replace(self.data, X=own_unless_made(self.data.X, given))
        self._part = None

    def solve(self, problem: int, nu: float, tol: float) -> NuFit:
        """Solve a problem for one nu."""
        if not self.twice:
            self._check_nu(nu)
        try:
            solver = self.solver(problem)
            # Of equal targets w = 0 is the solution, whatever the sums are.
            constant = self.twice and not solver.dual.target.any()
            self._check_common(problem, solver, nu)
            found = solver.without_weights(nu) if constant else solver.solve(nu, tol)
        except VanishedError:
            raise vanished(_HULLS_MEET, nu) from None
        except IndefiniteError:
            return self._by_libsvm(problem, nu)
        return self._of_regression(found) if self.twice else self._of_classes(problem, found)

    def _check_common(self, problem: int, solver: NuSolver, nu: float) -> None:
        """Refuse classes that share so many rows that w = 0; steps get there slowly."""
        kernel = self.data.kernel
        if self.twice or solver.few is not None or kernel.name == "precomputed":
            return
        if problem not in self._common:
            division = self.division
            X = of_rows(self._part, division.rows(problem), False)
            weights, y = self._weights(problem), division.signs(problem)
            self._common[problem] = common_weight(X, y, weights)
        if self._common[problem] >= nu * solver.dual.sums[0]:
            raise VanishedError

    def _of_classes(self, problem: int, found: NuSolution) -> NuFit:
        """Return a solution as that of the C-SVC which it is."""
        above, below = found.b
        rho, b = 0.5 * (below - above), 0.5 * (above + below)
        given = found.certificate
        if not rho > 0.0:
            # Far from the optimum, where steps were used up: a rho that there is.
            rho, given = self._positive(problem, found, b)
        scale = 1.0 / rho
        certificate = Certificate(*(scale * scale * value for value in vars(given).values()))
        w, b = self._weights_of_features(problem, found.beta, b)
        shown = found.shown(
            beta=scale * found.beta, b=scale * b, w=None if w is None else scale * w, C=scale,
            certificate=certificate,
        )  # fmt: skip
        return NuFit(found, shown, C=scale)

    def _positive(self, problem: int, found: NuSolution, b: float) -> tuple[float, Certificate]:
        """Return |w|^2 / (nu S) as rho, which is no more than the best one, and the gap there."""
        dual = self.solver(problem).at(found.nu)
        square = max(found.square, 1e-300)
        rho = square / float(np.abs(dual.sums).sum())
        errors = np.zeros(found.beta.size) if found.errors is None else found.errors
        return rho, at_intercepts(dual, found, b - rho * dual.signs, errors)

    def _of_regression(self, found: NuSolution) -> NuFit:
        above, below = found.b
        epsilon, b = 0.5 * (above - below), 0.5 * (above + below)
        signed = found.beta.reshape(2, -1).sum(axis=0)
        w, b = self._weights_of_features(0, signed, b)
        shown = found.shown(w=w, b=b + self.division.shift)
        return NuFit(found, shown, epsilon=max(float(epsilon), 0.0))

    def _weights_of_features(self, problem: int, signed: np.ndarray, b: float) -> tuple:
        """Return weights of features, of the linear kernel, and the intercept of rows as given."""
        if self.data.kernel.name != "linear":
            return None, float(b)
        X, origin = self._rows
        w = X[self.division.rows(problem)].T @ signed
        return w, float(b - np.sum(origin * w))

    def _by_libsvm(self, problem: int, nu: float) -> NuFit:
        """Return LIBSVM's point for a kernel that is not positive semi-definite."""
        rows, kernel = self.division.rows(problem), self.data.kernel
        X = of_rows(self._part, rows, kernel.name == "precomputed")
        K = X if kernel.name == "precomputed" else kernel.between(X, X)
        weights, limit = self._weights(problem), limit_of(self.model)
        if self.twice:
            C, y = float(self.model.C), self.division.labels.values
            found = by_libsvm(NuSVR, K, y, weights, limit, nu=nu, C=C)
            both = np.concatenate([np.maximum(found.beta, 0.0), np.minimum(found.beta, 0.0)])
            return NuFit(found, found.shown(beta=both))
        y = self.division.signs(problem)
        found = by_libsvm(NuSVC, K, y, weights, limit, nu=nu)
        # A dual variable at its bound is s_i / rho.
        C = float(np.max(found.alpha / weights))
        return NuFit(found, found.shown(C=C), C=C)
