"""The start of numba, most of what the first fit of a process waits for."""

import gc
from functools import cache

from numba import njit


@cache
def start_numba() -> None:
    """Have numba load what it needs to run compiled functions: some 80 modules, once a process.

    It would do so at the first call of any of them. Amid so many new objects Python looks for
    garbage among all that scipy and scikit-learn have made, a third of the time: not here.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        _nothing()
    finally:
        if was_on:
            gc.enable()


@njit(cache=True, nogil=True)
def _nothing() -> None:
    pass
