"""Bases of the support vector machines: fits, scores and fitted attributes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from skscreen.core.certificate import steps_table
from skscreen.core.floats import EPS
from skscreen.core.sklearn_private import fit_context
from skscreen.core.threads import at_most, blas_threads_for
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import clone_for, forget, warn_unless_converged
from skscreen.fitting.progress import say
from skscreen.fitting.store import check_store
from skscreen.fitting.training_data import mark, remember
from skscreen.fitting.warning import warn_user
from skscreen.samples.kernels.kernel import KERNELS_WITH_GAMMA, WITH_LENGTHS, Kernel
from skscreen.samples.multiclass import (
    Division,
    OneVsOne,
    OneVsRest,
    class_scores,
    pair_scores,
    vote,
    with_absent_pairs,
)
from skscreen.samples.score_classifier import (
    ScoreClassifierMixin,
    equal_to_best,
    with_absent,
    without_noise,
)
from skscreen.svm.crammer_singer.fit import joint_solutions
from skscreen.svm.l1.fit import L1Fits
from skscreen.svm.probabilities import ProbabilitiesMixin, calibrate
from skscreen.svm.problem import SVMProblem, TrainingSet, asked, build
from skscreen.svm.roads import Plan
from skscreen.svm.screened.own import OwnScreening
from skscreen.svm.solvers.solution import SampleSolution, weights_of
from skscreen.svm.uncertified import NO_CERTIFICATE, SHIFTED

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors.
ADVICE = (
    "Standardise X, use a smaller C, or raise max_iter or tol.",
    "Rounding errors may allow no less: standardise X, use a smaller C or intercept_scaling, or "
    "raise tol.",
)


def warn_of_flaws(model: Any, solutions: Sequence[SampleSolution]) -> None:
    """Warn of solutions without a certificate, of other problems, and above the tolerance."""
    certified = [found for found in solutions if not np.isnan(found.certificate.gap)]
    if len(certified) < len(solutions):
        warn_user(NO_CERTIFICATE)
    elif getattr(model, "indefinite", "") == "warn" and any(found.shift for found in certified):
        warn_user(SHIFTED)
    warn_unless_converged(certified, model.tol, model.max_iter, ADVICE)


class BaseSVM(CallbackSupportMixin, BaseEstimator):
    """Base of the support vector machines; they may fix parameters as class attributes."""

    # Parameters of all of them.
    C: float
    kernel: Any
    fit_intercept: bool
    intercept: str
    intercept_scaling: float
    tol: float
    max_iter: int | None
    store: Any
    verbose: int

    # Whether coefficients are sparse if samples are, as in `SVC`; the least value of `n_iter_`.
    sparse_coefs, fewest = True, 0
    # Whether weights of features are one vector, as in `LinearSVR`.
    flat_coef = False

    # Parameters that not all have.
    penalty, multi_class = "l2", "ovo"
    probability: bool | str = "deprecated"
    n_jobs: int | None = None

    # Samples with known scores, and these scores, with a column for each problem.
    _known: tuple | None = None

    # What a fit learns; see the estimators.
    _kernel: Kernel
    coef_: Any
    dual_coef_: Any
    intercept_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    n_support_: np.ndarray

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        plan: Plan = "C=inf" if math.isinf(self.C) else "one C"
        problem = build(self, X, y, sample_weight, check_store(self.store), plan)
        learn(self, float(self.C), problem)
        if self.probability != "deprecated":
            calibrate(self, problem)
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


class BaseSVC(OwnScreening, ProbabilitiesMixin, ScoreClassifierMixin, BaseSVM):
    """Base of the support vector classifiers."""

    decision_function_shape: str
    break_ties: bool
    classes_: np.ndarray
    # Whether classes were told apart by pairs, and there were more than one; the classes that take
    # part, and sizes of the terms of scores.
    _by_pairs: bool
    _one_against_one: bool
    _present: np.ndarray
    _sums: np.ndarray
    _longest: float

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x): positive for the second of two classes, otherwise one column for each class.

        For one-vs-one, the column of a class holds its number of votes plus less than half a vote
        for the sum of its scores. With ``decision_function_shape="ovo"`` there is a column for each
        pair of classes, with its scores, positive for the first class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_problems)
        """
        scores, present, n_classes = self._scores(X), self._present, self.classes_.size
        if n_classes > 2 and self._by_pairs and self.decision_function_shape == "ovo":
            # Two classes are a problem in which the second one is positive.
            pairs = scores if self._one_against_one else -scores
            return with_absent_pairs(pairs, present, n_classes)
        if self._one_against_one:
            scores = class_scores(scores, present.size)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return with_absent(scores, present, n_classes)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If ties are to be broken with ``decision_function_shape="ovo"``.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo'; use "
                "decision_function_shape='ovr'."
            )
        if self._kernel.name not in ("linear", "precomputed") and self.dual_coef_.shape[0] == 1:
            return self._seen[(self._decisive_scores(X) > 0.0).astype(np.intp)]
        if not self._one_against_one:
            return super().predict(X)
        scores, n_classes = self._scores(X), self._present.size
        if self.break_ties:
            return self._seen[class_scores(scores, n_classes).argmax(axis=1)]
        return self._seen[vote(scores, n_classes)]

    @property
    def _seen(self) -> np.ndarray:
        """The classes of samples with weight."""
        return self.classes_[self._present]

    def _decisive_scores(self, X) -> np.ndarray:
        """Return the scores of two classes, precise enough for their signs."""
        if self._known_scores(X) is not None:
            return self._scores(X)[:, 0]
        X = asked(self, self._kernel, X)
        b, coef = float(self.intercept_[0]), self._dense_dual_coef[0]
        with at_most(self.n_jobs):
            scores = self._kernel.decisive_scores(X, self.support_vectors_, coef, b)
        return without_noise(scores[:, None], self._rounding(X))[:, 0]

    def __getattr__(self, name: str):
        """Name an alternative in the error about missing probabilities."""
        known = getattr(type(self), name, None)
        if isinstance(known, property) and known.fget is not None:
            # Its own error says more.
            return known.fget(self)
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in ("predict_proba", "predict_log_proba"):
            text = (
                f"{text}. Use CalibratedClassifierCV({type(self).__name__}(...), ensemble=False)"
                ".fit(X, y).predict_proba(X), of sklearn.calibration."
            )
        raise AttributeError(text)

    def _scores(self, X) -> np.ndarray:
        """Return the scores of all problems, one column each; equal up to rounding means equal."""
        check_is_fitted(self)
        scores = self._known_scores(X)
        if scores is None or self._kernel.name in WITH_LENGTHS:
            X = asked(self, self._kernel, X)
        with at_most(self.n_jobs):
            scores = self._raw_scores(X) if scores is None else scores
        errors = self._rounding(X)
        if self._one_against_one or scores.shape[1] == 1:
            return without_noise(scores, errors)
        return equal_to_best(scores, errors)

    def _rounding(self, X) -> np.ndarray:
        """Return estimates of rounding errors of scores, of shape (n or 1, n_problems).

        |sum_j alpha_j K(x, x_j)| is at most sqrt(K(x, x)) sum_j alpha_j sqrt(K(x_j, x_j)). An
        intercept has the errors of the scores of support vectors, from which it was computed.
        """
        sizes = self._sums
        if self._kernel.name in WITH_LENGTHS:
            lengths = self._kernel.lengths(X, self.support_vectors_)
            longest = self._longest if self.fit_intercept else 0.0
            sizes = np.maximum(lengths, longest)[:, None] * sizes
        # The terms are sums over all support vectors, whose errors mostly cancel: no score above
        # 1e-8 is taken for noise.
        errors = 8.0 * EPS * (sizes + np.abs(self.intercept_))
        return np.atleast_2d(np.minimum(errors, 1e-8))

    def _raw_scores(self, X) -> np.ndarray:
        if not self._one_against_one or self._kernel.name == "linear":
            return super()._raw_scores(X)
        X = X[:, self.support_] if self._kernel.name == "precomputed" else X
        coefs, sizes = self._dense_dual_coef, self.n_support_[self._present]
        parts = (slice(end - size, end) for size, end in zip(sizes, sizes.cumsum(), strict=True))
        precomputed = self._kernel.name == "precomputed"
        return pair_scores(
            [
                self._kernel.scores(
                    X[:, part] if precomputed else X,
                    self.support_vectors_[part],
                    coefs[:, part].T,
                )
                for part in parts
            ],
            self.intercept_,
        )


