"""When Dask pays: the distributed estimators on two local workers against those in memory.

    python benchmarks/on_dask.py --data FOLDER [--parts latency,rtlm,pragam] [--quick]

FOLDER holds the benchmark data and a `load.py` with `load(name) -> (X, y)`. One BLAS thread here
and on each worker, compilation excluded, the fastest of some repeats. Both sides take the same
steps: the estimator in memory runs without the active set, and once more as it comes. What a step
costs is without what comes before the first: checks, and the way of rows into blocks. Memory is
the largest increase of the resident set over the idle process. Prints tables in Markdown. --quick
is a rehearsal on small data.
"""

import argparse
import os
import platform
import time
from pathlib import Path
from threading import Thread

import dask.array as da
import distributed
import numpy as np
import psutil
from distributed import Client, LocalCluster
from rtlm_path import Data
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from threadpoolctl import threadpool_limits

import skscreen
from skscreen import PragamSVC, ScreenedRTLM
from skscreen.distributed import DistributedPragamSVC, DistributedRTLM

# Neighbours, and lambda as a share of lambda_max.
RTLM = [("segment", 20, 1e-2), ("segment", None, 1e-2), ("letter", 20, 1e-2), ("letter", 60, 1e-2)]
# How often the rows are repeated, with noise.
PRAGAM = [("a9a", 1), ("a9a", 8), ("covtype", 1), ("covtype", 4)]
STEPS = 30


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--parts", default="latency,rtlm,pragam")
    parser.add_argument("--repeats", type=int, default=2, help="the fastest counts")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    data = Data(args.data)
    print(
        f"skscreen {skscreen.__version__}, distributed {distributed.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores; processes that others ran on them: "
        f"{os.getloadavg()[0]:.1f}\n"
    )
    with (
        threadpool_limits(1),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for part in args.parts.split(","):
            {"latency": latency, "rtlm": rtlm, "pragam": pragam}[part](client, data, args)


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
    print(
        "| data | k | triplets | as it comes, s | same steps, s | Dask, s | ratio | steps |", end=""
    )
    print(" worker, MB | here, MB | difference of objectives |\n|" + "---|" * 11)
    for name, k, lam in RTLM[:1] if args.quick else RTLM:
        X, y = data(name)
        X = MinMaxScaler((-1, 1)).fit_transform(X)
        settings = {"lam": lam, "n_neighbors": k}
        warm_up(ScreenedRTLM(n_neighbors=3), DistributedRTLM(n_neighbors=3), X[:200], y[:200])
        usual, _ = fastest(ScreenedRTLM(**settings), X, y, args.repeats)
        same, here = fastest(ScreenedRTLM(**settings, active_set=False), X, y, args.repeats)
        dask, there = fastest(DistributedRTLM(**settings), X, y, args.repeats)
        peak_there = growth(client, memory(client), DistributedRTLM(**settings), X, y)
        peak_here = growth(None, memory(None), ScreenedRTLM(**settings), X, y)
        print(
            f"| {name} | {k or 'all'} | {here.n_triplets_:,} | {usual:.2f} | {same:.2f} | "
            f"{dask:.2f} | {same / dask:.2f} | {here.n_iter_}, {there.n_iter_} | "
            f"{peak_there:.0f} | {peak_here:.0f} | "
            f"{abs(here.objective_ / there.objective_ - 1.0):.0e} |",
            flush=True,
        )
    print()


def pragam(client: Client, data: Data, args) -> None:
    """Print a table of fits of a linear classifier, of a fixed number of steps."""
    print("| data | rows | MB | in memory, s | Dask, s | in memory, ms a step |", end="")
    print(" Dask, ms a step | ratio | worker, MB | difference of objectives |\n|" + "---|" * 10)
    for name, times in PRAGAM[:1] if args.quick else PRAGAM:
        X, y = data(name)
        y = y == np.argmax(np.bincount(y))
        X = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
        half = len(X) // 2
        y = np.concatenate([np.tile(y[:half], times), np.tile(y[half:], times)])
        sizes = half * times, (len(X) - half) * times
        steps = 5 if args.quick else STEPS
        settings = {"C": 1e-4, "tol": 1e-12, "max_iter": steps}
        warm_up(
            PragamSVC(max_iter=2), DistributedPragamSVC(max_iter=2), X[:500], y[:500], by_rows=True
        )
        before = memory(client)
        rows = da.from_array(X, chunks=((half, len(X) - half), -1))
        rows = rows.map_blocks(repeated, times, chunks=(sizes, X.shape[1:])).persist()
        distributed.wait(rows)
        X = rows.compute()
        here, model = fastest(PragamSVC(**settings), X, y, args.repeats)
        there, spread = fastest(DistributedPragamSVC(**settings), rows, y, args.repeats)
        peak = growth(client, before, DistributedPragamSVC(**settings), rows, y)
        here_step, there_step = a_step(model), a_step(spread)
        difference = abs(model.objective_[0] / spread.objective_[0] - 1.0)
        print(
            f"| {name} | {len(X):,} | {X.nbytes / 2**20:.0f} | {here:.2f} | {there:.2f} | "
            f"{here_step:.1f} | {there_step:.1f} | {here_step / there_step:.2f} | {peak:.0f} | "
            f"{difference:.0e} |",
            flush=True,
        )
        del rows
    print()


def a_step(model) -> float:
    """Return the milliseconds of an iteration."""
    seconds = model.history_["seconds"]
    return 1e3 * float(seconds[-1] - seconds[0]) / (seconds.size - 1)


def repeated(X: np.ndarray, times: int) -> np.ndarray:
    """Return the rows several times over, with a little noise from the second time on."""
    rng = np.random.default_rng(0)
    more = [X + 0.01 * rng.standard_normal(X.shape) for _ in range(times - 1)]
    return np.concatenate([X, *more])


def warm_up(here, there, X, y, by_rows=False) -> None:
    """Load what is compiled, here and on the workers."""
    here.set_params(tol=1e-2).fit(X, y)
    there.set_params(tol=1e-2).fit(da.from_array(X, chunks=(len(X) // 4, -1)) if by_rows else X, y)


def fastest(model, X, y, repeats: int):
    """Return the seconds of the fastest fit, and the model."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - started)
    return min(seconds), model


def resident() -> float:
    """Return the resident set of this process in MB."""
    return psutil.Process().memory_info().rss / 2**20


def memory(client: Client | None) -> list[float]:
    """Return the resident sets of all workers, or of this process, in MB."""
    return [resident()] if client is None else list(client.run(resident).values())


def growth(client: Client | None, before: list[float], model, X, y) -> float:
    """Return by how many MB a process has grown at most during a fit, by samples."""
    processes = [psutil.Process()]
    if client is not None:
        processes = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
    most, done = list(before), []

    def sample():
        while not done:
            for k, process in enumerate(processes):
                most[k] = max(most[k], process.memory_info().rss / 2**20)
            time.sleep(0.02)

    thread = Thread(target=sample)
    thread.start()
    try:
        model.fit(X, y)
    finally:
        done.append(True)
        thread.join()
    return max(high - low for high, low in zip(most, before, strict=True))


if __name__ == "__main__":
    main()
