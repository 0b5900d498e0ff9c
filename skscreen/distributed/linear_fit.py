"""How linear classifiers are fitted to rows on workers: start, passes, what is set."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from time import perf_counter

import numpy as np
from distributed import KilledWorker
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from skscreen.core.certificate import HISTORY
from skscreen.distributed.linear_newton import ClusterRows, Incumbent, LocalRows, Newton, Problems
from skscreen.distributed.rows import LabelledRows, joined, thinned
from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.progress import share_of_decades
from skscreen.fitting.warning import warn_user

# Passes that ordinary data do not reach.
_MOST_PASSES = 200
# What a lost cluster raises.
LOST = (CommClosedError, KilledWorker, CancelledError, FutureCancelledError, TimeoutError)


def problems_of(model: BaseEstimator, data: LabelledRows, Cs: Sequence[float]) -> Problems:
    """Return the problems of each C: one for two classes, else one for each class."""
    positive = np.arange(data.classes.size) if data.classes.size > 2 else np.array([1])
    scale = float(model.intercept_scaling) if model.fit_intercept else 0.0
    problems = Problems(
        np.tile(positive, len(Cs)), np.repeat(np.asarray(Cs, dtype=np.float64), positive.size),
        scale, model.loss == "hinge", data.n_features + (scale > 0.0),
    )  # fmt: skip
    problems.check_memory()
    return problems


def start_of(model: BaseEstimator, old: dict, data: LabelledRows, problems: Problems) -> np.ndarray:
    """Return the weights of the previous fit, or those for a part of the rows."""
    if not (model.warm_start and "coef_" in old):
        return from_part(data, problems, float(model.tol))
    coef, intercept = old["coef_"], old["intercept_"]
    if not np.array_equal(old["classes_"], data.classes) or coef.shape[1] != data.n_features:
        raise ValueError("warm_start needs the classes and the columns of the previous fit.")
    if not problems.scale:
        return coef.copy()
    return np.column_stack([coef, intercept / problems.scale])


def from_part(data: LabelledRows, problems: Problems, tol: float) -> np.ndarray:
    """Return weights learned from a part of the rows, spread evenly, in the driver."""
    W = np.zeros((problems.Cs.size, problems.width))
    # A hundred rows for each weight and some thousand at least, but not too many numbers.
    wanted = min(max(5_000, 100 * problems.width), 2e7 / problems.width)
    if not problems.with_matrix:
        return W
    step = int(max(data.n // wanted, 1))
    part = joined(data.blocks.map(thinned, step))
    local = replace(problems, Cs=problems.Cs * (data.n / part.codes.size))
    newton = Newton(LocalRows(part), local, W, tol if step == 1 else 1e-5)
    for _ in newton.passes(_MOST_PASSES):
        pass
    return newton.best.W.copy()


def solve_rows(
    model: BaseEstimator, data: LabelledRows, problems: Problems, start: np.ndarray
) -> Incumbent:
    """Pass over the rows until all gaps are small; set what the estimator has of its fit."""
    rows, tol, began = ClusterRows(data.blocks), float(model.tol), perf_counter()
    most = _MOST_PASSES if model.max_iter is None else model.max_iter
    newton, history = Newton(rows, problems, start, tol), list[tuple]()
    with Tasks(model, None, "pass") as tasks:
        try:
            for found in newton.passes(most):
                worst = int(np.argmax(found.gap))
                gap, primal, dual = found.gap[worst], found.primal[worst], found.dual[worst]
                seconds = perf_counter() - began
                history.append((len(history) + 1, seconds, primal, dual, gap))
                _set(model, found, problems, rows.n_passes, history)
                if tasks.end_task(share_of_decades(gap, tol), f"gap {gap:.1e}"):
                    break
        except LOST as error:
            if not history:
                what = f"The Dask cluster was lost in the first pass: {error}"
                raise RuntimeError(what) from error
            raise RuntimeError(
                f"The Dask cluster was lost in pass {rows.n_passes} ({error}). coef_, intercept_ "
                f"and dual_gap_ hold the last iterate, of relative gap {model.dual_gap_:.1e}; set "
                "warm_start=True and fit again to go on from it."
            ) from error
    if not model.dual_gap_ <= tol:
        warn_user(
            f"{type(model).__name__} stopped after {rows.n_passes} passes at a relative duality "
            f"gap of {model.dual_gap_:.1e} (tol={tol:g}). Standardise the features, or raise "
            "max_iter.",
            ConvergenceWarning,
        )
    return newton.best


def attributes(W: np.ndarray, problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (n, d) and intercepts (n,) of weights (n, D)."""
    if not problems.scale:
        return W.copy(), np.zeros(len(W))
    return W[:, :-1].copy(), problems.scale * W[:, -1]


def _set(
    model: BaseEstimator, found: Incumbent, problems: Problems, n_passes: int, history: list
) -> None:
    model.coef_, model.intercept_ = attributes(found.W, problems)
    model.objective_ = one_or_all(found.primal.copy())
    model.dual_gap_, model.n_iter_ = float(found.gap.max()), n_passes
    model.history_ = np.array(history, dtype=HISTORY)


def one_or_all(values: np.ndarray) -> float | np.ndarray:
    """Return a float for one problem, the array for several."""
    return float(values[0]) if values.size == 1 else values
