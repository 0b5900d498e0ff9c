"""The margin-scaled structured hinge loss of label chains, as a maximum over marginals.

For chains (x_c, y_c) with scores w . f(x, y) and the number of wrong labels as loss,

    R(w) = 1/n sum_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))]
         = max over consistent clique marginals a of <a, g(w)>,

where g(w) holds, for each clique and pair of labels, (loss + score - score of the true pair) / n.
Marginals that are locally consistent on a chain are those of a distribution over labellings, so the
maximum is that over labellings.

References
----------
A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for training
SVMs. arXiv:0909.1334. Appendix E.
B. Taskar, C. Guestrin, D. Koller (2004). Max-margin Markov networks. NIPS 16.
"""

from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from skscreen.core.compiling import start_numba
from skscreen.core.memory import check_memory
from skscreen.sequence import loops
from skscreen.sequence.projection import project_chains

# Arrays of marginals that live at the same time in a solve; measured.
_ARRAYS = 10


class ChainRisk:
    """The mean loss of labelled chains; dual variables are flat arrays of clique marginals.

    Parameters
    ----------
    X : ndarray of shape (n_positions, n_features)
    codes : ndarray of shape (n_positions,)
        True labels, 0 to m - 1.
    first : ndarray of shape (n_chains + 1,)
        First position of each chain.
    n_labels : int
        m.
    lam : float
    pool : Parallel, optional
        Threads for the projections.
    """

    def __init__(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        first: np.ndarray,
        n_labels: int,
        lam: float,
        pool: Parallel | None = None,
    ):
        self.X, self.codes, self.first, self.m, self.lam = X, codes, first, n_labels, lam
        lengths = np.maximum(np.diff(first) - 1, 1)
        self.first_cliques = np.concatenate([[0], np.cumsum(lengths)])
        self.n_chains, self.n_cliques = lengths.size, int(self.first_cliques[-1])
        self.shape = self.n_cliques, n_labels, n_labels
        check_memory(
            8.0 * _ARRAYS * self.n_cliques * n_labels**2,
            f"{self.n_cliques:,} cliques with {n_labels:,}^2 pairs of labels",
            "Use fewer labels or sequences.",
        )
        start_numba()
        # Where nothing has a score the gains are the losses.
        self._losses = self.gradient(np.zeros(n_labels * (X.shape[1] + n_labels)))
        # Multipliers of the projection, for a gradient of scale one: they change little.
        self._nu = np.zeros(self.shape[:2])
        self._pool = pool
        self._parts = self._split() if pool is not None else None

    @property
    def centre(self) -> np.ndarray:
        """Uniform marginals."""
        return np.full(self.n_cliques * self.m**2, 1.0 / self.m**2)

    @property
    def curvatures(self) -> tuple[float, float]:
        """A first guess and an upper bound of |Z|^2 / lam."""
        squares = np.einsum("tp,tp->t", self.X, self.X)
        # |f(y) - f(z)|^2 for a clique: 2 |x|^2 a wrong label, twice that where two labels add up.
        wrong = 4.0 * float(squares.sum()) * self.m * (self.m - 1.0)
        bound = (wrong + 2.0 * self.n_cliques * self.m**2) / (self.n_chains**2 * self.lam)
        return bound / (2.0 * self.n_cliques * self.m**2), bound

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of labels at all positions and of steps."""
        n_nodes = self.m * self.X.shape[1]
        return self.X @ w[:n_nodes].reshape(self.m, -1).T, w[n_nodes:].reshape(self.m, self.m)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return g(w)."""
        U, E = self.scores(w)
        out = np.empty(self.shape)
        loops.clique_gains(U, E, self.codes, self.first, self.first_cliques, out)
        out /= self.n_chains
        return out.ravel()

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the mean of f(true) - f over the marginals."""
        nodes, edges = np.zeros((self.codes.size, self.m)), np.zeros((self.m, self.m))
        loops.collect(
            a.reshape(self.shape), self.codes, self.first, self.first_cliques, nodes, edges
        )
        return np.concatenate([(nodes.T @ self.X).ravel(), edges.ravel()]) / self.n_chains

    def gain(self, a: np.ndarray) -> float:
        """Return the mean expected loss."""
        return float(self._losses @ a)

    def value(self, g: np.ndarray) -> tuple[float, float]:
        """Return R for a gradient, by dynamic programming; there is no intercept."""
        return loops.best_sums(g.reshape(self.shape), self.first_cliques), 0.0

    def project(self, base: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
        """Return the consistent marginals nearest to base + scale g."""
        points = (base + scale * g).reshape(self.shape)
        self._nu *= scale
        if self._parts is None:
            project_chains(points, self.first_cliques, self._nu, points)
        else:
            self._pool(
                delayed(project_chains)(points[part], first, self._nu[part], points[part])
                for part, first in self._parts
            )
        self._nu /= scale
        return points.ravel()

    def reach(self, centre: np.ndarray) -> float:
        """Return max 1/2 |a - centre|^2 over marginals: at corners, apart from consistency."""
        a = centre.reshape(self.n_cliques, -1)
        return 0.5 * float((1.0 - 2.0 * a.min(axis=1) + (a**2).sum(axis=1)).sum())

    def _split(self) -> list:
        """Return slices of cliques with the same work for each thread, and the chains in them."""
        n_parts = min(4 * self._pool._effective_n_jobs(), self.n_chains)
        ends = np.searchsorted(
            self.first_cliques, np.linspace(0, self.n_cliques, n_parts + 1)[1:-1]
        )
        ends = np.unique(np.concatenate([[0], ends, [self.n_chains]]))
        return [
            (slice(self.first_cliques[i], self.first_cliques[j]),
             self.first_cliques[i : j + 1] - self.first_cliques[i])
            for i, j in pairwise(ends)
        ]  # fmt: skip
