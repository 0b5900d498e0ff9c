"""When solvers give up."""

import pytest

from skscreen.svm.solvers.stalls import Stalls


@pytest.mark.parametrize(
    ("each", "expected"),
    [(False, [0, 1, 2, 0, 1]), (True, [0, 1, 2, 3, 4])],
    ids=["small gains add up", "each has to gain"],
)
def test_rounds_without_a_gain_are_counted(each, expected):
    stalls = Stalls(0.5, each)
    assert [stalls.see(gap) for gap in (1.0, 0.8, 0.6, 0.5, 0.4)] == expected


def test_rounds_may_gain_otherwise_and_count_more():
    stalls = Stalls(0.9, each=True)
    assert stalls.see(1.0) == 0
    assert stalls.see(1.0, weight=10) == 10
    assert stalls.see(2.0, gains=True) == 0
    # The least gap is still that of the first round.
    assert stalls.see(0.95) == 1
