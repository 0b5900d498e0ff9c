"""Weights of features of the problems of all pairs of classes, or none where they are too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skscreen.core.checks import Matrix, is_sparse
from skscreen.core.floats import EPS
from skscreen.samples.kernels.distances import square_norms
from skscreen.samples.multiclass import OneVsOne
from skscreen.svm.solvers.kernel.pairs import sums_of_pairs
from skscreen.svm.solvers.solution import PairSolutions, Solution

# Share of the primal value that rounding errors outside of the certificate may have.
MOST_LOST = 1e-9


def set_weights(
    out: PairSolutions, division: OneVsOne, X: Matrix, near: Matrix, origin: np.ndarray | float
) -> np.ndarray:
    """Set weights and intercepts; return where rounding errors of scores are within the gap.

    Solutions are those of samples `near`, X less an origin. More weights than samples, and those of
    sparse samples, are not set: scores are those by dual variables, if these have the digits.
    """
    order, ends, coefs = by_class(out, division)
    lengths = np.sqrt(square_norms(X))
    if is_sparse(near) or out.b.size > near.shape[0]:
        sizes = sums_of_pairs(lengths[None, order], np.abs(coefs), ends)[0]
        moved = np.zeros(out.b.size)
        if np.any(origin):
            moved = sums_of_pairs((near[order] @ origin)[None], coefs, ends)[0]
        errors, b = EPS * sizes, out.b - moved
        has_digits = _has_digits(out.C, out.primals, division, lengths, errors, b)
        if has_digits.all():
            out.b -= moved
            return has_digits
    near = near.toarray() if is_sparse(near) else near
    # To the last bit as `weights_of_support`, where other samples add zeros.
    out.origin = np.full(near.shape[1], origin)
    out.w = sums_of_pairs(np.ascontiguousarray(near[order].T), coefs, ends).T
    out.b -= out.w @ out.origin
    errors = EPS * np.linalg.norm(out.w, axis=1)
    has_digits = _has_digits(out.C, out.primals, division, lengths, errors, out.b)
    if not has_digits.all() and isinstance(origin, np.ndarray):
        # Errors of scores beyond the margin count in the bound alone.
        C = np.full(out.b.size, out.C)
        primals = primals_at(out.w, out.b, division, X, np.arange(X.shape[0]), C, "hinge")
        has_digits |= np.abs(primals - out.primals) <= MOST_LOST * out.primals
    return has_digits


def weights_of_support(
    vectors: Matrix, coefs: Matrix, counts: np.ndarray, origin: np.ndarray | None
) -> Any:
    """Return weights (n_problems, n_features), from support vectors class by class.

    Coefficients are `dual_coef_`, counts those of support vectors. An origin is taken off these;
    without one sums are those of a product of sparse matrices. On one kind of processor equal
    arguments give equal bits.
    """
    coefs = coefs.toarray() if is_sparse(coefs) else coefs
    if origin is not None:
        rows = (vectors.toarray() if is_sparse(vectors) else vectors) - origin
        ends, coefs = counts.cumsum(), np.ascontiguousarray(coefs.T)
        sums = sums_of_pairs(np.ascontiguousarray(rows.T), coefs, ends).T
        return type(vectors)(sums) if is_sparse(vectors) else sums
    n, codes = counts.size, np.repeat(np.arange(counts.size), counts)
    # Rows of a class are the others, in order.
    row, place = np.nonzero(coefs)
    own, other = codes[place], row + (row >= codes[place])
    first, second = np.minimum(own, other), np.maximum(own, other)
    problem = first * n - first * (first + 1) // 2 + second - first - 1
    signed = (coefs[row, place], (problem, place))
    w: Any = sparse.csr_array(signed, shape=(n * (n - 1) // 2, codes.size)) @ vectors
    if is_sparse(w):
        w = type(vectors)(w)
        w.sort_indices()
    return w


def are_equal(w: Any, other: Any) -> bool:
    """Whether weights are equal, arrays in the same order of memory, or matrices of one type."""
    if is_sparse(w) and type(w) is type(other):
        parts = ((w.indptr, other.indptr), (w.indices, other.indices), (w.data, other.data))
        return w.shape == other.shape and all(np.array_equal(*both) for both in parts)
    arrays = isinstance(w, np.ndarray) and isinstance(other, np.ndarray)
    return arrays and w.strides == other.strides and np.array_equal(w, other)


def primals_at(
    w: Matrix, b: np.ndarray, division: OneVsOne, X: Matrix, rows: np.ndarray, C: np.ndarray,
    loss: str,
) -> np.ndarray:  # fmt: skip
    """Return the primal values of pairs by some rows of X, without those of intercepts."""
    weights, n = division.labels.weights, len(division.members)
    first, second = np.triu_indices(n, 1)
    problems = np.zeros((n, n), np.int64)
    problems[first, second] = problems[second, first] = np.arange(first.size)
    # Those of each class, and the sign of its scores, which is positive for the first one.
    of_class = problems[~np.eye(n, dtype=np.bool_)].reshape(n, n - 1)
    signs = np.where(np.arange(n - 1) < np.arange(n)[:, None], -1.0, 1.0)
    out = 0.5 * np.ravel((w.multiply(w) if is_sparse(w) else w * w).sum(axis=1))
    for c, members in enumerate(division.members):
        pairs = of_class[c]
        scores: Any = X[rows[members]] @ w[pairs].T
        scores = (scores.toarray() if is_sparse(scores) else scores) + b[pairs]
        lost = np.maximum(1.0 - signs[c] * scores, 0.0)
        out[pairs] += C[pairs] * (weights[members] @ (lost if loss == "hinge" else lost**2))
    return out


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
    return not _has_digits(solutions[0].C, primals, division, lengths, errors, b).all()


def by_class(out: PairSolutions, division: OneVsOne) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the samples class by class, where classes end, and dual variables (n, ...)."""
    order = np.concatenate(division.members)
    ends = np.cumsum([rows.size for rows in division.members])
    return order, ends, np.ascontiguousarray(out.signed[:, order].T)


def _has_digits(
    C: Any, primals: np.ndarray, division: OneVsOne, lengths: np.ndarray, errors: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return where rounding errors of scores, lengths times `errors`, are within the gap."""
    weights = division.labels.weights
    first, second = np.triu_indices(len(division.members), 1)
    longest = np.array([weights[rows] @ lengths[rows] for rows in division.members])
    total = np.array([weights[rows].sum() for rows in division.members])
    lost = (longest[first] + longest[second]) * errors
    lost = 2.0 * C * (lost + EPS * (total[first] + total[second]) * np.abs(b))
    return lost <= MOST_LOST * primals
