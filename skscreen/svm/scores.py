"""Scores of new samples by fitted machines, in parts of limited size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot

from skscreen._compiled import svm as loops
from skscreen.core.checks import Matrix, is_sparse
from skscreen.core.threads import at_most
from skscreen.samples.kernels.kernel import FEW_ROWS, MANY_VALUES, WITH_LENGTHS, Kernel, n_samples
from skscreen.samples.rows import sparse_products
from skscreen.svm.pair_weights import weights_of_support
from skscreen.svm.problem import asked

_NO_LENGTHS = np.empty(0)


@dataclass(frozen=True)
class DecisionRule:
    """How the scores of a fitted machine decide: what its public attributes do not tell."""

    kernel: Kernel
    pairs: bool = False  # whether classes are told apart by pairs, and there are more than two
    present: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # classes
    # Sizes of the terms of the scores of each problem, and of the longest support vector.
    sums: np.ndarray = field(default_factory=lambda: np.empty(0))
    longest: float = 0.0
    # What is taken off support vectors whose sums are the weights of pairs, if anything.
    origin: np.ndarray | None = None
    # Samples that a search has asked about, and their scores, a column for each problem.
    known: tuple[Any, np.ndarray] | None = None


def known_scores(how: DecisionRule, X: Matrix) -> np.ndarray | None:
    """Return the scores of samples that a search has asked about before, if these are they."""
    return how.known[1] if how.known is not None and X is how.known[0] else None


def raw_scores(model: BaseEstimator, how: DecisionRule, X: Matrix) -> np.ndarray:
    """Return the scores of all problems, one column each, of samples from `asked`."""
    if "coef_" in vars(model):
        return _linear_scores(model, X)
    if how.kernel.name != "precomputed":
        coefs = dense_dual_coef(model).T
        return how.kernel.scores(X, model.support_vectors_, coefs) + model.intercept_
    out = np.empty((n_samples(X), model.intercept_.size))
    for part, values in _values_of_support(model, how, X):
        np.matmul(values, dense_dual_coef(model).T, out=out[part])
    out += model.intercept_
    return out


def settled_scores(model: BaseEstimator, how: DecisionRule, X: Matrix) -> np.ndarray:
    """Return the scores of a classifier; equal up to rounding means equal."""
    scores = known_scores(how, X)
    # Of the samples themselves only lengths are needed.
    if scores is None or how.kernel.name in WITH_LENGTHS:
        X = asked(model, how.kernel, X)
    if how.pairs:
        n = model.intercept_.size
        return over_pairs(model, how, X, scores, loops.pair_values, np.empty((n_samples(X), n)))
    with at_most(model.n_jobs):
        scores = raw_scores(model, how, X) if scores is None else scores.copy()
    return _settled(model, how, X, scores)


def winners(model: BaseEstimator, how: DecisionRule, X: Matrix) -> np.ndarray:
    """Return the places of the classes with the most votes of pairs."""
    return _of_pairs(model, how, X, loops.pair_winners, np.int64, ())


def votes(model: BaseEstimator, how: DecisionRule, X: Matrix) -> np.ndarray:
    """Return votes (n, n_classes), and less than half a vote for the sum of scores, as `SVC`."""
    return _of_pairs(model, how, X, loops.pair_votes, np.float64, (how.present.size,))


def decisive_scores(model: BaseEstimator, how: DecisionRule, X: Matrix) -> np.ndarray:
    """Return the scores of two classes, precise enough for their signs."""
    if known_scores(how, X) is not None or not how.kernel.may_be_in_tiles:
        return settled_scores(model, how, X)[:, 0]
    X = asked(model, how.kernel, X)
    b, coef = float(model.intercept_[0]), dense_dual_coef(model)[0]
    with at_most(model.n_jobs):
        scores = how.kernel.decisive_scores(X, model.support_vectors_, coef, b)
    return _settled(model, how, X, scores[:, None])[:, 0]


def dense_dual_coef(model: BaseEstimator) -> np.ndarray:
    """Return the dual coefficients of a machine as an array."""
    coefs = model.dual_coef_
    return coefs.toarray() if is_sparse(coefs) else coefs


def weights_of_pairs(model: BaseEstimator, how: DecisionRule) -> Any:
    """Return the weights of features of each pair of classes, from dual variables."""
    counts = model.n_support_[how.present]
    return weights_of_support(model.support_vectors_, model.dual_coef_, counts, how.origin)


def pair_scores(sums: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return scores of pairs (n, n_problems) from sums by class (n_classes, n, n_classes - 1)."""
    out, exact = np.empty((sums.shape[1], intercepts.size)), np.zeros(intercepts.size)
    loops.pair_values(sums, intercepts, (_NO_LENGTHS, 0.0, exact, exact), len(sums), out)
    return out


