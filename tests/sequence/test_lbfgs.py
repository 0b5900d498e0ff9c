import numpy as np
from numpy.testing import assert_allclose

from skscreen.sequence.solvers.lbfgs import minimise


class Quadratic:
    """lam/2 |x|^2 + 1/2 |x - 1|^2, without numbers in some places."""

    lam, size, units = 0.5, 3, 1.0

    def __init__(self, broken_after=np.inf):
        self.calls, self.broken_after = 0, broken_after

    def value_and_gradient(self, x):
        self.calls += 1
        if self.calls > self.broken_after:
            return np.nan, np.full(3, np.nan)
        value = 0.5 * self.lam * x @ x + 0.5 * (x - 1.0) @ (x - 1.0)
        return value, self.lam * x + x - 1.0


def test_the_gap_bounds_the_distance_from_the_optimum():
    found = minimise(Quadratic(), 1e-10, 100)
    assert_allclose(found.w, 1.0 / 1.5, rtol=1e-4)
    best = 0.5
    assert found.primal - best <= found.gap * found.primal + 1e-15 <= 1e-9
    assert found.n_iter >= 1 and found.history["iteration"].tolist() == [*range(found.n_iter + 1)]
    assert found.history["gap"][-1] == found.gap


def test_the_best_point_is_kept_where_numbers_end():
    found = minimise(Quadratic(broken_after=1), 1e-10, 100)
    assert_allclose(found.w, 0.0)
    assert found.primal == 1.5 and found.gap > 0.0
