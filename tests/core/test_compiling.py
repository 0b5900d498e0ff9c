import gc
import logging

import pytest
from numba import njit
from numba.core import event

from skscreen.core import compiling


@pytest.fixture
def collects():
    """Keep whether garbage is collected."""
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("switch", [gc.enable, gc.disable])
def test_no_garbage_is_looked_for_while_numba_starts(collects, monkeypatch, switch):
    seen = []
    monkeypatch.setattr(compiling, "_nothing", lambda: seen.append(gc.isenabled()))
    switch()
    before = gc.isenabled()
    compiling.start_numba.__wrapped__()
    assert seen == [False]
    assert gc.isenabled() == before


def test_garbage_is_looked_for_after_a_start_that_failed(collects, monkeypatch):
    def fail():
        raise KeyboardInterrupt

    monkeypatch.setattr(compiling, "_nothing", fail)
    gc.enable()
    with pytest.raises(KeyboardInterrupt):
        compiling.start_numba.__wrapped__()
    assert gc.isenabled()


def test_each_room_is_announced_once_when_it_is_compiled(caplog):
    def loop(x):
        return x + 1

    caplog.set_level(logging.INFO, logger="skscreen")
    listener = compiling.Announcement()
    with event.install_listener("numba:compile", listener):
        for module in ("skscreen.room.a", "skscreen.room.b", "skscreen.core.a", "another"):
            loop.__module__ = module
            njit(loop)(1)
    # By this listener, and by that of the package.
    said = [message.split(",")[0] for message in caplog.messages]
    assert said == ["Compiling skscreen.room"] * 2


def test_functions_of_no_module_are_compiled():
    # As pynndescent has them.
    namespace = {"__name__": None}
    exec("def made(x):\n    return x + 1", namespace)
    assert njit(namespace["made"])(1) == 2
