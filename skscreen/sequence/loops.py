"""Compiled passes over label chains: the best labelling, expectations.

Position t of a chain has a score U[t, j] for label j, a step from label i to label j the score
E[i, j]; the score of a labelling is the sum of both along it. Chain c has the positions starts[c]
to starts[c + 1] - 1 of n. `scales` (n,) multiply the scores of the steps into each position;
without entries they are one. Arrays of scores, losses, shares are float64, of positions and codes
int64.
"""

from skscreen._compiled import sequence

best_labels = sequence.best_labels
"""(U, E, starts, truth, losses, scales, out) -> None; `out` (n,) int32 becomes the best labellings.

Those of the largest loss + score of each chain (Viterbi): labels other than `truth` (n,) count with
`losses` (n,) of their positions.
"""

expectations = sequence.expectations
"""(U, E, starts, nodes, edges, log_sums, weights, scales) -> None, for probabilities as exp(score).

`nodes` (n, m) becomes the probabilities of labels, `log_sums` (n_chains,) the logarithms of the
sums over all labellings; expected numbers of steps, times the `weights` (n_chains,) of chains, are
added to `edges` (m, m).
"""

weighted_likelihoods = sequence.weighted_likelihoods
"""(U, E, starts, truth, weights, scales, table, ratios, shares, nodes, edges) -> log-likelihood.

The sum over chains of their shares times sum_t weights[t] log p(y_t | y_{t-1}); see
`likelihood.WeightedLogLoss`. `table` (n,) int64 has the place of scales[t] / weights[t] in
`ratios`, -1 where it has none. `nodes` (n, m) becomes its gradient for U; that for E is added to
`edges` (m, m).
"""
