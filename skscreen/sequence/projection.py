"""Projection onto the marginals of a chain, by a semismooth Newton method.

A chain of T cliques over pairs of neighbouring labels has marginals a_t(i, j) >= 0, i the label on
the left and j that on the right, with sum_ij a_t(i, j) = 1 and, between neighbours,
sum_i a_t(i, j) = sum_k a_{t+1}(j, k). With multipliers lambda_t and nu_t(j) the nearest point to m
is

    a_t = (m_t + s_t)_+,   s_t(i, j) = lambda_t + nu_t(j) - nu_{t-1}(i),   nu_{-1} = nu_{T-1} = 0,

where they minimise the once differentiable, piecewise quadratic, convex

    phi = 1/2 sum_t |(m_t + s_t)_+|^2 - sum_t lambda_t.

Its generalised Hessian is block tridiagonal. It is singular (nu_t can be shifted against the
lambdas), hence a small Levenberg term.

References
----------
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Appendix E, whose algorithm 3 alternates between (lambda, nu) and the
multipliers of a >= 0; eliminating the latter gives phi.
"""

from skscreen._compiled import sequence

project_chains = sequence.project_chains
"""(points, first_cliques, nu, out) -> None; `out` may be `points`, both (n_cliques, m, m) float64.

Chain c has the cliques first_cliques[c] to first_cliques[c + 1] - 1. `nu` (n_cliques, m) holds a
guess of the multipliers and then the multipliers.
"""

make_consistent = sequence.make_consistent
"""(a, out) -> None; fills `out` (T, m, m) with exactly consistent marginals near those of `a`."""
