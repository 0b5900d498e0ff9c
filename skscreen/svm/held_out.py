"""Scores of held-out samples by the problems of few samples, solved without these."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.pair_weights import by_class
from skscreen.svm.problem import SVMProblem
from skscreen.svm.solvers.kernel.pairs import has_all, sums_of_pairs

# Samples up to which one matrix of kernel values serves all folds.
_FEW = 1000


def scores_of_held(
    problem: SVMProblem, folds: Iterable[np.ndarray], C: float, tol: float
) -> np.ndarray | None:
    """Return scores (n, n_problems) of each fold by all other samples.

    None where another way is needed: of many samples, kernels without a certificate, classes of one
    sample, and where a gap is too large.
    """
    pairs, division, kernel = problem.pairs, problem.division, problem.kernel
    n = problem.labels.rows.size
    if pairs is None or not has_all(pairs) or not kernel.is_definite or n > _FEW:
        return None
    if np.bincount(problem.labels.codes).min() < 2:
        return None
    # Intercepts are those of the rows near zero.
    X = problem.near_zero[0] if kernel.name == "linear" else problem.taking_part
    K = kernel.between(X, X)
    out = np.empty((n, division.n_problems))
    for held in folds:
        found = pairs.solve_without(held, C, tol)
        if not (found.gaps <= tol * found.primals).all():
            return None
        if isinstance(division, OneVsOne):
            order, ends, coefs = by_class(found, division)
            sums = sums_of_pairs(K[np.ix_(held, order)], coefs, ends)
        else:
            sums = K[held] @ found.signed.T
        out[held] = sums + found.b
    return out


def of_other_classes(scores: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return for each sample the scores of the pairs of its class, (n, n_classes - 1)."""
    other = np.arange(n_classes - 1) + (np.arange(n_classes - 1) >= codes[:, None])
    first, second = np.minimum(codes[:, None], other), np.maximum(codes[:, None], other)
    places = first * n_classes - first * (first + 1) // 2 + second - first - 1
    return np.take_along_axis(scores, places, axis=1)
