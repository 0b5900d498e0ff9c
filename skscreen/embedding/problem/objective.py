"""The objective of ordinal embedding: a weighted mean of losses of answers and a small ridge.

    F(X) = (1 / sum_q w_q) sum_q w_q f(a_q, c_q) + reg / n sum_i |x_i|^2

Where the answers are many for the number of objects the same pair of objects is in many of them.
Then each distinct pair is listed once: its distance, and what the loss needs of it (a root, an
exponential), are computed once an evaluation, and an answer costs a division and two additions.
"""

from copy import copy
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np

from skscreen.core.compiling import njit, start_numba
from skscreen.embedding.problem.losses import (
    CKL,
    GNMDS,
    ODD,
    SMALLEST,
    SOE,
    STE,
    TSTE,
    EmbeddingLoss,
    answer,
    choice,
    power,
    squared_distance,
)

# A product of factors is turned into a logarithm before it could overflow or underflow.
LARGE, _TINY = 1e100, 1e-100
# Exponentials of numbers up to this size have full precision.
_RANGE, _UNDERFLOW = 700.0, 1e-300


class Terms(NamedTuple):
    """Arrays of a problem for the compiled evaluations.

    Parameters
    ----------
    answers : ndarray of shape (m, 3) or (m, 4), int32
        Rows (i, j, k) or (i, j, l, k): d(i, j) < d(i, k) or d(i, j) < d(l, k). With the loss ODD
        rows (i, j, k) also say that d(i, j) < d(j, k).
    weights : ndarray of shape (m,), or (0,) where all are one
    pairs : ndarray of shape (P, 2), int32
        The distinct pairs; empty where they are not listed.
    near, far, third : ndarray of shape (m,), int32
        Rows of `pairs`, the third (j, k) with the loss ODD; empty where pairs are not listed.
    counts : ndarray of shape (P,)
        Weight of the answers in which a pair is the far one.
    total : float
        Sum of the weights.
    loss, shape, reg
        Code and parameter of the loss, strength of the ridge.
    """

    answers: np.ndarray
    weights: np.ndarray
    pairs: np.ndarray
    near: np.ndarray
    far: np.ndarray
    third: np.ndarray
    counts: np.ndarray
    total: float
    loss: int
    shape: float
    reg: float


class EmbeddingProblem:
    """Value and gradient of the objective.

    Parameters
    ----------
    answers : ndarray of shape (m, 3) or (m, 4), int32
        See `Terms`; checked, without rows that no embedding could satisfy.
    weights : ndarray of shape (m,), or None
        Positive; None where all are one.
    n_objects : int
    loss : EmbeddingLoss
    reg : float
    compress : bool, optional
        Whether to list pairs; by default where that pays: n^2 < 4 m.
    """

    def __init__(self, answers, weights, n_objects, loss: EmbeddingLoss, reg, compress=None):
        start_numba()
        self.n_objects, self.loss = n_objects, loss
        if compress is None:
            compress = n_objects**2 < 4 * len(answers)
        if compress:
            pairs, places = list_pairs(answers, n_objects, 3 if loss.of_trials else 2)
        else:
            pairs, places = np.empty((0, 2), np.int32), np.empty((3, 0), np.int32)
        weights = np.empty(0) if weights is None else weights
        self.terms = _terms(answers, weights, pairs, places, loss, float(reg))

    @property
    def answers(self) -> np.ndarray:
        """Rows of objects."""
        return self.terms.answers

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the answers, or None."""
        return self.terms.weights if self.terms.weights.size else None

    def split(self, size: int) -> tuple[np.ndarray, np.ndarray | None, "EmbeddingProblem"]:
        """Return the first `size` answers, their weights, and the problem of all the others."""
        terms, rest = self.terms, copy(self)
        rest.terms = _terms(
            *(rows[size:] for rows in (terms.answers, terms.weights)),
            terms.pairs,
            np.stack([terms.near, terms.far, terms.third])[:, size:]
            if self.loss.of_trials
            else np.stack([terms.near, terms.far])[:, size:],
            self.loss,
            terms.reg,
        )
        return terms.answers[:size], terms.weights[:size] if terms.weights.size else None, rest

    @property
    def reg(self) -> float:
        """Strength of the ridge."""
        return self.terms.reg

    @reg.setter
    def reg(self, value: float) -> None:
        self.terms = self.terms._replace(reg=float(value))

    @property
    def width(self) -> int:
        """Objects in an answer."""
        return self.terms.answers.shape[1]

    def workspace(self) -> np.ndarray | None:
        """Memory of an evaluation, None where pairs are not listed; threads need one each."""
        return np.empty((3, len(self.terms.pairs))) if len(self.terms.pairs) else None

    def evaluate(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient at X, of shape (n_objects, n_components)."""
        gradient = np.empty_like(X)
        return evaluate(X, self.terms, self.workspace(), gradient), gradient


