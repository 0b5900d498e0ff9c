"""Cross-validation over a grid of values, one path for each fold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from skscreen.core.checks import Folds, MatrixLike, as_labels
from skscreen.core.sklearn_private import Interval, StrOptions, safe_split
from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.grid import MOST_VALUES, NUMBER_OR_LIST, positive_values
from skscreen.fitting.path import Model
from skscreen.fitting.warning import warn_user


@dataclass(frozen=True)
class FoldResult:
    """What a fold has for one value of the grid."""

    model: BaseEstimator  # fitted
    X: Any  # the validation samples as it takes them
    failed: list  # solutions that missed their tolerance
    start: Any  # at which a refit of this value may begin


# Computes the path of one fold from training samples (X, y), their weights or None, and validation
# samples X; yields a result for each value.
FoldPath = Callable[[tuple, Any, Any], Iterator[FoldResult]]


def search_constraints(kind: type, grid: str, *dropped: str) -> dict:
    """Return constraints for the parameters of a search: those of a kind but some, and its own."""
    known: dict = kind._parameter_constraints  # type: ignore[attr-defined]
    return {name: known[name] for name in known if name not in dropped} | {
        grid: [Interval(Integral, 1, MOST_VALUES, closed="both"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
    }


def C_grid(Cs: int | ArrayLike) -> np.ndarray:
    """Return the values of C, ascending, that a parameter `Cs` means."""
    if isinstance(Cs, Integral):
        # For standardised data.
        return np.geomspace(1e-2, 1e2, int(Cs))
    return positive_values("Cs", Cs, NUMBER_OR_LIST)


def split(
    cv: Folds, X: MatrixLike, y: ArrayLike, codes: np.ndarray, groups: ArrayLike | None,
    classifier: bool = True,
) -> tuple:  # fmt: skip
    """Return X and y in a form that can be cut, and the training and validation rows of folds."""
    labels = as_labels(y, warn=False)
    X, labels, groups = indexable(X, labels, groups)
    places = np.arange(len(labels))
    # Turn masks into indices, which can also be written to.
    folds = [
        tuple(_rows(part, places) for part in parts)
        for parts in check_cv(cv, codes, classifier=classifier).split(X, labels, groups)
    ]
    if not folds:
        raise ValueError("cv must give folds, got none: an iterator can be used once only.")
    for k, (_, test) in enumerate(folds):
        if not test.size:
            raise ValueError(f"cv must give rows to validate on, got none in fold {k}.")
    return X, labels, folds


def _rows(part: ArrayLike, places: np.ndarray) -> np.ndarray:
    try:
        return places[np.asarray(part)]
    except IndexError as error:
        raise ValueError(
            f"cv must give rows of X, 0 to {places.size - 1}, or masks of all rows: {error}."
        ) from error


def check_weights_of_folds(sample_weight: np.ndarray, splits: list) -> None:
    """Refuse folds whose validation samples do not count."""
    for k, (_, test) in enumerate(splits):
        if not sample_weight[test].any():
            raise ValueError(
                f"sample_weight is zero for all validation samples of fold {k} of cv, so it has no "
                "score: shuffle the folds, or leave such samples out."
            )


def samples_of_fold(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike, train: np.ndarray, test: np.ndarray,
    sample_weight: np.ndarray | None,
) -> tuple:  # fmt: skip
    """Return training samples, validation samples, and the weights of both."""
    weights = (None, None)
    if sample_weight is not None:
        weights = sample_weight[train], sample_weight[test]
    return safe_split(model, X, y, train), safe_split(model, X, y, test, train), weights


def model_of_folds(search: BaseEstimator, kind: type[Model], **fixed: object) -> Model:
    """Return an estimator of a kind with the parameters that a search over folds shares with it."""
    names = set(kind().get_params()) & set(search.get_params(deep=False))
    names -= {"store", "n_jobs", "verbose", *fixed}
    return kind(**{name: getattr(search, name) for name in names}, **fixed)


def score_folds(
    search: BaseEstimator, model: BaseEstimator, path: FoldPath, scorer: Callable, X: MatrixLike,
    y: ArrayLike, splits: list, sample_weight: np.ndarray | None, tasks: Tasks,
    grid: dict[str, Sequence],
) -> tuple[int, list, Any]:  # fmt: skip
    """Score all values on all folds; set what `GridSearchCV` has; return best index, failed, start.

    A fold that cannot be learned from has the score NaN and does not count. The last parameter of
    `grid` varies fastest; of equal means its first value is taken, then that of the one before.
    """
    if sample_weight is not None and _takes_weights(scorer):
        check_weights_of_folds(sample_weight, splits)
    shape = tuple(len(values) for values in grid.values())
    folds, failed = [], []
    tasks_of_folds = (
        delayed(_score_fold)(path, scorer, model, X, y, *rows, sample_weight, keep=k == 0)
        for k, rows in enumerate(splits)
    )
    for fold in Parallel(search.n_jobs, return_as="generator")(tasks_of_folds):
        folds.append(fold)
        failed += fold.failed
        tasks.end_task(len(folds) / len(splits), f"{len(folds)} of {len(splits)} folds")
    tasks.bar.end()
    _tell_of_errors([fold.error for fold in folds])
    nothing = [np.nan] * int(np.prod(shape))
    scores = np.array([fold.scores if fold.error is None else nothing for fold in folds])
    counted = [fold.error is None for fold in folds]
    means = scores[counted].mean(axis=0)
    unknown = np.isnan(means)
    if unknown.all():
        raise ValueError("scoring must give a number: on some fold each value has the score NaN.")
    if unknown.any():
        warn_user(
            f"{np.count_nonzero(unknown)} of {means.size} values have the score NaN on some fold "
            "and are not chosen."
        )
    table = means.reshape(shape)
    first = np.unravel_index(np.nanargmax(table.T), table.T.shape)[::-1]
    best = int(np.ravel_multi_index(first, shape))
    search.scores_ = scores.reshape(len(scores), *shape)
    # Rows as `GridSearchCV` has them: the first parameter by name varies slowest.
    names = sorted(grid)
    axes = [list(grid).index(name) for name in names]
    order = np.arange(means.size).reshape(shape).transpose(axes).ravel()
    search.cv_results_ = _results(
        {name: grid[name] for name in names}, folds, scores, counted, order
    )
    row = int(np.flatnonzero(order == best)[0])
    search.best_index_, search.n_splits_ = row, len(splits)
    search.best_score_, search.best_params_ = float(means[best]), search.cv_results_["params"][row]
    starts = folds[0].starts
    return best, failed, starts[best] if starts else None


@dataclass
class _Fold:
    """Scores of one fold, times, solutions that failed, starts that are kept, what went wrong."""

    scores: list[float] = field(default_factory=list)
    fit_times: list[float] = field(default_factory=list)
    score_times: list[float] = field(default_factory=list)
    failed: list = field(default_factory=list)
    starts: list = field(default_factory=list)
    error: ValueError | None = None


def _tell_of_errors(errors: list[ValueError | None]) -> None:
    """Raise what went wrong on all folds, warn of what did on some."""
    first = errors[0]
    if first is not None and None not in errors:
        raise type(first)(f"No fold of cv can be learned from. Fold 0: {first}") from first
    for k, error in enumerate(errors):
        if error is not None:
            warn_user(
                f"Fold {k} of cv could not be learned from and does not count; its scores are NaN: "
                f"{error}",
                FitFailedWarning,
            )


def _results(
    grid: dict, folds: list[_Fold], scores: np.ndarray, counted: list[bool], order: np.ndarray
) -> dict:
    """Return `cv_results_` as `GridSearchCV` has it; `order` are places of its rows in scores."""
    params = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    known = [fold for fold in folds if fold.error is None]
    out: dict[str, Any] = {}
    for name in ("fit", "score"):
        times = np.array([getattr(fold, f"{name}_times") for fold in known])[:, order]
        out |= {f"mean_{name}_time": times.mean(axis=0), f"std_{name}_time": times.std(axis=0)}
    for name in grid:
        out[f"param_{name}"] = np.ma.array([point[name] for point in params])
    out["params"] = params
    scores = scores[:, order]
    out |= {f"split{k}_test_score": row for k, row in enumerate(scores)}
    means = scores[counted].mean(axis=0)
    out |= {"mean_test_score": means, "std_test_score": scores[counted].std(axis=0)}
    ranks = rankdata(-np.nan_to_num(means, nan=-np.inf), method="min")
    return out | {"rank_test_score": ranks.astype(np.int32)}


def as_best(search: BaseEstimator, kind: type[Model], **chosen: object) -> Model:
    """Return the refitted search as an estimator of the kind that it searches for."""
    out = model_of_folds(search, kind, **chosen)
    names = set(vars(search)) - set(search.get_params(deep=False))
    searched = {"scores_", "cv_results_", "best_index_", "best_score_", "best_params_", "n_splits_"}
    vars(out).update({name: getattr(search, name) for name in names - searched})
    return out


def check_refit(search: BaseEstimator) -> None:
    """Refuse to predict with a search that has chosen values and was not fitted with them."""
    if hasattr(search, "best_params_") and not search.refit:
        raise NotFittedError(
            f"This {type(search).__name__} was fitted with refit=False, and has chosen "
            f"{search.best_params_} only: set refit=True and call fit again, or fit an estimator "
            "with best_params_."
        )


def _score_fold(
    path: FoldPath, scorer: Callable, model: BaseEstimator, X: MatrixLike, y: ArrayLike,
    train: np.ndarray, test: np.ndarray, sample_weight: np.ndarray | None, keep: bool,
) -> _Fold:  # fmt: skip
    """Follow the path of one fold."""
    training, (X_val, y_val), weights = samples_of_fold(model, X, y, train, test, sample_weight)
    weighted, fold = {}, _Fold()
    if weights[1] is not None and _takes_weights(scorer):
        weighted["sample_weight"] = weights[1]
    steps = path(training, weights[0], X_val)
    while True:
        began = time.perf_counter()
        try:
            step = next(steps, None)
        except ValueError as error:
            fold.error = error
            return fold
        if step is None:
            return fold
        solved = time.perf_counter()
        fold.scores.append(_score(scorer, step, y_val, weighted))
        fold.fit_times.append(solved - began)
        fold.score_times.append(time.perf_counter() - solved)
        fold.failed += step.failed
        if keep:
            fold.starts.append(step.start)


def _score(scorer: Callable, step: FoldResult, y: ArrayLike, weighted: dict) -> float:
    """Return the score of a fitted model."""
    try:
        score = scorer(step.model, step.X, y, **weighted)
    except (AttributeError, ValueError) as error:
        # So scikit-learn says that areas of more than two classes take probabilities.
        asks = "predict_proba" in str(error) or "multi_class must be in" in str(error)
        if not (asks and hasattr(step.model, "probability")):
            raise
        raise ValueError(
            "scoring needs probabilities, which a search along paths does not have; a slower one "
            f"does: GridSearchCV({type(step.model).__name__}(probability=True), ..., "
            "scoring=...), of more than two classes with 'roc_auc_ovr' for 'roc_auc'."
        ) from error
    found = np.asarray(score)
    if found.dtype.kind not in "biuf" or found.size != 1:
        raise TypeError(
            f"scoring must give one number for a fitted estimator and samples, got {score!r}."
        )
    return float(found.item())


def _takes_weights(scorer: Callable) -> bool:
    """Whether a scorer has a use for sample weights."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
