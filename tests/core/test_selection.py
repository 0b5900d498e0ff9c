import numpy as np
import pytest
from skscreen.core.copying import copy_into
from skscreen.core.selection import select


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_the_value_of_every_rank(n):
    rng = np.random.default_rng(n)
    for values in (rng.normal(size=n), rng.integers(3, size=n).astype(float), np.zeros(n)):
        found = [select(values.copy(), rank) for rank in range(n)]
        assert found == np.sort(values).tolist()


def test_infinite_values_have_ranks_too():
    values = np.array([np.inf, 1.0, -np.inf, -np.inf, 0.0])
    assert [select(values.copy(), rank) for rank in range(5)] == np.sort(values).tolist()


def test_a_copy_leaves_what_is_behind_it():
    target = np.zeros(4)
    copy_into(target[1:], np.array([1.0, 2.0]))
    assert target.tolist() == [0.0, 1.0, 2.0, 0.0]
