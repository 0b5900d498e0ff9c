"""One pass over the rows of a block: sums for Newton's method on linear large-margin problems.

A problem is a class against the rest. With scores f_i = <w, (x_i, B)>, y_i = +-1 and
h_i = 1 - y_i f_i, a pass at w returns sums of s_i times

- squared hinge: the loss max(0, h)^2 and its derivatives, of the factor a = 2 max(0, h);
- hinge: the loss max(0, h), and those of its smoothed version

      phi(h) = max_{0 <= a <= 1}  a h - width/2 (a - base)^2,    a = clip(base + h / width, 0, 1),

  where `base` are the dual factors of the last proximal step, one for each row and problem, which
  stay on the worker. A pass returns two such sums: "here", and "next", of a proximal step that
  begins at w with base = a and another width. So the driver can go on with either, without a pass
  in between.

Sums in double precision, also for rows in single precision; only second derivatives of dense
rows, which steer steps but certify nothing, are in that of the rows. Loops are compiled and write
into arrays that are there already: workers of Dask give freed memory back at once, so that new
arrays for every few rows would take longer than the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from skscreen._compiled import distributed as loops
from skscreen._compiled import samples as row_loops
from skscreen.core.threads import blas_threads_for
from skscreen.distributed.rows import Block
from skscreen.samples.rows import flat_rows

# Lengths of a step at which a pass also finds the slope of the objective, in case 1 is too long.
LENGTHS = np.concatenate([[0.0], np.geomspace(0.01, 1.0, 9)])


@dataclass(frozen=True)
class PassRequest:
    """What a pass computes, for n of the problems."""

    columns: np.ndarray  # (n,) positions of these problems among all
    positive: np.ndarray  # (n,) code of the class against the rest
    taken: np.ndarray  # (n,) whether a new step begins where the last pass was
    moved: np.ndarray  # (n,) whether the dual factors of the last pass become the base
    widths: np.ndarray  # (n, 2) of the smoothed hinge, here and next; (n, 0) for the squared one
    scale: float  # B, entry of every row for the intercept; 0 for none
    # Whether second derivatives are summed up as matrices; else their diagonal, and factors of rows
    # are kept for products.
    with_matrix: bool


@dataclass
class RowSums:
    """Sums over rows for each of n problems."""

    loss: np.ndarray  # (n,) losses
    smooth: np.ndarray  # (n,) what Newton's method sees: losses, smoothed for the hinge
    slack: np.ndarray  # (n,) loss - a h for the hinge, 0 for the squared one
    gradient: np.ndarray  # (n, D) of a y (x, B)
    curvature: np.ndarray  # (n, D, D), lower triangles, or (n, D)
    slopes: np.ndarray  # (n, lengths) of smooth along the step that ended here; 0 for "next"

    def add(self, other: Self) -> None:
        """Add the sums of other rows."""
        for name, values in vars(self).items():
            values += getattr(other, name)


class Kept(NamedTuple):
    """What stays on the worker of a problem, for each of the n rows of a block."""

    base: np.ndarray  # (n,), (0,) for the squared hinge
    factors: np.ndarray  # (n,), the base of "next"; (0,) for the squared hinge
    before: np.ndarray  # (n,) h where the step began, in single precision
    here: np.ndarray  # (n,) h at the end of this pass
    seconds: np.ndarray  # (variants, n) second derivatives, if products with them are asked for


# What a pass returns: sums, here and for the hinge next; what is kept, by position among all.
Passed = tuple[list[RowSums], dict[int, Kept]]


def linear_pass(block: Block, W: np.ndarray, request: PassRequest, last: Passed | None) -> Passed:
    """Return the sums of a block at the weights W (n, D), and what is kept of its rows."""
    # Without a pass before, the base is 1/2.
    n, (n_some, width) = block.rows.shape[0], W.shape
    n_variants = max(request.widths.shape[1], 1)
    # Rows that stay in cache are worked on together, but enough of them to outweigh an addition of
    # matrices. Where no matrices are made, factors of all rows are kept.
    step = min(max(2**16 // width, 512), n) if request.with_matrix else n
    kept = {
        column: _begin(n, (n_variants, step), request, k, last and last[1][column])
        for k, column in enumerate(request.columns.tolist())
    }
    values, gradients = np.zeros((n_some, n_variants, 3)), np.zeros((n_some, n_variants, width))
    curvature = np.zeros((n_some, n_variants, width, *([width] if request.with_matrix else [])))
    slopes = np.zeros((n_some, n_variants, LENGTHS.size))
    rows, room, dtype = flat_rows(block.rows), None, block.rows.dtype
    if request.with_matrix and not sparse.issparse(block.rows):
        room = np.empty((step, width), dtype), np.empty((width, width), dtype)
    weights = [block.weights_of(code) for code in request.positive.tolist()]
    with blas_threads_for(width):
        for first in range(0, n, max(step, 1)):
            part = first, min(first + step, n)
            for k, own in enumerate(kept.values()):
                loops.linear_losses(
                    rows, *part, (W[k], request.scale, request.positive[k], request.widths[k]),
                    (block.codes, weights[k], own.base, own.before),
                    (own.here, own.factors, own.seconds),
                    (values[k], gradients[k], LENGTHS, slopes[k, 0]),
                )  # fmt: skip
                for second, out in zip(own.seconds, curvature[k], strict=True):
                    _add_curvature(rows, part, second, request.scale, room, out)
    return [
        RowSums(
            values[:, v, 0], values[:, v, 1], values[:, v, 2], gradients[:, v], curvature[:, v],
            slopes[:, v],
        )
        for v in range(n_variants)
    ], kept  # fmt: skip


def _begin(n: int, shape: tuple[int, int], request: PassRequest, k: int, last: Kept | None) -> Kept:
    """Return base and margins where a step begins, and room for what a pass finds."""
    size = n if request.widths.size else 0
    if last is None:
        base, before = np.full(size, 0.5), np.zeros(n, np.float32)
    else:
        base = last.factors if request.moved[k] else last.base
        before = last.here if request.taken[k] else last.before
    return Kept(base, np.empty(size), before, np.empty(n, np.float32), np.empty(shape))


def _add_curvature(
    rows: object, part: tuple[int, int], second: np.ndarray, scale: float,
    room: tuple[np.ndarray, np.ndarray] | None, out: np.ndarray,
) -> None:  # fmt: skip
    """Add sum_i second_i (x_i, B)(x_i, B)' over rows first, ..., stop - 1, or its diagonal (D,)."""
    if out.ndim == 1:
        loops.add_squares(rows, scale, second, out)
    elif room is None:
        inside = np.flatnonzero(second[: part[1] - part[0]])
        row_loops.add_products(rows, scale, inside + part[0], second[inside], out)
    else:
        roots, product = room
        roots = roots[: loops.root_rows(rows, *part, scale, second, roots)]
        out += np.matmul(roots.T, roots, out=product)


def linear_product(
    block: Block, V: np.ndarray, variants: np.ndarray, scale: float, passed: Passed
) -> np.ndarray:
    """Return sum_i second_i (x, B) <(x, B), v> (n, D) for the row v of V (n, D) of each problem."""
    rows, out = flat_rows(block.rows), np.zeros_like(V)
    for own, v, variant, into in zip(passed[1].values(), V, variants, out, strict=True):
        loops.add_curved(rows, scale, own.seconds[int(variant)], v, into)
    return out
