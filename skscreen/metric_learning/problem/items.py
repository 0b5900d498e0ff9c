"""Items: which near pair is compared with which far pairs.

Items are ranges, never lists. All near pairs of an anchor share its far places, a *block*, so that
memory grows with the pairs and not with the triplets. An anchor i with three near and four far
neighbours, 12 triplets:

    near pairs        start:stop      far places of the block of i, nearest first
                                         0       1       2       3
    p = 0  (i, j0)       0:4          (i, l0) (i, l1) (i, l2) (i, l3)
    p = 1  (i, j1)       0:4             *       *       *       *
    p = 2  (i, j2)       1:3             -       *       *       -     after screening

The item of near pair p at far place s has the number base[p] + rank[s] in the full problem. Far
places are kept sorted by distance within their block: what screening leaves of a near pair is then
nearly an interval. Where items are decided one by one a near pair is listed once for each piece.
"""

from dataclasses import dataclass, replace

import numpy as np

from skscreen._compiled import metric_learning as loops

# Least number of far places of a near pair for which they are kept in order of their distances and
# passes over its items look at few of them, if so many near pairs share each (see
# `_compiled/metric_learning/losses.hpp`).
SORT_FROM = (96, 32)


@dataclass(frozen=True)
class PairDistances:
    """Squared distances of near pairs and far places: margins, not yet subtracted."""

    near: np.ndarray  # (R,)
    far: np.ndarray  # (S,)
    # Bound on the rounding error of an embedded difference: a distance D is off by no more than
    # 2 sqrt(D) noise + noise^2, and a few eps of its own.
    noise: float


@dataclass(frozen=True)
class Items:
    """Which pairs are compared; see the picture above."""

    near: np.ndarray  # (R, 2) int32, near pairs as indices into the data
    far: np.ndarray  # (Q, 2) int32, far pairs
    places: np.ndarray | None  # (S,) far pair at each far place; None where place s has pair s
    blocks: np.ndarray  # (B + 1,) block b holds the far places blocks[b]:blocks[b + 1]
    start: np.ndarray  # (R,) the far places of each near pair are start:stop, within one block
    stop: np.ndarray
    base: np.ndarray  # (R,) items have the numbers base[p] + rank[s] in the full problem
    rank: np.ndarray  # (S,)
    # (R,) of the items of each near pair; None where all have that of the loss. With thresholds
    # every near pair has far places of its own, in the order of the near pairs.
    thresholds: np.ndarray | None = None
    # (R,) factors > 0 of losses, one for near pairs that share far places; None where all are 1.
    weights: np.ndarray | None = None

    @property
    def n_places(self) -> int:
        """Number of far places."""
        return self.rank.size

    @property
    def lengths(self) -> np.ndarray:
        """Number of items of each near pair, (R,)."""
        return self.stop - self.start

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.lengths.sum())

    @property
    def at_places(self) -> np.ndarray:
        """Far pair at each far place, (S, 2)."""
        return self.far if self.places is None else self.far[self.places]

    @property
    def has_long_ranges(self) -> bool:
        """Whether passes over the items are faster with places in order of their distances."""
        return bool(self.lengths.max(initial=0) >= SORT_FROM[0])

    @property
    def covered(self) -> np.ndarray:
        """Number of near pairs that are compared with each far place, (S,), as floats."""
        return _cover(self.start, self.stop, self.n_places)

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return near pair and far place of every item, (T,) each."""
        lengths = self.lengths
        near_pairs = np.repeat(np.arange(lengths.size), lengths)
        first = np.cumsum(lengths) - lengths
        return near_pairs, np.arange(near_pairs.size) + (self.start - first)[near_pairs]

    def numbers(self, near_pairs: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the numbers of listed items in the full problem."""
        return self.base[near_pairs] + self.rank[places]

    def pairs(self, near_pairs: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of the near and of the far pair of listed items, (m, 2) each."""
        far = places if self.places is None else self.places[places]
        return self.near[near_pairs], self.far[far]

    def place_weights(self) -> np.ndarray | None:
        """Return the weight of the items of each far place, (S,), that of its block."""
        if self.weights is None:
            return None
        of_blocks = np.zeros(self.blocks.size - 1)
        of_blocks[np.searchsorted(self.blocks, self.start, side="right") - 1] = self.weights
        return np.repeat(of_blocks, np.diff(self.blocks))

    def part(
        self, start: np.ndarray, stop: np.ndarray, near_pairs: np.ndarray | None = None
    ) -> tuple["Items", np.ndarray, np.ndarray]:
        """Keep places start[k]:stop[k] of near_pairs[k]; return near pairs and places left, too."""
        # A near pair may be named several times, with pieces of its far places, in their order.
        if near_pairs is None:
            near_pairs = np.flatnonzero(stop > start)
            start, stop = start[near_pairs], stop[near_pairs]
        else:
            # Rewritten below.
            start, stop = start.copy(), stop.copy()
        covered = _cover(start, stop, self.n_places)
        used = np.flatnonzero(covered)
        if self.places is None:
            far, places = self.far[used], None
        else:
            keep, places = np.unique(self.places[used], return_inverse=True)
            far, places = self.far[keep], places.astype(np.int32)
        blocks = self.blocks.copy()
        blocks = blocks[: loops.renumber_places(covered, blocks, start, stop)].copy()
        near, base, rank = self.near[near_pairs], self.base[near_pairs], self.rank[used]
        levels = (None if x is None else x[near_pairs] for x in (self.thresholds, self.weights))
        items = Items(near, far, places, blocks, start, stop, base, rank, *levels)
        return items, near_pairs, used

    def in_order(self, order: np.ndarray) -> "Items":
        """Return the same items with far places in another order within their blocks."""
        if self.places is None:
            return replace(self, far=self.far[order], rank=self.rank[order])
        return replace(self, places=self.places[order], rank=self.rank[order])


def _cover(start: np.ndarray, stop: np.ndarray, n_places: int) -> np.ndarray:
    out = np.zeros(n_places)
    loops.cover_places(start, stop, out)
    return out
