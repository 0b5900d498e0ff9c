"""Parts of a problem that stay on Dask workers, and functions mapped over them.

Everything that is kept is the result of a task, so that Dask can compute again what a lost worker
held. What the driver gives to tasks (numbers, vectors, small matrices) is stored with them by the
scheduler, for the same reason.
"""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from distributed import Client, get_client, get_worker

# Arrays go to the scheduler in pieces, as Dask dislikes large arguments of tasks.
_PIECE = 2**22


def connected() -> Client:
    """Return the current client.

    Raises
    ------
    RuntimeError
        If there is none, or the caller is itself a task of the cluster.
    """
    try:
        get_worker()
    except ValueError:
        pass
    else:
        raise RuntimeError(
            "A distributed estimator cannot be fitted inside a task of the cluster: its parts "
            "would wait for the worker that waits for them. Fit it where the Client is, or use the "
            "estimator of the same name without Distributed."
        )
    try:
        return get_client()
    except ValueError as error:
        raise RuntimeError(
            "No Dask client found. Start one, for instance client = dask.distributed.Client()."
        ) from error


def addresses(client: Client) -> list[str]:
    """Return the address of each thread of the cluster's workers, workers taking turns."""
    threads = dict(sorted(client.nthreads().items()))
    if not threads:
        raise RuntimeError("The Dask cluster has no workers; wait for them or scale it.")
    turns = range(max(threads.values()))
    return [address for turn in turns for address, count in threads.items() if turn < count]


def sent(client: Client, array: np.ndarray):
    """Return a future of an array that Dask can restore whichever worker is lost."""
    rows = max(_PIECE // max(array[:1].nbytes, 1), 1)
    pieces = [
        client.submit(_piece, array[first : first + rows], pure=False)
        for first in range(0, max(len(array), 1), rows)
    ]
    return client.submit(_join, pieces, pure=False)


def _piece(array: np.ndarray) -> np.ndarray:
    return array


def _join(pieces: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(pieces)


class Parts:
    """Futures of parts, in a fixed order.

    Parameters
    ----------
    client : Client
    futures : sequence of Future
    """

    def __init__(self, client: Client, futures: Sequence):
        self.client, self.futures = client, list(futures)

    def __len__(self) -> int:
        return len(self.futures)

    def then(self, function: Callable, *shared, each: Sequence = ()) -> Self:
        """Return function(part, *shared, *own) of every part, which stays on the workers.

        Parameters
        ----------
        function : callable
            Its name is what dashboards show.
        *shared : object
            The same for all parts.
        each : sequence of sequences, optional
            Further arguments, futures among them, each with one entry for every part.
        """
        columns = [[value] * len(self) for value in shared]
        columns += [column.futures if isinstance(column, Parts) else column for column in each]
        return Parts(self.client, self.client.map(function, self.futures, *columns, pure=False))

    def collect(self) -> list:
        """Return the parts themselves, in order; waits for them."""
        return self.client.gather(self.futures)

    def map(self, function: Callable, *shared, each: Sequence = ()) -> list:
        """Return what `then` leaves on the workers."""
        return self.then(function, *shared, each=each).collect()
