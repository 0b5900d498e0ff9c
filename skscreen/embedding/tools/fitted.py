"""Answers as a fit has read them, and those that come after it."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from skscreen.core.sklearn_private import check_feature_names
from skscreen.embedding.problem.answers import Answers, Layout, read_answers


def learn_columns(model: Any, X: Any, width: int) -> None:
    """Set what a fit knows of the columns of X; answers that are no table have `width` of them."""
    # Also numbers, of which scikit-learn keeps no names.
    model._labels = list(X.columns) if hasattr(X, "columns") else []
    if hasattr(X, "columns"):
        validate_data(model, X, skip_check_array=True)
    else:
        # Validation would take as long as reading.
        is_matrix = isinstance(X, np.ndarray) and X.ndim == 2
        model.n_features_in_ = X.shape[1] if is_matrix else width


def check_columns_of_fit(model: Any, X: Any) -> None:
    """Raise where a frame has other columns than the fit; those named by label have any order."""
    if not hasattr(X, "columns") or X.shape[1] != model.n_features_in_:
        return
    if model.columns is None or not set(model.columns) <= set(X.columns):
        check_feature_names(model, X, reset=False)


def learned_columns(model: Any) -> list:
    """Return the labels of the columns of a fit, none if it had an array."""
    return getattr(model, "_labels", [])


def layout_after_fit(model: Any, response: str | None = None) -> Layout:
    """Return what an estimator was told, and what it has learned of the columns."""
    return Layout.of(model, response)._replace(learned=learned_columns(model))


def answers_after_fit(
    model: Any, X: Any, y: Any, sample_weight: Any, response: str, *, strangers: bool = True
) -> Answers:
    """Read answers about the objects of a fit, by their positions in it; strangers beyond them."""
    check_columns_of_fit(model, X)
    layout = layout_after_fit(model, response)
    return read_answers(X, y, sample_weight, layout, objects=model.objects_, strangers=strangers)
