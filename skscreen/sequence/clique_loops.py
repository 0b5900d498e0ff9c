"""Compiled passes over the cliques of label chains, for marginals of pairs of labels.

A clique is a pair of neighbouring positions; it carries its step and the score on its right, the
first one also that on its left. A chain of length one has one clique too, whose label on the right
counts for nothing.
"""

import numpy as np

from skscreen.core.compiling import njit


@njit(cache=True, nogil=True)
def clique_gains(U, E, codes, losses, shares, first, first_cliques, out):
    """Fill `out` with loss + score of (i, j) - score of the true pair, times the chain's share.

    A wrong label has the loss of its position: on the right, in the first clique also on the left.
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
                left = U[t, i] - U[t, y] + losses[t] * (i != y) if begins else 0.0
                for j in range(m):
                    gain = left
                    if not single:
                        gain += U[t + 1, j] - U[t + 1, z] + E[i, j] - E[y, z]
                        gain += losses[t + 1] * (j != z)
                    out[k, i, j] = shares[c] * gain


@njit(cache=True, nogil=True)
def collect(a, codes, shares, first, first_cliques, nodes, edges):
    """Add to `nodes` and `edges` what true minus expected labels weigh: the adjoint of the scores.

    Numbers `a`, one a pair (i, j) of each clique, need not sum to one; they count with the share of
    their chain.
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
                    value = shares[c] * a[k, i, j]
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
