import numpy as np
import pytest

from skscreen._compiled import metric_learning as loops
from skscreen.metric_learning.problem.losses import SmoothedHinge

GAMMAS = [0.0, 0.05, 0.7]
GRID = np.linspace(-2.0, 2.0, 401)


def loss(z, gamma):
    """The definition, piece by piece."""
    if z <= 0.0:
        return 0.0
    return z * z / (2 * gamma) if z < gamma else z - gamma / 2


def of_item(z, gamma, most=1.0):
    """Loss and dual variable of one item of threshold 1."""
    row, place, ones, one = np.zeros(1), np.zeros(1), np.ones(1), np.array([1])
    value = loops.loss_pass(
        one - 1, one, np.zeros(1), 1.0 - np.full(1, z), ones, gamma, most, ones, row, place
    )
    assert row == place
    return value, row[0]


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_value_written_with_its_dual_variable_is_the_definition(gamma):
    values = [of_item(z, gamma)[0] for z in GRID]
    np.testing.assert_allclose(values, [loss(z, gamma) for z in GRID], atol=1e-15)


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_dual_variable_is_the_derivative(gamma):
    step = 1e-6
    for z in GRID:
        slope = (loss(z + step, gamma) - loss(z - step, gamma)) / (2 * step)
        assert of_item(z, gamma)[1] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_parts_of_the_loss(gamma):
    hinge = SmoothedHinge(2.0, gamma)
    assert hinge.linear_below == 2.0 - gamma
    for x in np.linspace(-3.0, hinge.linear_below - 1e-9, 7):
        assert loss(hinge.threshold - x, gamma) == pytest.approx(2.0 - 0.5 * gamma - x)


def test_without_a_largest_dual_variable_a_width_of_a_half_is_the_squared_hinge():
    for z in GRID:
        value, alpha = of_item(z, 0.5, np.inf)
        assert value == pytest.approx(max(z, 0.0) ** 2) and alpha == 2.0 * max(z, 0.0)
    squared = SmoothedHinge(1.0, 0.5, np.inf)
    assert squared.depth == np.inf and squared.linear_below == -np.inf
    np.testing.assert_array_equal(squared.duals_at_zero(np.array([-3.0, 1.0, 5.0])), [0, 2, 10])
