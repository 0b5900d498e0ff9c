"""Bases of the support vector machines: fits, scores and fitted attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skscreen.core.certificate import steps_table
from skscreen.core.checks import MatrixLike
from skscreen.core.sklearn_private import QuickParameters, fit_context
from skscreen.core.threads import at_most, blas_threads_for
from skscreen.fitting.callbacks import (
    CallbackSupportMixin,
    Tasks,
    shows_tasks,
    with_callbacks,
)
from skscreen.fitting.path import clone_for, forget, warn_unless_converged
from skscreen.fitting.progress import say
from skscreen.fitting.store import check_store
from skscreen.fitting.warning import warn_user
from skscreen.samples.kernels.kernel import KERNELS_WITH_GAMMA, WITH_LENGTHS
from skscreen.samples.multiclass import OneVsOne, OneVsRest, with_absent_pairs
from skscreen.samples.score_classifier import ScoreClassifierMixin, with_absent
from skscreen.svm.crammer_singer.fit import joint_solutions
from skscreen.svm.l1.fit import L1Fits
from skscreen.svm.pair_weights import (
    MOST_LOST,
    are_equal,
    need_weights,
    primals_at,
    weights_of_support,
)
from skscreen.svm.probabilities import ProbabilitiesMixin, calibrate
from skscreen.svm.problem import SVMProblem, TrainingSet, asked, build, has_free_intercept
from skscreen.svm.roads import JOINT, Plan
from skscreen.svm.scores import (
    DecisionRule,
    decisive_scores,
    known_scores,
    origin_of,
    raw_scores,
    settled_scores,
    votes,
    weights_of_pairs,
    winners,
)
from skscreen.svm.solvers.kernel.pairs import sums_of_pairs
from skscreen.svm.solvers.solution import PairSolutions, Solution, weights_of
from skscreen.svm.uncertified import NO_CERTIFICATE, SHIFTED

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors.
ADVICE = (
    "Standardise X, use a smaller C, or raise max_iter or tol.",
    "Rounding errors may allow no less: standardise X, use a smaller C or intercept_scaling, or "
    "raise tol.",
)


def warn_of_flaws(model: BaseEstimator, solutions: Sequence[Solution]) -> None:
    """Warn of solutions without a certificate, of other problems, and above the tolerance."""
    certified = [found for found in solutions if not np.isnan(found.certificate.gap)]
    if len(certified) < len(solutions):
        warn_user(NO_CERTIFICATE)
    elif getattr(model, "indefinite", "") == "warn" and any(found.shift for found in certified):
        warn_user(SHIFTED)
    warn_unless_converged(certified, model.tol, model.max_iter, ADVICE)


def warn_of_gaps(model: BaseEstimator, found: PairSolutions) -> None:
    """Warn of problems of pairs above the tolerance, or without a certificate."""
    if np.isnan(found.gaps).any():
        warn_user(NO_CERTIFICATE)
        return
    off = np.flatnonzero(~(found.gaps <= min(model.tol, 1e100) * found.primals))
    if off.size:
        worst = off[np.argmax(found.relative_gaps[off])]
        warn_unless_converged([found.alone(worst)], model.tol, model.max_iter, ADVICE)


class BaseSVM(CallbackSupportMixin, QuickParameters):
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

    # Whether a fit leaves weights of features alone, always dense ones, as `LinearSVC`; whether
    # these are one vector, as in `LinearSVR`; the least value of `n_iter_`.
    by_weights, flat_coef, fewest = False, False, 0

    # Parameters that not all have.
    penalty, multi_class = "l2", "ovo"
    probability: bool | str = "deprecated"
    n_jobs: int | None = None

    # What a fit learns; see the estimators.
    _decision: DecisionRule
    coef_: Any
    dual_coef_: Any
    intercept_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    n_support_: np.ndarray

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Best standardised. The square kernel matrix for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels, or the targets of a regression.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, which multiply C; samples of weights <= 0 are left out, as by `SVC`.

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

    def __sklearn_tags__(self):
        """Sparse data are accepted; a precomputed kernel is cut along both axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_gap_")


