"""Samples of problems at a nu, by their kernel values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skscreen.core.checks import Matrix
from skscreen.samples.kernels.gram import Gram, KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.svm.problem import TrainingSet
from skscreen.svm.roads import BY_BLOCKS, FEW_IN_PAIRS
from skscreen.svm.solvers.kernel.few import FewValues, few_values

# Samples from which products in tiles are faster than a matrix in memory, of an RBF kernel.
_IN_TILES = 1000


def limit_of(model: BaseEstimator) -> int | None:
    """Return the limit of steps of an estimator."""
    return None if model.max_iter == -1 else model.max_iter


def few_in_kernel(X: Matrix, kernel: Kernel) -> FewValues | None:
    """Return values of few samples for a compiled call, of a kernel that is surely definite."""
    if X.shape[0] > FEW_IN_PAIRS or sparse.issparse(X) or not kernel.is_definite:
        return None
    # What all values have in common is part of |w|^2, as sums of dual variables are prescribed.
    return few_values(X, kernel, 0.0, free=False)


def samples_in_kernel(
    X: Matrix, kernel: Kernel, cache_size: float, twice: bool = False
) -> KernelSamples:
    """Return samples, or all of them `twice`."""
    gram = Gram(X, kernel, cache_size=0.0)
    in_tiles = gram.n > (_IN_TILES if kernel.name == "rbf" else BY_BLOCKS) and gram.is_wide
    if not in_tiles and 8 * gram.n**2 <= cache_size * 2**20:
        gram.fill()
    return KernelSamples(Places.twice(gram) if twice else gram)


def known_duals(model: BaseEstimator, data: TrainingSet) -> np.ndarray:
    """Return the dual variables with signs (n_rows, n_samples) that a fit of these samples has."""
    X, support = data.X, model.support_
    vectors = model.support_vectors_
    same = support.size == 0 or support.max() < X.shape[0]
    if same and vectors.shape == (support.size, X.shape[1]):
        apart = abs(X[support] - vectors)
        same = not apart.size or apart.max() <= 1e-6 * abs(vectors).max()
    if not same:
        raise ValueError(
            "X must hold the samples of the fit: its support vectors are not those rows of X."
        )
    coefs = model.dual_coef_
    coefs = coefs.toarray() if sparse.issparse(coefs) else coefs
    out = np.zeros((len(coefs), X.shape[0]))
    out[:, support] = coefs
    return out


def beta_of(signed: np.ndarray, division: Division, problem: int) -> np.ndarray:
    """Return the dual variables of a problem from `dual_coefs` of all samples."""
    if not isinstance(division, OneVsOne):
        return signed[problem]
    i, j = division.pairs[problem]
    return np.concatenate([signed[j - 1, division.members[i]], signed[i, division.members[j]]])


def near_zero(X: Matrix) -> tuple[Any, np.ndarray | float]:
    """Return rows for inner products with more digits, and what was taken off each."""
    X = X.astype(np.float64, copy=False)
    if sparse.issparse(X):
        return X, 0.0
    origin = X.mean(axis=0)
    return X - origin, origin
