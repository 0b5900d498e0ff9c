"""Compiled passes over label chains: scores of pairs, the best labelling, expectations.

Position t of a chain has a score U[t, j] for label j, a step from label i to label j the score
E[i, j]. A clique is a pair of neighbouring positions; it carries its step and the score on its
right, the first one also that on its left. A chain of length one has one clique too, whose label on
the right counts for nothing.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def clique_gains(U, E, codes, first, first_cliques, out):
    """Fill `out` with loss + score of (i, j) - score of the true pair, for each clique.

    The loss counts wrong labels: on the right, in the first clique also on the left.
    """
    m = E.shape[0]
    for c in range(first.size - 1):
        start = first[c]
        single = first[c + 1] - start == 1
        for k in range(first_cliques[c], first_cliques[c + 1]):
            t = start + k - first_cliques[c]
            begins, y = t == start, codes[t]
            z = codes[t + 1] if not single else 0
            for i in range(m):
                left = U[t, i] - U[t, y] + (i != y) if begins else 0.0
                for j in range(m):
                    gain = left
                    if not single:
                        gain += U[t + 1, j] - U[t + 1, z] + E[i, j] - E[y, z] + (j != z)
                    out[k, i, j] = gain


@njit(cache=True, nogil=True)
def collect(a, codes, first, first_cliques, nodes, edges):
    """Add to `nodes` and `edges` what true minus expected labels weigh: the adjoint of the scores.

    Numbers `a`, one a pair (i, j) of each clique, need not sum to one.
    """
    m = edges.shape[0]
    for c in range(first.size - 1):
        start = first[c]
        single = first[c + 1] - start == 1
        for k in range(first_cliques[c], first_cliques[c + 1]):
            t = start + k - first_cliques[c]
            y, z, total = codes[t], codes[t + 1] if not single else 0, 0.0
            for i in range(m):
                for j in range(m):
                    value = a[k, i, j]
                    total += value
                    if t == start:
                        nodes[t, i] -= value
                    if not single:
                        nodes[t + 1, j] -= value
                        edges[i, j] -= value
            if t == start:
                nodes[t, y] += total
            if not single:
                nodes[t + 1, z] += total
                edges[y, z] += total


@njit(cache=True, nogil=True)
def best_sums(g, first_cliques):
    """Return the sum over chains of the largest sum of g along a labelling."""
    m, total = g.shape[1], 0.0
    best, longer = np.empty(m), np.empty(m)
    for c in range(first_cliques.size - 1):
        best[:] = 0.0
        for k in range(first_cliques[c], first_cliques[c + 1]):
            for j in range(m):
                longer[j] = best[0] + g[k, 0, j]
                for i in range(1, m):
                    longer[j] = max(longer[j], best[i] + g[k, i, j])
            best, longer = longer, best
        total += best.max()
    return total


@njit(cache=True, nogil=True)
def best_labels(U, E, first, out):
    """Fill `out` with the labellings of largest score (Viterbi)."""
    m = E.shape[0]
    back = np.empty(U.shape, np.int64)
    best, longer = np.empty(m), np.empty(m)
    for c in range(first.size - 1):
        best[:] = U[first[c]]
        for t in range(first[c] + 1, first[c + 1]):
            for j in range(m):
                top = 0
                for i in range(1, m):
                    if best[i] + E[i, j] > best[top] + E[top, j]:
                        top = i
                back[t, j] = top
                longer[j] = best[top] + E[top, j] + U[t, j]
            best, longer = longer, best
        label = np.argmax(best)
        for t in range(first[c + 1] - 1, first[c] - 1, -1):
            out[t] = label
            label = back[t, label] if t > first[c] else 0


@njit(cache=True, nogil=True)
def expectations(U, E, first, nodes, edges):
    """Return the sum of log partition functions, by forward and backward sums of logarithms.

    Fills `nodes` with probabilities of labels and adds the expected numbers of steps to `edges`.
    """
    m, total = E.shape[0], 0.0
    forward, backward = np.empty(U.shape), np.empty(U.shape)
    work = np.empty(m)
    for c in range(first.size - 1):
        start, end = first[c], first[c + 1]
        forward[start], backward[end - 1] = U[start], 0.0
        for t in range(start + 1, end):
            for j in range(m):
                for i in range(m):
                    work[i] = forward[t - 1, i] + E[i, j]
                forward[t, j] = U[t, j] + _log_sum(work)
        for t in range(end - 2, start - 1, -1):
            for i in range(m):
                for j in range(m):
                    work[j] = E[i, j] + U[t + 1, j] + backward[t + 1, j]
                backward[t, i] = _log_sum(work)
        whole = _log_sum(forward[end - 1])
        total += whole
        for t in range(start, end):
            for j in range(m):
                nodes[t, j] = np.exp(forward[t, j] + backward[t, j] - whole)
                if t > start:
                    rest = U[t, j] + backward[t, j] - whole
                    for i in range(m):
                        edges[i, j] += np.exp(forward[t - 1, i] + E[i, j] + rest)
    return total


@njit(cache=True, nogil=True)
def _log_sum(values):
    top, total = values.max(), 0.0
    for k in range(values.size):
        total += np.exp(values[k] - top)
    return top + np.log(total)
