"""How many threads the BLAS underneath may use."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

# Always there: scikit-learn requires it.
from threadpoolctl import ThreadpoolController

# Products of matrices narrower than this run slower on many threads than on one, by orders of
# magnitude where the machine is busy.
_NARROW = 100


def blas_threads_for(n_features: int) -> AbstractContextManager:
    """Return a context in which products of matrices of that width run well."""
    if n_features >= _NARROW:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once.
    return ThreadpoolController()
