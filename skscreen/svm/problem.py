"""What a support vector machine is learned from, checked and brought to one form."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from skscreen.core.checks import MatrixLike, check_labels, check_samples, refuse_masked, require_y
from skscreen.core.threads import at_most
from skscreen.fitting.kept_matrices import KernelBlocksKept, KernelMatrices
from skscreen.fitting.store import Store, content_key
from skscreen.samples.kernels.kernel import (
    FEW_ENTRIES,
    KERNELS_WITH_GAMMA,
    Kernel,
    KernelFunction,
    as_given,
    gamma_value,
    is_table,
)
from skscreen.samples.labels import check_bounds, of_rows, read_labels
from skscreen.samples.multiclass import Division, OneVsOne, OneVsRest
from skscreen.samples.rows import LARGEST
from skscreen.samples.targets import BothSides, check_targets, read_targets
from skscreen.svm.by_values import with_given_targets, with_weights
from skscreen.svm.certificate import GivenTargets
from skscreen.svm.dual import Dual
from skscreen.svm.hard_margin import solve_hard_margin, solve_hard_tube
from skscreen.svm.pair_weights import set_weights
from skscreen.svm.path_solver import SamplePathSolver
from skscreen.svm.roads import BY_FEATURES, JOINT, Fit, Plan, is_kept
from skscreen.svm.sample_set import SampleSet, Settings
from skscreen.svm.solvers.kernel.pairs import (
    ClassBlocks,
    ClassPairs,
    SmallBlocks,
    block_bytes,
    has_all,
)
from skscreen.svm.solvers.linear.narrow import solve_narrow
from skscreen.svm.solvers.solution import PairSolutions, SampleSolution, Solution
from skscreen.svm.stored import StoredFit
from skscreen.svm.training_data import own
from skscreen.svm.uncertified import solve_pairs


@dataclass(frozen=True)
class TrainingSet:
    """All samples, also those of weight zero, the problems that they make, and their kernel.

    `X` is an array or CSR of shape (n_samples, n_features).
    """

    X: Any
    division: Any  # `Division`, `BothSides` or the like
    kernel: Kernel

    @property
    def labels(self) -> Any:
        """`Labels` or `Targets` of the samples of positive weight."""
        return self.division.labels


class SVMProblem:
    """The problems of a training set, and the road they take, see `roads`.

    Those on all samples share rows or a kernel matrix; `shared` are matrices of these samples for
    this kernel and others.
    """

    def __init__(
        self, data: TrainingSet, settings: Settings, fit: Fit, shared: KernelMatrices | None = None
    ):
        self.data, self.X, self.kernel = data, data.X, data.kernel
        # `Division` or `BothSides`: which one the loss tells.
        self.division, self.labels = data.division, data.labels
        self.taking_part = taken(self.X, self.labels.rows, self.kernel, fit.penalty == "l2")
        self._settings, self._shared = settings, shared
        self._content: str | None = None
        if settings.store is not None and (fit.regression or is_kept(self.taking_part.shape)):
            self._content = content_key(self.taking_part)
        fit = replace(fit, stored=self._content is not None, shared=shared is not None)
        self._sets: dict[int, SampleSet] = {}
        members = data.division.members if fit.one_vs_one else ()
        everyone = SampleSet(self.taking_part, self.kernel, settings, fit, members=members)
        self.road, self._everyone = everyone.road, everyone
        self.division.check(data.X.shape[1] if self.road.values in BY_FEATURES else 0)
        self._fit = fit if fit.stored == self.road.stores else replace(fit, stored=False)
        self._stored: StoredFit | None = None
        if settings.store is not None and self.road.stores:
            self._stored = self._stored_fit(settings.store, settings)
        # Width of products, for the choice of BLAS threads: kernel values have their own.
        self.width = np.inf if self.road.values in BY_FEATURES else 0.0
        # What solves problems that share kernel values, in `solve` and `solve_path`.
        self.pairs: ClassPairs | None = None
        if self.road.solver == "class pairs":
            self.pairs = self._shared_pairs(everyone)
        elif not fit.one_vs_one:
            everyone.shared = self._kept_kernels(None)
            self._sets[0] = everyone
            alone = self.road.solver in ("L1", "rows at once", *JOINT)
            if not alone and self.division.n_problems > 1:
                everyone.prepare()

    def _stored_fit(self, store: Store, settings: Settings) -> StoredFit:
        """Return what the store knows of these problems for other C."""
        asked = settings.loss, settings.bias, settings.free, settings.indefinite
        given = self._content, *self.division.content, *astuple(self.kernel), *asked
        return StoredFit(store, content_key(*given), self.division.n_problems)

    def _shared_pairs(self, samples: SampleSet) -> ClassPairs:
        """Return what solves problems that share kernel values."""
        settings, division = self._settings, self.division
        how = division, settings.bias, settings.free
        blocks: SmallBlocks | ClassBlocks
        if self.road.values in ("few", "columns"):
            kept = self._kept_blocks(8.0 * self.labels.rows.size**2)
            X = self.near_zero[0] if self.kernel.name == "linear" else self.taking_part
            K = None if self.kernel.is_definite else samples.by_class
            blocks = SmallBlocks(X, self.kernel, *how, self.road.values == "few", kept, K)
        else:
            kept = self._kept_blocks(block_bytes(division))
            blocks = ClassBlocks(samples.values, division, settings.bias, kept)
        return ClassPairs(blocks, *how, settings.max_iter, self.road.most_steps)

    @cached_property
    def near_zero(self) -> tuple[Any, Any]:
        """The samples for inner products with more digits, and what was taken off each."""
        X = self.taking_part.astype(np.float64, copy=False)
        if sparse.issparse(X) or not self._settings.free:
            return X, 0.0
        origin = X.mean(axis=0)
        return X - origin, origin

    def solve_together(self, C: float, tol: float) -> PairSolutions | None:
        """Solve the problems of all pairs of classes for one C in one call, if there is one."""
        if not math.isinf(C) and self._is_uncertified:
            check_bounds(C, self.labels.weights)
            K = self._everyone.by_class if self._fit.fits else None
            how = self.division, C, self._settings.max_iter, K
            return solve_pairs(self.taking_part, self.kernel, *how)
        is_limited = self._settings.max_iter is not None or math.isinf(C)
        known = None if is_limited or not self._fit.one_vs_one else self.pairs
        if known is None or not has_all(known):
            return None
        check_bounds(C, self.labels.weights)
        out = known.solve_together(C, tol)
        unsolved = ~(out.gaps <= min(tol, 1e100) * out.primals)  # a product that is finite
        if self.kernel.name == "linear":
            unsolved |= ~set_weights(out, self.division, self.taking_part, *self.near_zero)
        for k in np.flatnonzero(unsolved).tolist():
            alone = next(self.solve_path(k, [C], tol, self._beta(k, out.signed)))
            out.insert(self.division, k, alone, out.n_iters[k])
        return out

    def solve_at_once(self, C: float, tol: float) -> list[Solution]:
        """Solve all problems on few narrow rows for one C; some gaps may be too large."""
        division, settings, out = self.division, self._settings, list[Solution]()
        every = list(range(division.n_problems))
        # What has other weights in other problems takes a call for each.
        for together in [every] if self._fit.same_weights else [[k] for k in every]:
            check_bounds(C, division.weights(together[0]))
            losses = division.losses(together[0], settings.loss)
            signs = np.array([division.signs(k) for k in together])
            out += solve_narrow(self.taking_part, settings.bias, losses, signs, C, tol)
        return out

    @property
    def _is_uncertified(self) -> bool:
        """Whether LIBSVM solves the problems of pairs, as the kernel of one has no certificate."""
        if self.road.solver == "LIBSVM":
            return True
        if not self._fit.one_vs_one or self.road.otherwise != "LIBSVM":
            return False
        return any(self._samples(k).is_uncertified for k in range(self.division.n_problems))

    def _beta(self, problem: int, signed: np.ndarray) -> np.ndarray:
        """Return the dual variables of a pair."""
        i, j = self.division.pairs[problem]
        first, second = (self.division.members[c] for c in (i, j))
        return np.concatenate([signed[j - 1, first], signed[i, second]])

    def _kept_blocks(self, nbytes: float) -> KernelBlocksKept | None:
        """Return blocks of the kernel matrix that stay in memory, if there is a store."""
        store = self._settings.store
        if store is None or self._content is None:
            return None
        given = self._content, self.labels.codes, self._settings.free
        return store.kept.blocks(content_key(*given, *astuple(self.kernel)), nbytes)

    def _kept_kernels(self, pair: int | None) -> KernelMatrices | None:
        """Return what keeps kernel matrices of all samples, or of those of a pair, if anything."""
        store, key = self._settings.store, self._content
        if pair is None and self._shared is not None:
            return self._shared
        if store is None or key is None:
            return None
        # Which samples a pair has depends on the labels.
        return store.kept.kernels(
            key if pair is None else content_key(key, self.labels.codes, pair)
        )

    def _samples(self, problem: int) -> SampleSet:
        """Return the samples of a problem, which are those of all but for one-vs-one."""
        pair = problem if isinstance(self.division, OneVsOne) else None
        place = pair or 0
        if place in self._sets:
            return self._sets[place]
        X, fit = self.taking_part, replace(self._fit, again=True)
        if pair is not None:
            X = of_rows(X, self.division.rows(pair), self.kernel.name == "precomputed")
            fit = of_pair(fit, self.division, pair)
        samples = SampleSet(X, self.kernel, self._settings, fit, self._kept_kernels(pair))
        # What has to be changed of an indefinite kernel for a solution is what finishes it.
        if pair is None or not self.kernel.is_definite:
            self._sets[place] = samples
        return samples

    def path_solver(self, problem: int) -> SamplePathSolver:
        """Return what solves one of the problems for values of C."""
        return self._samples(problem).path_solver(*self._dual(problem, self._settings.loss))

    def _dual(self, problem: int, loss: str) -> tuple[Dual, GivenTargets | None]:
        """Return a problem at C = 1, and targets of a regression as users have them."""
        division, signs = self.division, self.division.signs(problem)
        dual = Dual.of(division.losses(problem, loss), signs, self._settings.free)
        given = self._fit.regression
        return dual, GivenTargets(signs * division.lost(), division.shift) if given else None

    def finish(self, problem: int, solution: SampleSolution) -> Solution:
        """Return a solution with weights of features and intercept, and without scores."""
        return self._samples(problem).finish(solution, self.division.shift)

    def solve(
        self,
        problem: int,
        C: float,
        tol: float,
        start: np.ndarray | None = None,
        spent: int | None = None,
    ) -> Solution:
        """Solve a problem for one C, perhaps inf, from dual variables or what a store knows.

        `spent` are the steps in which `pairs` found the start, where others have to go on.
        """
        if math.isinf(C):
            return self.finish(problem, self._without_loss(problem, tol))
        division, stored = self.division, self._stored
        if self.pairs is not None and spent is None:
            if start is None and stored is not None:
                start = stored.start(problem, C, division.weights(problem))
            return next(self.solve_path(problem, [C], tol, start))
        samples, spent = self._samples(problem), spent or 0
        solver = samples.path_solver(*self._dual(problem, self._settings.loss), spent)
        if start is not None and (stored is not None or samples.road.values != "rows"):
            solver.recall(C, start, None, solver.C_min)
            start = None
        elif start is None and stored is not None:
            for known in stored.neighbours(problem, C, solver.dual.target.size):
                solver.recall(*known)
        solution = solver.solve(C, tol, start)
        if stored is not None:
            stored.keep(problem, C, solution, solver.C_min)
        solution = replace(solution, n_iter=solution.n_iter + spent)
        return samples.finish(solution, division.shift)

    def _without_loss(self, problem: int, tol: float) -> SampleSolution:
        """Solve for C = inf: a hard margin, or a tube that all targets lie in."""
        regression = self._fit.regression
        known = self._dual(problem, "epsilon_insensitive" if regression else "hinge")
        solver = self._samples(problem).path_solver(*known)
        return (solve_hard_tube if regression else solve_hard_margin)(solver, tol)

    def starts(self, C: float, tol: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return dual variables near all solutions, found together, and steps; None if too large.

        That is for squared hinges of classes against the rest.
        """
        dual = self._dual(0, self._settings.loss)[0].at(C)
        found = self._samples(0).start_together(self.labels.codes, dual, tol)
        if found is None:
            return None
        signs = np.stack([self.division.signs(k) for k in range(self.division.n_problems)])
        return signs * found[0], found[1]

    def solve_path(
        self, problem: int, Cs: Sequence[float], tol: float, start: np.ndarray | None = None
    ) -> Iterator[Solution]:
        """Solve a problem for one C after the other, from dual variables `start` if known."""
        settings = self._settings
        if self.pairs is not None:
            for found in self.pairs.solve_path(problem, Cs, tol, start):
                if self.kernel.name == "linear":
                    rows = self.taking_part, *self.near_zero
                    found = with_weights(self.division, problem, rows, settings.bias, found, tol)
                if self._fit.regression:
                    found = with_given_targets(self.division, problem, found)
                if found.converged or found.n_iter == settings.max_iter:
                    if self._stored is not None:
                        self._stored.keep(problem, found.C, found)
                    yield found
                else:
                    yield self.solve(problem, found.C, tol, found.beta, found.n_iter)
            return
        solver = self.path_solver(problem)
        if start is not None:
            solver.recall(Cs[0], start, None, solver.C_min)
        for C in Cs:
            yield self.finish(problem, solver.solve(C, tol))


