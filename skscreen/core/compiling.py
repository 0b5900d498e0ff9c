"""Start of numba, and logging of compilation."""

import gc
import logging
from functools import cache, partial

import numba
from numba.core import event

_LOGGER = logging.getLogger("skscreen")

# No entry for callers in C: it is not needed, and takes a sixth of the compilation time.
njit = partial(numba.njit, no_cfunc_wrapper=True)


class Announcement(event.Listener):
    """Log, at level INFO, when the first function of a subpackage is compiled.

    Compiled code that is found on disk is loaded without an event, so nothing is logged.
    """

    def __init__(self) -> None:
        # Compiling this package takes a tenth of a second.
        self._announced = {"skscreen.core"}

    def on_start(self, started: event.Event) -> None:
        """Log the first compilation of each subpackage."""
        # The module is None for functions that another package has created from text.
        module = started.data["dispatcher"].py_func.__module__ or ""
        package, *rooms = module.split(".")
        room = ".".join([package, *rooms[:1]])
        if package == "skscreen" and room not in self._announced:
            self._announced.add(room)
            _LOGGER.info("Compiling %s, once (a few seconds); it is kept on disk.", room)

    def on_end(self, ended: event.Event) -> None:
        """Do nothing."""


event.register("numba:compile", Announcement())


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
