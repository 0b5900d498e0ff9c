"""Compiled loops over pairs, rows and slots of comparisons (see `comparisons.py`)."""

import numpy as np

from skscreen.core.compiling import njit
from skscreen.core.decisions import hinge_slackness
from skscreen.core.floats import EPS, REORDER_FINITE
from skscreen.metric_learning.problem.losses import dual_variable, smoothed_value

# Largest number of slots for which blocks, which are nearly in order, are sorted by insertion.
_INSERTION = 64


@njit(cache=True, nogil=True)
def add_interval(coefficient, distances, noise, low, high):
    """Add an interval for a multiple of squared distances, given the noise of differences."""
    for p in range(distances.size):
        D = distances[p]
        error = abs(coefficient) * (noise * (2.0 * np.sqrt(D) + noise) + 16.0 * EPS * D)
        low[p] += coefficient * D - error
        high[p] += coefficient * D + error


@njit(cache=True, nogil=True)
def scale_columns(X, columns, factors, out):
    """Fill `out` with the given columns of X times their factors; columns beyond are zero."""
    for i in range(X.shape[0]):
        for c in range(columns.size):
            out[i, c] = factors[c] * X[i, columns[c]]
        for c in range(columns.size, out.shape[1]):
            out[i, c] = 0.0


@njit(inline="always")
def _four_alike(pairs, p):
    """Whether the four pairs from p on have one first point: its row is then read once for all."""
    a, beyond = pairs[p, 0], p + 4 > pairs.shape[0]
    return not beyond and pairs[p + 1, 0] == a and pairs[p + 2, 0] == a and pairs[p + 3, 0] == a


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def squared_distances(Z, pairs, out):
    """Squared Euclidean distances of pairs of rows of Z."""
    p = 0
    while p < pairs.shape[0]:
        a, b0 = pairs[p, 0], pairs[p, 1]
        if _four_alike(pairs, p):
            b1, b2, b3 = pairs[p + 1, 1], pairs[p + 2, 1], pairs[p + 3, 1]
            D0, D1, D2, D3 = 0.0, 0.0, 0.0, 0.0
            for k in range(Z.shape[1]):
                z = Z[a, k]
                D0 += (z - Z[b0, k]) ** 2
                D1 += (z - Z[b1, k]) ** 2
                D2 += (z - Z[b2, k]) ** 2
                D3 += (z - Z[b3, k]) ** 2
            out[p], out[p + 1], out[p + 2], out[p + 3] = D0, D1, D2, D3
            p += 4
        else:
            total = 0.0
            for k in range(Z.shape[1]):
                total += (Z[a, k] - Z[b0, k]) ** 2
            out[p] = total
            p += 1


@njit(cache=True, nogil=True)
def add_laplacian(X, pairs, weights, sign, out):
    """Add sign * L_w X, with L_w the Laplacian of the weighted pairs."""
    for p in range(pairs.shape[0]):
        if weights[p] != 0.0:
            a, b, weight = pairs[p, 0], pairs[p, 1], sign * weights[p]
            for k in range(X.shape[1]):
                step = weight * (X[a, k] - X[b, k])
                out[a, k] += step
                out[b, k] -= step


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def add_edges(X, pairs, weights, sign, degrees, out):
    """Add -2 sign * w x_b to the rows of out at the pairs' first points, and sign * w to degrees.

    Half the memory traffic of `add_laplacian`, for the same sum X' L_w X = X'(D - 2 W) X made
    symmetric; but it cancels where points are much nearer to each other than to the origin.
    """
    p = 0
    while p < pairs.shape[0]:
        a, b0, w0 = pairs[p, 0], pairs[p, 1], sign * weights[p]
        if _four_alike(pairs, p):
            b1, b2, b3 = pairs[p + 1, 1], pairs[p + 2, 1], pairs[p + 3, 1]
            w1, w2, w3 = sign * weights[p + 1], sign * weights[p + 2], sign * weights[p + 3]
            if w0 != 0.0 or w1 != 0.0 or w2 != 0.0 or w3 != 0.0:
                degrees[a] += (w0 + w1) + (w2 + w3)
                degrees[b0] += w0
                degrees[b1] += w1
                degrees[b2] += w2
                degrees[b3] += w3
                for k in range(X.shape[1]):
                    step = (w0 * X[b0, k] + w1 * X[b1, k]) + (w2 * X[b2, k] + w3 * X[b3, k])
                    out[a, k] -= 2.0 * step
            p += 4
        else:
            if w0 != 0.0:
                degrees[a] += w0
                degrees[b0] += w0
                for k in range(X.shape[1]):
                    out[a, k] -= 2.0 * (w0 * X[b0, k])
            p += 1


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def add_scaled_rows(X, scales, out):
    """Add a multiple of each row of X."""
    for i in range(X.shape[0]):
        scale = scales[i]
        for k in range(X.shape[1]):
            out[i, k] += scale * X[i, k]