class BaseSVR(RegressorMixin, BaseSVM):
    """Base of the support vector regressions."""

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Kernel values with all training samples for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        scores = self._known_scores(X)
        if scores is None:
            scores = self._raw_scores(asked(self, self._kernel, X))
        return scores[:, 0]


def learn(
    model: BaseSVM, C: float, problem: SVMProblem, starts: Sequence[np.ndarray] | None = None
) -> BaseSVM:
    """Solve all problems of a model for one C, from dual variables `starts`; set what it learns."""
    is_joint, solutions = problem.road.solver == "Crammer-Singer", []
    n_problems = 1 if is_joint else problem.division.n_problems
    n_threads = min(effective_n_jobs(model.n_jobs), n_problems)
    blas_threads = blas_threads_for(problem.width, n_threads)
    kind = "class" if is_classifier(model) and not is_joint else "fit"
    say(model.verbose, problem.road)
    with Tasks(model, n_problems, kind) as tasks, blas_threads, at_most(model.n_jobs):
        if is_joint:
            solutions = joint_solutions(model, problem, C)
            tasks.end_task(1.0, solutions[0])
        else:
            for solution in _solved(problem, C, model, starts, n_threads):
                solutions.append(solution)
                tasks.end_task(len(solutions) / n_problems, solution)
    # All parts of a joint solution have the same flaws.
    warn_of_flaws(model, solutions[:n_problems])
    return set_learned(model, problem.data, solutions)


