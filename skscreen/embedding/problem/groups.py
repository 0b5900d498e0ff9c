"""Participants: their answers hang together, so they are drawn, and left out, together."""

from typing import Any

import numpy as np

from skscreen.embedding.problem.reading.objects import warn_alike
from skscreen.embedding.problem.reading.table import read_column


def read_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Return a code from 0 on for the group of each row of X, of shape (n_rows,)."""
    table = read_column(groups, n_rows, "groups", "participant")
    warn_alike(table.names, "participants")
    codes = np.unique(table.codes[:, 0], return_inverse=True)[1]
    if codes.max() == 0:
        raise ValueError("groups must name at least two participants, got one.")
    return codes


def draw_counts(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many groups as there are, with replacement; how often each row is drawn."""
    n_groups = int(codes.max()) + 1
    drawn = rng.integers(n_groups, size=n_groups)
    return np.bincount(drawn, minlength=n_groups)[codes]
