"""Compiled sweeps of block-coordinate Frank-Wolfe with a cache of labellings for each chain.

The dual variables of a chain are shares alpha of a few labellings, those it has met. A visit to the
chain finds the labelling of largest loss + score, adds it to the cache, and moves the shares until
they nearly maximise the dual among the cached labellings: a quadratic programme over a simplex,
whose matrix has the products of f(x, y_c) - f(x, y) between cached labellings.
"""

from typing import NamedTuple

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.copying import copy_into
from skscreen.core.floats import REORDER
from skscreen.sequence.loops import best_path, longest_chain, path_score
from skscreen.sequence.row_loops import add_rows, clear_rows, row_scores

# A visit ends when the gap of its programme is this share of the gap at its start.
_INNER = 0.1
# Largest number of steps of a programme, for each labelling in it.
_STEPS = 20
# Gains are differences of values; gains below this share of them count as rounding errors.
_ROUNDING = 1e-13


class Task(NamedTuple):
    """The chains: see `Chains`."""

    rows: tuple
    first: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    losses: np.ndarray
    lam: float


class Cache(NamedTuple):
    """Labellings of chain c: slots slot[c] to slot[c] + count[c] - 1 of room[c].

    `labels` holds them one after the other from label[c] on, `gram` a square of side room[c] from
    square[c] on. `full` tells where one more was wanted.
    """

    room: np.ndarray
    count: np.ndarray
    slot: np.ndarray
    label: np.ndarray
    square: np.ndarray
    labels: np.ndarray
    alpha: np.ndarray
    loss: np.ndarray
    gram: np.ndarray
    full: np.ndarray


class _Work(NamedTuple):
    """Space for a visit; `table` and `steps` are zero between visits."""

    scores: np.ndarray
    changes: np.ndarray
    best: np.ndarray
    back: np.ndarray
    path: np.ndarray
    gains: np.ndarray
    old: np.ndarray
    table: np.ndarray
    steps: np.ndarray


@njit(cache=True, nogil=True)
def sweep(task, cache, W, E, order, search):
    """Visit chains in an order; return the sum of the gaps that were found on the way.

    With `search` each visit looks for the labelling of largest loss + score; without, the gaps are
    those among cached labellings.
    """
    longest, m, most = longest_chain(task.first), E.shape[0], cache.room.max()
    work = _Work(
        np.empty((longest, m)), np.empty((longest, m)), np.empty((2, m)),
        np.empty((longest, m), np.int32), np.empty(longest, np.int32), np.empty(most),
        np.empty(most), np.zeros(W.shape), np.zeros(E.shape),
    )  # fmt: skip
    total = 0.0
    for c in order:
        total += task.shares[c] * _visit(task, cache, work, W, E, c, search)
    return total


@njit(cache=True, nogil=True)
def _visit(task, cache, work, W, E, c, search):
    """Improve the shares of one chain; return its gap before."""
    begin, end = task.first[c], task.first[c + 1]
    slot, k, length = cache.slot[c], cache.count[c], end - begin
    U, truth = work.scores[:length], task.codes[begin:end]
    row_scores(task.rows, begin, end, W, U)
    level, mean, top = path_score(U, E, truth), 0.0, -np.inf
    gains = work.gains
    for q in range(k):
        gains[q] = cache.loss[slot + q] - level
        gains[q] += path_score(U, E, _labels(cache, c, q, length))
        mean += cache.alpha[slot + q] * gains[q]
        top = max(top, gains[q])
    if search:
        path, losses = work.path[:length], task.losses[begin:end]
        value = best_path(U, E, truth, losses, work.best, work.back, path) - level
        if value - top > _ROUNDING * (abs(value) + abs(level)):
            q = _free_slot(cache, c, k, gains)
            if q >= 0:
                _insert(task, cache, work, c, q)
                gains[q] = value
                k = cache.count[c]
        top = max(top, value)
    if top - mean > 0.0:
        copy_into(work.old, cache.alpha[slot : slot + k])
        square = cache.gram[cache.square[c] : cache.square[c] + cache.room[c] ** 2]
        square = square.reshape(cache.room[c], cache.room[c])
        scale = task.shares[c] / task.lam
        if _maximise(cache.alpha[slot : slot + k], gains, square, scale):
            _apply(task, cache, work, W, E, c, scale)
    return top - mean


@njit(cache=True, nogil=True)
def _labels(cache, c, q, length):
    start = cache.label[c] + q * length
    return cache.labels[start : start + length]


@njit(cache=True, nogil=True)
def _free_slot(cache, c, k, gains):
    """Return a slot for one more labelling: new, or that of the worst one without a share."""
    if k < cache.room[c]:
        cache.count[c] = k + 1
        return k
    found = -1
    for q in range(k):
        if cache.alpha[cache.slot[c] + q] == 0.0 and (found < 0 or gains[q] < gains[found]):
            found = q
    if found < 0:
        cache.full[c] = True
    return found


