"""The peers in our own environment, timed at the duality gap that they really reach."""

import multiprocessing
from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from benchmarks.support.comparison import Side, answered
from benchmarks.support.peer_process import best_of, timed

# Tolerances tried one after the other until the gap is small enough.
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def ladder(name: str, fit: Callable, least, objectives: Callable, gap: float, limit: float) -> Side:
    """Fit at the loosest tolerance that brings each objective within the gap of its least value.

    `fit` returns seconds and a model for a tolerance, or says why there is none; `least` is a
    certified dual value, as the peer's own is not known to its callers.
    """
    side = Side(name, limit, late=True)
    for tol in LADDER:
        answer = fit(tol)
        if isinstance(answer, str):
            return answered(name, {"failed": answer}, limit, side.reached)
        seconds, model = answer
        reached = float(np.max(1.0 - least / objectives(model)))
        side = Side(name, seconds, f"gap {reached:.0e}", late=reached > gap)
        if not side.late:
            break
    return side


def linear_svc(
    X, y, least, gap: float, limit: float, repeats: int = 1, objectives=None, **options
) -> Side:
    """Time LinearSVC; its iterations are unlimited, its time is not."""
    options = {"max_iter": 10**8, "random_state": 0, **options}
    objectives = objectives or penalised

    def fit(tol: float):
        model = LinearSVC(tol=tol, **options)
        return _within(limit, best_of, repeats, lambda: model.fit(X, y))

    return ladder("LinearSVC", fit, least, lambda model: objectives(model, X, y), gap, limit)


def losses(model, X, y) -> np.ndarray:
    """Return the sums of hinges of its problems, squared or not, times C."""
    classes = model.classes_[1:] if model.classes_.size == 2 else model.classes_
    margins = model.decision_function(X).reshape(X.shape[0], -1)
    margins *= np.where(y[:, None] == classes, 1.0, -1.0)
    short = np.maximum(1.0 - margins, 0.0)
    return model.C * (short if model.loss == "hinge" else short**2).sum(axis=0)


def penalised(model, X, y) -> np.ndarray:
    """Return the objectives of its problems, whose intercepts are penalised."""
    return 0.5 * ((model.coef_**2).sum(axis=1) + model.intercept_**2) + losses(model, X, y)


def svc_gap(model: SVC, K: np.ndarray, signs: np.ndarray, C: float) -> float:
    """Relative duality gap of SVC's own problem, at its own dual variables and intercept."""
    alpha = np.zeros(signs.size)
    coefs = model.dual_coef_
    alpha[model.support_] = abs(coefs.toarray() if sparse.issparse(coefs) else coefs)[0]
    scores = K[:, model.support_] @ (alpha * signs)[model.support_]
    square = float((alpha * signs) @ scores)
    shown = 1.0 - signs * (scores + model.intercept_[0])
    primal = 0.5 * square + C * np.maximum(shown, 0.0).sum()
    return (primal - (alpha.sum() - 0.5 * square)) / primal


def _within(limit: float, function: Callable, *arguments):
    """Return the function's value, or that it takes longer than the limit, in CPU seconds."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(
        target=lambda: there.send(timed(limit, function, *arguments)[1]), daemon=True
    )
    process.start()
    # Or the end of the process, too, would not end the wait.
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = f"> {limit:g} s"
    process.join()
    return answer
