"""The excessive gap technique with the entropy as prox function."""

from itertools import islice

import numpy as np

from skscreen.sequence.chains import Chains
from skscreen.sequence.data import Sequences
from skscreen.sequence.solvers.entropic_gap import entropic_gap


def test_the_promise_is_kept_at_every_iteration():
    rng, lengths = np.random.default_rng(0), [3, 1, 4, 2, 1]
    first, shares = np.concatenate([[0], np.cumsum(lengths)]), np.full(5, 0.2)
    X, codes = rng.normal(size=(first[-1], 2)), rng.integers(0, 3, first[-1])
    chains = Chains(Sequences(X, first), codes, 3, shares, np.ones(codes.size), 0.05)
    for iterate in islice(entropic_gap(chains), 1, 300):
        assert -1e-13 <= iterate.primal - iterate.dual <= iterate.promise + 1e-13
    assert iterate.primal - iterate.dual < 1e-3
