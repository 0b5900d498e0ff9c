"""Compiled passes over the cliques of label chains, for marginals of pairs of labels.

A clique is a pair of neighbouring positions; it carries its step and the score on its right, the
first one also that on its left. A chain of length one has one clique too, whose label on the right
counts for nothing. Chain c has the cliques first_cliques[c] to first_cliques[c + 1] - 1; other
arguments as in `loops`.
"""

from skscreen._compiled import sequence

clique_gains = sequence.clique_gains
"""(U, E, codes, losses, shares, first, first_cliques, out) -> None; fills `out` (n_cliques, m, m).

With loss + score of (i, j) - score of the true pair, times the chain's share. A wrong label has the
loss of its position: on the right, in the first clique also on the left.
"""

collect = sequence.collect
"""(a, codes, shares, first, first_cliques, nodes, edges) -> None: the adjoint of the scores.

Adds to `nodes` (n, m) and `edges` (m, m) what true minus expected labels weigh. Numbers `a`
(n_cliques, m, m), one a pair of labels, need not sum to one; they count with the share of their
chain.
"""

best_sums = sequence.best_sums
"""(g, first_cliques) -> sum over chains of the largest sum of g (n_cliques, m, m) along a path."""
