"""The peers of ScreenedSVC, timed at the duality gap they really reach."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.extmath import safe_sparse_dot

from benchmarks.support.peer_process import best_of, timed

# Tolerances tried one after the other until the gap is small enough.
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


@dataclass(frozen=True)
class Run:
    """A fit of a peer: seconds, relative duality gap reached, the tolerance that it was given."""

    seconds: float
    gap: float
    tol: float | None

    def __str__(self) -> str:
        """Seconds, with the gap."""
        return f"{self.seconds:8.3f} s, gap {self.gap:.0e}"


def linear_primal(X, signs, C: float, coef: np.ndarray, intercept: float) -> float:
    """Objective of LinearSVC(loss="hinge"), whose intercept is penalised."""
    margins = signs * (safe_sparse_dot(X, coef) + intercept)
    return 0.5 * (coef @ coef + intercept**2) + C * np.maximum(1.0 - margins, 0.0).sum()


def linear_svc(X, signs, C: float, dual: float, gap: float, limit: float, repeats: int = 1) -> Run:
    """Time LinearSVC at the loosest tolerance that reaches the gap; the last run if none does.

    `dual` is a certified dual value: LIBLINEAR's own is not known to its callers. Its iterations
    are unlimited, its time is not. The fastest of `repeats` short fits counts.
    """
    best = Run(limit, np.inf, None)
    for tol in LADDER:
        model = LinearSVC(C=C, loss="hinge", tol=tol, max_iter=10**8, random_state=0)
        answer = _within(limit, _fit_linear, model, X, signs, repeats)
        if answer is None:
            return Run(limit, best.gap, None)
        seconds, coef, intercept = answer
        primal = linear_primal(X, signs, C, coef, intercept)
        best = Run(seconds, (primal - dual) / primal, tol)
        if best.gap <= gap:
            break
    return best


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


def svc(X, K, signs, C: float, gamma: float, tol: float, cache_size: float) -> Run:
    """Time one fit of SVC at a tolerance."""
    model = SVC(C=C, gamma=gamma, tol=tol, cache_size=cache_size)
    started = time.process_time()
    model.fit(X, signs)
    return Run(time.process_time() - started, svc_gap(model, K, signs, C), tol)


def _fit_linear(model: LinearSVC, X, signs, repeats: int) -> tuple[float, np.ndarray, float]:
    seconds, _ = best_of(repeats, lambda: model.fit(X, signs))
    return seconds, model.coef_[0], float(model.intercept_[0])


def _within(limit: float, function: Callable, *arguments):
    """Return the function's value, or None if it takes longer than the limit, in CPU seconds."""
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
        answer = None
    process.join()
    return answer