def build(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None,
    store: Store | None = None, plan: Plan = "one C", shared: KernelMatrices | None = None,
    **chosen: Any,
) -> SVMProblem:  # fmt: skip
    """Validate data for an estimator, which learns its features, and set its problems up.

    `plan` is what is asked for, see `roads`. `chosen` are `gamma` and `epsilon` in the place of the
    estimator's.
    """
    X, labels = validated(model, X, y)
    division = divided_as(model, labels, sample_weight, chosen.get("epsilon"))
    X, kernel = with_kernel(model, X, division.labels, chosen.get("gamma"))
    with at_most(model.n_jobs):
        settings = settings_of(model, store)
        fit = fit_of(model, division, kernel, settings, plan)
        return SVMProblem(TrainingSet(X, division, kernel), settings, fit, shared)


def fit_of(
    model: BaseEstimator, division: Division | BothSides, kernel: Kernel, settings: Settings,
    plan: Plan,
) -> Fit:  # fmt: skip
    """Return what a fit of an estimator is, as its road depends on it."""
    if isinstance(division, BothSides):
        regression, classes, tube = True, (division.everyone.size,), division.epsilon > 0.0
    else:
        regression, tube = False, True
        classes = tuple(np.bincount(division.labels.codes).tolist())
    return Fit(
        kernel=str(kernel.name), classes=classes, loss=settings.loss, free=settings.free,
        is_definite=kernel.is_definite, regression=regression, tube=tube,
        one_vs_one=isinstance(division, OneVsOne), same_weights=division.same_weights,
        joint=model.multi_class == "crammer_singer",
        penalty=model.penalty, plan=plan, limited=settings.max_iter is not None,
        screening=settings.screening, solver=settings.solver,
        indefinite=settings.indefinite, cache_size=settings.cache_size, by_weights=model.by_weights,
    )  # fmt: skip


