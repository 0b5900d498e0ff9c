"""Compiled loops over pairs of points and far places of comparisons (see `comparisons.py`).

Pairs are of shape (P, 2), int32; rows of a matrix are data. Loops fill or add to their last arrays.

The pass in order of distance looks at few items where the far places are nearly in order. Near
pairs that share far places have one threshold and weight one (see `Items`). For one with level
c = threshold + distance, far places at distances u < c - width have alpha = 1 and those at u > c
have alpha = 0. They are stored in the order of their distances at the last reference. Running
extremes over them tell, by bisection, up to where all are of the first kind and from where on all
are of the second: the former need only their number and the sum of their distances (a difference of
prefix sums), the latter nothing, and what is left in between is looked at item by item. The less
the order has changed since, the less that is; with the right order it is the quadratic piece. So m
near pairs and k far places cost O(k + m log k) and the items in between instead of m k, whatever
their ranges.

Dual variables are those of `loss_pass` item by item: no rounding error of the prefix sums enters
them or their sums, only the value has one, and its bound is returned.
"""

import numpy as np

from skscreen._compiled import metric_learning as loops

# Least number of far places of a near pair for bisection, and of items per far place for keeping
# extremes.
SORT_FROM = (96, 32)

add_interval = loops.add_interval
"""(coefficient, distances, noise, low, high): add intervals of a multiple of squared distances.

`noise` is that of a difference.
"""

scale_columns = loops.scale_columns
"""(X, columns, factors, out): the columns of X times their factors, zeros beyond."""

squared_distances = loops.squared_distances
"""(Z, pairs, out (P,)): squared Euclidean distances of pairs of rows."""

add_laplacian = loops.add_laplacian
"""(X, pairs, weights, sign, out (n, d)): add sign * L_w X, L_w the Laplacian of weighted pairs."""

add_edges = loops.add_edges
"""(X, pairs, weights, sign, degrees (n,), out (n, d)): what of `add_laplacian` is in rows a.

Adds -2 sign * w x_b to the rows of `out` at the pairs' first points, and sign * w to degrees.
"""

add_scaled_rows = loops.add_scaled_rows
"""(X, scales (n,), out (n, d)): add a multiple of each row."""

add_weighted_squares = loops.add_weighted_squares
"""(X, pairs, weights, out (d,)): add the weighted sum of squared differences by feature."""

pair_sizes = loops.pair_sizes
"""(X, pairs, diagonal, out): |u|^2 of each difference u, or |u * u|; rounded up."""

row_and_frobenius_norms = loops.row_and_frobenius_norms
"""X -> largest row norm, Frobenius norm."""

sort_blocks = loops.sort_blocks
"""(blocks, distances, order) -> whether `order` was filled: not if nearly nothing is out of it."""

loss_pass = loops.loss_pass
"""Sum of losses, those of a near pair times its scale.

(start, stop, near_d, far_d, thresholds, width, most, scales, near_weights, place_weights); row
weights are filled, place weights added to, both without the scales.
"""

sorted_loss_pass = loops.sorted_loss_pass
"""Like `loss_pass`, with `SORT_FROM` behind -> value, bound on its rounding error."""

proximal_pass = loops.proximal_pass
"""The sums of `Comparisons.proximal_loss`; fills alphas unless None, adds to the weights.

(start, stop, base, rank, near_d, far_d, noise, thresholds, width, scales, width, centre, alphas,
near_weights, place_weights). The sums count items times the scale of
their near pair, the weights do not.
"""

largest_ratio = loops.largest_ratio
"""(start, stop, near_d, far_d, reaches) -> largest ratio of a margin to its near pair's reach."""


def cover(start: np.ndarray, stop: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Add to `out` how many near pairs are compared with each far place, and return it."""
    loops.cover_places(start, stop, out)
    return out


def renumber_places(cover, blocks, start, stop) -> np.ndarray:
    """Rewrite ranges in terms of the covered places; return the blocks that are left."""
    left = blocks.copy()
    return left[: loops.renumber_places(cover, left, start, stop)].copy()


def used_points(n: int, near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Return which rows of data pairs use."""
    used = np.zeros(n, dtype=np.bool_)
    loops.mark_points(near, used)
    loops.mark_points(far, used)
    return used


renumber_points = loops.renumber_points
"""(points, n, near, far): rewrite pairs in terms of the given rows of n rows of data."""