def over_pairs(
    model: BaseEstimator,
    how: DecisionRule,
    X: Matrix,
    scores: np.ndarray | None,
    write: Callable,
    out: np.ndarray,
) -> np.ndarray:
    """Return `out`, one row for each sample from `asked`, written from the scores of pairs.

    These are computed if they are not known.
    """
    n_classes = how.present.size
    with at_most(model.n_jobs):
        parts = _pair_scores(model, how, X) if scores is None else [(slice(None), (scores,))]
        for part, found in parts:
            write(*found, _noise(model, how, X, part), n_classes, out[part])
    return out


def _settled(model: BaseEstimator, how: DecisionRule, X: Matrix, scores: np.ndarray) -> np.ndarray:
    """Return the scores of problems, those equal that rounding errors alone may tell apart."""
    scores = np.ascontiguousarray(scores)
    if loops.near_ties(scores):
        loops.settle(scores, _noise(model, how, X, slice(None)))
    return scores


def _of_pairs(
    model: BaseEstimator, how: DecisionRule, X: Matrix, write: Callable, dtype: type, shape: tuple
) -> np.ndarray:
    """Return what is written from the scores of pairs, of samples that are not validated."""
    scores = known_scores(how, X)
    if scores is None or how.kernel.name in WITH_LENGTHS:
        X = asked(model, how.kernel, X)
    return over_pairs(model, how, X, scores, write, np.empty((n_samples(X), *shape), dtype))


def _noise(model: BaseEstimator, how: DecisionRule, X: Matrix, part: slice) -> tuple:
    """Return what rounding errors of the scores of some samples are estimated from.

    |sum_j alpha_j K(x, x_j)| is at most sqrt(K(x, x)) sum_j alpha_j sqrt(K(x_j, x_j)). An intercept
    has the errors of the scores of support vectors, from which it was computed.
    """
    lengths = _NO_LENGTHS
    if how.kernel.name in WITH_LENGTHS:
        origin = origin_of(how.kernel, getattr(model, "support_vectors_", None))
        lengths = how.kernel.lengths(_rows(X, part), origin)
    longest = how.longest if model.fit_intercept else 0.0
    return lengths, longest, how.sums, np.ascontiguousarray(model.intercept_, np.float64)


def _linear_scores(model: BaseEstimator, X: Matrix) -> np.ndarray:
    """Return the scores of a linear kernel by the weights of features."""
    coef = model.coef_ if model.coef_.ndim == 2 else model.coef_[None]
    if not is_sparse(X) or not is_sparse(coef):
        return safe_sparse_dot(X, coef.T, dense_output=True) + model.intercept_
    # scikit-learn multiplies sparse matrices of one dtype only.
    X = X.astype(np.float64, copy=False)
    if X.shape[0] > FEW_ROWS:
        return safe_sparse_dot(X, coef.T, dense_output=True) + model.intercept_
    # The product would first put the weights into another order.
    return sparse_products(X, coef) + model.intercept_


