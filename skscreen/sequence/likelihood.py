"""The regularised log-partition objective of kernel label chains, and its gradient.

A labelling y of a chain x has the score F(x, y) = sum_t U[t, y_t] + sum_t E[y_t, y_{t+1}] with a
function U of the observations in the RKHS of a kernel k, one for each label: F is in the RKHS of

    sum_{s, t} [y_s = z_t] k(x_s, x'_t) + eta^2 sum_{s, t} [y_s = z_t, y_{s+1} = z_{t+1}],

which does not depend on the positions s and t (it is stationary). The objective is

    P = lam/2 |F|^2 + 1/n sum_c (log sum_y exp F(x_c, y) - F(x_c, y_c)).

By the representer theorem U = K A on all observations, and coefficients of cliques (position, pair
of labels) count by two sums, A over the labels on the left and B = E / eta^2 over the positions.
With K = L L' and V = L'A the penalty is that of a plain vector: |F|^2 = |V|^2 + |eta B|^2.

References
----------
Y. Altun, T. Hofmann, A.J. Smola (2004). Gaussian process classification for segmenting and
annotating sequences. ICML.
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Appendix E.2, equation (32).
"""

import numpy as np
from scipy.linalg import eigh

from skscreen.core.compiling import start_numba
from skscreen.sequence.loops import expectations

# Matrices of the size of K that live at the same time, that of its caller included; measured.
MATRICES = 4
# Eigenvalues of K below this share of the largest are rounding errors.
_RANK = 1e-13


class ChainLikelihood:
    """P as a function of the flat vector (V, eta B).

    Parameters
    ----------
    K : ndarray of shape (n_positions, n_positions)
        Kernel matrix of all observations; it is overwritten.
    codes : ndarray of shape (n_positions,)
        True labels.
    first : ndarray of shape (n_chains + 1,)
    n_labels : int
    lam, eta : float
    """

    def __init__(self, K, codes: np.ndarray, first: np.ndarray, n_labels: int, lam, eta):
        start_numba()
        values, vectors = eigh(K, overwrite_a=True)
        kept = values > _RANK * max(values[-1], 0.0)
        self._roots, self._vectors = np.sqrt(values[kept]), vectors[:, kept]
        self.codes, self.first, self.m, self.lam, self.eta = codes, first, n_labels, lam, eta
        self.rank, self.n_chains = self._roots.size, first.size - 1
        self.size = n_labels * (self.rank + n_labels)
        self._truth = np.zeros((codes.size, n_labels))
        self._truth[np.arange(codes.size), codes] = 1.0
        inner = np.ones(codes.size, dtype=bool)
        inner[first[1:] - 1] = False
        starts = np.flatnonzero(inner)
        self._steps = np.zeros((n_labels, n_labels))
        np.add.at(self._steps, (codes[starts], codes[starts + 1]), 1.0)

    def scores(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return U and E."""
        V = x[: self.m * self.rank].reshape(self.rank, self.m)
        U = self._vectors @ (self._roots[:, None] * V)
        return U, self.eta * x[V.size :].reshape(self.m, self.m)

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """Return A."""
        V = x[: self.m * self.rank].reshape(self.rank, self.m)
        return self._vectors @ (V / self._roots[:, None])

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""
        U, E = self.scores(x)
        nodes, edges = np.zeros(U.shape), np.zeros(E.shape)
        total = expectations(U, E, self.first, nodes, edges)
        total -= float(U[np.arange(U.shape[0]), self.codes].sum() + (self._steps * E).sum())
        nodes -= self._truth
        edges -= self._steps
        by_labels = self._roots[:, None] * (self._vectors.T @ nodes)
        gradient = np.concatenate([by_labels.ravel(), self.eta * edges.ravel()]) / self.n_chains
        value = 0.5 * self.lam * float(x @ x) + total / self.n_chains
        return value, gradient + self.lam * x
