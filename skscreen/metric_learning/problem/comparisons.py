"""Geometry of relative comparisons: items are differences of two squared distances.

Item t compares a *near* pair (a, b) with a *far* pair (c, e): its margin under a metric M is
<M, H_t> = d_M^2(c, e) - d_M^2(a, b) with H_t = (x_c - x_e)(x_c - x_e)' - (x_a - x_b)(x_a - x_b)'.
A triplet (i, j, k) is the near pair (i, j) with the far pair (i, k). H_t is never formed: margins
are one GEMM, one squared distance a pair and one subtraction an item; the adjoint
sum_t w_t H_t = X' L_w X is a graph Laplacian on the pairs (Yoshida et al. 2019, section 2). Which
pairs are compared is in `items.py`, with a picture.

A bound on one distance is an item too, with a pair of a point and itself for the missing one and a
threshold of its own: L for d_M^2 >= L, -U for d_M^2 <= U (section 6.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from skscreen._compiled import metric_learning as loops
from skscreen.core.floats import EPS
from skscreen.core.memory import aligned
from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.items import SORT_FROM, Items, PairDistances
from skscreen.metric_learning.problem.losses import SmoothedHinge

# Terms of a distance at a centre sum_k c_k M_k: the numbers c_k with the distances under M_k.
Terms = Sequence[tuple[float, PairDistances]]

# Numbers in a vector register: rows are padded with zeros to a multiple.
_LANES = 4

# Losses with a narrower quadratic piece are treated as hinges.
_HINGE = 1e-300


class Comparisons:
    """Comparisons under a full metric matrix, of the rows of X (n, d), best centred."""

    # Whether |H_t| is that of the diagonal of H_t only.
    diagonal = False
    # Whether single items can be listed, for solvers that need every one.
    lists_items = True

    def __init__(self, X: np.ndarray, items: Items, n_summed: int = 1):
        # Rounding allowances grow with the norms of rows. Each of their numbers is a sum of
        # `n_summed` products.
        # Rows in one piece: loops over pairs take twice as long over columns.
        padded = np.zeros((len(X), X.shape[1] + -X.shape[1] % _LANES))
        padded[:, : X.shape[1]] = X
        near_sizes, far_sizes = np.empty(len(items.near)), np.empty(len(items.far))
        loops.pair_sizes(padded, items.near, self.diagonal, near_sizes)
        loops.pair_sizes(padded, items.far, self.diagonal, far_sizes)
        if items.places is not None:
            far_sizes = far_sizes[items.places]
        self._norms = loops.row_and_frobenius_norms(padded)
        # Relative error of a product, data included, and growth of rounding errors in distances.
        self._eps = EPS * max(0.25 * math.sqrt(n_summed), 1.0)
        self._root = math.sqrt(max(X.shape[1], n_summed))
        size = near_sizes.mean() if near_sizes.size else 0.0
        self._spread = self._norms[0] ** 2 / size if size > 0.0 else np.inf
        self.n_features = X.shape[1]
        self._set(padded, items, near_sizes, far_sizes)

    def _set(
        self, X: np.ndarray, items: Items, near_sizes: np.ndarray, far_sizes: np.ndarray
    ) -> None:
        self.X, self.items = X, items
        self.n_items, self.has_long_ranges = items.n_items, items.has_long_ranges
        self.near_sizes, self.far_sizes = near_sizes, far_sizes
        self.place_scales = items.place_weights()

    def __setstate__(self, state: dict) -> None:
        vars(self).update((name, aligned(value)) for name, value in state.items())

    def _like(
        self, X: np.ndarray, items: Items, near_sizes: np.ndarray, far_sizes: np.ndarray
    ) -> Comparisons:
        other = object.__new__(type(self))
        # Norms of all the data are upper bounds for any part of it.
        vars(other).update(vars(self))
        other._set(X, items, near_sizes, far_sizes)
        return other

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a parameter."""
        return (self.n_features, self.n_features)

    def _embed(self, factor: np.ndarray) -> np.ndarray:
        d, r = factor.shape
        padded = np.zeros((self.X.shape[1], r + -r % _LANES))
        padded[:d, :r] = factor
        return self.X @ padded

    def weighted_sum(
        self, near_weights: np.ndarray, place_weights: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return sum_t w_t H_t for weights summed by near pair and by far place, and its error."""
        items, d = self.items, self.n_features
        far_weights, product = self._far_weights(place_weights), np.zeros(self.X.shape)
        # With |x|^2 so much larger than a squared distance products lose at most three digits.
        if self._spread <= 1e3:
            degrees = np.zeros(len(self.X))
            loops.add_edges(self.X, items.near, near_weights, -1.0, degrees, product)
            near_terms = -float(degrees.sum())
            loops.add_edges(self.X, items.far, far_weights, 1.0, degrees, product)
            terms = 2.0 * near_terms + float(degrees.sum())
            loops.add_scaled_rows(self.X, degrees, product)
            error = 16.0 * self._eps * self._norms[0] ** 2 * terms
        else:
            loops.add_laplacian(self.X, items.near, near_weights, -1.0, product)
            loops.add_laplacian(self.X, items.far, far_weights, 1.0, product)
            error = 8.0 * self._eps * self._norms[1] * float(np.linalg.norm(product))
        total = (self.X.T @ product)[:d, :d]
        return 0.5 * (total + total.T), error

    def margins(self, point: Metric) -> PairDistances:
        """Distances of all pairs under a metric, O(n d r + (R + Q) r)."""
        Z, items = self._embed(point.factor), self.items
        near, far = np.empty(len(items.near)), np.empty(len(items.far))
        loops.squared_distances(Z, items.near, near)
        loops.squared_distances(Z, items.far, far)
        size = float(np.linalg.norm(point.factor))
        noise = 8.0 * EPS * self._root * self._norms[0] * size
        if items.places is not None:
            far = far[items.places]
        return PairDistances(near, far, noise)

    def intervals(self, terms: Terms) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Bound distances at a centre sum_k c_k M_k: near low, near high, far low, far high."""
        near_low, near_high = (np.zeros(len(self.items.near)) for _ in range(2))
        far_low, far_high = (np.zeros(self.items.n_places) for _ in range(2))
        for coefficient, margins in terms:
            loops.add_interval(coefficient, margins.near, margins.noise, near_low, near_high)
            loops.add_interval(coefficient, margins.far, margins.noise, far_low, far_high)
        return near_low, near_high, far_low, far_high

    def differences(
        self, near_pairs: np.ndarray, places: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return x_a - x_b of the near and of the far pair of listed items, of shape (m, d)."""
        near, far = self.items.pairs(near_pairs, places)
        X = self.X[:, : self.n_features]
        return X[near[:, 0]] - X[near[:, 1]], X[far[:, 0]] - X[far[:, 1]]

    @property
    def evaluation_work(self) -> float:
        """Work of a step with its projection, in simple operations, some 0.1 ns each."""
        # The constant is what a step takes whatever its size.
        d, pairs = self.n_features, self.items.start.size + self.items.n_places
        return 3e6 + 12.0 * pairs * d + 0.4 * len(self.X) * d**2 + 10.0 * d**3 + self.n_items

    def restrict(
        self, start: np.ndarray, stop: np.ndarray, near_pairs: np.ndarray | None = None
    ) -> Comparisons:
        """Keep ranges of far places of near pairs, see `Items.part`, and the data they need."""
        part, near_pairs, used = self.items.part(start, stop, near_pairs)
        X, named = self.X, np.zeros(len(self.X), dtype=np.bool_)
        loops.mark_points(part.near, named)
        loops.mark_points(part.far, named)
        points = np.flatnonzero(named)
        if points.size < len(X):
            X = X[points]
            loops.renumber_points(points, len(self.X), part.near, part.far)
        return self._like(X, part, self.near_sizes[near_pairs], self.far_sizes[used])

    def sort_places(self, margins: PairDistances) -> tuple[Comparisons, PairDistances]:
        """Sort the far places of each block by distance; return the margins in the new order."""
        order = np.empty(self.items.n_places, np.int64)
        if not loops.sort_blocks(self.items.blocks, margins.far, order):
            return self, margins
        items = self.items.in_order(order)
        geometry = self._like(self.X, items, self.near_sizes, self.far_sizes[order])
        return geometry, replace(margins, far=margins.far[order])

    def loss(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, np.ndarray, float]:
        """Return sum_t w_t l_t, the adjoint sum_t w_t alpha_t H_t and its error; alpha = -l'."""
        weights = self.no_weights()
        value, _ = self._loss_pass(margins, loss, loss.width, *weights)
        return value, *self.weighted_sum(*self._weigh(*weights))

    def loss_value(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, float]:
        """Sum of losses alone, without the adjoint, and a bound on its rounding error."""
        return self._loss_pass(margins, loss, max(loss.width, _HINGE), *self.no_weights())

    def _loss_pass(
        self, margins: PairDistances, loss: SmoothedHinge, width: float, near_weights: np.ndarray,
        place_weights: np.ndarray,
    ) -> tuple[float, float]:  # fmt: skip
        return loops.sorted_loss_pass(
            self.items.start, self.items.stop, margins.near, margins.far, self.thresholds(loss),
            width, loss.most, self.scales(), near_weights, place_weights, SORT_FROM,
        )  # fmt: skip

    def loss_bound(self, margins: PairDistances, loss: SmoothedHinge, upper: bool) -> float:
        """Return what the sum of losses is at most or at least, all rounding errors included."""
        near_low, near_high, far_low, far_high = self.intervals(((1.0, margins),))
        ends = (near_high, far_low) if upper else (near_low, far_high)
        value, error = self.loss_value(PairDistances(*ends, 0.0), loss)
        return value + error if upper else value - error

    def proximal_loss(
        self, margins: PairDistances, loss: SmoothedHinge, width: float, centre: np.ndarray
    ) -> tuple:
        """Return sums of smoothed, true losses, Fenchel-Young terms, their error; the adjoint."""
        # `centre` has a dual variable for each item of the full problem.
        weights = self.no_weights()
        sums = self._proximal_pass(margins, loss, width, centre, None, weights)
        return *sums, *self.weighted_sum(*self._weigh(*weights))

    def proximal_duals(
        self, margins: PairDistances, loss: SmoothedHinge, width: float, centre: np.ndarray
    ) -> np.ndarray:
        """Return the dual variables of `proximal_loss`, with those of `centre` for other items."""
        alpha = centre.copy()
        self._proximal_pass(margins, loss, width, centre, alpha, self.no_weights())
        return alpha

    def _proximal_pass(
        self, margins: PairDistances, loss: SmoothedHinge, width: float, centre: np.ndarray,
        alpha: np.ndarray | None, weights: tuple[np.ndarray, np.ndarray],
    ):  # fmt: skip
        items = self.items
        return loops.proximal_pass(
            items.start, items.stop, items.base, items.rank, margins.near, margins.far,
            margins.noise, self.thresholds(loss), loss.width, self.scales(), width, centre, alpha,
            *weights,
        )  # fmt: skip

    def adjoint_at_zero(self, loss: SmoothedHinge) -> tuple[np.ndarray, float]:
        """Return the adjoint at the zero metric, and its error."""
        duals, lengths = loss.duals_at_zero(self.thresholds(loss)), self.items.lengths
        place_weights = self.items.covered
        if self.items.thresholds is not None:
            place_weights *= np.repeat(duals, lengths)
        elif duals.size:
            place_weights *= duals[0]
        return self.weighted_sum(*self._weigh(duals * lengths, place_weights))

    def duals_at_zero(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the dual variables at the zero metric in the order of item numbers."""
        if self.items.thresholds is None:
            return np.ones(self.n_items)
        near_pairs, places = self.items.listed()
        duals = np.empty(self.n_items)
        of_pairs = loss.duals_at_zero(self.items.thresholds)
        duals[self.items.numbers(near_pairs, places)] = of_pairs[near_pairs]
        return duals

    def near_term(self, weight: float) -> tuple[np.ndarray, float]:
        """Return B with <B, M> = -weight times the sum of near distances, and its error."""
        return self.weighted_sum(weight * self.scales(), np.zeros(self.items.n_places))

    def largest_lam(self, loss: SmoothedHinge) -> float:
        """Return what lambda_max cannot exceed, from the sizes of the pairs alone."""
        largest = self.near_sizes.max(initial=0.0) + self.far_sizes.max(initial=0.0)
        total = float(self.scales() @ self.items.lengths)
        ends = loss.piece_ends(self.thresholds(loss))
        return total * largest**2 / float(np.abs(ends).min())

    def largest_ratio(self, margins: PairDistances, loss: SmoothedHinge) -> float:
        """Largest ratio of a margin to the one at which the item leaves its piece at zero."""
        ends = loss.piece_ends(self.thresholds(loss))
        items = self.items
        return loops.largest_ratio(items.start, items.stop, margins.near, margins.far, ends)

    def linear_part(
        self, near_counts: np.ndarray, place_counts: np.ndarray, loss: SmoothedHinge
    ) -> tuple[np.ndarray, float, float]:
        """Return the adjoint, its error and the constant of counted items that are linear."""
        # The constant is sum_t w_t (l_t + <H_t, M>), for whatever M has all of them linear.
        near_weights, place_weights = self._weigh(near_counts, place_counts)
        constant = float(near_weights @ self.thresholds(loss))
        constant -= 0.5 * loss.width * float(near_weights.sum())
        return *self.weighted_sum(near_weights, place_weights), constant

    def count_decidable(self, margins: PairDistances, loss: SmoothedHinge) -> int:
        """Count the items off the quadratic piece: the most that screening could decide."""
        below = []
        for near in (margins.near, margins.near - min(loss.depth, 1e300)):
            # Dual variables of a hinge are 1 below the threshold: sums over them are counts.
            weights, shifted = self.no_weights(), replace(margins, near=near)
            self._loss_pass(shifted, replace(loss, most=1.0), _HINGE, *weights)
            below.append(weights[0].sum())
        return self.n_items - round(below[0] - below[1])

    def no_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Zeros for the near pairs and for the far places, to which passes add."""
        return np.zeros(len(self.items.near)), np.zeros(self.items.n_places)

    def thresholds(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the threshold of each near pair; constants take no memory."""
        given = self.items.thresholds
        return _constant(loss.threshold, len(self.items.near)) if given is None else given

    def scales(self) -> np.ndarray:
        """Return the factors of the losses of the items of each near pair."""
        weights = self.items.weights
        return _constant(1.0, len(self.items.near)) if weights is None else weights

    def _weigh(self, near_weights: np.ndarray, place_weights: np.ndarray):
        """Multiply sums over items of dual variables by the weights of the items."""
        if self.items.weights is None:
            return near_weights, place_weights
        return near_weights * self.items.weights, place_weights * self.place_scales

    def _far_weights(self, place_weights: np.ndarray):
        places = self.items.places
        if places is None:
            return place_weights
        # Without places the numbers would be integers.
        total = np.bincount(places, weights=place_weights, minlength=len(self.items.far))
        return total.astype(np.float64, copy=False)


class DiagonalComparisons(Comparisons):
    """Comparisons under a diagonal metric: item vectors are the diagonals of H_t."""

    diagonal = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a parameter."""
        return (self.n_features,)

    def _embed(self, factor: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(factor)
        Z = np.empty((len(self.X), used.size + -used.size % _LANES))
        loops.scale_columns(self.X, used, factor[used], Z)
        return Z

    def weighted_sum(
        self, near_weights: np.ndarray, place_weights: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Sum of far minus near weighted squared differences, with its rounding error."""
        items = self.items
        near, far = np.zeros(self.X.shape[1]), np.zeros(self.X.shape[1])
        loops.add_weighted_squares(self.X, items.near, near_weights, near)
        loops.add_weighted_squares(self.X, items.far, self._far_weights(place_weights), far)
        pairs = max(len(items.near) + len(items.far), 1)
        error = 2.0 * EPS * np.sqrt(pairs) * float(np.linalg.norm(near + far))
        return (far - near)[: self.n_features], error


@lru_cache(maxsize=64)
def _constant(value: float, n: int) -> np.ndarray:
    """Return a number n times; every evaluation asks for two of these."""
    return np.broadcast_to(value, n)
