import numpy as np
import pytest
from scipy import sparse

from skscreen import ScreenedSVC
from skscreen.core import memory
from skscreen.core.checks import check_samples
from skscreen.core.memory import aligned, check_memory, free_memory
from skscreen.samples.rows import LinearSamples

CONTAINER = ("memory.max", "memory.current", "inactive_file")


def unaligned(array):
    out = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    out[:] = array
    assert not out.flags.aligned
    return out


def test_what_was_sent_is_aligned():
    X = unaligned(np.eye(3))
    assert aligned(X).flags.aligned
    kept = np.eye(3)
    assert aligned(kept) is kept
    samples = LinearSamples(np.eye(3), np.ones(3))
    # As an array that came out of band.
    samples.__setstate__(vars(samples) | {"X": X})
    assert samples.X.flags.aligned
    csr = sparse.csr_array(np.eye(3))
    csr.data = unaligned(csr.data)
    assert aligned(csr).data.flags.aligned
    assert not csr.data.flags.aligned


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_are_aligned(dtype):
    """Rows of unaligned memory made fits of a million samples take five times as long."""
    X = unaligned(np.arange(6.0).reshape(3, 2).astype(dtype))
    csr = sparse.csr_array(np.eye(3, dtype=dtype))
    csr.data = unaligned(csr.data)
    found = check_samples(X, dtype=[np.float64, np.float32], order="C", model=ScreenedSVC())
    assert found.flags.aligned and np.array_equal(found, X)
    kept = np.eye(3)
    kept.setflags(write=False)
    accepted = {"dtype": [np.float64, np.float32], "order": "C", "model": ScreenedSVC()}
    assert check_samples(kept, **accepted) is kept
    assert check_samples(csr, accept_sparse="csr").data.flags.aligned


def test_a_container_has_what_its_limit_leaves(tmp_path):
    without, here = free_memory(), ((str(tmp_path), *CONTAINER),)
    assert free_memory(here) is None or without is not None
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    (tmp_path / "memory.stat").write_text("anon 300000\ninactive_file 50000\n")
    assert free_memory(here) == 650_000
    (tmp_path / "memory.current").write_text("2000000\n")
    assert free_memory(here) == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(here) != 0


def test_only_large_needs_are_looked_at(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    check_memory(1e6, "Little", "Nothing to do.")
    with pytest.raises(MemoryError, match=r"^Much\b.*1,000,000,000 bytes"):
        check_memory(1e9, "Much", "Buy some.")