class BaseSVC(ProbabilitiesMixin, ScoreClassifierMixin, BaseSVM):
    """Base of the support vector classifiers."""

    decision_function_shape: str
    break_ties: bool
    classes_: np.ndarray
    # Whether more than two classes were to be told apart by pairs.
    _by_pairs: bool

    def decision_function(self, X: MatrixLike) -> np.ndarray:
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
        check_is_fitted(self)
        how, n_classes = self._decision, self.classes_.size
        if n_classes > 2 and self._by_pairs and self.decision_function_shape == "ovo":
            # Two classes are a problem in which the second one is positive.
            scores = settled_scores(self, self._decision, X)
            pairs = scores if how.pairs else -scores
            return with_absent_pairs(pairs, how.present, n_classes)
        scores = (votes if how.pairs else settled_scores)(self, how, X)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return with_absent(scores, how.present, n_classes)

    def predict(self, X: MatrixLike) -> np.ndarray:
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
        how = self._decision
        if how.pairs:
            found = votes(self, how, X).argmax(axis=1) if self.break_ties else winners(self, how, X)
        elif how.present.size == 2:
            found = (decisive_scores(self, how, X) > 0.0).astype(np.intp)
        else:
            found = settled_scores(self, how, X).argmax(axis=1)
        return self.classes_[how.present[found]]

    def __getstate__(self) -> dict:
        """Leave out weights of pairs that support vectors give again, to the last bit."""
        state, known = super().__getstate__(), vars(self)
        if "coef_" in known and "_decision" in known and self._decision.pairs:
            # Not if a user has set other ones.
            if are_equal(weights_of_pairs(self, self._decision), self.coef_):
                return {**state, "coef_": None}
        return state

    def __setstate__(self, state: dict) -> None:
        """Sum up the weights that a file leaves out."""
        super().__setstate__(state)
        if "coef_" in state and self.coef_ is None:
            self.coef_ = weights_of_pairs(self, self._decision)

    def __getattr__(self, name: str):
        """Compute `coef_` of many pairs; name an alternative where there are no probabilities."""
        known = getattr(type(self), name, None)
        if isinstance(known, property) and known.fget is not None:
            # Its own error says more.
            return known.fget(self)
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name == "coef_" and "dual_coef_" in self.__dict__ and self.kernel == "linear":
            # Of many pairs they take more memory than the support vectors.
            return weights_of_pairs(self, self._decision)
        if name in ("predict_proba", "predict_log_proba"):
            text = (
                f"{text}. Use CalibratedClassifierCV({type(self).__name__}(...), ensemble=False)"
                ".fit(X, y).predict_proba(X), of sklearn.calibration."
            )
        raise AttributeError(text)


class BaseSVR(RegressorMixin, BaseSVM):
    """Base of the support vector regressions."""

    def predict(self, X: MatrixLike) -> np.ndarray:
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
        scores = known_scores(self._decision, X)
        if scores is None:
            scores = raw_scores(self, self._decision, asked(self, self._decision.kernel, X))
        return scores[:, 0]