def of_pair(fit: Fit, division: OneVsOne, pair: int) -> Fit:
    """Return the fit of one problem of a division by pairs."""
    first, second = (division.members[c].size for c in division.pairs[pair])
    return replace(fit, classes=(first, second), again=True)


def taken(X: MatrixLike, rows: np.ndarray, kernel: Kernel, filled: bool = True) -> Any:
    """Return some samples, few sparse ones `filled`: for the same solution as of dense samples."""
    X = of_rows(X, rows, kernel.name == "precomputed")
    most = 2**14 if kernel.name == "linear" else FEW_ENTRIES
    few = filled and sparse.issparse(X) and X.shape[0] * X.shape[1] <= most
    return X.toarray() if few else X


def accepted(model: BaseEstimator) -> dict:
    """Return how the samples of an estimator are validated."""
    # Kernel values are computed in double precision, whatever the samples are.
    rows = model.kernel == "linear"
    return {
        "dtype": [np.float64, np.float32] if rows else np.float64,
        "accept_sparse": False if model.kernel == "precomputed" else "csr",
        "order": "C",
    }


def has_free_intercept(model: BaseEstimator) -> bool:
    """Whether the intercept of an estimator is unpenalised."""
    return model.fit_intercept and model.intercept == "free"


def divided_as(
    model: BaseEstimator, y: np.ndarray, sample_weight: ArrayLike | None,
    epsilon: float | None = None,
) -> Division | BothSides:  # fmt: skip
    """Return the problems that labels make for an estimator, or the one of targets; see `build`."""
    if isinstance(model, RegressorMixin):
        epsilon = float(model.epsilon if epsilon is None else epsilon)
        return BothSides(read_targets(y, sample_weight), epsilon, has_free_intercept(model))
    labels = read_labels(y, sample_weight, model.class_weight)
    several = labels.present.size > 2
    return OneVsOne(labels) if several and model.multi_class == "ovo" else OneVsRest(labels)


