import numpy as np
import pytest

from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone


def random_value(domain, rng, d=5):
    if isinstance(domain, NonnegativeOrthant):
        return rng.normal(size=d)
    A = rng.normal(size=(d, d))
    return A + A.T


def random_member(domain, rng, d=5):
    value = random_value(domain, rng, d)
    return value**2 if value.ndim == 1 else value @ value


def from_factor(point):
    return point.factor**2 if point.value.ndim == 1 else point.factor @ point.factor.T


both = pytest.mark.parametrize("domain", [PSDCone(), NonnegativeOrthant()], ids=["psd", "orthant"])


@both
def test_split_is_moreau(domain):
    rng = np.random.default_rng(0)
    for _ in range(20):
        value = random_value(domain, rng)
        upper, lower = domain.split(value)
        np.testing.assert_allclose(upper.value - lower.value, value, atol=1e-13)
        assert abs(np.vdot(upper.value, lower.value)) < 1e-12
        for part in (upper, lower):
            smallest = part.value if part.value.ndim == 1 else np.linalg.eigvalsh(part.value)
            assert smallest.min() > -1e-13


@both
def test_projection_is_the_nearest_point(domain):
    rng = np.random.default_rng(1)
    for _ in range(20):
        value = random_value(domain, rng)
        nearest = domain.project(value).value
        for _ in range(5):
            # Variational inequality: no member makes an acute angle with the residual.
            other = random_member(domain, rng)
            assert np.vdot(value - nearest, other - nearest) < 1e-10
        np.testing.assert_allclose(domain.project(nearest).value, nearest, atol=1e-12)


@both
def test_factor_reproduces_the_value(domain):
    rng = np.random.default_rng(2)
    for scale in (0.0, 1e-8, 1.0, 1e8):
        point = domain.project(scale * random_value(domain, rng))
        np.testing.assert_allclose(from_factor(point), point.value, rtol=1e-13)
        tripled = point.scaled(3.0)
        np.testing.assert_allclose(tripled.value, 3.0 * point.value)
        np.testing.assert_allclose(from_factor(tripled), tripled.value, rtol=1e-13)


@both
@pytest.mark.parametrize("sign", [-1.0, 0.0])
def test_projection_on_the_apex(domain, sign):
    value = sign * random_member(domain, np.random.default_rng(3)) - 0.0
    if sign:
        value = value - (np.eye(5) if value.ndim == 2 else 1.0)
    point = domain.project(value)
    assert point.value.shape == value.shape
    assert np.all(point.value == 0.0)


def test_rank_of_the_factor_is_the_number_of_positive_eigenvalues():
    point = PSDCone().project(np.diag([3.0, 2.0, -1.0, -4.0]))
    assert point.factor.shape == (4, 2)
