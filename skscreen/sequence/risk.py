"""The margin-scaled structured hinge loss of label chains, as a maximum over marginals.

For chains (x_c, y_c) that count with shares s_c, scores w . f(x, y) and losses of wrong labels,

    R(w) = sum_c s_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))]
         = max over consistent clique marginals a of <a, g(w)>,

where g(w) holds, for each clique and pair of labels, s_c (loss + score - score of the true pair).
Marginals that are locally consistent on a chain are those of a distribution over labellings, so the
maximum is that over labellings (Taskar et al. 2004; Saha et al. 2010, appendix E; see
`MaxMarginChain`).
"""

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.sequence.chains import Chains
from skscreen.sequence.loops import best_sums, clique_gains, collect, project_chains


class ChainRisk:
    """The mean loss of labelled chains; dual variables are flat arrays of clique marginals."""

    def __init__(self, chains: Chains):
        self.chains, self.lam, m = chains, chains.lam, chains.n_labels
        lengths = np.maximum(np.diff(chains.first) - 1, 1)
        self.first_cliques = np.concatenate([[0], np.cumsum(lengths)])
        self.n_cliques = int(self.first_cliques[-1])
        self.shape = self.n_cliques, m, m
        # As measured: a solve has ten arrays of marginals in memory at the same time.
        check_memory(
            8.0 * 10 * self.n_cliques * m**2,
            f"{self.n_cliques:,} cliques with {m:,}^2 pairs of labels",
            "Use fewer labels or sequences, or solver='frank-wolfe'.",
        )
        # With zero weights the gains are the losses.
        self._losses = self.gradient(np.zeros(chains.n_weights))
        # Multipliers of the projection for a gradient of scale one, as they change little.
        self._nu = np.zeros(self.shape[:2])

    @property
    def centre(self) -> np.ndarray:
        """Uniform marginals."""
        m = self.chains.n_labels
        return np.full(self.n_cliques * m**2, 1.0 / m**2)

    @property
    def curvatures(self) -> tuple[float, float]:
        """A first guess and an upper bound of |Z|^2 / lam."""
        chains, m = self.chains, self.chains.n_labels
        X = chains.X
        squares = np.asarray((X * X).sum(axis=1))
        # |f(y) - f(z)|^2 for a clique: 2 |x|^2 for a wrong label, twice that if two labels add up.
        wrong = 4.0 * float(chains.position_shares**2 @ squares) * m * (m - 1.0)
        largest = float(chains.scales.max(initial=1.0))
        steps = 2.0 * float(chains.shares**2 @ np.diff(self.first_cliques)) * (largest * m) ** 2
        bound = (wrong + steps) / self.lam
        return bound / (2.0 * self.n_cliques * m**2), bound

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return g(w)."""
        chains, out = self.chains, np.empty(self.shape)
        U, E = chains.scores(w)
        clique_gains(
            U, E, chains.codes, chains.losses, chains.shares, chains.scales, chains.first,
            self.first_cliques, out,
        )  # fmt: skip
        return out.ravel()

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Return the mean of f(true) - f over the marginals."""
        chains, m = self.chains, self.chains.n_labels
        nodes, edges = np.zeros((chains.codes.size, m)), np.zeros((m, m))
        collect(
            a.reshape(self.shape), chains.codes, chains.shares, chains.scales, chains.first,
            self.first_cliques, nodes, edges,
        )  # fmt: skip
        return chains.combine(nodes, edges)

    def gain(self, a: np.ndarray) -> float:
        """Return the mean expected loss."""
        return float(self._losses @ a)

    def value(self, g: np.ndarray) -> tuple[float, float]:
        """Return R for a gradient, by dynamic programming; there is no intercept."""
        return best_sums(g.reshape(self.shape), self.first_cliques), 0.0

    def project(self, base: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
        """Return the consistent marginals nearest to base + scale g."""
        points = (base + scale * g).reshape(self.shape)
        self._nu *= scale
        project_chains(points, self.first_cliques, self._nu, points)
        self._nu /= scale
        return points.ravel()

    def reach(self, centre: np.ndarray) -> float:
        """Return max 1/2 |a - centre|^2 over marginals: at corners, apart from consistency."""
        a = centre.reshape(self.n_cliques, -1)
        return 0.5 * float((1.0 - 2.0 * a.min(axis=1) + (a**2).sum(axis=1)).sum())
