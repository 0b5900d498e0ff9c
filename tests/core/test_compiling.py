import gc

import pytest

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
