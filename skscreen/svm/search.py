"""Cross-validation over C, gamma and epsilon, with a path over C in each fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring

from skscreen.core.checks import MatrixLike, check_weights
from skscreen.core.memory import check_memory
from skscreen.core.sklearn_private import InvalidParameterError, fit_context
from skscreen.core.threads import at_most
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.folds import (
    C_grid,
    FoldResult,
    as_best,
    check_refit,
    check_weights_of_folds,
    model_of_folds,
    samples_of_fold,
    score_folds,
    split,
)
from skscreen.fitting.grid import values_from_zero
from skscreen.fitting.kept_matrices import KernelMatrices
from skscreen.fitting.path import forget
from skscreen.fitting.store import check_store
from skscreen.samples.kernels.kernel import KERNELS_WITH_GAMMA, gamma_grid, gamma_value
from skscreen.samples.labels import Labels, of_rows
from skscreen.samples.multiclass import OneVsOne
from skscreen.samples.targets import Targets
from skscreen.svm.certified.api import Training, warn_if_less
from skscreen.svm.certified.search import CertifiedSearch
from skscreen.svm.estimator import BaseSVM, fitted, learn, warn_of_flaws
from skscreen.svm.problem import SVMProblem, TrainingSet, asked_values, build, divided_as, validated
from skscreen.svm.scores import pair_scores
from skscreen.svm.solvers.solution import Solution

# The samples of each problem of a fold, as indices into the fold, and their dual variables.
Start = list[tuple[np.ndarray, np.ndarray]]

# Largest number of values of C that a certified choice solves.
_MAX_SOLVES = 1000


class SearchOverC(BaseSVM):
    """Base of `ScreenedSVCCV` and `ScreenedSVRCV`; subclasses name the `_kind` they search for."""

    # The refit may need no step at all, as it starts from a fold, but scikit-learn expects at least
    # 1.
    fewest = 1

    _kind: type[BaseSVM]
    Cs: Any
    gammas: Any
    cv: Any
    scoring: Any
    refit: bool
    # Parameters that not all searches have.
    certify: float | None = None
    epsilons: Any = None

    def _validate_params(self) -> None:
        for one, several in (("gamma", "gammas"), ("epsilon", "epsilons")):
            if several in self.get_params() and np.ndim(getattr(self, one)) > 0:
                raise InvalidParameterError(
                    f"The {one!r} parameter of {type(self).__name__} is one value; those to choose "
                    f"among are {several}=."
                )
        super()._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
        groups: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Choose C and the other parameters of the grid, and learn from all samples with them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels, or the targets of a regression.
        sample_weight : array-like of shape (n_samples,), optional
            Factors >= 0 of C, and in the scores of scorers that take weights.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        forget(self)
        self.Cs_ = C_grid(self.Cs)
        checked, y_checked = validated(self, X, y)
        division = divided_as(self, y_checked, sample_weight)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, checked.shape[0])
        # Data frames cannot be indexed along both axes.
        X = checked if self.kernel == "precomputed" or callable(self.kernel) else X
        X, labels, splits = split(self.cv, X, y, y_checked, groups, classifier=is_classifier(self))
        search: Callable[..., Start | None]
        if self.certify is not None:
            search, tasks = (
                partial(self._search_with_proof, float(self.certify)),
                Tasks(self, 1, "search"),
            )
        else:
            grid = self._grid(checked, division.labels)
            n_values = int(np.prod([len(values) for values in grid.values()]))
            what = f"Starts for the refit from {n_values:,} values"
            if division.n_problems > 1:
                what += f" for {division.n_problems} problems"
            check_memory(8.0 * n_values * division.n_variables, what, "Use fewer values.")
            search, tasks = partial(self._search, grid), Tasks(self, len(splits), "fold")
        with tasks:
            starts = search(X, labels, splits, weights, tasks)
            if self.refit:
                names = [name for name in ("gamma", "epsilon") if hasattr(self, f"{name}_")]
                chosen = {name: getattr(self, f"{name}_") for name in names}
                store = check_store(self.store)
                problem = build(self, X, labels, weights, store, **chosen)
                learn(self, self.C_, problem, _of_all(starts, splits[0][0], problem, len(labels)))
                self.best_estimator_ = as_best(self, self._kind, C=self.C_, **chosen)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        check_refit(self)
        return super().__sklearn_is_fitted__()

    def _grid(self, X: MatrixLike, labels: Labels | Targets) -> dict[str, list]:
        """Return the values of each parameter, ascending, in the order of the axes of `scores_`."""
        grid: dict[str, list] = {}
        if (gammas := self._given_gammas(X, labels)) is not None:
            grid["gamma"] = gammas
        if self.epsilons is not None:
            self.epsilons_ = values_from_zero("epsilons", self.epsilons)
            grid["epsilon"] = self.epsilons_.tolist()
        return {**grid, "C": self.Cs_.tolist()}

    def _given_gammas(self, X: MatrixLike, labels: Labels | Targets) -> list[float | str] | None:
        """Return the distinct values of gamma in ascending order, and set `gammas_`."""
        if self.gammas is None or self.kernel not in KERNELS_WITH_GAMMA:
            return None
        used, values = of_rows(X, labels.rows, False), dict[float | str, float]()
        for given in gamma_grid(self.gammas):
            value = gamma_value(given, used, labels.repetitions)
            # On a fold "scale" gives another value.
            values[given if given == "scale" else value] = value
        order = sorted(values, key=values.__getitem__)
        self.gammas_ = np.array([values[gamma] for gamma in order])
        return order

    def _search(
        self, grid: dict, X: MatrixLike, y: np.ndarray, splits: list,
        sample_weight: np.ndarray | None, tasks: Tasks,
    ) -> Start:  # fmt: skip
        """Score the grid; return the start of the first fold for the chosen values."""
        model = model_of_folds(self, self._kind)
        scorer, path = check_scoring(model, self.scoring), partial(_solve_fold, model, grid)
        best, failed, start = score_folds(
            self, model, path, scorer, X, y, splits, sample_weight, tasks, grid
        )
        places = np.unravel_index(best, tuple(map(len, grid.values())))
        for name, place in zip(grid, places, strict=True):
            setattr(self, f"{name}_", float(getattr(self, f"{name}s_")[place]))
        warn_of_flaws(self, failed)
        return start

    def _search_with_proof(
        self, eps: float, X: MatrixLike, y: np.ndarray, splits: list,
        sample_weight: np.ndarray | None, tasks: Tasks,
    ) -> None:  # fmt: skip
        """Choose C from the whole range of the grid, provably within `eps` of the best."""
        if self.gammas is not None and self.kernel in KERNELS_WITH_GAMMA:
            raise ValueError(
                "gammas must be None with certify, which proves for one kernel: use gamma."
            )
        if self.scoring not in (None, "accuracy"):
            raise ValueError(
                f"scoring must be None or 'accuracy' with certify, got {self.scoring!r}: bounds "
                "are those of the validation error."
            )
        if self.Cs_.size < 2:
            raise ValueError("Cs must have at least two values with certify.")
        if sample_weight is not None:
            check_weights_of_folds(sample_weight, splits)
        folds = []
        for k, (train, test) in enumerate(splits):
            model = model_of_folds(self, self._kind)
            training, validation, weights = samples_of_fold(model, X, y, train, test, sample_weight)
            diagonal = None
            if self.kernel == "precomputed":
                diagonal = np.asarray(X, dtype=np.float64)[test, test]
            if missing := _labels(validation[1], weights[1]) - _labels(training[1], weights[0]):
                raise ValueError(
                    "cv must leave samples of all classes in the training part of each fold with "
                    f"certify; fold {k} has none of the labels {sorted(missing)}."
                )
            bounded = Training(model, training[0], training[1], weights[0])
            folds.append(bounded.fold(validation[0], validation[1], weights[1], diagonal))
        # A function may not allow calls at the same time.
        n_jobs = None if callable(self.kernel) else self.n_jobs
        search = CertifiedSearch(
            folds, eps, tol=self.tol, max_solves=_MAX_SOLVES, n_jobs=n_jobs,
            report=tasks.bar.update,
        )  # fmt: skip
        with at_most(self.n_jobs):
            bounds = search.run(self.Cs_)
        tasks.end_task(1.0, f"{bounds.Cs.size} values of C")
        tasks.bar.end()
        self.bounds_, self.C_ = bounds, float(bounds.Cs[bounds.best])
        self.best_score_ = 1.0 - float(bounds.errors[bounds.best])
        self.best_params_, self.n_splits_ = {"C": self.C_}, len(splits)
        self.scores_ = 1.0 - np.array([[fold.error(C) for C in self.Cs_] for fold in folds])
        warn_if_less(bounds.eps, eps, bounds.Cs.size >= _MAX_SOLVES)


def _labels(y: np.ndarray, weights: np.ndarray | None) -> set:
    """Return the labels of samples with a positive weight."""
    return set(np.unique(y if weights is None else y[weights > 0.0]).tolist())


def _of_all(
    start: Start | None, train: np.ndarray, problem: SVMProblem, n: int
) -> list[np.ndarray] | None:
    """Return dual variables of a fold as starts for the problems of all samples."""
    division = problem.division
    # The first fold may lack a class.
    if start is None or len(start) != division.n_problems:
        return None
    out = []
    for k, (places, beta) in enumerate(start):
        # Of a regression both sides of each sample.
        sides = beta.reshape(-1, places.size)
        known = np.zeros((len(sides), n))
        known[:, train[places]] = sides
        out.append(known[:, problem.labels.rows[division.rows(k)]].ravel())
    return out


def _solve_fold(model, grid: dict[str, list], training, weights, X_val) -> Iterator[FoldResult]:
    """Solve one fold along paths over C, one for each value of the others; see `FoldPath`."""
    # Folds may be threads.
    model, last = clone(model), None
    shared = KernelMatrices(several=len(grid.get("gamma", ())) > 1)
    names = [name for name in grid if name != "C"]
    for point in product(*(grid[name] for name in names)):
        model.set_params(**dict(zip(names, point, strict=True)))
        problem = build(model, training[0], training[1], weights, plan="grid", shared=shared)
        last = yield from _solve_path(model, problem, grid["C"], X_val, last)
        # The next kernel matrix reuses the memory of this one.
        del problem


def _scores_on_path(
    model, data: TrainingSet, path: Sequence[Sequence[Solution]], X_new
) -> list[np.ndarray]:
    """Return scores (n, n_problems) for each C of a path, with kernel values computed once."""
    division, kernel = data.division, data.kernel
    X_new = asked_values(model, kernel, X_new)
    betas = [[found.beta for found in solutions] for solutions in path]
    signed = np.concatenate([division.dual_coefs(each) for each in betas])
    pairs, parts, out = False, [], []
    if isinstance(division, OneVsOne):
        pairs, groups = True, division.members
    else:
        groups = [division.everyone]
    for members in groups:
        used = members[signed[:, members].any(axis=0)]
        rows = division.labels.rows[used]
        # For each C the scores of its problems.
        if kernel.name == "precomputed":
            scores = X_new[:, rows] @ signed[:, used].T
        else:
            scores = kernel.scores(X_new, data.X[rows], signed[:, used].T)
        parts.append(np.split(scores, len(path), axis=1))
    for found, solutions in zip(zip(*parts, strict=True), path, strict=True):
        intercepts = np.array([solution.b for solution in solutions])
        out.append(pair_scores(np.stack(found), intercepts) if pairs else found[0] + intercepts)
    return out


def _solve_path(model, problem: SVMProblem, Cs: list, X_val, before: list | None):
    """Solve for one C after another, from `before`, that for another gamma; return the first."""
    division = problem.division
    places = [problem.labels.rows[division.rows(k)] for k in range(division.n_problems)]
    starts = before or [None] * division.n_problems
    # Kernel values between the classes of a problem are freed before the next one.
    paths = [list(problem.solve_path(k, Cs, model.tol, start)) for k, start in enumerate(starts)]
    path = list(zip(*paths, strict=True))
    known: list[tuple | None] = [None] * len(Cs)
    if model.kernel not in ("linear", "precomputed"):
        known = [(X_val, found) for found in _scores_on_path(model, problem.data, path, X_val)]
    for solutions, scored in zip(path, known, strict=True):
        failed = [solution for solution in solutions if not solution.flawless]
        start = [(rows, found.beta) for rows, found in zip(places, solutions, strict=True)]
        yield FoldResult(fitted(model, problem.data, solutions, scored), X_val, failed, start)
    return [solution.beta for solution in path[0]]
