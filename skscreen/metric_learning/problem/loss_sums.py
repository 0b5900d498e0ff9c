"""Sums over items of the losses of their margins, and of what losses are made of."""

from dataclasses import replace

import numpy as np

from skscreen.metric_learning.problem.items import Items, PairDistances
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.pair_loops import (
    SORT_FROM,
    cover,
    largest_ratio,
    proximal_pass,
    sorted_loss_pass,
)

# Losses with a narrower quadratic piece are treated as hinges.
_HINGE = 1e-300


class LossSums:
    """Base of geometries: what they know of losses.

    A geometry has its `items`, and the sizes |u|^2 of their pairs.
    """

    items: Items
    n_items: int
    near_sizes: np.ndarray
    far_sizes: np.ndarray
    # Weights of the items of each far place, or None.
    place_scales: np.ndarray | None

    def weighted_sum(self, near_weights, place_weights) -> tuple[np.ndarray, float]:
        """Sum of far minus near weighted pair terms, with a bound on its rounding error."""
        raise NotImplementedError

    def intervals(self, terms) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Intervals for the distances at a centre, rounding errors included."""
        raise NotImplementedError

    def loss(self, margins: PairDistances, loss: SmoothedHinge):
        """Sum of losses and the adjoint of the dual variables, at most one pass over the items.

        Returns sum_t w_t l(<H_t, M>), the adjoint sum_t w_t alpha_t H_t with alpha_t = -l'(<H_t,
        M>), and a bound on the Frobenius norm of its rounding error.
        """
        near_weights, place_weights = self.weights()
        value, _ = self._loss_pass(margins, loss, loss.width, near_weights, place_weights)
        return value, *self.weighted_sum(*self._weigh(near_weights, place_weights))

    def loss_value(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, float]:
        """Sum of losses alone, without the adjoint, and a bound on its rounding error."""
        return self._loss_pass(margins, loss, max(loss.width, _HINGE), *self.weights())

    def _loss_pass(self, margins, loss, width, near_weights, place_weights) -> tuple[float, float]:
        items = self.items
        arguments = (
            items.start, items.stop, margins.near, margins.far, self.thresholds(loss), width,
            loss.most, self._scales(), near_weights, place_weights,
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
        alpha = centre.copy()
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

        The sum of all H_t for the loss's own threshold, if every item is linear under it.
        """
        items = self.items
        duals, lengths = loss.duals_at_zero(self.thresholds(loss)), items.stop - items.start
        place_weights = cover(items.start, items.stop, np.zeros(items.n_places))
        if items.thresholds is not None:
            place_weights *= np.repeat(duals, lengths)
        elif duals.size:
            place_weights *= duals[0]
        return self.weighted_sum(*self._weigh(duals * lengths, place_weights))

    def duals_at_zero(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the dual variables at the zero metric in the order of item numbers."""
        if self.items.thresholds is None:
            return np.ones(self.n_items)
        rows, places = self.list_items()
        duals = np.empty(self.n_items)
        duals[self.item_numbers(rows, places)] = loss.duals_at_zero(self.items.thresholds)[rows]
        return duals

    def near_term(self, weight: float) -> tuple[np.ndarray, float]:
        """Return B with <B, M> = -weight times the sum of near distances, and its error."""
        return self.weighted_sum(weight * self._scales(), np.zeros(self.items.n_places))

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

    def linear_part(self, near_counts, place_counts, loss: SmoothedHinge):
        """Linear part of the losses of some items, counted for near pairs and far places.

        Returns the adjoint sum_t w_t H_t, a bound on its rounding error, and the constant sum_t w_t
        (l(<H_t, M>) + <H_t, M>), for whatever M has all of them linear.
        """
        near_weights, place_weights = self._weigh(near_counts, place_counts)
        constant = float(near_weights @ self.thresholds(loss))
        constant -= 0.5 * loss.width * float(near_weights.sum())
        return *self.weighted_sum(near_weights, place_weights), constant

    def count_decidable(self, margins: PairDistances, loss: SmoothedHinge) -> int:
        """Count the items off the quadratic piece: the most that screening could decide."""
        below = []
        for near in (margins.near, margins.near - min(loss.depth, 1e300)):
            # Dual variables of a hinge are 1 below the threshold: sums over them are counts.
            near_weights, place_weights = self.weights()
            shifted = replace(margins, near=near)
            self._loss_pass(shifted, replace(loss, most=1.0), _HINGE, near_weights, place_weights)
            below.append(near_weights.sum())
        return self.n_items - round(below[0] - below[1])

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Zero weights for the near pairs and for the far places."""
        return np.zeros(len(self.items.near)), np.zeros(self.items.n_places)

    def thresholds(self, loss: SmoothedHinge) -> np.ndarray:
        """Return the threshold of each near pair; constants take no memory."""
        thresholds = self.items.thresholds
        if thresholds is None:
            return np.broadcast_to(loss.threshold, len(self.items.near))
        return thresholds

    def item_weights(self, rows: np.ndarray) -> np.ndarray:
        """Return the factors of the losses of the items of given near pairs."""
        return self._scales()[rows]

    def _scales(self) -> np.ndarray:
        weights = self.items.weights
        return np.broadcast_to(1.0, len(self.items.near)) if weights is None else weights

    def _weigh(self, near_weights, place_weights):
        """Multiply sums over items of dual variables by the weights of the items."""
        items = self.items
        if items.weights is None:
            return near_weights, place_weights
        return near_weights * items.weights, place_weights * self.place_scales
