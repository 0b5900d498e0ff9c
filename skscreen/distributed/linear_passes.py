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

Sums are in double precision, also for rows in single precision; only second derivatives, which
steer steps but certify nothing, are in that of the rows.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from skscreen.core.threads import blas_threads_for
from skscreen.distributed.rows import Block

# Lengths of a step at which a pass also finds the slope of the objective, in case 1 is too long.
LENGTHS = np.concatenate([[0.0], np.geomspace(0.01, 1.0, 9)])

# Rows that are worked on together: they stay in cache with what is computed of them.
_TOGETHER = 8192


@dataclass(frozen=True)
class Task:
    """What a pass computes, for some of the problems.

    Parameters
    ----------
    columns : ndarray of int, shape (n,)
        Positions of these problems among all.
    positive : ndarray of int, shape (n,)
        Code of the class against the rest.
    taken : ndarray of bool, shape (n,)
        Whether a new step begins where the last pass was.
    moved : ndarray of bool, shape (n,)
        Whether the dual factors of the last pass become the base.
    widths, next_widths : ndarray of shape (n,) or None
        Of the smoothed hinge, and of that of "next"; None for the squared hinge.
    scale : float
        B, entry of every row for the intercept; 0 for none.
    n_problems : int
        Number of all problems.
    with_matrix : bool
        Whether second derivatives are summed up as matrices; else their diagonal, and factors of
        rows are kept for products.
    """

    columns: np.ndarray
    positive: np.ndarray
    taken: np.ndarray
    moved: np.ndarray
    widths: np.ndarray | None
    next_widths: np.ndarray | None
    scale: float
    n_problems: int
    with_matrix: bool


@dataclass
class Sums:
    """Sums over rows for each of n problems."""

    loss: np.ndarray  # (n,) losses
    smooth: np.ndarray  # (n,) what Newton's method sees: losses, smoothed for the hinge
    slack: np.ndarray  # (n,) loss - a h for the hinge, 0 for the squared one
    gradient: np.ndarray  # (D, n) of a y (x, B)
    curvature: np.ndarray  # (n, D, D), lower triangles, or (n, D)
    slopes: np.ndarray  # (lengths, n) of smooth along the step that ended here

    @classmethod
    def empty(cls, n: int, width: int, with_matrix: bool) -> Self:
        """Return zeros."""
        curvature = np.zeros((n, width, width) if with_matrix else (n, width))
        slopes = np.zeros((LENGTHS.size, n))
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((width, n)), curvature, slopes)

    def add(self, other: Self) -> None:
        """Add the sums of other rows."""
        for name, values in vars(self).items():
            values += getattr(other, name)


class Kept(NamedTuple):
    """What stays on the worker: of all problems base and dual factors, (n, all) or None.

    And the factors of second derivatives of the problems of this pass, (n, some), in each variant;
    and h of all problems, in single precision, where their steps began and at the end of this pass.
    """

    base: np.ndarray | None
    factors: np.ndarray | None
    seconds: list[np.ndarray]
    before: np.ndarray
    here: np.ndarray


def linear_pass(
    block: Block, last: Kept | None, W: np.ndarray, task: Task
) -> tuple[list[Sums], Kept]:
    """Return the sums of a block at the weights W (D, n): here, and for the hinge next.

    `last` is what the block kept of the pass before; without, the base is 1/2.
    """
    (n, d), n_some = block.rows.shape, W.shape[1]
    hinge = task.widths is not None
    variants = 1 + hinge
    shape = (n_some, d + (task.scale > 0.0), task.with_matrix)
    sums = [Sums.empty(*shape) for _ in range(variants)]
    seconds = [] if task.with_matrix else [np.empty((n, n_some)) for _ in range(variants)]
    base, factors = _bases(n, last, task) if hinge else (None, None)
    before, here_h = _margins_of_steps(n, last, task)
    with blas_threads_for(d):
        for first in range(0, n, _TOGETHER):
            part = slice(first, first + _TOGETHER)
            rows, weights = block.rows[part], block.weights[part, None]
            wide = _double(rows)
            signs = np.where(block.codes[part, None] == task.positive, 1.0, -1.0)
            h = 1.0 - signs * _scores(wide, W, task.scale)
            here_h[part, task.columns] = h
            own = base[part][:, task.columns] if hinge else None
            start = before[part][:, task.columns]
            _add_slopes(start, h - start, own, task.widths, weights, sums[0].slopes)
            if hinge:
                here = _smoothed_hinge(h, own, task.widths, weights, sums[0])
                factors[part, task.columns] = here[0]
                found = [here, _smoothed_hinge(h, here[0], task.next_widths, weights, sums[1])]
            else:
                found = [_squared_hinge(h, weights, sums[0])]
            for k, (a, second) in enumerate(found):
                _add_transposed(wide, signs * weights * a, task.scale, sums[k].gradient)
                if task.with_matrix:
                    _add_matrices(rows, second, task.scale, sums[k].curvature)
                else:
                    seconds[k][part] = second
                    _add_diagonals(wide, second, task.scale, sums[k].curvature)
    return sums, Kept(base, factors, seconds, before, here_h)


