"""Dimensions of one embedding beside those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from skscreen.concepts.matching import match


class DimensionMatch(NamedTuple):
    """Partners of the dimensions of an embedding among those of another.

    Parameters
    ----------
    partners : ndarray of shape (n_dimensions_A,), int
        Column of B that is the partner of each column of A; -1 for none, if B has fewer.
    correlations : ndarray of shape (n_dimensions_A,)
        Pearson's r over the objects of each column of A with its partner; NaN without one, 0 where
        a column does not vary.
    """

    partners: np.ndarray
    correlations: np.ndarray

    def __repr__(self) -> str:
        r = self.correlations[self.partners >= 0]
        median = f"; median r {np.median(r):.3f}, {np.sum(r > 0.8)} above .8" if len(r) else ""
        return f"DimensionMatch({len(r)} of {len(self.partners)} dimensions have a partner{median})"


def match_dimensions(A: ArrayLike, B: ArrayLike) -> DimensionMatch:
    """Match the dimensions of two embeddings of the same objects one to one.

    The partners are those with the largest sum of correlations (linear assignment), so that no
    dimension of B is the partner of two of A, as it may be where each takes the closest one.

    Parameters
    ----------
    A : array-like of shape (n_objects, n_dimensions_A)
        Such as `ConceptEmbedding.embedding_`.
    B : array-like of shape (n_objects, n_dimensions_B)
        Such as a published embedding, with the same objects in the same rows.

    Returns
    -------
    DimensionMatch

    Raises
    ------
    ValueError
        If A or B is no table of finite numbers, or if they have different numbers of objects.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen.metrics import match_dimensions
    >>> A = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.0]])
    >>> found = match_dimensions(A, A[:, ::-1])
    >>> found.partners
    array([1, 0])
    >>> found.correlations.round(3)
    array([1., 1.])
    """
    first, second = (
        check_array(
            X, dtype=np.float64, input_name=name, ensure_min_features=0, ensure_min_samples=2
        )
        for X, name in ((A, "A"), (B, "B"))
    )
    if len(first) != len(second):
        raise ValueError(
            "A and B must have a row for each of the same objects, got "
            f"{len(first)} and {len(second)} rows."
        )
    return DimensionMatch(*match(first, second))
