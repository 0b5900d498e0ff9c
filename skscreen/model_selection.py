"""Cross-validation of models whose samples are sequences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.pipeline import Pipeline

from skscreen.core.checks import Folds
from skscreen.core.sklearn_private import StrOptions, safe_indexing, validate_params
from skscreen.core.threads import N_JOBS
from skscreen.sequence.data import SequencesLike, as_sequences, length_of, starts_of
from skscreen.sequence.labels import labels_of_positions

__all__ = ["cross_val_predict_sequences"]


@validate_params(
    {
        "method": [StrOptions({"predict", "predict_marginals", "predict_proba"})],
        "params": [dict, None],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=False,
)
def cross_val_predict_sequences(
    estimator: BaseEstimator, X: SequencesLike, y: Iterable[ArrayLike], *, cv: Folds = None,
    groups: ArrayLike | None = None, method: str = "predict", params: dict | None = None,
    n_jobs: int | None = None, verbose: int = 0,
) -> list:  # fmt: skip
    """Return what is predicted for each sequence by a model that has not seen it.

    Like `sklearn.model_selection.cross_val_predict`, which takes sequences of equal length only.

    Parameters
    ----------
    estimator : estimator
        A sequence labeller, or a pipeline that ends in one.
    X : iterable of sequences
    y : list of array-likes of shape (length,)
        Labels.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; None is 5 folds. Each sequence must be in one test set.
    groups : array-like of shape (n_sequences,), optional
        For splitters that keep groups together.
    method : {"predict", "predict_marginals", "predict_proba"}, default="predict"
        Method to call. Marginals have a column for each label in y, in sorted order; labels that
        the model has not seen have probability 0.
    params : dict, optional
        Parameters of `fit`. Those with an entry for each sequence, as `sample_weight`, are split.
    n_jobs : int or None, default=None
        Folds to process in parallel.
    verbose : int, default=0
        See `joblib.Parallel`.

    Returns
    -------
    list
        For each sequence what the method returns for it.

    Raises
    ------
    ValueError
        For invalid sequences, labels or splits; the message names the argument.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import ChainCRF
    >>> from skscreen.model_selection import cross_val_predict_sequences
    >>> y = [list(labels) for labels in ("aab", "abbba", "ba", "aaabb")]
    >>> X = [np.array([[label == "a"] for label in labels], dtype=float) for labels in y]
    >>> [len(labels) for labels in cross_val_predict_sequences(ChainCRF(), X, y, cv=2)]
    [3, 5, 2, 5]
    """
    X = as_sequences(X, "X")
    lengths = [*map(length_of, X)]
    stacked = labels_of_positions(y, lengths)
    labels = np.split(stacked, starts_of(lengths)[1:-1]) if lengths else []
    splits = _splits(check_cv(cv), len(X), groups)
    tested = np.concatenate([np.empty(0, np.int64), *(test for _, test in splits)])
    if not np.array_equal(np.sort(tested), np.arange(len(X))):
        raise ValueError("cv must put each sequence into one test set, as KFold does.")
    classes = np.unique(stacked)
    found = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(_predict_fold)(
            clone(estimator), X, labels, train, test, method, params or {}, classes
        )
        for train, test in splits
    )
    out = [None] * len(X)
    for (_, test), parts in zip(splits, found, strict=True):
        for c, part in zip(test, parts, strict=True):
            out[c] = part
    return out


def _splits(
    cv: BaseCrossValidator, n: int, groups: ArrayLike | None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the splits of n sequences, whose labels are not classes."""
    try:
        return list(cv.split(np.zeros(n), None, groups))
    except TypeError as error:
        raise ValueError(
            f"cv must split sequences without their labels, as KFold and GroupKFold do, got {cv}."
        ) from error


def _predict_fold(
    estimator: BaseEstimator, X: list, y: list, train: np.ndarray, test: np.ndarray, method: str,
    params: dict, classes: np.ndarray,
) -> list:  # fmt: skip
    """Fit to some sequences and predict others."""
    n = len(X)
    params = {name: safe_indexing(value, train) if _has_length(value, n) else value
              for name, value in params.items()}  # fmt: skip
    model = estimator.fit(safe_indexing(X, train), safe_indexing(y, train), **params)
    parts = _method(model, method)(safe_indexing(X, test))
    if method == "predict":
        return parts
    columns, out = np.searchsorted(classes, model.classes_), []
    for part in parts:
        whole = np.zeros((len(part), classes.size))
        whole[:, columns] = part
        out.append(whole)
    return out


def _method(model: BaseEstimator, name: str):
    """Return a method of a model, or of the last step of a pipeline after the others."""
    if hasattr(model, name) or not isinstance(model, Pipeline):
        return getattr(model, name)
    return lambda X: getattr(model[-1], name)(model[:-1].transform(X))


def _has_length(value: object, n: int) -> bool:
    return not isinstance(value, (str, dict)) and hasattr(value, "__len__") and len(value) == n
