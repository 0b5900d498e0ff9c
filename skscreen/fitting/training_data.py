"""Estimators that remember what they were fitted on, for what is computed when it is asked for."""

from collections.abc import Callable
from typing import Any


def remember(model: Any, *data: Any) -> None:
    """Keep references to the training data; nothing is copied, and pickles do not hold them."""
    vars(model)["_trained_on"] = data
    vars(model).pop("_screened", None)


class TrainingDataMixin:
    """Base of estimators that remember their training data, see `remember`."""

    def __getstate__(self) -> dict:
        """Return the state without training data, which may be large."""
        state: dict = dict(super().__getstate__())  # type: ignore[call-overload]
        for name in ("_trained_on", "_screened"):
            state.pop(name, None)
        return state


def remembered(model: Any, compute: Callable[..., Any]) -> Any:
    """Return what `compute` makes of the training data, which is done once, or raise an error."""
    known = vars(model)
    if "_trained_on" not in known:
        raise AttributeError(
            "screened_ needs the training data, which a copy of an estimator, and one that was "
            "fitted on comparisons other than triplets, with weights of these or with a graph, do "
            "not have."
        )
    if "_screened" not in known:
        known["_screened"] = compute(*known["_trained_on"])
    return known["_screened"]
