"""How many threads work, those of the BLAS underneath included."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from numbers import Integral
from queue import SimpleQueue
from threading import current_thread, main_thread

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController  # always there: scikit-learn requires it

from skscreen.core.sklearn_private import Interval, openmp_effective_n_threads

# Range accepted by joblib; other integers overflow.
N_JOBS = [Interval(Integral, -(2**31), 2**31 - 1, closed="both"), None]


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


@cache
def _blas() -> ThreadpoolController:
    return _controller().select(user_api="blas")


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which products do not depend on the number of threads."""
    # Setting a limit takes longer than small products, which ask for one within another.
    if all(library.num_threads == 1 for library in _blas().lib_controllers):
        return nullcontext()
    return _blas().limit(limits=1)


def blas_threads_for(width: float, n_jobs: int | None = None) -> AbstractContextManager:
    """Return a context in which products of that width run well, in `n_jobs` threads at a time."""
    # Products of narrower matrices take longer on many threads than on one.
    if width >= 100 and effective_n_jobs(n_jobs) == 1:
        return nullcontext()
    return one_blas_thread()


def at_most(n_jobs: int | None) -> AbstractContextManager:
    """Return a context in which work has at most so many threads; None sets no limit."""
    if n_jobs is None:
        return nullcontext()
    # Other libraries take no integers of NumPy.
    return _controller().limit(limits=int(effective_n_jobs(n_jobs)), user_api="openmp")


def n_threads() -> int:
    """Return how many threads work may be shared among: as many as scikit-learn's loops take."""
    # Threads other than the main one share the processors already.
    if current_thread() is not main_thread():
        return 1
    return openmp_effective_n_threads()


def threads_pay(n_values: int) -> bool:
    """Whether so many kernel values take longer than starting threads, about a millisecond."""
    return n_values >= 2**20


def in_threads(
    work: Callable[[Iterable[slice]], None], size: int, step: int, n_values: int, blas: bool = True
) -> None:
    """Call `work` with slices of 0, ..., size - 1, in threads where `n_values` make that pay."""
    # Once in each thread, with an iterable of slices, which begin at multiples of `step` however
    # many threads there are. BLAS has one thread, because its sums depend on how many it has.
    n = min(n_threads(), -(-size // step)) if threads_pay(n_values) else 1
    with one_blas_thread() if blas else nullcontext():
        if n == 1:
            work([slice(0, size)])
            return
        parts: SimpleQueue[slice | None] = SimpleQueue()
        for start in range(0, size, step):
            parts.put(slice(start, min(start + step, size)))
        for _ in range(n):
            parts.put(None)
        with ThreadPoolExecutor(n) as pool:
            for done in [pool.submit(work, iter(parts.get, None)) for _ in range(n)]:
                done.result()
