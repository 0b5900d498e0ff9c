"""When Dask pays: the distributed estimators on two local workers against those in memory.

    python -m benchmarks.whole.on_dask --data FOLDER [--parts latency,rtlm] [--quick]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. One BLAS thread here
and on each worker, the fastest of some repeats. Both sides take the same
steps: the estimator in memory runs without the active set, and once more as it comes. In brackets
are CPU seconds, of the driver and of the busier worker, because others may use the machine: their
sum is what a fit would take on idle cores. Memory is the largest increase of a resident set in the
first fit. Prints tables in Markdown.
--quick is a rehearsal on small data.
"""

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import numpy as np
import psutil
from distributed import Client, LocalCluster
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import ScreenedRTLM
from skscreen.distributed import DistributedRTLM

# Neighbours, and lambda as a share of lambda_max.
RTLM = [("segment", 20, 1e-2), ("letter", 20, 1e-2), ("letter", 60, 1e-2), ("segment", None, 1e-2)]


@dataclass
class Cost:
    """What a fit took: seconds, and CPU seconds of the driver and of the busier worker.

    With idle cores, a fit that waits for its workers at every step takes the sum of the last two.
    """

    seconds: float
    driver: float
    worker: float = 0.0

    def __str__(self) -> str:
        if not self.worker:
            return f"{self.seconds:.2f} ({self.driver:.2f})"
        return f"{self.seconds:.2f} ({self.driver:.2f} + {self.worker:.2f})"


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="latency,rtlm")
    parser.add_argument("--repeats", type=int, default=2, help="the fastest counts")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    print(f"{busy_environment()}\n")
    with cluster_of(2) as client:
        for part in args.parts.split(","):
            {"latency": latency, "rtlm": rtlm}[part](client, Data(args.data), args)


def busy_environment() -> str:
    """Return versions, and how many processes of others ran on the cores."""
    return f"{environment('distributed')}; others ran {os.getloadavg()[0]:.1f} processes on them"


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Client]:
    """Start workers with a thread each; one BLAS thread here."""
    options = {"threads_per_worker": 1, "dashboard_address": None}
    with (
        threadpool_limits(1),
        LocalCluster(n_workers=n_workers, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


def latency(client: Client, data: Data, args) -> None:
    """Print what a round trip to both workers costs."""
    parts = [client.submit(int, k, pure=False) for k in range(2)]
    client.gather(parts)
    seconds = []
    for _ in range(200):
        started = time.perf_counter()
        client.gather(client.map(abs, parts, pure=False))
        seconds.append(time.perf_counter() - started)
    low, middle = np.quantile(seconds, [0.1, 0.5])
    print(f"A round trip: {1e3 * middle:.1f} ms in the median, a tenth below {1e3 * low:.1f} ms\n")


def rtlm(client: Client, data: Data, args) -> None:
    """Print a table of fits of a metric."""
    rows = []
    for name, k, lam in RTLM[:1] if args.quick else RTLM:
        X, y = data(name)
        X = MinMaxScaler((-1, 1)).fit_transform(X)
        settings = {"lam": lam, "n_neighbors": k}
        here, same = ScreenedRTLM(**settings), ScreenedRTLM(**settings, active_set=False)
        there = DistributedRTLM(**settings)
        warm_up(ScreenedRTLM(n_neighbors=3), X[:200], y[:200])
        warm_up(DistributedRTLM(n_neighbors=3), X[:200], y[:200])
        peak_there, dask = fastest(client, there, X, y, args.repeats)
        peak_here, usual = fastest(None, here, X, y, args.repeats)
        _, plain = fastest(None, same, X, y, args.repeats)
        apart = abs(same.objective_ / there.objective_ - 1.0)
        idle = plain.driver / (dask.driver + dask.worker)
        rows.append((
            name, k or "all", here.n_triplets_, f"{same.n_iter_} {there.n_iter_}", usual, plain,
            dask, f"{plain.seconds / dask.seconds:.2f} ({idle:.2f})", f"{peak_there:.0f}",
            f"{peak_here:.0f}", f"{apart:.0e}",
        ))  # fmt: skip
        print(*rows[-1], flush=True)
    table("data,k,triplets,steps,as it comes s,same steps s,Dask s,ratio,worker MB,here MB,"
          "objectives differ by", rows)  # fmt: skip


def warm_up(model, X, y) -> None:
    """Load modules, here and on the workers."""
    model.set_params(tol=1e-2).fit(X, y)


def fastest(client: Client | None, model, X, y, repeats: int) -> tuple[float, Cost]:
    """Fit some times; return by how many MB a process grew at most, and the least cost."""
    found = [fitted(client, model, X, y) for _ in range(repeats)]
    before, most, _ = found[0]
    growth = max(most[client is not None :] - before[client is not None :])
    return growth, min((cost for *_, cost in found), key=lambda cost: cost.seconds)


def fitted(client: Client | None, model, X, y) -> tuple[np.ndarray, np.ndarray, Cost]:
    """Fit; return MB before and at most, sampled, of driver and workers, and the cost."""
    processes = [psutil.Process()]
    if client is not None:
        processes += [psutil.Process(pid) for pid in client.run(os.getpid).values()]

    def sizes():
        return np.array([process.memory_info().rss / 2**20 for process in processes])

    def spent():
        return np.array([sum(process.cpu_times()[:2]) for process in processes])

    before, done = sizes(), []
    most = before.copy()

    def sample():
        while not done:
            np.maximum(most, sizes(), out=most)
            time.sleep(0.05)

    thread = Thread(target=sample)
    thread.start()
    try:
        started, cpu = time.perf_counter(), spent()
        model.fit(X, y)
        seconds, cpu = time.perf_counter() - started, spent() - cpu
    finally:
        done.append(True)
        thread.join()
    return before, most, Cost(seconds, cpu[0], cpu[1:].max(initial=0.0))


if __name__ == "__main__":
    main()
