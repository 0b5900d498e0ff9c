"""Compiled passes over label chains: the best labelling, expectations.

Position t of a chain has a score U[t, j] for label j, a step from label i to label j the score
E[i, j]; the score of a labelling is the sum of both along it. Chain c has the positions first[c] to
first[c + 1] - 1 of n. `scales` (n,) multiply the scores of the steps into each position; without
entries they are one. Arrays of scores, losses, shares are float64, of positions and codes int64.

A clique is a pair of neighbouring positions; it carries its step and the score on its right, the
first one also that on its left. A chain of length one has one clique too, whose label on the right
counts for nothing. Chain c has the cliques first_cliques[c] to first_cliques[c + 1] - 1.
"""

from skscreen._compiled import sequence

best_labels = sequence.best_labels
"""(U, E, first, truth, losses, scales, out) -> None; `out` (n,) int32 becomes the best labellings.

Those of the largest loss + score of each chain (Viterbi): labels other than `truth` (n,) count with
`losses` (n,) of their positions.
"""

expectations = sequence.expectations
"""(U, E, first, nodes, edges, log_sums, weights, scales) -> None, for probabilities as exp(score).

`nodes` (n, m) becomes the probabilities of labels, `log_sums` (n_chains,) the logarithms of the
sums over all labellings; expected numbers of steps, times the `weights` (n_chains,) of chains, are
added to `edges` (m, m).
"""

weighted_likelihoods = sequence.weighted_likelihoods
"""(U, E, first, truth, weights, scales, table, ratios, shares, nodes, edges) -> log-likelihood.

The sum over chains of their shares times sum_t weights[t] log p(y_t | y_{t-1}); see
`likelihood.WeightedLogLoss`. `table` (n,) int64 has the place of scales[t] / weights[t] in
`ratios`, -1 where it has none. `nodes` (n, m) becomes its gradient for U; that for E is added to
`edges` (m, m).
"""

clique_gains = sequence.clique_gains
"""(U, E, codes, losses, shares, scales, first, first_cliques, out) -> None.

Fills `out` (n_cliques, m, m) with loss + score of (i, j) - score of the true pair, times the
chain's share. A wrong label has the loss of its position: on the right, in the first clique also on
the left.
"""

collect = sequence.collect
"""(a, codes, shares, scales, first, first_cliques, nodes, edges) -> None.

The adjoint of the scores: adds to `nodes` (n, m) and `edges` (m, m) what true minus expected labels
weigh. Numbers `a` (n_cliques, m, m), one a pair of labels, need not sum to one; they count with the
share of their chain.
"""

best_sums = sequence.best_sums
"""(g, first_cliques) -> sum over chains of the largest sum of g (n_cliques, m, m) along a path."""

project_chains = sequence.project_chains
"""(points, first_cliques, nu, out) -> None; `out` becomes the nearest consistent marginals.

It may be `points`; both are (n_cliques, m, m). `nu` (n_cliques, m) holds a guess of the multipliers
and then the multipliers.
"""
