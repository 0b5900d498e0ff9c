"""Fits in threads that end soon where the work is interrupted."""

from collections.abc import Callable, Iterable, Iterator
from threading import Event
from typing import Any, TypeVar

from joblib import Parallel, delayed

Result = TypeVar("Result")


def map_in_threads(
    work: Callable[..., Result], tasks: Iterable[tuple], n_jobs: int | None
) -> Iterator[Result]:
    """Yield what `work` makes of each task, in their order.

    It is called with a function first, to be called often, which raises once nobody waits.
    """
    ended = Event()

    def check() -> None:
        if ended.is_set():
            raise RuntimeError("The fit was interrupted.")

    calls: Iterable[Any] = (delayed(work)(check, *task) for task in tasks)
    try:
        yield from Parallel(n_jobs, require="sharedmem", return_as="generator")(calls)
    finally:
        ended.set()
