"""Geometry of relative comparisons: items are differences of two squared distances.

Item t compares a *near* pair (a, b) with a *far* pair (c, e): its margin under a metric M is
<M, H_t> = d_M^2(c, e) - d_M^2(a, b) with H_t = (x_c - x_e)(x_c - x_e)' - (x_a - x_b)(x_a - x_b)'.
A triplet (i, j, l) is the near pair (i, j) with the far pair (i, l). H_t is never formed: margins
are one GEMM, one squared distance a pair and one subtraction an item; the adjoint
sum_t w_t H_t = X' L_w X is a graph Laplacian on the pairs (Yoshida et al. 2019, section 2;
checked in the tests against explicit matrices).

Which pairs are compared is in `items.py`, with a picture.

A bound on one distance is an item too, with a pair of a point and itself for the missing one and
a threshold of its own: d_M^2 >= L asks for a margin of L, and d_M^2 <= U for one of -U (Yoshida
et al. 2019, section 6.3).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from skscreen.core.floats import EPS
from skscreen.core.memory import Pool, aligned
from skscreen.metric_learning.problem.domains import Point
from skscreen.metric_learning.problem.items import Items
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.pair_loops import (
    SORT_FROM,
    add_edges,
    add_interval,
    add_laplacian,
    add_scaled_rows,
    add_weighted_squares,
    cover,
    largest_ratio,
    pair_sizes,
    proximal_pass,
    renumber_points,
    row_and_frobenius_norms,
    scale_columns,
    sort_blocks,
    sorted_loss_pass,
    squared_distances,
    used_points,
)

# A reduced problem copies its rows of data if they are less than this share.
_WORTH_COPYING = 0.75

# Largest |x|^2 over mean squared distance at which products lose at most three digits.
_NARROW_SPREAD = 1e3

# Losses with a narrower quadratic piece are treated as hinges.
_HINGE = 1e-300

# Numbers in a vector register: rows are padded with zeros to a multiple.
_LANES = 4


@dataclass(frozen=True)
class PairDistances:
    """Squared distances of all rows and slots under one metric: margins before subtraction.

    `noise` bounds the rounding error of one embedded difference, so a distance D carries an
    error of at most 2 sqrt(D) noise + noise^2 (and a relative one of a few eps).
    """

    near: np.ndarray
    far: np.ndarray
    noise: float


class Comparisons:
    """Comparisons under a full metric matrix; see the module's docstring.

    Parameters
    ----------
    X : ndarray of shape (n, d), float64
        Data, best centred (the rounding allowances grow with the norms of its rows).
    items : Items
    n_summed : int, default=1
        Of how many products each number of `X` is a sum, for the allowances.
    """

    # Whether |H_t| is that of the diagonal of H_t only.
    diagonal = False
    # Whether `list_items` is available, for solvers that need every item.
    lists_items = True

    def __init__(self, X: np.ndarray, items: Items, n_summed: int = 1):
        # Rows in one piece: loops over pairs take twice as long over columns.
        padded = np.zeros((len(X), X.shape[1] + -X.shape[1] % _LANES))
        padded[:, : X.shape[1]] = X
        near_sizes, far_sizes = np.empty(len(items.near)), np.empty(len(items.far))
        pair_sizes(padded, items.near, self.diagonal, near_sizes)
        pair_sizes(padded, items.far, self.diagonal, far_sizes)
        if items.slots is not None:
            far_sizes = far_sizes[items.slots]
        self._norms = row_and_frobenius_norms(padded)
        # Relative error of a product, data included, and growth of rounding errors in distances.
        self._eps = EPS * max(0.25 * math.sqrt(n_summed), 1.0)
        self._root = math.sqrt(max(X.shape[1], n_summed))
        size = near_sizes.mean() if near_sizes.size else 0.0
        self._spread = self._norms[0] ** 2 / size if size > 0.0 else np.inf
        self._set(padded, X.shape[1], items, near_sizes, far_sizes, Pool())

    def _set(self, X, n_features, items, near_sizes, far_sizes, pool) -> None:
        self.pool = pool
        self.X = X
        self.n_features = n_features
        self.items = items
        self.n_items = items.n_items
        # Whether passes over the items are faster with slots in order of their distances.
        self.has_long_rows = bool((items.stop - items.start).max(initial=0) >= SORT_FROM[0])
        self.near_sizes = near_sizes
        self.far_sizes = far_sizes
        self._slot_scales = items.slot_weights()

    def __setstate__(self, state: dict) -> None:
        vars(self).update((name, aligned(value)) for name, value in state.items())

    def _like(self, X, items, near_sizes, far_sizes) -> "Comparisons":
        other = object.__new__(type(self))
        # For all the data, as an upper bound for any part of it.
        for name in ("_norms", "_spread", "_eps", "_root"):
            setattr(other, name, getattr(self, name))
        other._set(X, self.n_features, items, near_sizes, far_sizes, self.pool)
        return other

    # -- what depends on the kind of metric ------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a parameter."""
        return (self.n_features, self.n_features)

    def _embed(self, factor: np.ndarray) -> np.ndarray:
        d, r = factor.shape
        padded = np.zeros((self.X.shape[1], r + -r % _LANES))
        padded[:d, :r] = factor
        return np.matmul(self.X, padded, out=self.pool.empty((len(self.X), padded.shape[1])))

    def weighted_sum(self, row_weights, slot_weights) -> tuple[np.ndarray, float]:
        """Sum of far minus near weighted pair terms, with a bound on its rounding error.

        With weights >= 0 summed over the items of each row and slot this is sum_t w_t H_t.
        """
        items, d = self.items, self.n_features
        far_weights, product = self._far_weights(slot_weights), self.pool.zeros(self.X.shape)
        if self._spread <= _NARROW_SPREAD:
            degrees = np.zeros(len(self.X))
            add_edges(self.X, items.near, row_weights, -1.0, degrees, product)
            near_terms = -float(degrees.sum())
            add_edges(self.X, items.far, far_weights, 1.0, degrees, product)
            terms = 2.0 * near_terms + float(degrees.sum())
            add_scaled_rows(self.X, degrees, product)
            error = 16.0 * self._eps * self._norms[0] ** 2 * terms
        else:
            add_laplacian(self.X, items.near, row_weights, -1.0, product)
            add_laplacian(self.X, items.far, far_weights, 1.0, product)
            error = 8.0 * self._eps * self._norms[1] * float(np.linalg.norm(product))
        total = (self.X.T @ product)[:d, :d]
        return 0.5 * (total + total.T), error

    # -- interface to the solvers ---------------------------------------------------------------

    def margins(self, point: Point) -> PairDistances:
        """Distances of all pairs under a metric, O(n d r + (R + Q) r)."""
        Z = self._embed(point.factor)
        items = self.items
        near, far = self.pool.empty(len(items.near)), self.pool.empty(len(items.far))
        squared_distances(Z, items.near, near)
        squared_distances(Z, items.far, far)
        size = float(np.linalg.norm(point.factor))
        noise = 8.0 * EPS * self._root * self._norms[0] * size
        if items.slots is not None:
            far = self.pool.take(far, items.slots)
        return PairDistances(near, far, noise)

    def loss(self, margins: PairDistances, loss: SmoothedHinge):
        """Sum of losses and the adjoint of the dual variables, at most one pass over the items.

        Returns
        -------
        value : float
            sum_t w_t l(<H_t, M>) with the weights of the items.
        adjoint : ndarray
            sum_t w_t alpha_t H_t with alpha_t = -l'(<H_t, M>).
        error : float
            Bound on the Frobenius norm of the adjoint's rounding error.
        """
        row_weights, slot_weights = self.weights()
        value, _ = self._loss_pass(margins, loss, loss.width, row_weights, slot_weights)
        return value, *self.weighted_sum(*self._weigh(row_weights, slot_weights))

    def loss_value(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, float]:
        """Sum of losses alone, without the adjoint, and a bound on its rounding error."""
        return self._loss_pass(margins, loss, max(loss.width, _HINGE), *self.weights())

    def _loss_pass(self, margins, loss, width, row_weights, slot_weights) -> tuple[float, float]:
        items = self.items
        arguments = (
            items.start, items.stop, margins.near, margins.far, self.thresholds(loss), width,
            self._scales(), row_weights, slot_weights,
        )  # fmt: skip
        return sorted_loss_pass(*arguments, SORT_FROM)

    def loss_bound(self, margins: PairDistances, loss: SmoothedHinge, upper: bool) -> float:
        """Return what the sum of losses is at most or at least, all rounding errors included."""
        near_low, near_high, far_low, far_high = self.intervals(((1.0, margins),))
        ends = (near_high, far_low) if upper else (near_low, far_high)
        value, error = self.loss_value(PairDistances(*ends, 0.0), loss)
        return value + error if upper else value - error

    def proximal_loss(self, margins: PairDistances, loss: SmoothedHinge, width, centre):
        """Like `loss` for the proximal smoothing of the dual round `centre`.

        That holds one dual variable for each item of the full problem.

        Returns
        -------
        smoothed, value, fenchel_young, error, adjoint, adjoint_error
            Sum of the smoothed losses, of the true losses, of the Fenchel-Young terms of the
            dual variables with a bound on its rounding error, and the adjoint as in `loss`.
        """
        weights = self.weights()
        sums = self._proximal_pass(margins, loss, width, centre, None, weights)
        return *sums, *self.weighted_sum(*self._weigh(*weights))

    def proximal_duals(self, margins: PairDistances, loss: SmoothedHinge, width, centre):
        """Return the dual variables of `proximal_loss`, with those of `centre` for other items."""
        alpha = self.pool.copy(centre)
        self._proximal_pass(margins, loss, width, centre, alpha, self.weights())
        return alpha

    def _proximal_pass(self, margins, loss, width, centre, alpha, weights):
        items = self.items
        return proximal_pass(
            items.start, items.stop, items.base, items.rank,
            margins.near, margins.far, margins.noise, self.thresholds(loss), loss.width,
            self._scales(), width, centre, alpha, *weights,
        )  # fmt: skip

    def adjoint_at_zero(self, loss: SmoothedHinge) -> tuple[np.ndarray, float]:
        """Return the adjoint at the zero metric, and its error.

        The sum of all H_t for the loss's own threshold, under which every item is linear.
        """
        items = self.items
        duals, lengths = loss.duals_at_zero(self.thresholds(loss)), items.stop - items.start
        slot_weights = cover(items.start, items.stop, self.pool.zeros(items.n_slots))
        if items.thresholds is not None:
            slot_weights *= np.repeat(duals, lengths)
        return self.weighted_sum(*self._weigh(duals * lengths, slot_weights))

    def duals_at_zero(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the dual variables at the zero metric in the order of item numbers."""
        if self.items.thresholds is None:
            return np.ones(self.n_items)
        rows, slots = self.list_items()
        duals = np.empty(self.n_items)
        duals[self.item_numbers(rows, slots)] = loss.duals_at_zero(self.items.thresholds)[rows]
        return duals

    def near_term(self, weight: float) -> tuple[np.ndarray, float]:
        """Return B with <B, M> = -weight times the sum of near distances, and its error."""
        return self.weighted_sum(weight * self._scales(), np.zeros(self.items.n_slots))

    def largest_lam(self, loss: SmoothedHinge) -> float:
        """Return what lambda_max cannot exceed, from the sizes of the pairs alone."""
        largest = self.near_sizes.max(initial=0.0) + self.far_sizes.max(initial=0.0)
        scales = float(self._scales() @ (self.items.stop - self.items.start))
        return (
            scales * largest**2 / float(np.abs(loss.reach_from_zero(self.thresholds(loss))).min())
        )

    def largest_ratio(self, margins: PairDistances, loss: SmoothedHinge) -> float:
        """Largest ratio of a margin to the one at which the item leaves its piece at zero."""
        reaches = loss.reach_from_zero(self.thresholds(loss))
        return largest_ratio(self.items.start, self.items.stop, margins.near, margins.far, reaches)

    def linear_part(self, row_counts, slot_counts, loss: SmoothedHinge):
        """Linear part of the losses of some items, counted for each row and each slot.

        Returns
        -------
        adjoint : ndarray
            sum_t w_t H_t.
        error : float
            Bound on the Frobenius norm of its rounding error.
        constant : float
            sum_t w_t (l(<H_t, M>) + <H_t, M>), for whatever M has all of them linear.
        """
        row_weights, slot_weights = self._weigh(row_counts, slot_counts)
        constant = float(row_weights @ self.thresholds(loss))
        constant -= 0.5 * loss.width * float(row_weights.sum())
        return *self.weighted_sum(row_weights, slot_weights), constant

    def count_decidable(self, margins: PairDistances, loss: SmoothedHinge) -> int:
        """Count the items off the quadratic piece: the most that screening could decide."""
        below = []
        for near in (margins.near, margins.near - loss.width):
            # Dual variables of a hinge are 1 below the threshold: rows add up to counts of items.
            row_weights, slot_weights = self.weights()
            shifted = replace(margins, near=near)
            self._loss_pass(shifted, loss, _HINGE, row_weights, slot_weights)
            below.append(row_weights.sum())
        return self.n_items - round(below[0] - below[1])

    def intervals(self, terms):
        """Intervals for the distances at a centre, rounding errors included.

        Parameters
        ----------
        terms : sequence of (float, PairDistances)
            The centre as a linear combination of evaluated metrics.

        Returns
        -------
        near_low, near_high, far_low, far_high : ndarray
        """
        near_low, near_high = (self.pool.zeros(len(self.items.near)) for _ in range(2))
        far_low, far_high = (self.pool.zeros(self.items.n_slots) for _ in range(2))
        for coefficient, margins in terms:
            add_interval(coefficient, margins.near, margins.noise, near_low, near_high)
            add_interval(coefficient, margins.far, margins.noise, far_low, far_high)
        return near_low, near_high, far_low, far_high

    def list_items(self) -> tuple[np.ndarray, np.ndarray]:
        """Return near pair and far place of every item; for problems with few."""
        return self.items.listed()

    def item_numbers(self, rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Return the numbers of listed items in the full problem."""
        return self.items.base[rows] + self.items.rank[slots]

    def pair_differences(
        self, rows: np.ndarray, slots: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return x_a - x_b of the near and of the far pair of listed items, of shape (m, d)."""
        near, far = self.items.pairs(rows, slots)
        X = self.X[:, : self.n_features]
        return X[near[:, 0]] - X[near[:, 1]], X[far[:, 0]] - X[far[:, 1]]

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Zero weights for the rows and for the slots."""
        return self.pool.zeros(len(self.items.near)), self.pool.zeros(self.items.n_slots)

    @property
    def evaluation_work(self) -> float:
        """Work of a step with its projection, in simple operations, some 0.1 ns each.

        The constant is what a step takes whatever its size.
        """
        d, pairs = self.n_features, self.items.start.size + self.items.n_slots
        return 3e6 + 12.0 * pairs * d + 0.4 * len(self.X) * d**2 + 10.0 * d**3 + self.n_items

    def thresholds(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the threshold of each row; constants take no memory."""
        thresholds = self.items.thresholds
        if thresholds is None:
            return np.broadcast_to(loss.threshold, len(self.items.near))
        return thresholds

    def item_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return the factors of the losses of the items of given rows."""
        return self._scales()[rows]

    def restrict(self, start: np.ndarray, stop: np.ndarray) -> "Comparisons":
        """Keep the far places start[p]:stop[p] of each near pair, and the data they need."""
        kept, rows, used = self.items.kept(start, stop, self.pool)
        X, points = self.X, np.flatnonzero(used_points(len(self.X), kept.near, kept.far))
        if points.size < _WORTH_COPYING * len(X):
            X = self.pool.take(X, points)
            renumber_points(points, len(self.X), kept.near, kept.far)
        take = self.pool.take
        return self._like(X, kept, take(self.near_sizes, rows), take(self.far_sizes, used))

    def sort_slots(self, margins: PairDistances) -> tuple["Comparisons", PairDistances]:
        """Sort the far places of each block by distance; return the margins in the new order."""
        order = self.pool.empty(self.items.n_slots, np.int64)
        if not sort_blocks(self.items.blocks, margins.far, order):
            return self, margins
        items, take = self.items.in_order(order, self.pool), self.pool.take
        geometry = self._like(self.X, items, self.near_sizes, take(self.far_sizes, order))
        return geometry, replace(margins, far=take(margins.far, order))

    def _scales(self) -> np.ndarray:
        weights = self.items.weights
        return np.broadcast_to(1.0, len(self.items.near)) if weights is None else weights

    def _weigh(self, row_weights, slot_weights):
        """Multiply sums over items of dual variables by the weights of the items."""
        items = self.items
        if items.weights is None:
            return row_weights, slot_weights
        return row_weights * items.weights, slot_weights * self._slot_scales

    def _far_weights(self, slot_weights):
        slots = self.items.slots
        if slots is None:
            return slot_weights
        # Without slots the numbers would be integers.
        total = np.bincount(slots, weights=slot_weights, minlength=len(self.items.far))
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
        Z = self.pool.empty((len(self.X), used.size + -used.size % _LANES))
        scale_columns(self.X, used, factor[used], Z)
        return Z

    def weighted_sum(self, row_weights, slot_weights) -> tuple[np.ndarray, float]:
        """Sum of far minus near weighted squared differences, with its rounding error."""
        items = self.items
        near, far = np.zeros(self.X.shape[1]), np.zeros(self.X.shape[1])
        add_weighted_squares(self.X, items.near, row_weights, near)
        add_weighted_squares(self.X, items.far, self._far_weights(slot_weights), far)
        pairs = max(len(items.near) + len(items.far), 1)
        error = 2.0 * EPS * np.sqrt(pairs) * float(np.linalg.norm(near + far))
        return (far - near)[: self.n_features], error
