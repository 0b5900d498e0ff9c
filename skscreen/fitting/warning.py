"""Warnings that point at the user's line, however deep in a fit they arise."""

import inspect
import warnings

# Packages whose frames lie between the line that calls a fit and the one that warns.
_BETWEEN = {"skscreen", "sklearn", "joblib"}


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line of the call stack outside skscreen, scikit-learn and joblib."""
    frame, level = inspect.currentframe(), 0
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level + 1)
