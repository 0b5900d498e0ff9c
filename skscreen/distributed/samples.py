"""Samples whose rows are spread over Dask workers: the products that algorithms need of them.

A block is a chunk of rows, on the worker that Dask chose for it. Vectors of the length of a row
and of one number a sample come to the driver; rows never do.
"""

from typing import Self

import numpy as np
from dask.sizeof import sizeof

from skscreen.core.memory import aligned
from skscreen.core.threads import blas_threads_for
from skscreen.distributed.parts import Parts, spread
from skscreen.samples.rows import LinearSamples


class PartitionedSamples:
    """Rows z_i = y_i x_i in blocks on workers; does what the risks ask of `LinearSamples`.

    Products are summed in the order of the blocks, so that they do not depend on which worker did
    what (but for the last bit, where BLAS looks at how memory is aligned).

    Parameters
    ----------
    blocks : Parts
        Of `LinearSamples` whose signs are all +1: signs are applied on the driver.
    norms : ndarray of shape (n,)
        Euclidean norms of the rows.
    stops : ndarray of shape (n_blocks - 1,)
        Where a vector of n numbers is split.
    n_features : int
    y : ndarray of shape (n,)
        -1 or +1.

    Attributes
    ----------
    n : int
    """

    def __init__(self, blocks: Parts, norms, stops, n_features: int, y=None):
        self._blocks, self._stops = blocks, stops
        self.norms, self.n_features, self.n = norms, n_features, norms.size
        self.y = np.ones(self.n) if y is None else y

    @classmethod
    def of(cls, client, X, rows: np.ndarray) -> Self:
        """Bring chunks of rows to workers and leave them there.

        Parameters
        ----------
        client : Client
        X : dask array of shape (n_all, d)
            One chunk of columns; chunks of known size.
        rows : ndarray of shape (n,)
            The rows that take part, in ascending order.
        """
        chunks = client.compute(list(X.to_delayed().ravel()))
        ends = np.cumsum(X.chunks[0])
        kept = np.split(rows, np.searchsorted(rows, ends[:-1]))
        kept = [own - end for own, end in zip(kept, ends - X.chunks[0], strict=True)]
        # None stands for all of them, and copies no chunk.
        whole = [own.size == size for own, size in zip(kept, X.chunks[0], strict=True)]
        index = [None if full else own for own, full in zip(kept, whole, strict=True)]
        places = spread(client, chunks, X.chunks[0])
        futures = [
            client.submit(
                pragam_block, chunk, X.shape[1], own, pure=False, workers=[place],
                allow_other_workers=True,
            )
            for chunk, own, place in zip(chunks, index, places, strict=True)
        ]  # fmt: skip
        blocks = Parts(client, futures)
        norms = blocks.map(pragam_norms)
        if not all(np.isfinite(part).all() for part in norms):
            raise ValueError("X contains NaN, infinity or values too large to be squared.")
        stops = np.cumsum([own.size for own in kept])[:-1]
        return cls(blocks, np.concatenate(norms), stops, X.shape[1])

    def signed(self, y: np.ndarray) -> Self:
        """Return the same rows with other signs."""
        return type(self)(self._blocks, self.norms, self._stops, self.n_features, y)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return <z_i, w> for all samples."""
        out = np.concatenate(self._blocks.map(pragam_margins, w))
        out *= self.y
        return out

    def combine(self, alpha: np.ndarray) -> np.ndarray:
        """Return the sum of alpha_i z_i."""
        scales = np.split(alpha * self.y, self._stops)
        return sum(self._blocks.map(pragam_combine, each=[scales]), np.zeros(self.n_features))


def pragam_block(rows, n_features: int, index: np.ndarray | None) -> LinearSamples:
    """Return the samples of a chunk, or those of an index."""
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise ValueError(f"A chunk of X has shape {rows.shape}, but X has {n_features} columns.")
    rows = rows if index is None else rows[index]
    return LinearSamples(aligned(rows), np.ones(rows.shape[0]))


@sizeof.register(LinearSamples)
def _(block: LinearSamples) -> int:
    """Tell Dask what it would have to move."""
    return block.X.data.nbytes + 16 * block.n + (4 * block.X.nnz if block.is_sparse else 0)


def pragam_norms(block: LinearSamples) -> np.ndarray:
    """Return the norms of the rows of a block."""
    return block.norms


def pragam_margins(block: LinearSamples, w: np.ndarray) -> np.ndarray:
    """Return X w of a block."""
    with blas_threads_for(block.n_features):
        return block.margins(aligned(w))


def pragam_combine(block: LinearSamples, scales: np.ndarray) -> np.ndarray:
    """Return X' scales of a block."""
    with blas_threads_for(block.n_features):
        return block.combine(aligned(scales))
