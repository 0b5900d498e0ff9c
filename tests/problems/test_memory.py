import numpy as np
import pytest

from skscreen.problems.memory import Pool


def test_no_two_live_arrays_share_memory():
    rng = np.random.default_rng(0)
    pool, alive = Pool(), []
    for stamp in range(600):
        if alive and rng.random() < 0.45:
            alive.pop(rng.integers(len(alive)))
        shape = tuple(int(size) for size in rng.integers(0, 30, size=rng.integers(1, 3)))
        dtype = (np.float64, np.int64, np.int32)[rng.integers(3)]
        array = pool.empty(shape, dtype)
        assert array.shape == shape
        assert array.dtype == dtype
        array.fill(stamp)
        alive.append((array, stamp))
    assert all(np.all(array == stamp) for array, stamp in alive)
    for k, (array, _) in enumerate(alive):
        assert not any(np.shares_memory(array, other) for other, _ in alive[:k])


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[3:5],
        lambda a: a.reshape(5, 2).T,
        lambda a: a.view(np.int64),
        lambda a: np.asarray(memoryview(a)),
    ],
    ids=["slice", "transpose", "dtype", "memoryview"],
)
def test_a_view_keeps_its_buffer(view):
    pool = Pool()
    kept = view(pool.zeros(10))
    for _ in range(5):
        pool.empty(10).fill(7.0)
    assert np.all(kept == 0)


def test_a_dropped_array_is_used_again():
    pool = Pool()
    array = pool.empty(1000)
    address = array.ctypes.data
    del array
    assert pool.empty(900).ctypes.data == address


def test_zeros_are_zero_in_a_used_buffer():
    pool = Pool()
    pool.empty(50).fill(3.0)
    assert np.all(pool.zeros((5, 10)) == 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_take_is_fancy_indexing(dtype):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 100, size=(20, 3)).astype(dtype)
    index = rng.integers(0, 20, size=11)
    for source in (values, values[:, 0].copy()):
        np.testing.assert_array_equal(Pool().take(source, index), source[index])
    assert Pool().take(values, index[:0]).shape == (0, 3)
