"""The log loss of label chains, linear or with kernels, and its gradient.

    P(w) = lam/2 |w|^2 + sum_c s_c (log sum_y exp(w . f(x_c, y)) - w . f(x_c, y_c)).

With a kernel k a labelling has the score F(x, y) = sum_t U[t, y_t] + sum_t E[y_t, y_{t+1}], U a
function of the observations in the RKHS of k, one for each label: F is in the RKHS of

    sum_{s, t} [y_s = z_t] k(x_s, x'_t) + eta^2 sum_{s, t} [y_s = z_t, y_{s+1} = z_{t+1}],

which does not depend on the positions s and t (it is stationary). By the representer theorem
U = K A on all observations. With K = L L' and V = L'A the penalty is that of a plain vector:
|F|^2 = |V|^2 + |E / eta|^2, so that L takes the place of the observations.

References
----------
Y. Altun, T. Hofmann, A.J. Smola (2004). Gaussian process classification for segmenting and
annotating sequences. ICML.
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Appendix E.2, equation (32).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from skscreen.core.compiling import start_numba
from skscreen.sequence.chains import Chains
from skscreen.sequence.loops import expectations

# Matrices of the size of K that live at the same time, that of the caller included; measured.
MATRICES = 3


@dataclass(frozen=True)
class KernelFactor:
    """K = L L', by Cholesky's method with pivots, up to rounding errors.

    Parameters
    ----------
    L : ndarray of shape (n, rank)
    pivots : ndarray of shape (rank,)
        Observations that span all others; their rows of L are lower triangular.
    """

    L: np.ndarray
    pivots: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray) -> Self:
        """Return the factor of a kernel matrix, which is overwritten."""
        factor, order, rank, _ = lapack.dpstrf(K.T, lower=1, overwrite_a=1)
        order = order - 1
        L = np.zeros((len(K), rank))
        L[order] = np.tril(factor[:, :rank])
        return cls(L, order[:rank])

    def coefficients(self, V: np.ndarray) -> np.ndarray:
        """Return A with L'A = V, zero but for the pivots."""
        A = np.zeros((len(self.L), V.shape[1]))
        A[self.pivots] = solve_triangular(self.L[self.pivots], V, lower=True, trans=1)
        return A


class LogLoss:
    """P as a function of the flat vector w.

    Parameters
    ----------
    chains : Chains
    eta : float, default=1.0
        Scale of the weights of steps.
    """

    def __init__(self, chains: Chains, eta: float = 1.0):
        start_numba()
        self.chains, self.lam, self.size, self._eta = chains, chains.lam, chains.n_weights, eta
        m, steps, weights = chains.n_labels, chains.steps, chains.position_shares
        self._at, self._weights = np.arange(chains.codes.size), weights
        self._steps = np.zeros((m, m))
        np.add.at(self._steps, (chains.codes[steps], chains.codes[steps + 1]), weights[steps])

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""
        chains = self.chains
        U, E = chains.scores(w)
        E = self._eta * E
        nodes, edges, log_sums = np.empty(U.shape), np.zeros(E.shape), np.empty(chains.shares.size)
        expectations(U, E, chains.first, nodes, edges, log_sums, chains.shares)
        true_nodes = np.add.reduceat(U[self._at, chains.codes], chains.first[:-1])
        loss = float(chains.shares @ (log_sums - true_nodes)) - float((self._steps * E).sum())
        nodes[self._at, chains.codes] -= 1.0
        nodes *= self._weights[:, None]
        edges -= self._steps
        gradient = chains.combine(nodes, self._eta * edges)
        gradient += self.lam * w
        return 0.5 * self.lam * float(w @ w) + loss, gradient
