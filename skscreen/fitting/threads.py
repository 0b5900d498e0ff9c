"""How many threads work, those of the BLAS underneath included."""

from contextlib import AbstractContextManager, nullcontext
from numbers import Integral

from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval

from skscreen.core.threads import ONE_BLAS_THREAD

# Number of columns; products of narrower matrices take longer on many threads than on one.
_NARROW = 100

# Range accepted by joblib; other integers overflow.
N_JOBS = [Interval(Integral, -(2**31), 2**31 - 1, closed="both"), None]


def blas_threads_for(width: float, n_jobs: int | None = None) -> AbstractContextManager:
    """Return a context in which products of matrices of that width run well.

    With more `n_jobs` than one, in so many threads at the same time.
    """
    if width >= _NARROW and effective_n_jobs(n_jobs) == 1:
        return nullcontext()
    return ONE_BLAS_THREAD