@njit(cache=True, nogil=True)
def add_weighted_squares(X, pairs, weights, out):
    """Add the weighted sum of squared differences, feature by feature."""
    for p in range(pairs.shape[0]):
        if weights[p] != 0.0:
            a, b, weight = pairs[p, 0], pairs[p, 1], weights[p]
            for k in range(X.shape[1]):
                out[k] += weight * (X[a, k] - X[b, k]) ** 2


@njit(cache=True, nogil=True)
def pair_sizes(X, pairs, diagonal, out):
    """|u u'| = |u|^2 for every pair difference u, or |u * u| for a diagonal metric; rounded up."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        square, fourth = 0.0, 0.0
        for k in range(X.shape[1]):
            u = (X[a, k] - X[b, k]) ** 2
            square += u
            fourth += u * u
        out[p] = (np.sqrt(fourth) if diagonal else square) * (1.0 + 1e-12)


@njit(cache=True, nogil=True)
def row_and_frobenius_norms(X):
    """Largest row norm and Frobenius norm."""
    largest, total = 0.0, 0.0
    for i in range(X.shape[0]):
        square = 0.0
        for k in range(X.shape[1]):
            square += X[i, k] ** 2
        largest = max(largest, square)
        total += square
    return np.sqrt(largest), np.sqrt(total)


@njit(cache=True, nogil=True)
def cover(start, stop, cover):
    """Add to `cover` the number of rows that are compared with each slot."""
    for p in range(start.size):
        cover[start[p]] += 1.0
        if stop[p] < cover.size:
            cover[stop[p]] -= 1.0
    for s in range(1, cover.size):
        cover[s] += cover[s - 1]
    return cover


@njit(cache=True, nogil=True)
def renumber_slots(cover, blocks, start, stop):
    """Rewrite ranges in terms of the covered slots; return the blocks that are left."""
    position = np.empty(cover.size + 1, dtype=np.int64)
    position[0] = 0
    for s in range(cover.size):
        position[s + 1] = position[s] + (cover[s] > 0.0)
    for p in range(start.size):
        start[p], stop[p] = position[start[p]], position[stop[p]]
    left = np.empty(blocks.size, dtype=np.int64)
    left[0], count = 0, 1
    for b in range(1, blocks.size):
        end = position[blocks[b]]
        if end > left[count - 1]:
            left[count] = end
            count += 1
    return left[:count]


@njit(cache=True, nogil=True)
def used_points(n, near, far):
    """Return which rows of data pairs use."""
    used = np.zeros(n, dtype=np.bool_)
    for pairs in (near, far):
        for p in range(pairs.shape[0]):
            used[pairs[p, 0]] = True
            used[pairs[p, 1]] = True
    return used


@njit(cache=True, nogil=True)
def renumber_points(points, n, near, far):
    """Rewrite pairs in terms of the given rows of data."""
    position = np.empty(n, dtype=np.int32)
    for i in range(points.size):
        position[points[i]] = i
    for pairs in (near, far):
        for p in range(pairs.shape[0]):
            pairs[p, 0], pairs[p, 1] = position[pairs[p, 0]], position[pairs[p, 1]]


@njit(cache=True, nogil=True)
def sort_blocks(blocks, distances, order):
    """Fill in the order of distances within blocks, unless nearly nothing is out of order."""
    descents = 0
    for b in range(blocks.size - 1):
        for s in range(blocks[b] + 1, blocks[b + 1]):
            descents += distances[s - 1] > distances[s]
    if descents <= 0.02 * distances.size:
        return False
    for b in range(blocks.size - 1):
        first, last = blocks[b], blocks[b + 1]
        if last - first > _INSERTION:
            _merge_sort(distances, first, last, order)
            continue
        for s in range(first, last):
            at = s
            while at > first and distances[order[at - 1]] > distances[s]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = s
    return True


@njit(cache=True, nogil=True)
def _merge_sort(distances, first, last, order):
    """Fill in the order of distances[first:last]; np.argsort takes seconds to compile."""
    size = last - first
    source, target = np.arange(first, last), np.empty(size, np.int64)
    width = 1
    while width < size:
        for low in range(0, size, 2 * width):
            middle, high = min(low + width, size), min(low + 2 * width, size)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or distances[source[i]] <= distances[source[j]]):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    for k in range(size):
        order[first + k] = source[k]


# Slices and loops from zero below: numba vectorises only loops whose indices it knows to be
# non-negative and whose arrays it knows not to overlap.


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def loss_pass(start, stop, near_d, far_d, thresholds, gamma, scales, row_weights, slot_weights):
    """Sum of smoothed hinge losses, each row's times its scale.

    Fills row weights and adds to slot weights, both without the scales.
    """
    total = 0.0
    width_inverse = 1.0 / gamma
    for p in range(near_d.size):
        level = thresholds[p] + near_d[p]
        D, weights = far_d[start[p] : stop[p]], slot_weights[start[p] : stop[p]]
        weight, value = 0.0, 0.0
        for s in range(stop[p] - start[p]):
            z = level - D[s]
            alpha = dual_variable(z, width_inverse)
            value += smoothed_value(z, alpha, gamma)
            weight += alpha
            weights[s] += alpha
        row_weights[p] = weight
        total += scales[p] * value
    return total


@njit(cache=True, nogil=True)
def proximal_pass(
    start, stop, base, rank, near_d, far_d, noise, thresholds, gamma, scales, width, centre,
    alphas, row_weights, slot_weights,
):  # fmt: skip
    """Return the sums of `Comparisons.proximal_loss`; fills alphas, adds to the weights.

    The sums count each row's items times its scale, the weights do not.
    """
    smoothed, true, gap, error = 0.0, 0.0, 0.0, 0.0
    width_inverse = 1.0 / (gamma + width)
    for p in range(near_d.size):
        level, scale = thresholds[p] + near_d[p], scales[p]
        for s in range(start[p], stop[p]):
            z = level - far_d[s]
            t = base[p] + rank[s]
            alpha = dual_variable(z + width * centre[t], width_inverse)
            # Without the constant width/2 centre^2, so that alpha = 0 contributes nothing.
            value = smoothed_value(z, alpha, gamma)
            smoothed += scale * (value + width * alpha * (centre[t] - 0.5 * alpha))
            slack = hinge_slackness(z, alpha, 1.0, gamma)
            true += scale * (value + slack)
            gap += scale * slack
            if slack > 0.0:
                size = near_d[p] + far_d[s]
                rounding = size + abs(thresholds[p])
                error += scale * (16.0 * EPS * rounding + 4.0 * noise * np.sqrt(size))
            alphas[t] = alpha
            row_weights[p] += alpha
            slot_weights[s] += alpha
    return smoothed, true, gap, error


@njit(cache=True, nogil=True, fastmath=REORDER_FINITE)
def largest_ratio(start, stop, near_d, far_d, reaches):
    """Largest ratio of an item's margin to the reach of its row, of either sign."""
    largest, nearest, farthest, first, last = -np.inf, 0.0, 0.0, 0, 0
    for p in range(near_d.size):
        if start[p] == stop[p]:
            continue
        # Rows with the same slots mostly follow each other.
        if start[p] != first or stop[p] != last:
            first, last = start[p], stop[p]
            nearest, farthest = np.inf, -np.inf
            for s in range(first, last):
                nearest, farthest = min(nearest, far_d[s]), max(farthest, far_d[s])
        extreme = farthest if reaches[p] > 0.0 else nearest
        largest = max(largest, (extreme - near_d[p]) / reaches[p])
    return largest
