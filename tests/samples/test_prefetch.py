import numpy as np
import pytest
from numba import njit
from scipy import sparse

from skscreen.samples.prefetch import prefetch, prefetch_row
from skscreen.samples.rows import LinearSamples


@njit
def ask_for_all(data, columns, starts, d, n):
    for i in range(n):
        prefetch_row(data, columns, starts, d, i)


@njit
def ask_for(array, place):
    prefetch(array, place)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.ascontiguousarray, sparse.csr_array])
def test_rows_are_left_as_they_were(make, dtype):
    X = np.random.default_rng(0).normal(size=(7, 40)).astype(dtype)
    X[2] = 0.0
    samples = LinearSamples(make(X), np.ones(7))
    ask_for_all(*samples.rows, 7)
    found = samples.X.toarray() if samples.is_sparse else samples.X
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("place", [0, 9, 10, -1, 2**40, -(2**40)])
def test_places_outside_are_harmless(place):
    array = np.arange(10.0)
    ask_for(array, place)
    np.testing.assert_array_equal(array, np.arange(10.0))


def test_the_instruction_is_compiled():
    ask_for(np.arange(3.0), 0)
    assert any("llvm.prefetch" in code for code in ask_for.inspect_llvm().values())
