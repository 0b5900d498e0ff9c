"""What the driver keeps from one C to the next."""

import numpy as np

from skscreen.path.samples import _TargetMargins
from skscreen.problems.samples import LinearSamples

RNG = np.random.default_rng(1)


def test_margins_of_changing_sets_stay_those_of_their_sum():
    samples = LinearSamples(RNG.normal(size=(40, 5)), np.where(RNG.random(40) < 0.5, -1, 1), 1.0)
    weights = RNG.uniform(0.5, 2.0, 40)
    targets, chosen = _TargetMargins(samples, weights), RNG.random(40) < 0.5
    restarts, last = 0, np.inf
    for _ in range(60):
        chosen = chosen ^ (RNG.random(40) < 0.1)
        margins, summed = targets.margins(chosen)
        expected = samples.q_dot(np.where(chosen, weights, 0.0))
        np.testing.assert_allclose(margins, expected, rtol=0.0, atol=1e-14 * summed)
        assert summed >= (1.0 - 1e-12) * (weights * samples.norms)[chosen].sum()
        restarts, last = restarts + (summed < last), summed
    assert restarts > 1
