"""Base of the support vector machines: fits, scores and fitted attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from skscreen.core.threads import at_most, blas_threads_for
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget, warn_unless_converged
from skscreen.fitting.store import check_store
from skscreen.fitting.warning import warn_user
from skscreen.samples.multiclass import OneVsOne, pair_scores
from skscreen.svm.crammer_singer.fit import joint_solutions
from skscreen.svm.l1.fit import L1Fits
from skscreen.svm.problem import SVMProblem, TrainingSet, asked, build
from skscreen.svm.solvers.solution import SampleSolution, steps_of
from skscreen.svm.uncertified import NO_CERTIFICATE, SHIFTED

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors.
ADVICE = (
    "Standardise X, use a smaller C, or raise max_iter or tol.",
    "Rounding errors may allow no less: standardise X, use a smaller C or intercept_scaling, or "
    "raise tol.",
)


def warn_of_flaws(model, solutions: Sequence[SampleSolution]) -> None:
    """Warn of solutions without a certificate, of other problems, and above the tolerance."""
    certified = [found for found in solutions if not np.isnan(found.certificate.gap)]
    if len(certified) < len(solutions):
        warn_user(NO_CERTIFICATE)
    elif getattr(model, "indefinite", "") == "warn" and any(found.shift for found in certified):
        warn_user(SHIFTED)
    warn_unless_converged(certified, model.tol, model.max_iter, ADVICE)


class BaseSVM(CallbackSupportMixin, BaseEstimator):
    """Base of the support vector machines.

    The parameters are those of `ScreenedSVC` or `ScreenedSVR`; subclasses may fix some of them as
    class attributes.
    """

    # Whether coefficients are sparse if samples are, as in `SVC`; the least value of `n_iter_`.
    sparse_coefs, fewest = True, 0

    # Parameters that not all have.
    penalty, multi_class, probability, n_jobs = "l2", "ovo", "deprecated", None

    # Samples with known scores, and these scores, with a column for each problem.
    _known: tuple | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y, sample_weight=None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels, or the targets of a regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, which multiply C.

        Returns
        -------
        self
        """
        forget(self)
        problem = build(self, X, y, sample_weight, check_store(self.store), once=True)
        learn(self, float(self.C), problem)
        if self.probability != "deprecated":
            self._calibrate(problem)
        return self

    def _known_scores(self, X) -> np.ndarray | None:
        """Return the scores of samples that a search has asked about before, if these are they."""
        return self._known[1] if self._known is not None and X is self._known[0] else None

    def _raw_scores(self, X) -> np.ndarray:
        """Return the scores of all problems, one column each, of samples from `asked`."""
        if self._kernel.name == "linear":
            coef = self.coef_ if self.coef_.ndim == 2 else self.coef_[None]
            if sparse.issparse(X) and sparse.issparse(coef):
                # scikit-learn multiplies sparse matrices of one dtype only.
                X = X.astype(np.float64, copy=False)
            return safe_sparse_dot(X, coef.T, dense_output=True) + self.intercept_
        X = X[:, self.support_] if self._kernel.name == "precomputed" else X
        scores = self._kernel.scores(X, self.support_vectors_, self._dense_dual_coef.T)
        return scores + self.intercept_

    @property
    def _dense_dual_coef(self) -> np.ndarray:
        coefs = self.dual_coef_
        return coefs.toarray() if sparse.issparse(coefs) else coefs

    def __sklearn_tags__(self):
        """Sparse data are accepted; a precomputed kernel is cut along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")


def learn(
    model: BaseSVM, C: float, problem: SVMProblem, starts: Sequence[np.ndarray] | None = None
) -> BaseSVM:
    """Solve all problems, built for a model, for one C and set the attributes of the estimator.

    `starts` are dual variables to start each problem from.
    """
    problem.division.check(problem.X.shape[1])
    if model.multi_class == "crammer_singer":
        return _learn_together(model, C, problem)
    n_problems, solutions = problem.division.n_problems, []
    n_threads = min(effective_n_jobs(model.n_jobs), n_problems)
    blas_threads = blas_threads_for(problem.kernel.width, n_threads)
    kind = "class" if is_classifier(model) else "fit"
    with Tasks(model, n_problems, kind) as tasks, blas_threads, at_most(model.n_jobs):
        for solution in _solved(problem, C, model, starts, n_threads):
            solutions.append(solution)
            tasks.end_task(len(solutions) / n_problems, solution.line)
    warn_of_flaws(model, solutions)
    return _set(model, problem.data, solutions)


def _learn_together(model: BaseSVM, C: float, problem: SVMProblem) -> BaseSVM:
    """Solve the one problem of all classes and set the attributes of the estimator."""
    with Tasks(model, 1, "fit") as tasks, at_most(model.n_jobs):
        solutions = joint_solutions(model, problem, C)
        tasks.end_task(1.0, solutions[0].line)
    warn_of_flaws(model, solutions[:1])
    return _set(model, problem.data, solutions)


def _solved(
    problem: SVMProblem, C: float, model: BaseSVM, starts: Sequence | None, n_threads: int
) -> Iterator[SampleSolution]:
    """Yield the solutions of all problems for one C, one after the other."""
    n_problems, solve = problem.division.n_problems, problem.solve
    spent = np.zeros(n_problems, np.int64)
    if model.penalty == "l1":
        solve = L1Fits(model, problem).solve
    elif starts is None and (found := problem.starts(C, model.tol)) is not None:
        starts, spent = found
    calls = ((k, C, model.tol, None if starts is None else starts[k]) for k in range(n_problems))
    if n_threads == 1:
        solved = (solve(*call) for call in calls)
    else:
        threads = Parallel(n_threads, require="sharedmem", return_as="generator")
        solved = threads(delayed(solve)(*call) for call in calls)
    for solution, steps in zip(solved, spent.tolist(), strict=True):
        yield replace(solution, n_iter=solution.n_iter + steps) if steps else solution


def fitted(
    model: BaseSVM,
    data: TrainingSet,
    solutions: Sequence[SampleSolution],
    known: tuple | None = None,
) -> BaseSVM:
    """Return the fitted estimator of one value of C, all of whose problems are solved.

    `solutions` are finished, see `SVMProblem.finish`. `known` are samples that it will be asked
    about, and their scores; see `scores_on_path`.
    """
    out = clone_for(model, C=solutions[0].C)
    out._known = known
    return _set(out, data, solutions)


def scores_on_path(
    model: BaseSVM, data: TrainingSet, path: Sequence[Sequence[SampleSolution]], X_new
) -> list[np.ndarray]:
    """Return the scores of samples for several values of C, with kernel values computed once.

    `path` has for each C the solutions of all problems; scores are of shape (n, n_problems).
    """
    division, kernel = data.division, data.kernel
    X_new = asked(model, kernel, X_new)
    alphas = [[found.alpha for found in solutions] for solutions in path]
    signed = np.concatenate([division.dual_coefs(each) for each in alphas])
    one_against_one = isinstance(division, OneVsOne)
    parts, out = [], []
    for members in division.members if one_against_one else [division.everyone]:
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
        out.append(pair_scores(found, intercepts) if one_against_one else found[0] + intercepts)
    return out


def _set(model: BaseSVM, data: TrainingSet, solutions: Sequence[SampleSolution]) -> BaseSVM:
    """Set all fitted attributes in one step, so that an interrupt leaves all or none."""
    X, division, kernel = data.X, data.division, data.kernel
    shown = type(X) if sparse.issparse(X) and model.sparse_coefs else np.asarray
    signed = division.dual_coefs([solution.alpha for solution in solutions])
    found, counts = division.by_class(np.flatnonzero(signed.any(axis=0)))
    rows = division.labels.rows[found]
    if kernel.name == "precomputed":
        # There are no vectors, unless the kernel is a function of rows of numbers.
        X = None if kernel.function is None else kernel.function.rows
    primals = np.array([float(solution.certificate.primal) for solution in solutions])
    is_one_problem = len(solutions) == 1 or model.multi_class == "crammer_singer"
    learned = {
        "_kernel": kernel,
        "support_": rows,
        "n_support_": counts,
        "intercept_": np.array([solution.b for solution in solutions]),
        "support_vectors_": (
            np.empty((0, 0)) if X is None else X[rows].astype(np.float64, copy=False)
        ),
        "objective_": float(primals[0]) if is_one_problem else primals,
        "dual_gap_": float(np.max([each.certificate.relative_gap for each in solutions])),
        "n_iter_": max(model.fewest, *(int(solution.n_iter) for solution in solutions)),
        "screening_history_": steps_of(solutions),
        "screening_parameter_": "C",
        "dual_coef_": shown(signed[:, found]),
        "kernel_shift_": np.array([solution.shift for solution in solutions]),
    }
    if kernel.has_gamma:
        learned["gamma_"] = kernel.gamma
    if kernel.name == "linear":
        learned["coef_"] = shown(np.stack([solution.w for solution in solutions]))
    vars(model).update(learned | model._own_attributes(data, solutions, found, learned))
    return model
