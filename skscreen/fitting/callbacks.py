"""Progress of fits and paths: the bar of `verbose`, and callbacks of scikit-learn >= 1.9."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar, cast

from sklearn.base import BaseEstimator

from skscreen.fitting.progress import ProgressBar

Method = TypeVar("Method", bound=Callable)

try:
    from sklearn import callback
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for that of scikit-learn >= 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Return the method: there are no callbacks to end."""
        return method

else:

    def with_callbacks(method: Method) -> Method:
        """Return a method that ends the callbacks of its estimator, but not within another one."""
        managed = callback.with_callbacks(method)

        @wraps(method)
        def run(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
            return (method if _is_followed(estimator) else managed)(estimator, *args, **kwargs)

        return cast(Method, run)


def _is_followed(estimator: BaseEstimator) -> bool:
    """Whether callbacks have been set up for a fit that is under way."""
    return hasattr(estimator, "_callback_fit_ctx")


def shows_tasks(estimator: BaseEstimator) -> bool:
    """Whether a bar or callbacks want to know of each task of a fit."""
    return estimator.verbose > 0 or hasattr(estimator, "_skl_callbacks")


class Tasks:
    """Tells the user's bar, `bar`, and callbacks about the tasks of a fit, `n_tasks` if known."""

    def __init__(self, estimator: BaseEstimator, n_tasks: int | None, name: str = ""):
        # A fit within a fit of the same estimator, as a refit is, has no tasks of its own.
        self.bar = ProgressBar(estimator.verbose > 0)
        self._estimator, self._n_tasks, self._name = estimator, n_tasks, name
        self._fit: Any = None
        self._task: Any = None
        self._begun = 0

    def __enter__(self) -> Self:
        self.bar.__enter__()
        if hasattr(self._estimator, "_skl_callbacks") and not _is_followed(self._estimator):
            self._fit = self._estimator._init_callback_context(max_subtasks=self._n_tasks)
            self._fit.call_on_fit_task_begin(estimator=self._estimator)
            self._begin_task()
        return self

    def end_task(self, fraction: float, message: object) -> bool:
        """Report the end of a task and the progress; return whether to stop."""
        self.bar.update(fraction, message)
        if self._task is None:
            return False
        stop = self._task.call_on_fit_task_end(estimator=self._estimator)
        self._begin_task()
        return bool(stop)

    def _begin_task(self) -> None:
        self._task = None
        if self._begun == self._n_tasks:
            return
        self._begun += 1
        self._task = self._fit.subcontext(task_name=self._name)
        self._task.call_on_fit_task_begin(estimator=self._estimator)

    def __exit__(self, kind: type[BaseException] | None, *exc_info: object) -> None:
        self.bar.__exit__(kind, *exc_info)
        if self._fit is not None and kind is None:
            if self._task is not None:
                # The number of tasks was unknown: this one is empty, but every task that begins
                # must end.
                self._task.call_on_fit_task_end(estimator=self._estimator)
            self._fit.call_on_fit_task_end(estimator=self._estimator)
