"""Terms of the undecided samples, where most are left out."""

from math import fsum

import numpy as np

from skscreen.samples.losses import hinge
from skscreen.svm.solvers.hinge import HingeTerms


def test_a_tie_stays_one_next_to_sums_that_cancel():
    """Two samples of equal cap: every b between their kinks is best, whatever is left out."""
    y, C = np.array([1.0, -1.0]), np.full(2, 0.1)
    lower = upper = np.array([0.5, 0.5])
    rng, off = np.random.default_rng(0), 0
    for _ in range(20):
        fixed = rng.random(5000)
        fixed = rng.permutation(np.concatenate([fixed, -fixed]))
        assert fsum(fixed) == 0.0
        off += fixed.sum() != 0.0
        terms = HingeTerms(hinge(C), y, fixed)
        # Kinks at 0.5 and -0.5: with b there, one of the margins is 1 and the other 0 or 1.
        assert abs(terms.best_intercept(lower)) < 1e-12
        assert not terms.decide((lower, upper)).any()
    assert off > 10
