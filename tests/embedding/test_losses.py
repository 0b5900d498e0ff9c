import numpy as np
import pytest
from embedding_reference import loss_values
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from skscreen.embedding.problem.losses import EmbeddingLoss

LOSSES = [
    EmbeddingLoss("gnmds", 1.0),
    EmbeddingLoss("gnmds", 0.0),
    EmbeddingLoss("ckl", 1e-3),
    EmbeddingLoss("ste"),
    EmbeddingLoss("tste", 1.0),
    EmbeddingLoss("tste", 4.0),
    EmbeddingLoss("tste", 2.3),
    EmbeddingLoss("soe", 0.1),
]
squared_distance = st.floats(0.0, 1e12)


def formula(loss, a, c):
    """As written in the papers, where nothing overflows."""
    if loss.name == "gnmds":
        s, w = 1.0 + a - c, loss.shape
        return 0.0 if s <= 0.0 else s**2 / (2.0 * w) if s < w else s - w / 2.0
    if loss.name == "ckl":
        return np.log((a + c + 2.0 * loss.shape) / (c + loss.shape))
    if loss.name == "ste":
        return np.log(1.0 + np.exp(a - c))
    if loss.name == "tste":
        h = (loss.shape + 1.0) / 2.0
        near, far = ((1.0 + d / loss.shape) ** -h for d in (a, c))
        return -np.log(near / (near + far))
    return max(0.0, np.sqrt(a) + loss.shape - np.sqrt(c)) ** 2


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_values_are_those_of_the_formulas(loss):
    rng = np.random.default_rng(0)
    for a, c in rng.exponential(2.0, size=(50, 2)):
        assert_allclose(loss_values(loss, a, c)[0], formula(loss, a, c), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slopes_agree_with_finite_differences(loss):
    a, c = np.random.default_rng(1).exponential(1.0, size=(2, 300))
    step = 1e-6
    if loss.name == "gnmds":
        # Away from the kinks of the hinge, and of the derivative of the smoothed one.
        smooth = np.minimum(abs(1.0 + a - c), abs(1.0 + a - c - loss.shape)) > 2.0 * step
        a, c = a[smooth], c[smooth]
    _, near, far = loss_values(loss, a, c)
    rise_a = loss_values(loss, a + step, c)[0] - loss_values(loss, a - step, c)[0]
    rise_c = loss_values(loss, a, c + step)[0] - loss_values(loss, a, c - step)[0]
    assert_allclose(rise_a / (2.0 * step), near, atol=1e-7)
    assert_allclose(rise_c / (2.0 * step), far, atol=1e-7)


@pytest.mark.few(3)
@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=60, deadline=None)
@given(a=squared_distance, c=squared_distance)
def test_far_points_have_finite_values_and_the_right_signs(loss, a, c):
    value, near, far = loss_values(loss, a, c)
    assert np.isfinite([value, near, far]).all()
    assert value >= 0.0
    assert near >= 0.0 >= far


@pytest.mark.few(7)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=40, deadline=None)
@given(a=squared_distance, c=squared_distance, more=st.floats(0.0, 1e12))
@pytest.mark.slow
def test_nearer_pairs_that_should_be_near_cost_less(loss, a, c, more):
    # The sum of logarithms is rounded.
    slack = 1e-9 * (1.0 + loss_values(loss, a + more, c)[0])
    assert loss_values(loss, a, c)[0] <= loss_values(loss, a + more, c)[0] + slack
    assert loss_values(loss, a, c + more)[0] <= loss_values(loss, a, c)[0] + slack
