"""A kernel that is a function, called as `SVC` calls it: with all training samples, once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from skscreen.samples.definite import check_symmetric
from skscreen.samples.gram import matrix_of


@dataclass(frozen=True)
class KernelFunction:
    """A kernel that is a function, and the training samples it knows, of whatever kind.

    Its second argument is always the set of all training samples, as some functions look at all of
    them: to centre, to scale, for a band width.

    Parameters
    ----------
    kernel : callable
    samples : sequence of n samples
    """

    kernel: Callable
    samples: Any

    def matrix(self) -> np.ndarray:
        """Return the kernel matrix of the training samples, (n, n)."""
        K = self.to_training(self.samples)
        check_symmetric(K, "The matrix of a callable kernel")
        return K

    def to_training(self, X) -> np.ndarray:
        """Return kernel values between samples and those of the training, (len(X), n)."""
        X = as_given(X)
        return matrix_of(
            self.kernel, X, self.samples, (_num_samples(X), _num_samples(self.samples))
        )

    @property
    def rows(self):
        """The training samples where they are rows of numbers, an array or CSR; otherwise None."""
        X = self.samples
        if sparse.issparse(X):
            return X.tocsr()
        return np.asarray(X) if is_table(X) and np.asarray(X).dtype.kind in "fiub" else None


def as_given(X):
    """Return samples as a kernel function gets them: as they are, but lists of numbers as arrays.

    Lists whose rows differ in length, or hold no numbers, stay lists.
    """
    if not isinstance(X, list | tuple) or not all(isinstance(x, list | tuple) for x in X):
        return X
    try:
        rows = np.asarray(X)
    except ValueError:
        return X
    return rows if rows.ndim == 2 and rows.dtype.kind in "fiub" else X


def is_table(X) -> bool:
    """Whether samples have columns, which can be counted."""
    return len(getattr(X, "shape", ())) == 2
