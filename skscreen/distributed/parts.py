"""Parts of a problem that stay on Dask workers, and functions mapped over them.

Everything that is kept is the result of a task, so that Dask can compute again what a lost worker
held; the scheduler stores what the driver gives to tasks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, get_client, get_worker, wait

# Dask warns of arguments of more than 10 MB, and advises to load them on workers. These are made by
# the driver, and have to be in the task so that another worker can repeat it.
QUIET = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


def connected() -> Client:
    """Return the current client; raise where there is none, or inside a task of the cluster."""
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


def spread(client: Client, futures: Sequence, sizes: Sequence[int]) -> list[str]:
    """Return a worker for each of some results: where it is, unless that has its share already."""
    # Dask likes to keep what was made from one array on one worker, where the others would idle.
    wait(futures)
    held, threads = client.who_has(futures), dict(sorted(client.nthreads().items()))
    share, load = sum(sizes) / max(sum(threads.values()), 1), dict.fromkeys(threads, 0.0)
    places = []
    for future, size in zip(futures, sizes, strict=True):
        here = [
            worker
            for worker in held.get(future.key, ())
            if worker in load and load[worker] + 0.5 * size <= share * threads[worker]
        ]
        place = min(here or load, key=lambda worker: (load[worker] + size) / threads[worker])
        load[place] += size
        places.append(place)
    return places


def sent(client: Client, array: np.ndarray) -> Any:
    """Return a future of an array that Dask can restore whichever worker is lost."""
    with dask.config.set(QUIET):
        return client.submit(broadcast, array, pure=False)


def broadcast(array: np.ndarray) -> np.ndarray:
    """Return the array, on a worker."""
    return array


class Parts:
    """Futures of parts, in a fixed order."""

    def __init__(self, client: Client, futures: Sequence):
        self.client, self.futures = client, list(futures)

    def __len__(self) -> int:
        return len(self.futures)

    def then(
        self, function: Callable, *shared, each: Sequence = (), name: str | None = None
    ) -> "Parts":
        """Return function(part, *shared, *own) of every part; `each` has columns of arguments."""
        columns = [[value] * len(self) for value in shared]
        columns += [column.futures if isinstance(column, Parts) else column for column in each]
        with dask.config.set(QUIET):
            futures = self.client.map(function, self.futures, *columns, key=name, pure=False)
        return Parts(self.client, futures)

    def map(self, function: Callable, *shared, **how) -> list:
        """Return what `then` leaves on the workers, in order; waits for it."""
        return self.client.gather(self.then(function, *shared, **how).futures)
