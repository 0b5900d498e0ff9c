"""Samples that are no rows of numbers, strings for instance, and a kernel that knows them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skscreen.samples.gram import kernel_values


@dataclass(frozen=True)
class Objects:
    """Samples that are no rows of numbers, strings for instance, and the kernel between them.

    As in `SVC`, the kernel sees all training samples at once, and its matrix is computed once.

    Parameters
    ----------
    kernel : callable
    samples : ndarray
        Training samples along the first axis.
    """

    kernel: Callable
    samples: np.ndarray

    def matrix(self) -> np.ndarray:
        """Return the kernel matrix of the training samples."""
        return kernel_values(self.kernel, self.samples, self.samples)

    def to_training(self, X) -> np.ndarray:
        """Return kernel values between samples and those of the training."""
        objects = as_objects(X)
        if objects is None:
            raise ValueError("X must be objects as in fit, got rows of numbers.")
        return kernel_values(self.kernel, objects, self.samples)


def as_objects(X) -> np.ndarray | None:
    """Return samples that are no rows of numbers, along the first axis; None for rows."""
    if sparse.issparse(X) or np.iscomplexobj(X):
        return None
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        values = None
    if values is not None and values.ndim in (0, 2):
        return None
    if isinstance(X, np.ndarray):
        return X
    samples = list(X.to_numpy() if hasattr(X, "to_numpy") else X)
    objects = np.empty(len(samples), dtype=object)
    objects[:] = samples
    return objects
