import numpy as np
import pytest

from skscreen.screening.rules import LINEAR, UNDECIDED, ZERO, decide, sphere_lower, sphere_upper


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


@pytest.mark.parametrize(
    ("lower", "upper", "code"),
    [
        (1.1, 2.0, ZERO),
        (0.2, 0.9, LINEAR),
        (0.2, 1.1, UNDECIDED),
        (0.96, 0.99, UNDECIDED),
        (1.0, 5.0, UNDECIDED),
        (-5.0, 0.95, UNDECIDED),
        (np.nextafter(1.0, 2.0), 5.0, ZERO),
        (-5.0, np.nextafter(0.95, 0.0), LINEAR),
        (-np.inf, np.inf, UNDECIDED),
        (np.nan, np.nan, UNDECIDED),
    ],
)
def test_only_a_strict_inequality_decides(lower, upper, code):
    assert decide(lower, upper, 1.0, 0.95) == code


def test_the_kink_of_the_hinge_is_never_decided():
    assert decide(1.0, 1.0, 1.0, 1.0) == UNDECIDED