@njit(cache=True, nogil=True)
def _insert(task, cache, work, c, q):
    """Put the labelling in `work.path` into a slot: its loss and its products with the others."""
    begin, end = task.first[c], task.first[c + 1]
    length, room = end - begin, cache.room[c]
    truth, changes, steps = task.codes[begin:end], work.changes[:length], work.steps
    mine, loss = _labels(cache, c, q, length), 0.0
    changes[:] = 0.0
    for t in range(length):
        mine[t] = work.path[t]
        if mine[t] != truth[t]:
            loss += task.losses[begin + t]
        changes[t, truth[t]] += 1.0
        changes[t, mine[t]] -= 1.0
        if t > 0:
            steps[truth[t - 1], truth[t]] += 1.0
            steps[mine[t - 1], mine[t]] -= 1.0
    cache.loss[cache.slot[c] + q], cache.alpha[cache.slot[c] + q] = loss, 0.0
    U = work.scores[:length]
    add_rows(task.rows, begin, end, changes, 1.0, work.table)
    row_scores(task.rows, begin, end, work.table, U)
    clear_rows(task.rows, begin, end, changes, work.table)
    level, square = path_score(U, steps, truth), cache.square[c]
    for p in range(cache.count[c]):
        product = level - path_score(U, steps, _labels(cache, c, p, length))
        cache.gram[square + p * room + q] = cache.gram[square + q * room + p] = product
    for t in range(1, length):
        steps[truth[t - 1], truth[t]] = 0.0
        steps[mine[t - 1], mine[t]] = 0.0


@njit(cache=True, nogil=True, fastmath=REORDER)
def _maximise(alpha, gains, gram, scale):
    """Move shares from the labelling of least gain to that of most; return whether any moved."""
    k, first = alpha.size, -1.0
    for step in range(_STEPS * k):
        most, least = 0, -1
        for q in range(k):
            if gains[q] > gains[most]:
                most = q
            if alpha[q] > 0.0 and (least < 0 or gains[q] < gains[least]):
                least = q
        gap = gains[most] - gains[least]
        if first < 0.0:
            first = gap
        if gap <= _INNER * first and (step > 0 or gap <= 0.0):
            return step > 0
        curvature = scale * (gram[most, most] + gram[least, least] - 2.0 * gram[most, least])
        moved = alpha[least]
        if moved * curvature > gap:
            moved = gap / curvature
            alpha[least] -= moved
        else:
            alpha[least] = 0.0
        alpha[most] += moved
        for q in range(k):
            gains[q] -= scale * moved * (gram[q, most] - gram[q, least])
    return True


@njit(cache=True, nogil=True)
def _apply(task, cache, work, W, E, c, scale):
    """Change the weights by what the shares have changed."""
    begin, end = task.first[c], task.first[c + 1]
    truth, changes = task.codes[begin:end], work.changes[: end - begin]
    changes[:] = 0.0
    for q in range(cache.count[c]):
        moved = cache.alpha[cache.slot[c] + q] - work.old[q]
        if moved == 0.0:
            continue
        mine = _labels(cache, c, q, end - begin)
        for t in range(end - begin):
            if mine[t] != truth[t]:
                changes[t, mine[t]] -= moved
                changes[t, truth[t]] += moved
            if t > 0:
                E[mine[t - 1], mine[t]] -= scale * moved
                E[truth[t - 1], truth[t]] += scale * moved
    add_rows(task.rows, begin, end, changes, scale, W)


@njit(cache=True, nogil=True)
def mixture(task, cache, nodes, edges):
    """Fill with what true minus expected labels and steps weigh; return the expected loss.

    Shares are brought to sum one, which rounding errors may have moved.
    """
    expected = 0.0
    for c in range(task.shares.size):
        begin, end, slot = task.first[c], task.first[c + 1], cache.slot[c]
        truth, share = task.codes[begin:end], task.shares[c]
        alpha = cache.alpha[slot : slot + cache.count[c]]
        alpha /= alpha.sum()
        for q in range(alpha.size):
            weight = share * alpha[q]
            if weight == 0.0:
                continue
            expected += weight * cache.loss[slot + q]
            mine = _labels(cache, c, q, end - begin)
            for t in range(end - begin):
                nodes[begin + t, mine[t]] -= weight
                nodes[begin + t, truth[t]] += weight
                if t > 0:
                    edges[mine[t - 1], mine[t]] -= weight
                    edges[truth[t - 1], truth[t]] += weight
    return expected


@njit(cache=True, nogil=True)
def copy_cache(old, new, lengths):
    """Fill a cache that has more room."""
    for c in range(lengths.size):
        k, length = old.count[c], lengths[c]
        new.count[c] = k
        start, source = new.slot[c], old.slot[c]
        copy_into(new.alpha[start:], old.alpha[source : source + k])
        copy_into(new.loss[start:], old.loss[source : source + k])
        source = old.label[c]
        copy_into(new.labels[new.label[c] :], old.labels[source : source + k * length])
        for p in range(k):
            start, source = new.square[c] + p * new.room[c], old.square[c] + p * old.room[c]
            copy_into(new.gram[start:], old.gram[source : source + k])