def learn(
    model: BaseSVM, C: float, problem: SVMProblem, starts: Sequence[np.ndarray] | None = None
) -> BaseSVM:
    """Solve all problems of a model for one C, from dual variables `starts`; set what it learns."""
    is_joint, solutions = problem.road.solver in JOINT, list[Solution]()
    n_problems = 1 if is_joint else problem.division.n_problems
    n_threads = min(effective_n_jobs(model.n_jobs), n_problems) if n_problems > 1 else 1
    blas_threads = blas_threads_for(problem.width, n_threads)
    kind = "fit" if is_joint or isinstance(model, RegressorMixin) else "class"
    say(model.verbose, problem.road)
    if starts is None and (not shows_tasks(model) or problem.road.solver == "LIBSVM"):
        # Nobody follows the problems one by one.
        with blas_threads, at_most(model.n_jobs):
            together = problem.solve_together(C, model.tol)
        if together is not None:
            warn_of_gaps(model, together)
            return set_learned(model, problem.data, together)
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
) -> Iterator[Solution]:
    """Yield the solutions of all problems for one C, one after the other."""
    n_problems, spent = problem.division.n_problems, np.zeros(problem.division.n_problems, np.int64)
    solve: Callable[..., Solution] = problem.solve
    if problem.road.solver == "L1":
        solve = L1Fits(model, problem).solve
    elif starts is None and problem.road.solver == "rows at once" and math.isfinite(C):
        for k, at_once in enumerate(problem.solve_at_once(C, model.tol)):
            others = () if at_once.converged else (solve(k, C, model.tol),)
            yield min((*others, at_once), key=lambda each: each.certificate.relative_gap)
        return
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
    solutions: Sequence[Solution],
    known: tuple | None = None,
) -> BaseSVM:
    """Return the estimator of finished solutions; `known` are samples and their scores."""
    out = clone_for(model, C=solutions[0].C)
    set_learned(out, data, solutions)
    out._decision = replace(out._decision, known=known)
    return out


def set_learned(
    model: BaseEstimator, data: TrainingSet, solutions: Sequence[Solution] | PairSolutions,
    **more: object,
) -> Any:  # fmt: skip
    """Set all fitted attributes, `more` too, in one step: an interrupt leaves all or none."""
    division, kernel = data.division, data.kernel
    as_given = sparse.issparse(data.X) and not model.by_weights
    # In the order in which products with them read them.
    shown: Callable = type(data.X) if as_given else np.asfortranarray
    if isinstance(solutions, PairSolutions):
        learned, signed, w = _certificates_of_pairs(solutions), solutions.signed, solutions.w
    else:
        learned, signed, w = _certificates(model, solutions), None, None
        if not model.by_weights:
            signed = division.dual_coefs([solution.beta for solution in solutions])
        if kernel.name == "linear":
            w = weights_of(solutions)
            if as_given and isinstance(division, OneVsOne):
                part = data.X[division.labels.rows]
                w = w if need_weights(solutions, division, part, w) else None
    if kernel.name in KERNELS_WITH_GAMMA:
        learned["gamma_"] = kernel.gamma
    if w is not None:
        coef = shown(w)
        learned["coef_"] = coef[0] if model.flat_coef else coef
    if signed is not None:
        found, counts = division.by_class(np.flatnonzero(signed.any(axis=0)))
        rows = division.labels.rows[found]
        learned |= {"support_": rows, "n_support_": counts, "dual_coef_": shown(signed[:, found])}
        # There are no vectors of a kernel matrix, unless it is a function of rows of numbers.
        X = data.X
        if kernel.name == "precomputed":
            X = None if kernel.function is None else kernel.function.rows
        learned["support_vectors_"] = (
            np.empty((0, 0)) if X is None else X[rows].astype(np.float64, copy=False)
        )
    how = DecisionRule(kernel)
    if not isinstance(division, OneVsRest | OneVsOne):
        learned["kernel_shift_"] = learned["kernel_shift_"][0]
    else:
        pairs, present = isinstance(division, OneVsOne), division.labels.present
        how = DecisionRule(kernel, pairs, present, *_sizes(data, solutions, learned))
        learned |= {"classes_": division.labels.all_classes, "_sigmoids": None}
        learned["_by_pairs"] = model.multi_class == "ovo"
        if pairs and w is not None:
            how = replace(how, origin=_set_sums(model, data, solutions, learned, w))
    learned["_decision"] = how
    model.__dict__.update(learned | more)
    return model


