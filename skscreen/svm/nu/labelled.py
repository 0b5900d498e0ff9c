"""Problems at a nu with labels or targets, and their solutions as those of a C-SVC or SVR.

Of a pair of classes the intercepts b_g make rho = (b_- - b_+) / 2 and b = (b_- + b_+) / 2: divided
by rho it is the C-SVC at C = 1 / rho. Of a regression epsilon = (b_+ - b_-) / 2, the SVR at that
epsilon. Each has the relative gap of the problem at nu, see `svm.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.svm import NuSVC, NuSVR

from skscreen.core.certificate import Certificate
from skscreen.core.checks import MatrixLike
from skscreen.core.floats import near_one
from skscreen.samples.kernels.definite import IndefiniteError
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import check_bounds, of_rows
from skscreen.samples.losses import SampleLosses
from skscreen.samples.multiclass import OneVsOne
from skscreen.samples.targets import BothSides
from skscreen.svm.certificate import at_intercepts
from skscreen.svm.dual import Dual, Sums, VanishedError
from skscreen.svm.nu.samples import (
    NuSamples,
    common_weight,
    limit_of,
    near_zero,
    values_at_nu,
)
from skscreen.svm.nu.solve import (
    LEAST_RHO,
    NuSolution,
    NuSolver,
    ShownAtNu,
    by_libsvm,
    check_total,
    solve_pairs,
    vanished,
)
from skscreen.svm.pair_weights import set_weights
from skscreen.svm.problem import TrainingSet, divided_as, taken, validated, with_kernel
from skscreen.svm.roads import are_together_at_nu
from skscreen.svm.solvers.kernel.few import FewValues
from skscreen.svm.solvers.solution import PairSolutions
from skscreen.svm.training_data import own_unless_made

_HULLS_MEET = (
    "the weighted means of so many samples of both classes can be one point, and w = 0 tells none "
    "from another"
)

# Relative gaps at which a value below 0 is looked for.
_TOLS = (0.3, 1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class NuFit:
    """The solution of a problem as its solver has it, and as users see it."""

    found: NuSolution
    shown: ShownAtNu
    C: float = np.nan
    epsilon: float = np.nan


@dataclass
class FlatTubes:
    """For which nu the solution of a regression is w = 0, without a loss.

    Dual variables are those of samples with the largest and with the smallest target alone then,
    and their weighted means are one point: the problem at a nu of these two classes has w = 0, too.
    As the primal value is 0, nothing is relative to it, and steps of the regression would not end.
    """

    model: BaseEstimator
    X: Any
    kernel: Kernel
    dual: Dual  # of the regression at nu = 1
    _known: float = field(default=0.0, init=False)  # the largest nu that is known to be one

    @cached_property
    def _signs(self) -> np.ndarray:
        y = self.dual.target[: self.dual.target.size // 2]
        return np.where(y == y.max(), 1.0, 0.0) - np.where(y == y.min(), 1.0, 0.0)

    @cached_property
    def _rows(self) -> np.ndarray:
        """Samples with one of the two targets."""
        return np.flatnonzero(self._signs)

    @cached_property
    def _weights(self) -> np.ndarray:
        """Largest dual variables, with signs."""
        return self.dual.high[self._rows] * self._signs[self._rows]

    @cached_property
    def _ends(self) -> NuSolver:
        """The problem of two classes."""
        n, signs = self._rows.size, np.sign(self._weights)
        losses = SampleLosses(np.zeros(n), np.abs(self._weights), np.zeros(n))
        sums = Sums(self.dual.sums, (signs < 0.0).astype(np.int8))
        X = of_rows(self.X, self._rows, self.kernel.name == "precomputed")
        classes = [int(np.count_nonzero(signs > 0.0)), int(np.count_nonzero(signs < 0.0))]
        samples = NuSamples.of(self.model, X, self.kernel, classes)
        limit = limit_of(self.model)
        return NuSolver(samples, Dual.of(losses, signs, True, sums), max_iter=limit)

    @cached_property
    def _common(self) -> float:
        """The weight on rows with both targets, if steps would take long to find out."""
        if self._ends.few is not None or self.kernel.name == "precomputed":
            return 0.0
        return common_weight(self._ends.given.known.X, self._weights, np.ones(self._rows.size))

    def has(self, nu: float) -> bool:
        """Return whether the solution at a nu is such."""
        # Of equal targets it is, whatever the sums are.
        if not self._rows.size or nu <= self._known:
            return True
        total, weights = nu * float(self.dual.sums[0]), self._weights
        if min(weights.sum(where=weights > 0.0), -weights.sum(where=weights < 0.0)) < total:
            return False
        if self._common < total and self._tells_apart(nu):
            return False
        self._known = nu
        return True

    def _tells_apart(self, nu: float) -> bool:
        """Return whether the problem of two classes has weights, or is not known to have none."""
        try:
            for tol in _TOLS:
                found = self._ends.solve(nu, tol)
                # The least primal value, with its sums, is -1/2 |w|^2.
                if found.certificate.primal + found.lifted < 0.0 or not found.converged:
                    break
        except VanishedError:
            return False
        return True


class _Subset(NamedTuple):
    """The samples of a problem (n,), their weights, and of dual variables the signs and groups."""

    rows: np.ndarray
    weights: np.ndarray
    y: np.ndarray
    group: np.ndarray


class NuProblems:
    """The problems of an estimator and samples, with what solves them for one nu after the other.

    `nu` is the largest one that is to be solved for, by default that of the estimator; `several`
    whether it is not the only one.
    """

    def __init__(
        self,
        model: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        gamma: float | str | None = None,
        nu: float | None = None,
        several: bool = False,
    ):
        X, y = validated(model, X, y)
        division: Any = divided_as(model, y, sample_weight, 0.0)
        division.check(X.shape[1] if hasattr(X, "shape") else 0)
        self.model, self.division, self._several = model, division, several
        self._subsets: dict[int, _Subset] = {}
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
        found, division = 1.0, self.division
        if isinstance(division, OneVsOne):
            labels = division.labels
            totals = np.bincount(labels.codes, near_one(labels.weights))
            return float(2.0 * totals.min() / (totals.min() + totals.max()))
        for k in range(division.n_problems):
            subset = self._subset(k)
            sums = np.bincount(subset.group, near_one(subset.weights))
            first, second = sums.tolist()
            found = min(found, 2.0 * min(first, second) / (first + second))
        return found

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

    def _subset(self, problem: int) -> _Subset:
        """Return the samples of a problem."""
        if problem not in self._subsets:
            division, rows = self.division, self.division.rows(problem)
            known, y = division.labels, division.signs(problem)
            weights = known.repetitions if self.twice else known.weights[rows]
            self._subsets[problem] = _Subset(rows, weights, y, (y < 0.0).astype(np.int8))
        return self._subsets[problem]

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        """The samples that take part, and what was taken off each."""
        return near_zero(self._part) if self.data.kernel.name == "linear" else (self._part, 0.0)

    @cached_property
    def _values(self) -> FewValues:
        """Kernel values of few samples, for all problems."""
        return values_at_nu(self._rows[0], self.data.kernel, self._several)

    @cached_property
    def _flat(self) -> FlatTubes:
        """Which solutions of a regression are w = 0."""
        return FlatTubes(self.model, self._rows[0], self.data.kernel, self.solver(0).dual)

    def _samples(self, problem: int) -> NuSamples:
        """Return the samples of a problem, which are those of all but for one-vs-one."""
        rows, _, _, group = self._subset(problem)
        # Problems on all samples share their kernel values.
        place = None if rows.size == self._part.shape[0] else problem
        if place not in self._sets:
            classes = [rows.size]
            if not self.twice:
                n_negative = int(np.count_nonzero(group))
                classes = [rows.size - n_negative, n_negative]
            self._sets[place] = NuSamples.of(
                self.model, self._rows[0], self.data.kernel, classes, rows,
                lambda: self._values, regression=self.twice,
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
        model, division = self.model, self.division
        _, weights, y, group = self._subset(problem)
        n = weights.size
        C = float(model.C) if self.twice else 1.0
        check_bounds(C, weights)
        half = 0.5 * C * float(weights.sum())
        if self.twice:
            caps = C * weights
            values = division.losses(problem, "epsilon_insensitive").thresholds
            losses = SampleLosses(values, np.tile(caps, 2), np.zeros(2 * n))
        else:
            losses = SampleLosses(np.zeros(n), weights, np.zeros(n))
        dual = Dual.of(losses, y, True, Sums(np.array([half, -half]), group))
        solver = NuSolver(self._samples(problem), dual, max_iter=limit_of(model))
        self._solvers[problem] = solver
        return solver

    def release(self, given: Any) -> None:
        """Keep no more than estimators are made of, and nothing that the user may change."""
        self._subsets, self._solvers, self._sets = {}, {}, {}
        for name in ("_flat", "_values"):
            self.__dict__.pop(name, None)
        self.data = replace(self.data, X=own_unless_made(self.data.X, given))
        self._part = None

    def solve_together(
        self, nu: float, tol: float
    ) -> tuple[PairSolutions, np.ndarray, list[NuFit]] | None:
        """Solve the problems of all pairs in one call, if there is one.

        Returns solutions as those of C-SVCs, their history, and those that were solved alone then.
        """
        division, labels = self.division, self.division.labels
        if not isinstance(division, OneVsOne) or limit_of(self.model) is not None:
            return None
        sizes = np.array([rows.size for rows in division.members])
        largest = tuple(np.sort(np.argsort(sizes)[-2:]).tolist())
        few = self._samples(division.pairs.index(largest)).few
        if few is None or not are_together_at_nu(sizes.tolist()):
            return None
        check_bounds(1.0, labels.weights)
        totals = np.sort(np.bincount(labels.codes, labels.weights))
        for pair in (totals[:2], totals[-2:]):
            check_total(nu, pair)
        out, history, unsolved = solve_pairs(few, division, nu, tol)
        if self.data.kernel.name == "linear":
            unsolved |= ~set_weights(out, division, self._part, *self._rows)
        rows, alone = [history[~unsolved]], list[NuFit]()
        for k in np.flatnonzero(unsolved).tolist():
            alone.append(self.solve(k, nu, tol))
            out.insert(division, k, alone[-1].shown)
            out.C[k] = alone[-1].C
            own = [(k, *row) for row in alone[-1].found.history_rows]
            rows.append(np.array(own, history.dtype))
        history = np.concatenate(rows)
        return out, history[np.argsort(history["problem"], kind="stable")], alone

    def solve(self, problem: int, nu: float, tol: float) -> NuFit:
        """Solve a problem for one nu."""
        if not self.twice:
            check_total(nu, self._subset(problem).weights)
            self._check_nu(nu)
        try:
            solver = self.solver(problem)
            self._check_common(problem, solver, nu)
            flat = self.twice and self._flat.has(nu)
            found = solver.without_weights(nu) if flat else solver.solve(nu, tol)
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
            rows, weights, y, _ = self._subset(problem)
            X = of_rows(self._part, rows, False)
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
        if rho < LEAST_RHO:
            raise ValueError(
                f"X has values so near to each other that the margin of the solution, {rho:g}, "
                "underflows: rescale X."
            )
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
        used = np.flatnonzero(signed)
        w = X[self._subset(problem).rows[used]].T @ signed[used]
        return w, float(b - np.sum(origin * w))

    def _by_libsvm(self, problem: int, nu: float) -> NuFit:
        """Return LIBSVM's point for a kernel that is not positive semi-definite."""
        kernel = self.data.kernel
        rows, weights, y, _ = self._subset(problem)
        X = of_rows(self._part, rows, kernel.name == "precomputed")
        K = X if kernel.name == "precomputed" else kernel.between(X, X)
        limit = limit_of(self.model)
        if self.twice:
            C, targets = float(self.model.C), self.division.labels.values
            found = by_libsvm(NuSVR, K, targets, weights, limit, nu=nu, C=C)
            both = np.concatenate([np.maximum(found.beta, 0.0), np.minimum(found.beta, 0.0)])
            return NuFit(found, found.shown(beta=both))
        found = by_libsvm(NuSVC, K, y, weights, limit, nu=nu)
        # A dual variable at its bound is s_i / rho.
        C = float(np.max(found.alpha / weights))
        return NuFit(found, found.shown(C=C), C=C)
