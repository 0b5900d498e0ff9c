"""Copies in compiled loops, without slices: numba compiles the messages of these for seconds."""

from skscreen.core.compiling import njit


@njit(nogil=True)
def copy_into(target, source):
    """Write the entries of a one-dimensional array to another one."""
    for k in range(source.size):
        target[k] = source[k]
