"""A learned distance as a function of two vectors."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class MahalanobisDistance:
    """Distance of two vectors under a learned metric; picklable.

    Parameters
    ----------
    components : ndarray of shape (r, d)
        d(u, v) = |components (u - v)|.
    """

    components: np.ndarray

    def __call__(self, u: np.ndarray, v: np.ndarray) -> float:
        """Return the distance of two vectors of shape (d,)."""
        return float(np.linalg.norm(self.components @ (np.asarray(u) - np.asarray(v))))