def _pair_scores(
    model: BaseEstimator, how: DecisionRule, X: Matrix
) -> Iterator[tuple[slice, tuple]]:
    """Yield parts of the samples, and their scores of pairs as the compiled loops take them."""
    n_classes, intercepts = how.present.size, model.intercept_
    if "coef_" in vars(model):
        for part in _parts(X, n_classes**2):
            yield part, (np.ascontiguousarray(_linear_scores(model, _rows(X, part))),)
        return
    coefs = np.ascontiguousarray(dense_dual_coef(model).T)
    intercepts = np.ascontiguousarray(intercepts, np.float64)
    ends = model.n_support_[how.present].astype(np.int64).cumsum()
    for part, sums in _sums_by_class(model, how, X, coefs, ends):
        yield part, (sums, intercepts)


def _sums_by_class(
    model: BaseEstimator, how: DecisionRule, X: Matrix, coefs, ends
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield parts of the samples, and the sums over support vectors of a class, for each class."""
    kernel, n_classes = how.kernel, ends.size
    found: Iterator[tuple[slice, np.ndarray | None]]
    if kernel.name == "precomputed":
        found = _values_of_support(model, how, X, n_classes**2)
    else:
        found = _computed_values(model, how, X, max(n_classes**2, len(coefs)))
    for part, values in found:
        n = part.stop - part.start
        sums = np.empty((n_classes, n, n_classes - 1))
        if n <= FEW_ROWS and values is not None:
            loops.sum_by_class(values, coefs, ends, sums)
            yield part, sums
            continue
        for of_class, out in zip(_classes(ends), sums, strict=True):
            if values is None:
                vectors = model.support_vectors_[of_class]
                out[:] = kernel.scores(_rows(X, part), vectors, coefs[of_class])
            else:
                np.matmul(values[:, of_class], coefs[of_class], out=out)
        yield part, sums


def _classes(ends: np.ndarray) -> Iterator[slice]:
    """Yield which support vectors each class has."""
    return (slice(*pair) for pair in pairwise([0, *ends.tolist()]))


def _computed_values(
    model: BaseEstimator, how: DecisionRule, X: Matrix, width: int
) -> Iterator[tuple[slice, np.ndarray | None]]:
    """Yield parts of the samples, and kernel values of support vectors; None for many."""
    vectors = model.support_vectors_
    for part in _parts(X, width):
        rows = _rows(X, part)
        many = rows.shape[0] * vectors.shape[0] >= MANY_VALUES * how.present.size
        yield part, None if many else how.kernel.values(rows, vectors)


def _values_of_support(
    model: BaseEstimator, how: DecisionRule, X: Matrix, width: int = 1
) -> Iterator[tuple[slice, Any]]:
    """Yield parts of the samples, and known kernel values, or those of a function."""
    function, support = how.kernel.function, model.support_
    if function is None:
        for part in _parts(X, max(width, support.size)):
            yield part, np.ascontiguousarray(X[part, support])
        return
    for part in _parts(X, max(width, n_samples(function.samples))):
        yield part, np.ascontiguousarray(function.to_training(_rows(X, part))[:, support])


def _rows(X: Matrix, part: slice) -> Any:
    """Return a part of samples of any kind, or all of them as they are."""
    if part.start in (None, 0) and part.stop in (None, n_samples(X)):
        return X
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def origin_of(kernel: Kernel, support_vectors: Matrix) -> np.ndarray | None:
    """Return from where lengths count: near the samples, as an intercept takes up any shift."""
    is_array = isinstance(support_vectors, np.ndarray) and kernel.name == "linear"
    return support_vectors[0] if is_array and len(support_vectors) else None


def _parts(X: Matrix, width: int) -> Iterator[slice]:
    """Yield parts of samples, so many values each, with an eighth of scikit-learn's memory."""
    n, most = n_samples(X), get_config()["working_memory"] * 2**14
    size = max(int(most / max(width, 1)), 1)
    return (slice(first, min(first + size, n)) for first in range(0, n, size))
