"""Labelled chains as the solvers see them: scores of weights, features of labellings.

The weights of a labelling y of a chain x are w = (W, E), a row of W for each feature and a column
for each label, and E for the steps from label to label:

    w . f(x, y) = sum_t <W[:, y_t], x_t> + sum_t E[y_t, y_{t+1}].

Chain c counts with its share s_c of all, sum_c s_c = 1. Where positions have weights k_t, rows of
features are k_t x_t, losses k_t, and the score of the step into t is multiplied by its scale, the
larger one of the weights of its ends: what a labelling gains where it is wrong is weighted.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from skscreen.core.checks import is_sparse
from skscreen.core.memory import check_memory
from skscreen.sequence.data import Sequences
from skscreen.sequence.loops import best_labels

# Scales of steps that are all one.
ONE = np.array([])


@dataclass(frozen=True)
class Chains:
    """Sequences with their true labels and the weight of the regulariser."""

    sequences: Sequences
    codes: np.ndarray  # (n_positions,) true labels, 0 to n_labels - 1
    n_labels: int
    shares: np.ndarray  # (n_chains,) positive, with sum one
    losses: np.ndarray  # (n_positions,) >= 0, what a wrong label costs there
    lam: float  # weighs the regulariser
    # (n_positions,) of the steps into the positions; empty where all are one.
    scales: np.ndarray = field(default_factory=lambda: ONE)
    # The features of the user that `sequences` have, (n_kept,); None where they have all.
    columns: np.ndarray | None = None
    floor: ClassVar = 0.0  # the objective is never below

    def __post_init__(self):
        # As measured: a solve has twelve such vectors in memory at the same time.
        check_memory(
            8.0 * 12 * self.n_weights,
            f"{self.n_weights:,} weights of {self.X.shape[1]:,} features and {self.n_labels:,} "
            "labels",
            "Use fewer labels or features, for instance by a FeatureHasher.",
        )

    def weighted(self) -> "Chains":
        """Return them with rows of features that are multiplied by the losses, if these differ."""
        if not self.scales.size:
            return self
        if is_sparse(self.X):
            rows = sparse.csr_array(self.X.multiply(self.losses[:, None]))
        else:
            rows = self.X * self.losses[:, None]
        return replace(self, sequences=Sequences(rows, self.starts))

    @property
    def X(self) -> Any:
        """All observations."""
        return self.sequences.X

    @property
    def starts(self) -> np.ndarray:
        """First position of each chain, and the number of positions."""
        return self.sequences.starts

    @property
    def n_weights(self) -> int:
        """Length of w as a flat vector."""
        return (self.X.shape[1] + self.n_labels) * self.n_labels

    @property
    def position_shares(self) -> np.ndarray:
        """The share of its chain for each position."""
        return np.repeat(self.shares, np.diff(self.starts))

    @property
    def steps(self) -> np.ndarray:
        """The positions that are not the last of their chain."""
        inner = np.ones(self.codes.size, dtype=bool)
        inner[self.starts[1:] - 1] = False
        return np.flatnonzero(inner)

    @property
    def step_scales(self) -> np.ndarray | float:
        """The scales of `steps`."""
        return self.scales[self.steps + 1] if self.scales.size else 1.0

    def tables(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W and E, views of the flat vector."""
        n_nodes = self.X.shape[1] * self.n_labels
        return w[:n_nodes].reshape(-1, self.n_labels), w[n_nodes:].reshape(self.n_labels, -1)

    def scores(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of labels at all positions and of steps."""
        W, E = self.tables(w)
        return np.ascontiguousarray(self.X @ W), E

    def combine(self, nodes: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the adjoint of `scores`: weights of labels and of steps, as a flat vector."""
        return np.concatenate([(self.X.T @ nodes).ravel(), edges.ravel()])

    def features(self, labels: np.ndarray) -> np.ndarray:
        """Return sum_c s_c f(x_c, y) for a labelling of each chain."""
        weights, steps = self.position_shares, self.steps
        nodes = np.zeros((labels.size, self.n_labels))
        nodes[np.arange(labels.size), labels] = weights
        edges = np.zeros((self.n_labels, self.n_labels))
        np.add.at(edges, (labels[steps], labels[steps + 1]), weights[steps] * self.step_scales)
        return self.combine(nodes, edges)

    def risk(self, w: np.ndarray) -> float:
        """Return sum_c s_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))]."""
        return self.worst(w)[1]

    def worst(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the labels with the largest loss + score of each chain, and the risk of w."""
        labels, (U, E) = np.empty(self.codes.size, np.int32), self.scores(w)
        best_labels(U, E, self.starts, self.codes, self.losses, self.scales, labels)
        # Summed over differences: small where labels agree.
        at, weights, steps = np.arange(labels.size), self.position_shares, self.steps
        gains = self.losses * (labels != self.codes) + U[at, labels] - U[at, self.codes]
        true_steps = E[self.codes[steps], self.codes[steps + 1]]
        found_steps = E[labels[steps], labels[steps + 1]]
        gains[steps] += self.step_scales * (found_steps - true_steps)
        return labels, max(float(weights @ gains), 0.0)

    @cached_property
    def truth(self) -> np.ndarray:
        """The `features` of the true labels."""
        return self.features(self.codes)

    def cut(self, w: np.ndarray) -> tuple[float, float, np.ndarray, float]:
        """Return the risk, and slope and offset of the plane of worst labels; see `bundle.Cuts`."""
        labels, value = self.worst(w)
        loss = float(self.position_shares @ (self.losses * (labels != self.codes)))
        return value, 0.0, self.features(labels) - self.truth, loss
