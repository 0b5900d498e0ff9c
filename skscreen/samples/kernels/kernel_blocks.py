"""Weighted sums of kernel values in tiles: computed in the processor's cache, used once, forgotten.

The exponent of an RBF kernel to the base 2, -(gamma / ln 2) |x - z|^2, is one inner product of
augmented rows, (a, -|a|^2, 1) . (2 a', 1, -|a'|^2) with a = x sqrt(gamma / ln 2): a product of
matrices gives a tile of exponents, and a compiled pass raises 2 to them and adds them up. In single
precision this is several times faster than the kernel matrix in double precision, and what is
computed never leaves the cache.

Every sum comes with a bound on its error, see "Kernel values in tiles" in doc/maths/svm.md: entries
of a tile have relative errors of a few units of rounding errors times |a|^2 + |a'|^2, and rows of a
tile have weights of one sign, so that its sum is that of the absolute values too. Rows far from the
centre take part in double precision; rows so far that double precision loses digits too, by their
differences, and next to rows near the centre they count nothing.

Rows of few features, or mostly zero off the centre, need no products of matrices, which are slow
for them. They meet a few hundred columns, which stand transposed in cache: each entry of a row adds
a multiple of one of their rows to -|a - b|^2, a loop that vectorises, and powers of two go into the
sums at once. Zeros are left out; of rows of a few features four share what they read.
Polynomial kernels have tiles of their own: see `poly_blocks`. Other kernels are computed in double
precision throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from skscreen._compiled import samples as loops
from skscreen.core.checks import Matrix
from skscreen.core.floats import EPS
from skscreen.core.threads import in_threads

# Rows and columns of a tile: a megabyte, which stays in the second-level cache.
_TILE, _TILE_DOUBLE = 512, 256

# Features of a part of an inner product: what is added up in one product of matrices.
_PART = 128

# Units of rounding errors.
UNIT, UNIT_SINGLE = 0.5 * EPS, 0.5 * float(np.finfo(np.float32).eps)

# In units: relative errors of a power of two and of the sum of a tile.
_POWER_AND_SUM = 32.0
# Errors of an exponent, by the number of features, times ln 2 (|a|^2 + |a'|^2): of products of
# matrices in single and in double precision.
_EXPONENT, _EXPONENT_SINGLE = (3.0, 24.0), (2.0, 16.0)
# The same in single precision, by the number of groups of four features.
_EXPONENT_IN_GROUPS = (2.0, 9.0)
# Products of errors with each other.
SECOND_ORDER = 1.05


# How far a sample is from the centre.
NEAR, FAR, VERY_FAR = 0, 1, 2


class RBFRows:
    """Samples X (n, d) of an RBF kernel, minus a centre (d,), as dense rows for tiles."""

    def __init__(self, X, gamma: float, centre: np.ndarray | None = None):
        X = X.toarray() if sparse.issparse(X) else X
        self.n, self.d = X.shape
        # The median, of a thousand rows, is not moved by outliers. Two sets of rows need the same
        # centre.
        self.centre = np.median(X[:: -(-self.n // 1000)], axis=0) if centre is None else centre
        d, self._double = self.d, np.empty((self.n, self.d + 2))
        rows = self._double[:, :d]
        np.subtract(X, self.centre, out=rows)
        rows *= np.sqrt(gamma) / np.sqrt(np.log(2.0))
        squares = np.einsum("ij,ij->i", rows, rows)
        self._double[:, d], self._double[:, d + 1] = 1.0, -squares
        # Those that take part in double precision, and those by differences.
        self.squares, self.far, self.very_far = squares, squares > 20.0, squares > 1e3
        self.any_far, self._kind = bool(self.far.any()), self.far.astype(np.int8) + self.very_far
        # Entries of each row that are not zero.
        self._terms = np.count_nonzero(rows, axis=1)
        self._single = np.empty((self.n, d + 4), np.float32)
        self._single[:, :d] = np.where(self.very_far[:, None], 0.0, rows) if self.any_far else rows
        rounded = self._single[:, :d].astype(np.float64)
        whole = -np.einsum("ij,ij->i", rounded, rounded)
        high = whole.astype(np.float32)
        low = (whole - high).astype(np.float32)
        self._single[:, d : d + 2] = 1.0
        self._single[:, d + 2], self._single[:, d + 3] = high, low
        # The rows in single and in double precision, where there are few entries in a row.
        self.tiles = tile_rows(
            self._terms, (self._single[:, :d], high, low), (rows, -squares, np.zeros(self.n))
        )
        # Whether products leave out zeros.
        self.is_sparse = self.tiles is not None and self.tiles[0].is_sparse

    def exponent_errors(self, index: np.ndarray, double: bool, in_groups: bool) -> np.ndarray:
        """Return errors of exponents of rows in units times |a|^2 + |b|^2, times ln 2."""
        each, constant = _EXPONENT if double else _EXPONENT_SINGLE
        terms = np.full(index.size, self.d) if double else self._terms[index]
        if in_groups and not double and self.tiles is not None:
            (each, constant), terms = _EXPONENT_IN_GROUPS, self.tiles[0].groups[index]
        return np.log(2.0) * (each * terms + constant)

    def relative_errors(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return r, values of blocks have relative errors of r_i + r_j; inf if very far."""
        unit, terms = UNIT if double else UNIT_SINGLE, self._terms[index]
        # Products of rows that are not sparse are summed up in parts.
        terms = terms if self.is_sparse else np.minimum(terms, parted(self.d))
        single = np.log(2.0) * (_EXPONENT_SINGLE[0] * terms + _EXPONENT_SINGLE[1])
        exponents = np.where(
            self.far[index] | double,
            UNIT * self.exponent_errors(index, True, False),
            unit * single,
        )
        errors = 0.5 * unit * _POWER_AND_SUM + exponents * self.squares[index]
        return np.where(self.very_far[index], np.inf, SECOND_ORDER * errors)

    def kinds(self, index: np.ndarray) -> list[tuple[int, np.ndarray | slice]]:
        """Return how far from the centre samples are, and which ones of them."""
        kind = self._kind[index] if self.any_far else self._kind[:0]
        nearest = int(kind.min(initial=VERY_FAR)) if kind.size else NEAR
        farthest = int(kind.max(initial=NEAR))
        if nearest == farthest:
            return [(nearest, slice(None))]
        some = ((which, np.flatnonzero(kind == which)) for which in (NEAR, FAR, VERY_FAR))
        return [(which, places) for which, places in some if places.size]

    def right(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return augmented rows for the right side of a product, of the most rows."""
        return (self._double if double else self._single)[index]

    def left(self, index: np.ndarray, double: bool) -> np.ndarray:
        """Return augmented rows for the left side of a product."""
        out, d = self.right(index, double), self.d
        k = (out.shape[1] - d) // 2
        out[:, d : d + k] = out[:, d + k :]
        out[:, d + k :] = 1.0
        out[:, :d] *= out.dtype.type(2.0)
        return out


@dataclass(frozen=True)
class TileRows:
    """Rows a in one precision, each filled up with zeros to a multiple of four entries."""

    # indptr, columns, values as in CSR, without columns where all rows have all features; -|a|^2
    # (n,), and what of it does not fit into that.
    arrays: tuple[np.ndarray, ...]
    d: int  # a multiple of four
    width: int  # columns at a time
    groups: np.ndarray  # (n,), groups of four entries, which are added up one after the other
    is_sparse: bool  # whether zeros are left out


def tile_rows(
    counts: np.ndarray, *parts: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> list[TileRows] | None:
    """Return rows in several precisions, None where products of matrices are faster.

    `counts` (n,) are the entries of each row that are not zero; a part are rows (n, d) in one
    precision, of the most precise one last, and -|a|^2 in two numbers.
    """
    rows, (n, d) = parts[-1][0], parts[-1][0].shape
    is_sparse = bool(counts.sum() <= 0.25 * rows.size)
    if not is_sparse and d > 20:
        return None
    padded = d + -d % 4
    groups = np.maximum(-(-counts // 4), 1) if is_sparse else np.full(n, padded // 4)
    indptr, columns = np.concatenate([[0], np.cumsum(4 * groups)]), np.empty(0, np.int64)
    if is_sparse:
        entries = np.nonzero(rows)
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(indptr[:-1] - before, counts)
        columns = np.zeros(indptr[-1], np.int64)
        columns[places] = entries[1]
    # Transposed these columns take a megabyte in single precision.
    width, out = min(512, max(64, 2**18 // padded)), []
    for rows, high, low in parts:
        if is_sparse:
            values = np.zeros(indptr[-1], rows.dtype)
            values[places] = rows[entries]
        else:
            values = np.zeros((n, padded), rows.dtype)
            values[:, :d] = rows
        arrays = indptr, columns, values.ravel(), high, low
        out.append(TileRows(arrays, padded, width, groups, is_sparse))
    return out


@dataclass(frozen=True)
class RBFBlocks:
    """Products of an RBF kernel between two sets of samples, which may be the same."""

    A: RBFRows
    B: RBFRows

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(a_i, b_j) for j in J, and bounds on the errors."""
        # In single precision weights near 1 do not vanish; a power of two rounds nothing.
        unit = np.ldexp(1.0, np.frexp(np.abs(c).max(initial=0.0))[1])
        # Rows that are added up at once have weights of one sign, and about the same length.
        order = np.lexsort((self.A.squares[I], c > 0.0))
        I, c = I[order], np.asarray(c, np.float64)[order] / unit
        # Powers of two are cut off there.
        out, errors = np.zeros(J.size), np.full(J.size, 2.0**-125 * float(np.abs(c).sum()))
        kinds = self.B.kinds(J)
        for left, rows in self.A.kinds(I) if I.size and J.size else ():
            for right, columns in kinds:
                if {left, right} == {NEAR, VERY_FAR}:
                    continue
                if max(left, right) == VERY_FAR:
                    part, error = self._add_differences(I[rows], c[rows], J[columns])
                else:
                    in_double = double or max(left, right) == FAR
                    part, error = self._add(I[rows], c[rows], J[columns], in_double)
                out[columns] += part
                errors[columns] += error
        return unit * out, unit * errors

    def _add(self, I, c, J, double: bool) -> tuple[np.ndarray, np.ndarray]:
        A, B = self.A, self.B
        errors = A.exponent_errors(I, double, B.tiles is not None)
        total = _Total(np.stack([A.squares[I], errors], axis=1), B, c, J, double)
        if A.tiles is None or B.tiles is None:
            rows = partial(B.right, double=double)
            return total.of_tiles(A.left(I, double), J, rows, _product)
        left, right = A.tiles[double], B.tiles[double]

        def work(parts) -> None:
            for part in parts:
                loops.add_tiles(
                    left.arrays, right.arrays, left.width, left.d, I, J[part], total.weights,
                    total.n_negative, total.own,
                    (total.other[part], total.bound, total.values[part], total.errors[part]),
                )  # fmt: skip

        in_threads(work, J.size, left.width, I.size * J.size, blas=False)
        return total.values, total.errors

    def _add_differences(self, I, c, J) -> tuple[np.ndarray, np.ndarray]:
        (A, B), d = (self.A, self.B), self.A.d
        own = np.stack([A.squares[I], np.zeros(I.size)], axis=1)
        total = _Total(own, B, c, J, True)
        left, right = A.right(I, True)[:, :d], lambda J: B.right(J, True)[:, :d]
        values, errors = total.of_tiles(left, J, right, _squared_distances)
        lengths, weights = np.sqrt(B.squares[J]), total.weights
        # Of differences, in units: for each feature and of all, and times |a| + |a'|.
        each = 0.4 * d + 3.0 + 1.5 * lengths
        lengths = float(weights @ np.sqrt(A.squares[I]))
        return values, errors + UNIT * (each * weights.sum() + 1.5 * lengths)

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`, in its precision."""
        A, B, double = self.A, self.B, out.dtype == np.float64
        very_far = double and (A.very_far[I].any() or B.very_far[J].any())
        if A.tiles is not None and B.tiles is not None and not very_far:
            left, right = A.tiles[double], B.tiles[double]

            def work(parts) -> None:
                for rows in parts:
                    loops.write_tiles(
                        left.arrays, right.arrays, left.width, left.d, I[rows], J, out[rows]
                    )

            # Whole groups of four rows.
            in_threads(work, I.size, 128, I.size * J.size, blas=False)
            if not double:
                self._replace_far(I, J, out)
        elif double:

            def use(rows: slice, columns: slice, T: np.ndarray) -> None:
                out[rows, columns] = T

            self._powers(I, J, use)
        else:
            self._by_products(I, J, out)

    def _by_products(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write the same in single precision, by products of matrices."""
        left, right = self.A.left(I, False), self.B.right(J, False)
        height, width = _TILE // 2, 2 * _TILE

        def work(parts) -> None:
            tile, more = np.empty((2, _TILE * _TILE), np.float32)
            for rows in _all_tiles(parts, height):
                for columns in _tiles(0, J.size, width):
                    T = product_in_parts(left[rows], right[columns], tile, more)
                    loops.powers(T, out, rows.start, columns.start)

        in_threads(work, I.size, height, I.size * J.size)
        self._replace_far(I, J, out)

    def _replace_far(self, I, J, out: np.ndarray) -> None:
        """Write what single precision is not good enough for."""
        far_I = np.flatnonzero(self.A.far[I]) if self.A.any_far else ()
        far_J = np.flatnonzero(self.B.far[J]) if self.B.any_far else ()
        if len(far_I):
            out[far_I, : J.size] = self.block_double(I[far_I], J)
        if len(far_J):
            out[:, far_J] = self.block_double(I, J[far_J])

    def block_double(self, I: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Return K between samples in double precision."""
        out = np.empty((I.size, J.size))
        self.block(I, J, out)
        return out

    def combine(self, C: np.ndarray) -> np.ndarray:
        """Return sum_i C_ik K(a_i, b_j) for all j and k, in double precision."""
        # Far rows, which take longer, are together in tiles.
        I, J = np.argsort(self.A.squares), np.argsort(self.B.squares)
        C, out = C[I], np.zeros((self.B.n, C.shape[1]))

        def use(rows: slice, columns: slice, T: np.ndarray) -> None:
            out[J[columns]] += T.T @ C[rows]

        self._powers(I, J, use)
        return out

    def _powers(self, I, J, use: Callable[[slice, slice, np.ndarray], None]) -> None:
        """Call `use` with the rows, columns and values of tiles of K in double precision."""
        (A, B), d = (self.A, self.B), self.A.d
        left = A.left(I, True)

        def work(parts) -> None:
            memory = np.empty(_TILE_DOUBLE * _TILE_DOUBLE)
            for columns in _all_tiles(parts, _TILE_DOUBLE):
                right, far = B.right(J[columns], True), B.very_far[J[columns]].any()
                for rows in _tiles(0, I.size, _TILE_DOUBLE):
                    if far or A.very_far[I[rows]].any():
                        T = _squared_distances(0.5 * left[rows, :d], right[:, :d], memory)
                    else:
                        T = _product(left[rows], right, memory)
                    loops.powers_double(T)
                    use(rows, columns, T)

        in_threads(work, J.size, _TILE_DOUBLE, I.size * J.size)


class _Total:
    """Sums with weights c, negative ones first, for rows J of B; bounds on their errors.

    Of the rows that are added up `own` (n, 2) are |a|^2 and errors of exponents.
    """

    def __init__(self, own: np.ndarray, B: RBFRows, c, J, double: bool):
        self.weights = np.abs(c).astype(np.float64 if double else np.float32)
        self.n_negative, unit = int(np.count_nonzero(c <= 0.0)), UNIT if double else UNIT_SINGLE
        # |b|^2, and units of errors.
        self.own, self.other = own, B.squares[J]
        self.bound = (SECOND_ORDER * unit, _POWER_AND_SUM, UNIT)
        self.values, self.errors = np.zeros(J.size), np.zeros(J.size)

    def of_tiles(self, left, J, right, exponents) -> tuple[np.ndarray, np.ndarray]:
        """Return sums and bounds by the tiles that `exponents` makes of left and `right(J)`."""
        size = _TILE_DOUBLE if self.weights.dtype == np.float64 else _TILE
        rows = [*_tiles(0, self.n_negative, size), *_tiles(self.n_negative, len(left), size)]
        # Few rows have wide tiles.
        width = size * size // max((part.stop - part.start for part in rows), default=size)

        def work(parts) -> None:
            memory = np.empty(size * size, self.weights.dtype)
            for columns in _all_tiles(parts, width):
                B, other = right(J[columns]), self.other[columns]
                sums = other, self.bound, self.values[columns], self.errors[columns]
                for part in rows:
                    T, is_negative = exponents(left[part], B, memory), part.start < self.n_negative
                    loops.add_powers(T, self.weights[part], is_negative, self.own[part], sums)

        in_threads(work, J.size, width, len(left) * J.size)
        return self.values, self.errors


class ComputedBlocks:
    """Products of any kernel in double precision, with errors `relative` sqrt(K_ii K_jj)."""

    def __init__(self, compute, diagonal: np.ndarray, relative: float = 0.0):
        self._compute, self._relative, self._roots = compute, relative, np.sqrt(diagonal)

    def dot(
        self, I: np.ndarray, c: np.ndarray, J: np.ndarray, double: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sum_{i in I} c_i K(x_i, x_j) for j in J, and bounds on the errors."""
        out, roots = np.zeros(J.size), self._roots
        if I.size == 0:
            return out, np.zeros(J.size)
        for columns in _tiles(0, J.size, _TILE):
            for rows in _tiles(0, I.size, _TILE):
                out[columns] += c[rows] @ self._compute(I[rows], J[columns])
        terms = min(I.size, _TILE) + I.size / _TILE + 1.0
        relative = self._relative + UNIT * terms
        return out, spread_error(relative * SECOND_ORDER * float(np.abs(c) @ roots[I]), roots[J])

    def block(self, I: np.ndarray, J: np.ndarray, out: np.ndarray) -> None:
        """Write K between samples to the first columns of `out`."""
        for rows in _tiles(0, I.size, _TILE):
            out[rows, : J.size] = self._compute(I[rows], J)


def spread_error(error: float, roots: np.ndarray) -> np.ndarray:
    """Return error * roots (n,), infinite where that is 0 times infinity: nothing is known."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(error * roots, nan=np.inf, posinf=np.inf)


def _tiles(first: int, last: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, last)) for start in range(first, last, size))


def _all_tiles(parts: Iterable[slice], size: int) -> Iterator[slice]:
    """Return tiles of parts, one part after the other."""
    return (tile for part in parts for tile in _tiles(part.start, part.stop, size))


def parted(d: int) -> int:
    """Return how many features a sum has whose rounding errors are as many as in products."""
    return min(d, _PART + -(-d // _PART))


def _squared_distances(left: np.ndarray, right: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Return -|a - b|^2 for all rows of both, by differences, in the memory of a tile."""
    T = memory[: len(left) * len(right)].reshape(len(left), len(right))
    loops.differences(np.ascontiguousarray(left), np.ascontiguousarray(right), -1.0, T)
    return T


def _product(left: np.ndarray, right: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Return left right' in the memory of a tile."""
    T = memory[: len(left) * len(right)].reshape(len(left), len(right))
    return np.matmul(left, right.T, out=T)


def product_in_parts(
    left: Matrix, right: Matrix, memory: np.ndarray, more: np.ndarray
) -> np.ndarray:
    """Return left right' in the memory of a tile, summed up in parts: fewer errors add up."""
    T = _product(left[:, :_PART], right[:, :_PART], memory)
    for first in range(_PART, left.shape[1], _PART):
        part = slice(first, first + _PART)
        T += _product(left[:, part], right[:, part], more)
    return T
