import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from skscreen.core import memory
from skscreen.core.memory import Pool, aligned, check_memory, free_memory
from skscreen.samples.rows import LinearSamples

CONTAINER = ("memory.max", "memory.current", "inactive_file")

# From arrays that are not worth keeping to those that are.
LARGE = 50_000


def test_no_two_live_arrays_share_memory():
    rng = np.random.default_rng(0)
    pool, alive = Pool(), []
    for stamp in range(600):
        if len(alive) > 20 or (alive and rng.random() < 0.45):
            alive.pop(rng.integers(len(alive)))
        shape = tuple(int(10**power) for power in rng.uniform(-0.2, 2.3, size=rng.integers(1, 3)))
        dtype = (np.float64, np.int64, np.int32)[rng.integers(3)]
        array = pool.empty(shape, dtype)
        assert array.shape == shape
        assert array.dtype == dtype
        array.fill(stamp)
        alive.append((array, stamp))
        assert all(np.all(array == stamp) for array, stamp in alive)


@pytest.mark.parametrize("size", [0, 1, LARGE - 1, 2**16 - 1, 2**16, 2**16 + 1])
def test_any_size_is_handed_out_whole(size):
    pool = Pool()
    for dtype in (np.float64, np.int64, np.int32):
        arrays = [pool.empty(size, dtype) for _ in range(3)]
        assert all(array.shape == (size,) for array in arrays)
        for k, array in enumerate(arrays):
            array.fill(k)
        assert all(np.all(array == k) for k, array in enumerate(arrays))


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[3:5],
        lambda a: a.reshape(-1, 2).T,
        lambda a: a.view(np.int64),
        lambda a: np.asarray(memoryview(a)),
    ],
    ids=["slice", "transpose", "dtype", "memoryview"],
)
def test_a_view_keeps_its_buffer(view):
    pool = Pool()
    kept = view(pool.zeros(LARGE))
    for _ in range(5):
        pool.empty(LARGE).fill(7.0)
    assert np.all(kept == 0)


def test_a_dropped_array_is_used_again():
    pool = Pool()
    array = pool.empty(LARGE)
    address = array.ctypes.data
    del array
    assert pool.empty(LARGE - 100).ctypes.data == address


def test_zeros_are_zero_in_a_used_buffer():
    pool = Pool()
    pool.empty(LARGE).fill(3.0)
    assert np.all(pool.zeros((5, LARGE // 5)) == 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_take_is_fancy_indexing(dtype):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 100, size=(20, 3)).astype(dtype)
    index = rng.integers(0, 20, size=LARGE)
    for source in (values, values[:, 0].copy()):
        np.testing.assert_array_equal(Pool().take(source, index), source[index])
    assert Pool().take(values, index[:0]).shape == (0, 3)


def test_a_pickle_is_a_new_pool():
    pool = Pool()
    array = pool.zeros(LARGE)
    pickle.loads(pickle.dumps(pool)).empty(LARGE).fill(1.0)
    assert not array.any()


def test_threads_share_a_pool():
    pool, interval = Pool(), sys.getswitchinterval()

    def use(stamp):
        array = pool.empty(LARGE)
        array.fill(stamp)
        return bool(np.all(array == stamp))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(use, range(400)))
    finally:
        sys.setswitchinterval(interval)


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


def test_a_container_has_what_its_limit_leaves(tmp_path, monkeypatch):
    without = free_memory()
    monkeypatch.setattr(memory, "_CONTAINERS", ((str(tmp_path), *CONTAINER),))
    assert free_memory() is None or without is not None
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    (tmp_path / "memory.stat").write_text("anon 300000\ninactive_file 50000\n")
    assert free_memory() == 650_000
    (tmp_path / "memory.current").write_text("2000000\n")
    assert free_memory() == 0
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() != 0


def test_only_large_needs_are_looked_at(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 0)
    check_memory(1e6, "Little", "Nothing to do.")
    with pytest.raises(MemoryError, match=r"^Much would need about 1,000,000,000 bytes, but only "):
        check_memory(1e9, "Much", "Buy some.")


def test_bytes_of_a_pool_are_those_of_all_buffers_in_use_or_not():
    pool = Pool()
    for _ in range(2):
        first, second = pool.empty(10_000), pool.empty((20_000, 5), np.float32)
        least = first.nbytes + second.nbytes
        del first, second
        assert least <= pool.nbytes <= 2**0.25 * least + 16