def _solved(
    problem: SVMProblem, C: float, model: BaseSVM, starts: Sequence | None, n_threads: int
) -> Iterator[SampleSolution]:
    """Yield the solutions of all problems for one C, one after the other."""
    n_problems, spent = problem.division.n_problems, np.zeros(problem.division.n_problems, np.int64)
    solve: Callable[..., SampleSolution] = problem.solve
    if problem.road.solver == "L1":
        solve = L1Fits(model, problem).solve
    elif starts is None and problem.road.solver == "rows together":
        found = problem.starts(C, model.tol)
        if found is not None:
            starts, spent = list(found[0]), found[1]
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
    """Return the estimator of finished solutions; `known` are samples and their scores."""
    out = clone_for(model, C=solutions[0].C)
    out._known = known
    return set_learned(out, data, solutions)


def set_learned(
    model: BaseSVM, data: TrainingSet, solutions: Sequence[SampleSolution], **more: Any
) -> BaseSVM:
    """Set all fitted attributes, `more` too, in one step: an interrupt leaves all or none."""
    X, division, kernel = data.X, data.division, data.kernel
    as_given = sparse.issparse(X) and model.sparse_coefs
    shown: Callable = type(X) if as_given else np.asarray
    signed = division.dual_coefs([solution.alpha for solution in solutions])
    found, counts = division.by_class(np.flatnonzero(signed.any(axis=0)))
    rows = division.labels.rows[found]
    if kernel.name == "precomputed":
        # There are no vectors, unless the kernel is a function of rows of numbers.
        X = None if kernel.function is None else kernel.function.rows
    primals = np.array([float(solution.certificate.primal) for solution in solutions])
    is_one_problem = len(solutions) == 1 or model.multi_class == "crammer_singer"
    model._kernel = kernel
    learned = {
        "support_": rows,
        "n_support_": counts,
        "intercept_": np.array([solution.b for solution in solutions]),
        "support_vectors_": (
            np.empty((0, 0)) if X is None else X[rows].astype(np.float64, copy=False)
        ),
        "objective_": float(primals[0]) if is_one_problem else primals,
        "dual_gap_": float(np.max([each.certificate.relative_gap for each in solutions])),
        "n_iter_": max(model.fewest, *(int(solution.n_iter) for solution in solutions)),
        "screening_history_": steps_table(
            (found.C, event) for found in solutions for event in found.history
        ),
        "screening_parameter_": "C",
        "dual_coef_": shown(signed[:, found]),
        "kernel_shift_": np.array([solution.shift for solution in solutions]),
    }
    if kernel.name in KERNELS_WITH_GAMMA:
        learned["gamma_"] = kernel.gamma
    if kernel.name == "linear":
        learned["coef_"] = shown(weights_of(solutions))
    if not isinstance(division, OneVsRest | OneVsOne):
        learned["kernel_shift_"] = solutions[0].shift
        if model.flat_coef:
            learned["coef_"] = learned["coef_"][0]
    else:
        learned |= {"classes_": division.labels.all_classes, "_sigmoids": None}
        learned["_by_pairs"] = model.multi_class == "ovo"
        learned |= _sizes(data, division, solutions, found, learned)
        remember(model, data.X, mark(data.X), division.labels, kernel)
    model.__dict__.update(learned | more)
    return model


def _sizes(data: TrainingSet, division: Division, solutions, found, learned: dict) -> dict:
    """Return what scores and their rounding errors need; `found` are the support vectors."""
    kernel, labels = data.kernel, division.labels
    lengths = np.zeros(labels.rows.size)
    if kernel.name == "precomputed":
        rows = learned["support_"]
        lengths[found] = np.abs(data.X[rows, rows]).max(initial=0.0)
    elif kernel.name in WITH_LENGTHS:
        vectors = learned["support_vectors_"]
        lengths[found] = kernel.lengths(vectors, vectors)
    else:
        lengths[found] = 1.0
    sums = [s.alpha @ lengths[division.rows(k)] for k, s in enumerate(solutions)]
    return {
        "_one_against_one": isinstance(division, OneVsOne), "_present": labels.present,
        "_sums": np.array(sums), "_longest": lengths.max(),
    }  # fmt: skip
