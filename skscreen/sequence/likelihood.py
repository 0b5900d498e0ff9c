"""The log loss of label chains, linear or with kernels, and its gradient.

    P(w) = lam/2 |w|^2 + sum_c s_c (log sum_y exp(w . f(x_c, y)) - w . f(x_c, y_c)).

With a kernel k a labelling has the score F(x, y) = sum_t U[t, y_t] + sum_t E[y_t, y_{t+1}], U a
function of the observations in the RKHS of k, one for each label: F is in the RKHS of

    sum_{s, t} [y_s = z_t] k(x_s, x'_t) + eta^2 sum_{s, t} [y_s = z_t, y_{s+1} = z_{t+1}],

which does not depend on the positions s and t (it is stationary). By the representer theorem
U = K A on all observations. With K = L L' and V = L'A the penalty is that of a plain vector:
|F|^2 = |V|^2 + |E / eta|^2, so that L takes the place of the observations (Altun et al. 2004; Saha
et al. 2010, appendix E.2, equation (32); see `KernelChainClassifier`).
"""

import numpy as np
from scipy.linalg import blas, lapack
from scipy.sparse.linalg import LinearOperator

from skscreen.core.checks import is_sparse
from skscreen.sequence.chains import ONE, Chains
from skscreen.sequence.loops import expectations, weighted_likelihoods


def units_of(chains: Chains, uneven: float = 1e3) -> np.ndarray | float:
    """Return units of weights, in which P bends about equally at w = 0; 1 if not that `uneven`."""
    # In these units L-BFGS takes as many steps as for standardised columns.
    X, m, shares = chains.X, chains.n_labels, chains.position_shares
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).T @ shares).ravel()
    else:
        squares = np.square(X).T @ shares
    bends = np.concatenate([squares, np.full(m, shares.sum() / m)]) * (m - 1.0) / m**2
    units = 1.0 / np.sqrt(chains.lam + bends)
    return np.repeat(units, m) if units.max() > uneven * units[:-m].min() else 1.0


class KernelFactor(LinearOperator):
    """L (n, rank) of K = L L', which is overwritten, by Cholesky's method with pivots."""

    def __init__(self, K: np.ndarray):
        factor, order, rank, _ = lapack.dpstrf(K.T, lower=1, overwrite_a=1)
        super().__init__(np.float64, (len(K), rank))
        self._order = order - 1
        # Entries above the diagonal are old values, which are not read.
        self._upper = factor if rank == len(K) else np.asfortranarray(factor[:rank, :rank])
        self._lower = factor[rank:, :rank].copy()

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        rank, out = self.shape[1], np.empty((self.shape[0], V.shape[1]))
        out[self._order[:rank]] = blas.dtrmm(1.0, self._upper, V, lower=1)
        out[self._order[rank:]] = self._lower @ V
        return out

    def _rmatmat(self, U: np.ndarray) -> np.ndarray:
        U, rank = U[self._order], self.shape[1]
        return blas.dtrmm(1.0, self._upper, U[:rank], lower=1, trans_a=1) + self._lower.T @ U[rank:]

    def coefficients(self, V: np.ndarray) -> np.ndarray:
        """Return A with L'A = V, zero but for as many observations as the rank."""
        A = np.zeros((self.shape[0], V.shape[1]))
        A[self._order[: self.shape[1]]] = blas.dtrsm(1.0, self._upper, V, lower=1, trans_a=1)
        return A


class LogLoss:
    """P as a function of the flat vector w; `eta` is the scale of the weights of steps."""

    def __init__(self, chains: Chains, eta: float = 1.0):
        self.chains, self.lam, self.size, self._eta = chains, chains.lam, chains.n_weights, eta
        # Factors of kernel matrices have no columns of features.
        self.units = 1.0 if isinstance(chains.X, KernelFactor) else units_of(chains)
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
        expectations(U, E, chains.starts, nodes, edges, log_sums, chains.shares, ONE)
        true_nodes = np.add.reduceat(U[self._at, chains.codes], chains.starts[:-1])
        loss = float(chains.shares @ (log_sums - true_nodes)) - float((self._steps * E).sum())
        # If all labellings but the true one are improbable, only rounding errors are left.
        loss = max(loss, 0.0)
        nodes[self._at, chains.codes] -= 1.0
        nodes *= self._weights[:, None]
        edges -= self._steps
        gradient = chains.combine(nodes, self._eta * edges)
        gradient += self.lam * w
        return 0.5 * self.lam * float(w @ w) + loss, gradient


class WeightedLogLoss:
    """The log loss with a weight k_t for each position, as a function of the flat vector w.

    With U and E the scores of w, and s_t = max(k_{t-1}, k_t) the scale of the step into t,

        P(w) = lam/2 |w|^2 - sum_c s_c sum_t k_t log p(y_t | y_{t-1}),
        log p(j | i) = U[t, j] + s_t/k_t E[i, j] + m_t(j)/k_t - m_{t-1}(i)/k_t,
        m_{t-1}(i) = k_t log sum_j exp(U[t, j] + s_t/k_t E[i, j] + m_t(j)/k_t),

    m = 0 at the last position. The sum over t telescopes to the score of the true labelling, with
    potentials k_t U and s_t E, minus a nested sum of exponentials with temperatures k_t: the
    weighted log partition function, which is convex as it is a maximum over marginals of
    <potentials, marginals> + sum_t k_t H(y_t | y_{t-1}). These marginals are a dual point, as they
    are for the log loss, and |gradient|^2 / (2 lam) bounds P - min P. With equal weights k this is
    k times the log loss; for sequences of length one it is that of weighted logistic regression.

    The losses of `chains` are k > 0. See Liu and Ihler (2011), section 3, cited by `ChainCRF`.
    """

    def __init__(self, chains: Chains):
        self.chains, self.lam, self.size = chains, chains.lam, chains.n_weights
        self.units = units_of(chains)
        self._ratios, self._table = _frequent(
            chains.scales / chains.losses, chains.codes.size // chains.n_labels
        )

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return P and its gradient."""
        chains = self.chains
        U, E = chains.scores(w)
        nodes, edges = np.empty(U.shape), np.zeros(E.shape)
        likelihood = weighted_likelihoods(
            U, E, chains.starts, chains.codes, chains.losses, chains.scales, self._table,
            self._ratios, chains.shares, nodes, edges,
        )  # fmt: skip
        gradient = self.lam * w - chains.combine(nodes, edges)
        return 0.5 * self.lam * float(w @ w) + max(-likelihood, 0.0), gradient


def _frequent(ratios: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent ratios, for tables, and the place of each position's, else -1."""
    values, places, counts = np.unique(ratios, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[: max(most, 1)]
    table = np.full(values.size, -1)
    table[kept] = np.arange(kept.size)
    return values[kept], table[places]
