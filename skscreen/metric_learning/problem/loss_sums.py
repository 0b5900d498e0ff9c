"""Sums over items of the losses of their margins, and of what losses are made of."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from skscreen._compiled import metric_learning as loops
from skscreen.metric_learning.problem.items import SORT_FROM, Items, PairDistances
from skscreen.metric_learning.problem.losses import SmoothedHinge

# Losses with a narrower quadratic piece are treated as hinges.
_HINGE = 1e-300


class LossSums:
    """Base of geometries: sums over their `items` of losses."""

    items: Items
    n_items: int
    near_sizes: np.ndarray  # (R,) |u|^2 of near pairs
    far_sizes: np.ndarray  # (S,) and of the pairs at far places
    place_scales: np.ndarray | None  # (S,) weights of the items of far places; None for 1

    def weighted_sum(
        self, near_weights: np.ndarray, place_weights: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Sum of far minus near weighted pair terms, with a bound on its rounding error."""
        raise NotImplementedError

    def intervals(self, terms: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Intervals for the distances at a centre, rounding errors included."""
        raise NotImplementedError

    def loss(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, np.ndarray, float]:
        """Return sum_t w_t l_t, the adjoint sum_t w_t alpha_t H_t and its error; alpha = -l'."""
        weights = self.no_weights()
        value, _ = self._loss_pass(margins, loss, loss.width, *weights)
        return value, *self.weighted_sum(*self._weigh(*weights))

    def loss_value(self, margins: PairDistances, loss: SmoothedHinge) -> tuple[float, float]:
        """Sum of losses alone, without the adjoint, and a bound on its rounding error."""
        return self._loss_pass(margins, loss, max(loss.width, _HINGE), *self.no_weights())

    def _loss_pass(self, margins, loss, width, near_weights, place_weights) -> tuple[float, float]:
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
        """Return sums of smoothed and true losses, Fenchel-Young terms, their error; the adjoint.

        The dual is smoothed round `centre`, with a dual variable for each item of the full problem.
        """
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

    def _proximal_pass(self, margins, loss, width, centre, alpha, weights):
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

    def _weigh(self, near_weights, place_weights):
        """Multiply sums over items of dual variables by the weights of the items."""
        if self.items.weights is None:
            return near_weights, place_weights
        return near_weights * self.items.weights, place_weights * self.place_scales


@lru_cache(maxsize=64)
def _constant(value: float, n: int) -> np.ndarray:
    """Return a number n times; every evaluation asks for two of these."""
    return np.broadcast_to(value, n)
