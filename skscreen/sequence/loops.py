"""Compiled passes over label chains: the best labelling, expectations, scores of pairs.

Position t of a chain has a score U[t, j] for label j, a step from label i to label j the score
E[i, j]; the score of a labelling is the sum of both along it.
"""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.copying import copy_into
from skscreen.core.floats import REORDER

# Scores of a position, or of steps, that differ by more than this need logarithms: up to this,
# exponentials of differences, and products of three of them, are normal numbers.
_SPREAD = 200.0
# Logarithm of the factor by which negligible terms of a sum are smaller than the largest.
_NEGLIGIBLE = 45.0


@njit(cache=True, nogil=True)
def path_score(U, E, labels):
    """Return the score of a labelling."""
    total = U[0, labels[0]]
    for t in range(1, labels.size):
        total += U[t, labels[t]] + E[labels[t - 1], labels[t]]
    return total


@njit(cache=True, nogil=True, fastmath=REORDER)
def best_path(U, E, truth, losses, best, back, out):
    """Fill `out` with the labelling of largest loss + score (Viterbi) and return that sum.

    A label that differs from `truth` loses `losses` of its position; `best`, of shape (2, m), and
    `back`, of shape (length, m), are work space.
    """
    m, length = E.shape[0], U.shape[0]
    now, then = best[0], best[1]
    for j in range(m):
        now[j] = U[0, j] + losses[0]
    now[truth[0]] -= losses[0]
    for t in range(1, length):
        source = back[t]
        for j in range(m):
            then[j], source[j] = now[0] + E[0, j], 0
        for i in range(1, m):
            so_far = now[i]
            for j in range(m):
                total = so_far + E[i, j]
                if total > then[j]:
                    then[j], source[j] = total, i
        for j in range(m):
            then[j] += U[t, j] + losses[t]
        then[truth[t]] -= losses[t]
        now, then = then, now
    label = np.argmax(now)
    value = now[label]
    for t in range(length - 1, -1, -1):
        out[t] = label
        if t > 0:
            label = back[t, label]
    return value


@njit(cache=True, nogil=True)
def best_labels(U, E, first, truth, losses, out):
    """Fill `out` with the labelling of largest loss + score of each chain, in a row."""
    longest = longest_chain(first)
    best, back = np.empty((2, E.shape[0])), np.empty((longest, E.shape[0]), np.int32)
    for c in range(first.size - 1):
        part = slice(first[c], first[c + 1])
        best_path(U[part], E, truth[part], losses[part], best, back, out[part])


@njit(cache=True, nogil=True)
def longest_chain(first):
    """Return the length of the longest chain."""
    longest = 0
    for c in range(first.size - 1):
        longest = max(longest, first[c + 1] - first[c])
    return longest


@njit(cache=True, nogil=True)
def expectations(U, E, first, nodes, edges, log_sums, weights):
    """Forward and backward sums of the probabilities proportional to exp(score).

    Fills `nodes` with the probabilities of labels and `log_sums` with the logarithms of the sums
    over all labellings of each chain; adds the expected numbers of steps, times the `weights` of
    chains, to `edges`.
    """
    m, longest = E.shape[0], longest_chain(first)
    top = E.max()
    factors, counts = np.exp(E - top), np.zeros((m, m))
    narrow = top - E.min() <= _SPREAD
    forward, backward = np.empty((longest, m)), np.empty((longest, m))
    for c in range(first.size - 1):
        part = slice(first[c], first[c + 1])
        if narrow and _widest(U[part]) <= _SPREAD:
            log_sums[c] = _scaled_sums(
                U[part], factors, weights[c], nodes[part], counts, forward, backward
            )
            log_sums[c] += (first[c + 1] - first[c] - 1) * top
        else:
            log_sums[c] = _log_sums(U[part], E, weights[c], nodes[part], edges, forward, backward)
    edges += counts * factors


@njit(cache=True, nogil=True)
def _widest(U):
    """Return the largest difference between scores of a position; infinite for NaN."""
    widest = 0.0
    for t in range(U.shape[0]):
        width = U[t].max() - U[t].min()
        if not width <= widest:
            widest = width if width == width else np.inf
    return widest


@njit(cache=True, nogil=True, fastmath=REORDER)
def _scaled_sums(U, factors, weight, nodes, counts, forward, backward):
    """Take sums of products, scaled to one at each position: no logarithms inside.

    Adds to `counts` what expected steps are, over `factors` = exp(E - largest).
    """
    m, length, total = factors.shape[0], U.shape[0], 0.0
    for t in range(length):
        top, now, whole = U[t].max(), forward[t], 0.0
        if t == 0:
            now[:] = 1.0
        else:
            now[:] = 0.0
            for i in range(m):
                share = forward[t - 1, i]
                for j in range(m):
                    now[j] += share * factors[i, j]
        for j in range(m):
            nodes[t, j] = np.exp(U[t, j] - top)
            now[j] *= nodes[t, j]
            whole += now[j]
        total += top + np.log(whole)
        for j in range(m):
            now[j] /= whole
            nodes[t, j] /= whole
    backward[length - 1] = 1.0
    for t in range(length - 1, 0, -1):
        later = backward[t]
        for j in range(m):
            # exp(score) times the sum over what follows, over the scale of the position.
            nodes[t, j] *= later[j]
        for i in range(m):
            share, sum_ = weight * forward[t - 1, i], 0.0
            for j in range(m):
                sum_ += factors[i, j] * nodes[t, j]
                counts[i, j] += share * nodes[t, j]
            backward[t - 1, i] = sum_
        for j in range(m):
            nodes[t, j] = forward[t, j] * later[j]
    for j in range(m):
        nodes[0, j] = forward[0, j] * backward[0, j]
    return total


@njit(cache=True, nogil=True)
def _log_sums(U, E, weight, nodes, edges, forward, backward):
    """Do the same with logarithms, for scores of any size."""
    m, length = E.shape[0], U.shape[0]
    work = np.empty(m)
    backward[length - 1] = 0.0
    copy_into(forward[0], U[0])
    for t in range(1, length):
        for j in range(m):
            for i in range(m):
                work[i] = forward[t - 1, i] + E[i, j]
            forward[t, j] = U[t, j] + _log_sum(work)
    for t in range(length - 2, -1, -1):
        for i in range(m):
            for j in range(m):
                work[j] = E[i, j] + U[t + 1, j] + backward[t + 1, j]
            backward[t, i] = _log_sum(work)
    whole = _log_sum(forward[length - 1])
    for t in range(length):
        for j in range(m):
            nodes[t, j] = np.exp(forward[t, j] + backward[t, j] - whole)
            if t > 0 and nodes[t, j] > 0.0:
                rest = U[t, j] + backward[t, j] - whole
                for i in range(m):
                    share = forward[t - 1, i] + E[i, j] + rest
                    if share > -_NEGLIGIBLE:
                        edges[i, j] += weight * np.exp(share)
    return whole


@njit(cache=True, nogil=True)
def _log_sum(values):
    top, total = values.max(), 0.0
    for k in range(values.size):
        if values[k] > top - _NEGLIGIBLE:
            total += np.exp(values[k] - top)
    return top + np.log(total)
