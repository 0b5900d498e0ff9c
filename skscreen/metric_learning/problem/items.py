"""Items: which near pair is compared with which far pairs.

Items are ranges, never lists. All near pairs of an anchor share its far places, a *block*, so that
memory grows with the pairs and not with the triplets. An anchor i with three near and four far
neighbours, 12 triplets:

    near pairs        start:stop      far places of the block of i, nearest first
                                         0       1       2       3
    p = 0  (i, j0)       0:4          (i, l0) (i, l1) (i, l2) (i, l3)
    p = 1  (i, j1)       0:4             *       *       *       *
    p = 2  (i, j2)       1:3             -       *       *       -     after screening

The item of near pair p at far place s compares the two; its number in the full problem is base[p] +
rank[s]. Far places are kept sorted by distance within their block: what screening leaves of a near
pair is then nearly an interval, which the reduced problem keeps. Where items are decided one by one
(`screening/paper/rules.py`) a near pair is listed once for each piece that is left.
"""

from dataclasses import dataclass, replace

import numpy as np

from skscreen.metric_learning.problem.pair_loops import cover, renumber_places


@dataclass(frozen=True)
class PairDistances:
    """Squared distances of near pairs and far places under one metric: margins not yet subtracted.

    `noise` bounds the rounding error of one embedded difference, so a distance D carries an
    error of at most 2 sqrt(D) noise + noise^2 (and a relative one of a few eps).
    """

    near: np.ndarray
    far: np.ndarray
    noise: float


@dataclass(frozen=True)
class Items:
    """Which pairs are compared; see the picture above.

    - near (R, 2), far (Q, 2): pairs, as indices into the data, int32;
    - places (S,): far pair at each far place; None where far place s is far pair s;
    - blocks (B + 1,): block b holds the far places blocks[b]:blocks[b + 1];
    - start, stop (R,): far places that each near pair is compared with, within one block;
    - base (R,), rank (S,): item number of near pair p at far place s in the full problem is
      base[p] + rank[s];
    - thresholds, weights (R,): thresholds of the margins of each near pair's items, and factors > 0
      of their losses; None where all have that of the loss, and weight 1.

    With thresholds every near pair has far places of its own, in the order of the near pairs; near
    pairs that share far places have one weight.
    """

    near: np.ndarray
    far: np.ndarray
    places: np.ndarray | None
    blocks: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    base: np.ndarray
    rank: np.ndarray
    thresholds: np.ndarray | None = None
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

    def listed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return near pair and far place of every item, (T,) each."""
        lengths = self.lengths
        rows = np.repeat(np.arange(lengths.size), lengths)
        first = np.cumsum(lengths) - lengths
        return rows, np.arange(rows.size) + (self.start - first)[rows]

    def pairs(self, rows: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of the near and of the far pair of listed items, (m, 2) each."""
        return self.near[rows], self.far[places if self.places is None else self.places[places]]

    def place_weights(self) -> np.ndarray | None:
        """Return the weight of the items of each far place, (S,), that of its block."""
        if self.weights is None:
            return None
        of_blocks = np.zeros(self.blocks.size - 1)
        of_blocks[np.searchsorted(self.blocks, self.start, side="right") - 1] = self.weights
        return np.repeat(of_blocks, np.diff(self.blocks))

    def kept(
        self, start: np.ndarray, stop: np.ndarray, rows: np.ndarray | None = None
    ) -> tuple["Items", np.ndarray, np.ndarray]:
        """Keep the far places start[k]:stop[k] of the k-th near pair, or of that named by rows[k].

        What nothing refers to any more goes; also returns the near pairs and far places left. A
        near pair may be named several times, with pieces of its far places, in their order.
        """
        if rows is None:
            rows = np.flatnonzero(stop > start)
            start, stop = start[rows], stop[rows]
        else:
            # Rewritten below.
            start, stop = start.copy(), stop.copy()
        covered = cover(start, stop, np.zeros(self.n_places))
        used = np.flatnonzero(covered)
        if self.places is None:
            far, places = self.far[used], None
        else:
            keep, places = np.unique(self.places[used], return_inverse=True)
            far, places = self.far[keep], places.astype(np.int32)
        blocks = renumber_places(covered, self.blocks, start, stop)
        levels = (self.thresholds, self.weights)
        return Items(
            self.near[rows], far, places, blocks, start, stop, self.base[rows], self.rank[used],
            *(None if part is None else part[rows] for part in levels),
        ), rows, used  # fmt: skip

    def in_order(self, order: np.ndarray) -> "Items":
        """Return the same items with far places in another order within their blocks."""
        far, places = self.far, self.places
        if places is None:
            far = far[order]
        else:
            places = places[order]
        return replace(self, far=far, places=places, rank=self.rank[order])
