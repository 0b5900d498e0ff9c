"""Weights of features of the problems of all pairs of classes, or none where they are too many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from skscreen.core.checks import Matrix, is_sparse
from skscreen.core.floats import EPS
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.solvers.kernel.pairs import sums_of_pairs
from skscreen.svm.solvers.solution import PairSolutions, Solution


def set_weights(
    out: PairSolutions, division: OneVsOne, X: Matrix, near: Matrix, origin: np.ndarray | float
) -> np.ndarray:
    """Set weights and intercepts; return where rounding errors of scores are within the gap.

    Solutions are those of samples `near`, X less an origin. More weights than samples, and those of
    sparse samples, are not set: scores are those by dual variables, if these have the digits.
    """
    order, ends, coefs = by_class(out, division)
    if is_sparse(near) or out.b.size > near.shape[0]:
        sizes = sums_of_pairs(np.sqrt(square_norms(X))[None, order], np.abs(coefs), ends)[0]
        moved = np.zeros(out.b.size)
        if np.any(origin):
            moved = sums_of_pairs((near[order] @ origin)[None], coefs, ends)[0]
        has_digits = _has_digits(out.C, out.primals, division, X, EPS * sizes, out.b - moved)
        if has_digits.all():
            out.b -= moved
            return has_digits
    near = near.toarray() if is_sparse(near) else near
    out.w = sums_of_pairs(np.ascontiguousarray(near[order].T), coefs, ends).T
    out.b -= out.w @ np.broadcast_to(origin, near.shape[1])
    errors = EPS * np.linalg.norm(out.w, axis=1)
    return _has_digits(out.C, out.primals, division, X, errors, out.b)


def need_weights(
    solutions: Sequence[Solution], division: OneVsOne, X: sparse.csr_array, w: np.ndarray
) -> bool:
    """Whether weights (n_problems, n_features) of sparse samples X say more than dual variables.

    They have fewer entries than the support vectors, or these have not the digits of the weights.
    """
    parts = [division.rows(k)[found.beta != 0.0] for k, found in enumerate(solutions)]
    if np.count_nonzero(w) <= X[np.unique(np.concatenate(parts))].nnz:
        return True
    errors, lengths = np.empty(len(solutions)), np.sqrt(square_norms(X))
    # One at a time: weights of all pairs take much memory where features are many.
    for k, (found, part) in enumerate(zip(solutions, parts, strict=True)):
        beta = found.beta[found.beta != 0.0]
        apart = np.linalg.norm(X[part].T @ beta - w[k])
        errors[k] = apart + EPS * float(np.abs(beta) @ lengths[part])
    primals = np.array([found.certificate.primal for found in solutions])
    b = np.array([found.b for found in solutions])
    return not _has_digits(solutions[0].C, primals, division, X, errors, b).all()


def by_class(out: PairSolutions, division: OneVsOne) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the samples class by class, where classes end, and dual variables (n, ...)."""
    order = np.concatenate(division.members)
    ends = np.cumsum([rows.size for rows in division.members])
    return order, ends, np.ascontiguousarray(out.signed[:, order].T)


def _has_digits(
    C: float, primals: np.ndarray, division: OneVsOne, X: Matrix, errors: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Return where rounding errors of scores, |x| times `errors`, are within the gap."""
    lengths, weights = np.sqrt(square_norms(X)), division.labels.weights
    first, second = np.triu_indices(len(division.members), 1)
    longest = np.array([weights[rows] @ lengths[rows] for rows in division.members])
    total = np.array([weights[rows].sum() for rows in division.members])
    lost = (longest[first] + longest[second]) * errors
    lost = 2.0 * C * (lost + EPS * (total[first] + total[second]) * np.abs(b))
    return lost <= 1e-9 * primals