def _terms(answers, weights, pairs, places, loss, reg) -> Terms:
    near, far = places[0], places[1]
    third = places[2] if len(places) == 3 else np.empty(0, np.int32)
    counts = np.bincount(far, weights if weights.size else None, len(pairs)).astype(np.float64)
    total = float(weights.sum() if weights.size else len(answers))
    return Terms(
        answers, weights, pairs, near, far, third, counts, total, loss.code, float(loss.shape), reg
    )


@njit(cache=True, nogil=True, error_model="numpy")
def list_pairs(answers, n_objects, sides):
    """Distinct pairs of objects, and the rows of the near, far and third pair of each answer."""
    m, width = answers.shape
    l_column = 0 if width == 3 else 2
    table = np.full((n_objects, n_objects), -1, np.int32)
    pairs = np.empty((min(sides * m, n_objects * (n_objects + 1) // 2), 2), np.int32)
    rows = np.empty((sides, m), np.int32)
    count = 0
    for q in range(m):
        for side in range(sides):
            u = answers[q, 1 if side == 2 else 0 if side == 0 else l_column]
            v = answers[q, 1 if side == 0 else width - 1]
            if u > v:
                u, v = v, u
            if table[u, v] < 0:
                table[u, v] = count
                pairs[count, 0], pairs[count, 1] = u, v
                count += 1
            rows[side, q] = table[u, v]
    return pairs[:count].copy(), rows


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(X, terms, work, gradient):
    """F at X; its gradient is written. Infinity where F overflows."""
    gradient[:] = 0.0
    # None has a type of its own: without pairs, what is for them is not compiled.
    if work is not None:
        value = _by_pairs(X, terms, work, gradient)
    elif terms.loss == ODD:
        value = _by_trials(X, terms, gradient)
    else:
        value = _by_answers(X, terms, gradient)
    n, p = X.shape
    value /= terms.total
    ridge = terms.reg / n
    squares = 0.0
    for i in range(n):
        for d in range(p):
            squares += X[i, d] * X[i, d]
            gradient[i, d] = gradient[i, d] / terms.total + 2.0 * ridge * X[i, d]
    value += ridge * squares
    return value if value < inf else inf


@njit(cache=True, nogil=True, error_model="numpy")
def _by_answers(X, terms, gradient):
    """Sum of the losses, one answer after the other."""
    answers, weights = terms.answers, terms.weights
    m, width = answers.shape
    p = X.shape[1]
    l_column = 0 if width == 3 else 2
    total, product, weight = 0.0, 1.0, 1.0
    for q in range(m):
        i, j = answers[q, 0], answers[q, 1]
        l, k = answers[q, l_column], answers[q, width - 1]
        a = c = 0.0
        for d in range(p):
            near = X[i, d] - X[j, d]
            far = X[l, d] - X[k, d]
            a += near * near
            c += far * far
        linear, factor, slope_a, slope_c = answer(terms.loss, terms.shape, a, c)
        if weights.size:
            weight = weights[q]
            total += weight * (linear + log(factor))
        else:
            total += linear
            product *= factor
            if product > LARGE:
                total += log(product)
                product = 1.0
        if slope_a == 0.0 and slope_c == 0.0:
            continue
        slope_a *= 2.0 * weight
        slope_c *= 2.0 * weight
        for d in range(p):
            near = slope_a * (X[i, d] - X[j, d])
            far = slope_c * (X[l, d] - X[k, d])
            gradient[i, d] += near
            gradient[j, d] -= near
            gradient[l, d] += far
            gradient[k, d] -= far
    return total + log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def _by_trials(X, terms, gradient):
    """Like `_by_answers`, for choices of the odd one out; separate, because a branch takes time."""
    answers, weights = terms.answers, terms.weights
    total, weight = 0.0, 1.0
    for q in range(answers.shape[0]):
        i, j, k = answers[q, 0], answers[q, 1], answers[q, 2]
        linear, factor, slope_a, slope_c, slope_e = choice(
            squared_distance(X, i, j), squared_distance(X, i, k), squared_distance(X, j, k)
        )
        if weights.size:
            weight = weights[q]
        total += weight * (linear + log(factor))
        _add_pull(X, i, j, 2.0 * weight * slope_a, gradient)
        _add_pull(X, i, k, 2.0 * weight * slope_c, gradient)
        _add_pull(X, j, k, 2.0 * weight * slope_e, gradient)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _add_pull(X, i, j, factor, gradient):
    """Add a gradient along the difference of two objects."""
    for d in range(X.shape[1]):
        step = factor * (X[i, d] - X[j, d])
        gradient[i, d] += step
        gradient[j, d] -= step


@njit(cache=True, nogil=True, error_model="numpy")
def _by_pairs(X, terms, work, gradient):
    """Sum of the losses from the distances of the distinct pairs.

    df/da is a number of the answer times one of the near pair, df/dc one of the answer times one
    of the far pair: the answers' numbers are summed up by pairs first.
    """
    pairs, loss, shape = terms.pairs, terms.loss, terms.shape
    distances, links, pulls = work[0], work[1], work[2]
    p = X.shape[1]
    h = 0.5 * (shape + 1.0)
    largest = 0.0
    for r in range(pairs.shape[0]):
        i, j = pairs[r, 0], pairs[r, 1]
        a = 0.0
        for d in range(p):
            difference = X[i, d] - X[j, d]
            a += difference * difference
        distances[r] = a
        largest = max(largest, a)
        pulls[r] = 0.0
    # exp(middle - a) in place of exp(-a) gives the same choice, with twice the range.
    middle = min(0.5 * largest, 0.9 * _RANGE)
    for r in range(pairs.shape[0]):
        a = distances[r]
        if loss == STE or loss == ODD:
            links[r] = exp(middle - a)
        elif loss == TSTE:
            links[r] = power(shape / (shape + a), h)
        elif loss == SOE:
            links[r] = sqrt(max(a, SMALLEST))
    if loss == STE or loss == TSTE:
        total = _choices(terms, distances, links, pulls)
    elif loss == ODD:
        total = _trials(terms, distances, links, pulls)
    elif loss == CKL:
        total = _crowd_kernel(terms, distances, pulls)
    else:
        total = _hinges(terms, distances, links, pulls)
    for r in range(pairs.shape[0]):
        pull = pulls[r]
        if loss == TSTE:
            pull *= h / (shape + distances[r])
        elif loss == SOE:
            pull /= links[r]
        elif loss == CKL:
            slope = terms.counts[r] / (distances[r] + shape)
            pull -= slope
        if pull == 0.0:
            continue
        i, j = pairs[r, 0], pairs[r, 1]
        for d in range(p):
            step = 2.0 * pull * (X[i, d] - X[j, d])
            gradient[i, d] += step
            gradient[j, d] -= step
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _choices(terms, distances, links, pulls):
    """STE and t-STE: the probability of the answer is e_near / (e_near + e_far)."""
    weights = terms.weights
    total, product, weight = 0.0, 1.0, 1.0
    h = 0.5 * (terms.shape + 1.0)
    for q in range(terms.near.size):
        near, far = terms.near[q], terms.far[q]
        e_near, e_far = links[near], links[far]
        if weights.size:
            weight = weights[q]
        right = e_near / (e_near + e_far) if e_near > _UNDERFLOW and e_far > _UNDERFLOW else 0.0
        if right > _TINY:
            wrong = 1.0 - right
            if weights.size:
                total -= weight * log(right)
            else:
                product *= right
                if product < _TINY:
                    total -= log(product)
                    product = 1.0
        else:
            linear, factor, slope, _ = answer(
                terms.loss, terms.shape, distances[near], distances[far]
            )
            total += weight * (linear + log(factor))
            wrong = slope
            if terms.loss == TSTE:
                wrong *= (terms.shape + distances[near]) / h
        pulls[near] += weight * wrong
        pulls[far] -= weight * wrong
    return total - log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def _trials(terms, distances, links, pulls):
    """Odd one out: the probability of the answer is e_near / (e_near + e_far + e_third)."""
    weights = terms.weights
    total, product, weight = 0.0, 1.0, 1.0
    for q in range(terms.near.size):
        near, far, third = terms.near[q], terms.far[q], terms.third[q]
        e_near, e_far, e_third = links[near], links[far], links[third]
        if weights.size:
            weight = weights[q]
        both = e_near + e_far + e_third
        right = e_near / both if e_near > _UNDERFLOW else 0.0
        if right > _TINY:
            if weights.size:
                total -= weight * log(right)
            else:
                product *= right
                if product < _TINY:
                    total -= log(product)
                    product = 1.0
            first, second = e_far / both, e_third / both
        else:
            linear, factor, _, first, second = choice(
                distances[near], distances[far], distances[third]
            )
            total += weight * (linear + log(factor))
            first, second = -first, -second
        pulls[near] += weight * (first + second)
        pulls[far] -= weight * first
        pulls[third] -= weight * second
    return total - log(product)


@njit(cache=True, nogil=True, error_model="numpy")
def _crowd_kernel(terms, distances, pulls):
    """CKL: log(a + c + 2 mu) by answers, log(c + mu) by pairs; its slope is left to the caller."""
    weights, mu = terms.weights, terms.shape
    total, product, weight = 0.0, 1.0, 1.0
    for q in range(terms.near.size):
        near, far = terms.near[q], terms.far[q]
        both = distances[near] + distances[far] + 2.0 * mu
        slope = 1.0 / both
        if weights.size:
            weight = weights[q]
            total += weight * log(both)
        else:
            product *= both
            if not _TINY < product < LARGE:
                total += log(product)
                product = 1.0
        pulls[near] += weight * slope
        pulls[far] += weight * slope
    total += log(product)
    for r in range(distances.size):
        if terms.counts[r] > 0.0:
            total -= terms.counts[r] * log(distances[r] + mu)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _hinges(terms, distances, links, pulls):
    """GNMDS on squared distances, SOE on distances."""
    weights, shape = terms.weights, terms.shape
    total, weight = 0.0, 1.0
    for q in range(terms.near.size):
        near, far = terms.near[q], terms.far[q]
        if weights.size:
            weight = weights[q]
        if terms.loss == GNMDS:
            s = 1.0 + distances[near] - distances[far]
            if s <= 0.0:
                continue
            if s < shape:
                total += weight * s * s / (2.0 * shape)
                s /= shape
            else:
                total += weight * (s - 0.5 * shape)
                s = 1.0
        else:
            s = links[near] + shape - links[far]
            if s <= 0.0:
                continue
            total += weight * s * s
        pulls[near] += weight * s
        pulls[far] -= weight * s
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def margins(X, answers):
    """Return c - a of each answer: positive where it is right."""
    m, width = answers.shape
    l_column = 0 if width == 3 else 2
    result = np.empty(m)
    for q in range(m):
        i, j = answers[q, 0], answers[q, 1]
        l, k = answers[q, l_column], answers[q, width - 1]
        a = c = 0.0
        for d in range(X.shape[1]):
            near, far = X[i, d] - X[j, d], X[l, d] - X[k, d]
            a += near * near
            c += far * far
        result[q] = c - a
    return result


def answer_margins(X: np.ndarray, answers: np.ndarray, loss: EmbeddingLoss) -> np.ndarray:
    """Return by how much each answer is right: for choices of the odd one out the lesser of two."""
    result = margins(X, answers)
    if loss.of_trials:
        result = np.minimum(result, margins(X, answers[:, [1, 0, 2]]))
    return result


def wrong_share(
    X: np.ndarray, answers: np.ndarray, weights: np.ndarray | None, loss: EmbeddingLoss
) -> float:
    """Weighted share of answers that are not right; equal distances, and NaN, are wrong."""
    right = answer_margins(X, answers, loss) > 0.0
    return 1.0 - float(np.average(right, weights=weights))