def validated(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike, reset: bool = True
) -> tuple[Any, np.ndarray]:
    """Validate samples, of any kind for a function, and labels or targets.

    `reset` sets the features of the estimator; otherwise they have to be the same.
    """
    function = callable(model.kernel)
    require_y(model, y)
    refuse_masked(X, "X")
    X = as_given(X) if function else check_samples(X, model=model, reset=reset, **accepted(model))
    y = check_targets(y) if isinstance(model, RegressorMixin) else check_labels(y)
    check_consistent_length(X, y)
    if function and is_table(X) and (reset or hasattr(model, "n_features_in_")):
        validate_data(model, X, reset=reset, skip_check_array=True)
    if model.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square kernel matrix for kernel='precomputed', got shape {X.shape}."
        )
    return X, y


def asked(model: BaseEstimator, kernel: Kernel, X: MatrixLike) -> Any:
    """Return samples to predict, checked; those of a function, which are of any kind, as given."""
    function = kernel.function
    if function is None:
        return check_samples(X, model=model, reset=False, **accepted(model))
    if type(X) is np.ndarray and not hasattr(model, "feature_names_in_"):
        if X.shape[1:] == (getattr(model, "n_features_in_", None),):
            return X
    refuse_masked(X, "X")
    if is_table(X) and hasattr(model, "n_features_in_"):
        validate_data(model, X, reset=False, skip_check_array=True)
    return as_given(X)


