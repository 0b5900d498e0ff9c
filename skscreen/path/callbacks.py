"""What follows a fit or a path on its way: the bar of `verbose`, and scikit-learn's callbacks.

scikit-learn has callbacks from version 1.9 on; before that there is only the bar.
"""

from collections.abc import Callable
from typing import Self

from skscreen.path.progress import ProgressBar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands in for that of scikit-learn >= 1.9."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method: there are no callbacks to end."""
        return method


class Progress:
    """Tells the user's bar and callbacks about the steps of a fit.

    Every step is a task of scikit-learn's callback protocol, a child of the one of the fit. Costs
    nothing where there are neither.

    Parameters
    ----------
    estimator : estimator
        With `verbose` and perhaps callbacks; its method is decorated by `with_callbacks`.
    n_steps : int or None
        None if not known.
    name : str
        Of a step.
    """

    def __init__(self, estimator, n_steps: int | None, name: str):
        self._bar = ProgressBar(estimator.verbose > 0)
        self._estimator, self._n_steps, self._name = estimator, n_steps, name
        self._fit = self._step = None
        self._begun = 0

    def __enter__(self) -> Self:
        self._bar.__enter__()
        if hasattr(self._estimator, "_skl_callbacks"):
            self._fit = self._estimator._init_callback_context(max_subtasks=self._n_steps)
            self._fit.call_on_fit_task_begin(estimator=self._estimator)
            self._begin_step()
        return self

    def update(self, fraction: float, message: str) -> bool:
        """Tell that a step has ended; return whether a callback asks to end with it."""
        self._bar.update(fraction, message)
        if self._step is None:
            return False
        stop = self._step.call_on_fit_task_end(estimator=self._estimator)
        self._begin_step()
        return bool(stop)

    def _begin_step(self) -> None:
        self._step = None
        if self._begun == self._n_steps:
            return
        self._begun += 1
        self._step = self._fit.subcontext(task_name=self._name)
        self._step.call_on_fit_task_begin(estimator=self._estimator)

    def __exit__(self, kind, *exc_info: object) -> None:
        self._bar.__exit__(kind, *exc_info)
        if self._fit is not None and kind is None:
            if self._step is not None:
                # Empty: it was not known that there are no more. Every task that begins also ends.
                self._step.call_on_fit_task_end(estimator=self._estimator)
            self._fit.call_on_fit_task_end(estimator=self._estimator)
