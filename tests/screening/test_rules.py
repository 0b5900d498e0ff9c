import numpy as np
import pytest

from skscreen.screening.rules import LINEAR, UNDECIDED, ZERO, sphere_lower, sphere_upper


def test_sphere_bounds_are_attained_on_the_ball():
    rng = np.random.default_rng(0)
    for _ in range(50):
        Q, A, r = rng.normal(size=6), rng.normal(size=6), rng.random()
        unit = A / np.linalg.norm(A)
        low = sphere_lower(A @ Q, np.linalg.norm(A), r)
        high = sphere_upper(A @ Q, np.linalg.norm(A), r)
        assert low == pytest.approx(A @ (Q - r * unit))
        assert high == pytest.approx(A @ (Q + r * unit))
        inside = Q + r * rng.random() * (E := rng.normal(size=6)) / np.linalg.norm(E)
        assert low <= A @ inside <= high


def test_codes_of_decisions_are_those_of_the_documentation():
    assert (UNDECIDED, ZERO, LINEAR) == (0, 1, 2)