def asked_values(model: BaseEstimator, kernel: Kernel, X: MatrixLike) -> Any:
    """Return the same, of a function its values with all training samples."""
    X = asked(model, kernel, X)
    return X if kernel.function is None else kernel.function.to_training(X)


def with_kernel(
    model: BaseEstimator, X: MatrixLike, known: Any, gamma: float | str | None = None
) -> tuple[Any, Kernel]:
    """Return samples, of which some take part, and the kernel of an estimator; see `build`.

    The samples of a function are known by its matrix.
    """
    if callable(model.kernel):
        function = KernelFunction(model.kernel, own(X))
        return function.matrix(), Kernel("precomputed", function=function)
    value = 1.0
    if model.kernel in KERNELS_WITH_GAMMA:
        gamma = model.gamma if gamma is None else gamma
        value = gamma_value(gamma, of_rows(X, known.rows, False), known.repetitions)
    return X, Kernel(model.kernel, value, model.degree, float(model.coef0))


def settings_of(model: BaseEstimator, store: Store | None) -> Settings:
    """Return how the problems of an estimator are solved; see `build`."""
    free = has_free_intercept(model)
    bias = float(model.intercept_scaling) if model.fit_intercept and not free else 0.0
    if bias > LARGEST:
        # Products with such a feature overflow.
        raise ValueError(f"intercept_scaling must be at most {LARGEST:g}, got {bias:g}.")
    seed = model.random_state
    if not isinstance(seed, Integral):
        seed = check_random_state(seed).randint(2**31 - 1)
    return Settings(
        loss=model.loss,
        bias=bias,
        free=free,
        screening={True: "best", False: ""}.get(model.screening, model.screening),
        # Other kernels have one.
        solver=model.solver if model.kernel == "linear" else "auto",
        # Loops count in 64 bits.
        max_iter=None if model.max_iter in (None, -1) else min(int(model.max_iter), 2**53),
        # Integers of numpy would overflow.
        random_state=int(seed),
        cache_size=model.cache_size,
        # The content of a function is not known.
        store=None if callable(model.kernel) else store,
        indefinite=getattr(model, "indefinite", "error"),
    )
