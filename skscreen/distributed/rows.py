"""Labelled rows in blocks on Dask workers; the driver learns sizes, classes and sums only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeGuard

import dask
import dask.array as da
import numpy as np
from dask.sizeof import sizeof
from distributed import Client
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from skscreen.core.checks import (
    Matrix,
    MatrixLike,
    as_labels,
    check_labels,
    check_samples,
    refuse_masked,
)
from skscreen.distributed.parts import Parts, sent, spread
from skscreen.samples.labels import given_factors
from skscreen.samples.rows import LARGEST, flat_rows, squared_norms


@dataclass(frozen=True)
class Block:
    """Rows (n, d), dense float32 or float64 in C order or CSR; codes (n,) int; weights (n,)."""

    rows: np.ndarray | sparse.csr_array
    codes: np.ndarray
    weights: np.ndarray
    # Of more than two classes with class weights, (n,) in the problems of other classes.
    rest: np.ndarray | None = None

    def weights_of(self, code: int) -> np.ndarray:
        """Return the weights in the problem of a class."""
        if self.rest is None:
            return self.weights
        return np.where(self.codes == code, self.weights, self.rest)


@sizeof.register(Block)
def _(block: Block) -> int:
    """Tell Dask what it would have to move."""
    rows = block.rows
    size = rows.nbytes if isinstance(rows, np.ndarray) else rows.data.nbytes + rows.indices.nbytes
    size += 0 if block.rest is None else block.rest.nbytes
    return size + block.codes.nbytes + block.weights.nbytes


def joined(blocks: list[Block]) -> Block:
    """Return the rows of all blocks in one."""
    rows = [block.rows for block in blocks]
    if any(map(sparse.issparse, rows)):
        stack = sparse.vstack([sparse.csr_array(some) for some in rows], format="csr")
    else:
        stack = np.concatenate(rows)
    codes = np.concatenate([block.codes for block in blocks])
    rest = [block.rest for block in blocks if block.rest is not None]
    weights = np.concatenate([block.weights for block in blocks])
    return Block(stack, codes, weights, np.concatenate(rest) if rest else None)


@dataclass(frozen=True)
class LabelledRows:
    """All blocks, and what the driver knows of them."""

    blocks: Parts  # of Block
    n: int  # rows of all blocks
    classes: np.ndarray  # sorted
    n_features: int
    names: np.ndarray | None  # columns of a frame


def read_rows(
    client: Client, X: da.Array | MatrixLike, y: da.Array | ArrayLike,
    sample_weight: da.Array | ArrayLike | None, class_weight: Mapping | str | None,
) -> LabelledRows:  # fmt: skip
    """Bring rows X (n, d), labels y (n,) and weights (n,) or None together on workers."""
    names = column_names(X)
    given = None if sample_weight is None else as_vector("sample_weight", sample_weight)
    # All at once: they may have keys in common, which Dask must not be given twice in two forms.
    samples, truth, given = dask.persist(as_array(X), as_vector("y", y), given, scheduler=client)
    n_features = samples.shape[1]
    chunks = client.compute(list(samples.to_delayed().ravel()))
    rows = Parts(client, chunks).then(check_chunk, n_features, each=[range(len(chunks))])
    sizes = [n for n, _ in rows.map(attrgetter("shape"), name="n_rows")]
    if not sum(sizes):
        raise ValueError(f"X must have at least one row, got shape (0, {n_features}).")
    labels = _beside("y", client, truth, sizes)
    weights: list = [None] * len(sizes)
    if sample_weight is not None:
        factors = _beside("sample_weight", client, given, sizes)
        weights = factors.then(check_block_weights, each=[range(len(sizes))]).futures
    classes = _all_classes(labels.map(classes_of, each=[range(len(sizes))]))
    labelled = [rows.futures, labels.futures, weights]
    places = spread(client, rows.futures, sizes)
    futures = [
        client.submit(label, *parts, classes, pure=False, workers=[place], allow_other_workers=True)
        for *parts, place in zip(*labelled, places, strict=True)
    ]
    blocks = _weighted(Parts(client, futures), classes, class_weight)
    if sample_weight is not None or class_weight is not None:
        _check_totals(sum(blocks.map(total_weights, classes.size)), classes)
    return LabelledRows(blocks, sum(sizes), classes, n_features, names)


def is_dask_frame(values: object) -> TypeGuard[Any]:
    """Whether values are a dask frame or series; dask.dataframe needs packages of its own."""
    # Of its type: a delayed value has any attribute.
    return hasattr(type(values), "to_dask_array")


def is_collection(values: object) -> bool:
    """Whether values are a dask array, frame or series."""
    return isinstance(values, da.Array) or is_dask_frame(values)


def column_names(X: da.Array | MatrixLike) -> np.ndarray | None:
    """Return the columns of a frame whose names are all strings."""
    if is_dask_frame(X) and all(isinstance(name, str) for name in X.columns):
        return np.array(X.columns, dtype=object)
    return None


def as_array(X: da.Array | MatrixLike) -> da.Array:
    """Return a dask array of real numbers, in chunks of whole rows, of a dask array or frame."""
    if is_dask_frame(X):
        if X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions, got a {type(X).__name__}: pass X.to_frame()."
            )
        kinds = X.dtypes.items()
        wrong = [name for name, dtype in kinds if getattr(dtype, "kind", "O") not in "biuf"]
        if wrong:
            raise ValueError(
                f"X must hold real numbers, but its columns {wrong} do not; leave them out, or "
                "encode them."
            )
        single = all(dtype == np.float32 for dtype in X.dtypes)
        X = X.astype(np.float32 if single else np.float64).to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a dask array or frame, got {type(X).__name__}. Make one by "
            "dask.array.from_array or from_delayed, or use ScreenedLinearSVC for data in memory."
        )
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
    if X.shape[1] == 0:
        raise ValueError("X must have at least one column, got none.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def as_vector(name: str, values: da.Array | ArrayLike) -> da.Array | np.ndarray:
    """Return labels or weights as an array, on workers if they are there."""
    if is_dask_frame(values):
        # Others are strings, categories, integers with missing values.
        plain = values.ndim != 1 or isinstance(values.dtype, np.dtype)
        values = (values if plain else values.astype(object)).to_dask_array()
    if dask.is_dask_collection(values) and not isinstance(values, da.Array):
        raise TypeError(
            f"{name} must be an array, a dask array or series, got {type(values).__name__}. Make "
            "one by dask.array.from_delayed, or compute it."
        )
    if not isinstance(values, da.Array):
        values = as_labels(values, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, an entry for each row of X; got shape {values.shape}."
        )
    return values


def _beside(name: str, client: Client, values: da.Array | np.ndarray, sizes: list[int]) -> Parts:
    """Return labels or weights in blocks of these sizes."""
    known = not np.isnan(values.shape[0])
    if known and values.shape[0] != sum(sizes):
        raise ValueError(f"{name} must have shape ({sum(sizes)},), got {values.shape}.")
    if not isinstance(values, da.Array):
        stops = np.cumsum(sizes)[:-1]
        return Parts(client, [sent(client, part) for part in np.split(values, stops)])
    blocks = values.rechunk((tuple(sizes),)) if known else values
    if blocks.numblocks[0] != len(sizes):
        raise ValueError(
            f"{name} has {blocks.numblocks[0]} blocks of unknown length, X has {len(sizes)}; call "
            f"{name}.compute_chunk_sizes() or {name}.to_dask_array(lengths=True) first."
        )
    futures = client.compute(list(blocks.to_delayed().ravel()))
    return Parts(client, futures).then(check_length, name, each=[sizes, range(len(sizes))])


def _all_classes(found: list[np.ndarray]) -> np.ndarray:
    """Return the sorted classes of all blocks."""
    if len({holds_strings(part) for part in found if part.size}) > 1:
        raise ValueError("y mixes strings and numbers; all labels must be of one kind.")
    classes = np.unique(np.concatenate([part for part in found if part.size]))
    if classes.size < 2:
        raise ValueError(f"y must have at least two classes, got {classes.tolist()}.")
    check_classification_targets(classes)
    return classes


def _check_totals(totals: np.ndarray, classes: np.ndarray) -> None:
    """Refuse classes without weight, of which nothing could be learned."""
    if not totals.all():
        raise ValueError(
            "sample_weight and class_weight must leave some weight to each class, got none for "
            f"{classes[totals == 0.0].tolist()}: leave the rows of these out."
        )


def _weighted(blocks: Parts, classes: np.ndarray, class_weight: Mapping | str | None) -> Parts:
    """Return blocks whose weights are multiplied by those of their classes."""
    if class_weight is None:
        return blocks
    if class_weight == "balanced":
        totals = sum(blocks.map(total_weights, classes.size))
        seen = totals > 0.0
        factors = np.ones(classes.size)
        factors[seen] = totals.sum() / (np.count_nonzero(seen) * totals[seen])
    else:
        factors = given_factors(class_weight, classes)
    return blocks.then(times_class_weights, factors)


# What workers do with one part.


def holds_strings(values: np.ndarray) -> bool:
    """Whether values, of which there are some, are strings; those of a series may be objects."""
    return isinstance(values.ravel()[0], (str, bytes))


def check_chunk(rows: MatrixLike, n_features: int, number: int) -> Any:
    """Return a chunk as floats, C-ordered or CSR; raise where an entry cannot be worked with."""
    name = f"block {number} of X"
    rows = check_samples(
        rows, name, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0,
        ensure_min_features=0,
    )  # fmt: skip
    if sparse.issparse(rows):
        rows = sparse.csr_array(rows)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
    else:
        # Chunks of one value, as dask.array.ones makes them, have it once in memory.
        rows = np.require(rows, requirements=["C", "A"])
    if rows.shape[1] != n_features:
        raise ValueError(f"{name} has shape {rows.shape}, but X has {n_features} columns.")
    squares = squared_norms(flat_rows(rows), rows.shape[0])
    wrong = np.flatnonzero(~(squares <= LARGEST**2))
    if wrong.size:
        raise ValueError(
            f"X has a row that is too long, row {wrong[0]} of its block {number}: products of "
            f"lengths above {LARGEST:g} may overflow. Rescale X."
        )
    return rows


def check_length(values: ArrayLike, name: str, size: int, number: int) -> np.ndarray:
    """Return the values of a block as an array of its length."""
    refuse_masked(values, f"block {number} of {name}")
    values = np.asarray(values)
    if values.shape != (size,):
        raise ValueError(f"Block {number} of {name} has {values.size} entries, that of X {size}.")
    return values


def check_block_weights(values: ArrayLike, number: int) -> np.ndarray:
    """Return weights as floats; raise where one is negative or not finite."""
    # All of a block may be 0.
    values = check_array(
        values, ensure_2d=False, dtype=np.float64, ensure_non_negative=True, ensure_min_samples=0,
        input_name=f"block {number} of sample_weight",
    )  # fmt: skip
    return np.require(values, requirements=["C", "A"])


def classes_of(values: ArrayLike, number: int) -> np.ndarray:
    """Return the classes of a block; raise if labels are missing or of several kinds."""
    values = np.asarray(values)
    # Objects are those of a series that may have missing ones.
    values = values.tolist() if values.dtype == object else values
    return np.unique(check_labels(values, f"block {number} of y"))


def label(
    rows: Matrix, values: ArrayLike, weights: np.ndarray | None, classes: np.ndarray
) -> Block:
    """Return a block whose labels are codes of classes."""
    codes = np.searchsorted(classes, np.asarray(values)).astype(np.int32)
    return Block(rows, codes, np.ones(len(codes)) if weights is None else weights)


def total_weights(block: Block, n_classes: int) -> np.ndarray:
    """Return the total weight of each class."""
    return np.bincount(block.codes, weights=block.weights, minlength=n_classes)


def times_class_weights(block: Block, factors: np.ndarray) -> Block:
    """Return the block with other weights; rows are shared.

    Of more than two classes samples have those of their class in its own problem only.
    """
    rest = block.weights if factors.size > 2 else None
    return Block(block.rows, block.codes, block.weights * factors[block.codes], rest)


def thinned(block: Block, step: int) -> Block:
    """Return each step-th row."""
    rest = None if block.rest is None else block.rest[::step]
    return Block(block.rows[::step], block.codes[::step], block.weights[::step], rest)