def _bases(n: int, last: Kept | None, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return base and room for dual factors, (n, all problems)."""
    if last is None:
        base = np.full((n, task.n_problems), 0.5)
    elif task.moved.any():
        base = last.base.copy()
        columns = task.columns[task.moved]
        base[:, columns] = last.factors[:, columns]
    else:
        base = last.base
    return base, np.zeros_like(base)


def _margins_of_steps(n: int, last: Kept | None, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return h where steps began, and room for h here, (n, all problems)."""
    if last is None:
        return np.zeros((2, n, task.n_problems), np.float32)
    before, columns = last.before, task.columns[task.taken]
    if columns.size:
        before = before.copy()
        before[:, columns] = last.here[:, columns]
    return before, np.zeros_like(before)


def _add_slopes(h, change, base, widths, weights, out: np.ndarray) -> None:
    """Add the slopes of the losses along the step, at all lengths; (rows, n) each."""
    weighted = weights * change
    for k, length in enumerate(LENGTHS):
        there = h + length * change
        a = (
            2.0 * np.maximum(there, 0.0)
            if base is None
            else np.clip(base + there / widths, 0.0, 1.0)
        )
        out[k] += (weighted * a).sum(axis=0)


def linear_sums(result: tuple[list[Sums], Kept]) -> list[Sums]:
    """Return what the driver needs of a pass."""
    return result[0]


def linear_kept(result: tuple[list[Sums], Kept]) -> Kept:
    """Return what stays on the worker."""
    return result[1]


def linear_product(
    block: Block, kept: Kept, V: np.ndarray, variants: np.ndarray, scale: float
) -> np.ndarray:
    """Return sum_i second_i (x, B) <(x, B), v> for the column v (D,) of each problem."""
    second = np.where(variants, kept.seconds[-1], kept.seconds[0])
    out = np.zeros_like(V)
    for first in range(0, block.rows.shape[0], _TOGETHER):
        part = slice(first, first + _TOGETHER)
        rows = _double(block.rows[part])
        _add_transposed(rows, second[part] * _scores(rows, V, scale), scale, out)
    return out


def _double(rows):
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)


def _scores(rows, W: np.ndarray, scale: float) -> np.ndarray:
    """Return <w, (x, B)> of all rows and problems, (n, n_problems)."""
    scores = rows @ W[: rows.shape[1]]
    if scale:
        scores += scale * W[-1]
    return scores


def _squared_hinge(h, weights, sums: Sums):
    """Add losses; return the factors a and the weighted second derivatives, both (rows, n)."""
    short = np.maximum(h, 0.0)
    sums.loss += (weights * short * short).sum(axis=0)
    sums.smooth[:] = sums.loss
    return 2.0 * short, 2.0 * weights * (h > 0.0)


def _smoothed_hinge(h, base, widths, weights, sums: Sums):
    """Add losses; return the factors a and the weighted second derivatives, both (rows, n)."""
    free = base + h / widths
    a = np.clip(free, 0.0, 1.0)
    loss, product = np.maximum(h, 0.0), a * h
    sums.loss += (weights * loss).sum(axis=0)
    sums.smooth += (weights * (product - 0.5 * widths * (a - base) ** 2)).sum(axis=0)
    sums.slack += (weights * (loss - product)).sum(axis=0)
    return a, (weights / widths) * (a == free)


def _add_transposed(rows, scales: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Add sum_i scales_i (x_i, B), for each column of scales."""
    out[: rows.shape[1]] += rows.T @ scales
    if scale:
        out[-1] += scale * scales.sum(axis=0)


def _add_matrices(rows, second: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Add sum_i second_i (x_i, B)(x_i, B)' for each column."""
    d = rows.shape[1]
    for p in range(second.shape[1]):
        inside = np.flatnonzero(second[:, p])
        some, factors = rows[inside], second[inside, p]
        if sparse.issparse(some):
            out[p, :d, :d] += (some.multiply(factors[:, None]).T @ some).toarray()
        else:
            scaled = some * np.sqrt(factors).astype(some.dtype)[:, None]
            out[p, :d, :d] += scaled.T @ scaled
        if scale:
            out[p, -1, :d] += scale * (some.T @ factors.astype(some.dtype))
            out[p, -1, -1] += scale * scale * factors.sum()


def _add_diagonals(rows, second: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Add the diagonals of these sums."""
    squares = rows.power(2) if sparse.issparse(rows) else np.square(rows)
    out[:, : rows.shape[1]] += (squares.T @ second).T
    if scale:
        out[:, -1] += scale * scale * second.sum(axis=0)