def _set_sums(
    model: BaseEstimator, data: TrainingSet, solutions: Sequence[Solution] | PairSolutions,
    learned: dict, w: np.ndarray,
) -> np.ndarray | None:  # fmt: skip
    """Set weights of pairs that are sums of support vectors, if the gaps allow these.

    Returns what is taken off the vectors. Files of models do not hold weights that are such sums.
    """
    if isinstance(solutions, PairSolutions) and solutions.origin is not None:
        return solutions.origin
    vectors, division, origin = learned["support_vectors_"], data.division, None
    is_free = has_free_intercept(model)
    if isinstance(vectors, np.ndarray):
        origin = vectors[0].copy() if is_free and len(vectors) else np.zeros(vectors.shape[1])
    counts = learned["n_support_"][division.labels.present]
    sums = weights_of_support(vectors, learned["dual_coef_"], counts, origin)
    Cs = solutions.C if isinstance(solutions, PairSolutions) else [each.C for each in solutions]
    C, b = np.zeros(len(w)) + Cs, learned["intercept_"]
    if not np.isfinite(C).all():
        return None
    if origin is not None:
        b = b + (w - sums) @ origin
    samples, loss = (data.X, division.labels.rows), getattr(model, "loss", "hinge")
    primals = primals_at(sums, b, division, *samples, C, loss)
    if not is_free and model.fit_intercept:
        primals += 0.5 * (b / model.intercept_scaling) ** 2
    change = float(np.max(np.abs(primals / learned["objective_"] - 1.0)))
    gap = learned["dual_gap_"] + change
    if not change <= MOST_LOST or learned["dual_gap_"] <= model.tol < gap:
        return None
    learned |= {"coef_": sums, "intercept_": b, "objective_": primals, "dual_gap_": gap}
    return origin


def _certificates(model: BaseEstimator, solutions: Sequence[Solution]) -> dict:
    """Return what solutions tell of themselves."""
    primals = np.array([float(solution.certificate.primal) for solution in solutions])
    is_one_problem = len(solutions) == 1 or model.multi_class == "crammer_singer"
    return {
        "objective_": float(primals[0]) if is_one_problem else primals,
        "dual_gap_": float(np.max([each.certificate.relative_gap for each in solutions])),
        "n_iter_": max(model.fewest, *(int(solution.n_iter) for solution in solutions)),
        "screening_history_": steps_table(
            (found.C, event) for found in solutions for event in found.history
        ),
        "screening_parameter_": "C",
        "kernel_shift_": np.array([solution.shift for solution in solutions]),
        "intercept_": np.array([solution.b for solution in solutions]),
    }


def _certificates_of_pairs(found: PairSolutions) -> dict:
    """Return the same of the problems of pairs that were solved together."""
    return {
        "objective_": found.primals,
        "dual_gap_": float(found.relative_gaps.max()),
        "n_iter_": int(found.n_iters.max()),
        "screening_history_": steps_table(()),
        "screening_parameter_": "C",
        "kernel_shift_": np.zeros(found.b.size),
        "intercept_": found.b,
    }


def _sizes(
    data: TrainingSet, solutions: Sequence[Solution] | PairSolutions, learned: dict
) -> tuple[np.ndarray, float]:
    """Return `sums` and `longest` of a `DecisionRule`."""
    kernel, division = data.kernel, data.division
    X, rows = data.X, division.labels.rows
    vectors = learned.get("support_vectors_")
    if kernel.name == "precomputed":
        lengths = np.full(rows.size, np.abs(np.diagonal(X)[learned["support_"]]).max(initial=0.0))
    elif kernel.name in WITH_LENGTHS:
        lengths = kernel.lengths(X, origin_of(kernel, vectors))[rows]
    else:
        lengths = np.ones(rows.size)
    if isinstance(solutions, PairSolutions):
        order = np.concatenate(division.members)
        ends = np.cumsum([part.size for part in division.members])
        coefs = np.ascontiguousarray(np.abs(solutions.signed[:, order]).T)
        used = solutions.signed.any(axis=0)
        sums = sums_of_pairs(lengths[order][None], coefs, ends)[0]
        return sums, float(lengths[used].max(initial=0.0))
    sums, longest = [], 0.0
    for k, solution in enumerate(solutions):
        own = lengths[division.rows(k)]
        sums.append(float(solution.alpha @ own))
        longest = max(longest, own[solution.alpha > 0.0].max(initial=0.0))
    return np.array(sums), longest
