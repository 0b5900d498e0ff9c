"""How many threads the BLAS underneath may use."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController  # always there: scikit-learn requires it

# Products of matrices narrower than this run slower on many threads than on one, by orders of
# magnitude where the machine is busy.
_NARROW = 100


def blas_threads_for(width: float, n_jobs: int | None = None) -> AbstractContextManager:
    """Return a context in which products of matrices of that width run well.

    With more `n_jobs` than one, in so many threads at the same time.
    """
    if width >= _NARROW and effective_n_jobs(n_jobs) == 1:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once.
    return ThreadpoolController()
