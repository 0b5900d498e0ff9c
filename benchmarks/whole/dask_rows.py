"""Linear models of more rows than one would hold in memory: passes, seconds and megabytes.

    python -m benchmarks.whole.dask_rows [--rows 2e6,2e7] [--workers 1,2] [--loss LOSSES]

Rows of 50 standard normal float32 features are made on the workers of a local cluster, labels by a
random hyperplane with noise; no data are needed. Up to --in-memory rows `ScreenedLinearSVC` fits
the same rows in this process: its seconds, and the largest difference of coefficients between the
two at a tolerance of 1e-11, relative to the largest. The peer is scikit-learn's averaged
`SGDClassifier`, which reads the same blocks one after the other (`partial_fit`) until its objective
is within 1e-4 of the optimum, relative, or for as many passes as --epochs says; its default steps
diverge on the squared hinge, which gets steps of 0.01 / sqrt(t). Prints a table in Markdown, and
the model of seconds a pass that is fitted to it: a + b n / workers.
"""

import argparse
import os
import platform
import resource
import time

import dask.array as da
import distributed
import numpy as np
from distributed import Client, LocalCluster, wait
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

import skscreen
from skscreen import ScreenedLinearSVC
from skscreen.distributed import DistributedLinearSVC

FEATURES, C = 50, 1.0


def main() -> None:
    """Run all sizes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="2e6,2e7")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--loss", default="squared_hinge,hinge")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=20, help="most passes of the peer; 0: none")
    parser.add_argument("--in-memory", type=float, default=2e6, help="most rows to compare")
    args = parser.parse_args()
    print(
        f"skscreen {skscreen.__version__}, distributed {distributed.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores; {FEATURES} float32 features, C = {C}"
    )
    heads = ("rows", "workers", "loss", "GB", "passes", "gap", "seconds", "driver, MB",
             "worker, MB", "in memory, s", "difference", "SGD")  # fmt: skip
    print("\n| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    passes = []
    for n_workers in map(int, args.workers.split(",")):
        for n in map(int, map(float, args.rows.split(","))):
            for loss in args.loss.split(","):
                passes.append((n / n_workers, *run(n, n_workers, loss, args)))
    if len(passes) > 1:
        sizes, counts, seconds = np.array(passes).T
        slope, start = np.polyfit(sizes, seconds / counts, 1)
        print(
            f"\nSeconds a pass: {start:.3f} + {1e6 * slope:.3f} for each million rows of a worker"
        )


def run(n: int, n_workers: int, loss: str, args) -> tuple[int, float]:
    """Print a row of the table; return passes and seconds."""
    with (
        threadpool_limits(1),
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        X, y = made(n, 2 * n_workers)
        X, y = X.persist(), y.persist()
        wait([X, y])
        model = DistributedLinearSVC(C, loss=loss, tol=args.tol)
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
        peer = sgd(X, y, model, args.epochs) if args.epochs else ""
        here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        there = max(client.run(peak).values())
        memory = in_memory(X, y, loss, args.tol) if n <= args.in_memory else " | "
        print(
            f"| {n:,} | {n_workers} | {loss} | {4e-9 * n * FEATURES:.1f} | {model.n_iter_} | "
            f"{model.dual_gap_:.0e} | {seconds:.1f} | {here:.0f} | {there:.0f} | {memory} | "
            f"{peer} |",
            flush=True,
        )
        return model.n_iter_, seconds


def in_memory(X: da.Array, y: da.Array, loss: str, tol: float) -> str:
    """Return the seconds of a fit in this process, and the difference of coefficients."""
    exact = DistributedLinearSVC(C, loss=loss, tol=1e-11, max_iter=500).fit(X, y)
    X, y = X.compute(), y.compute()
    started = time.perf_counter()
    ScreenedLinearSVC(C, loss=loss, tol=tol).fit(X, y)
    seconds = time.perf_counter() - started
    peer = ScreenedLinearSVC(C, loss=loss, tol=1e-11).fit(X, y)
    apart = np.abs(exact.coef_ - peer.coef_).max() / np.abs(peer.coef_).max()
    return f"{seconds:.1f} | {apart:.0e}"


def peak() -> float:
    """Return the largest size of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def made(n: int, n_blocks: int) -> tuple[da.Array, da.Array]:
    """Return rows and labels, made block by block."""
    blocks, size = da.arange(n_blocks, chunks=1), n // n_blocks
    shape = ((size,) * n_blocks, (FEATURES,))
    X = blocks[:, None].map_blocks(
        lambda k: block(int(k[0, 0]), size)[0], chunks=shape, dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )  # fmt: skip
    y = blocks.map_blocks(lambda k: block(int(k[0]), size)[1], chunks=shape[:1], dtype=np.int8)
    return X, y


def block(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the labels of a block."""
    w = np.random.default_rng(0).standard_normal(FEATURES, dtype=np.float32) / FEATURES**0.5
    rng = np.random.default_rng([1, seed])
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    return X, (X @ w + 0.5 * rng.standard_normal(n) > 0.0).astype(np.int8)


def sgd(X: da.Array, y: da.Array, model: DistributedLinearSVC, epochs: int) -> str:
    """Return how long the peer takes to the same objective, or how far it is after all epochs."""
    steps = {"learning_rate": "invscaling", "eta0": 0.01, "power_t": 0.5}
    peer = SGDClassifier(
        loss=model.loss, alpha=1.0 / (C * len(y)), average=True, random_state=0,
        **(steps if model.loss == "squared_hinge" else {}),
    )  # fmt: skip
    rows, labels = X.to_delayed().ravel(), y.to_delayed()
    seconds = 0.0
    for _ in range(epochs):
        started = time.perf_counter()
        for part, own in zip(rows, labels, strict=True):
            peer.partial_fit(part.compute(), own.compute(), classes=[0, 1])
        seconds += time.perf_counter() - started
        w, b = peer.coef_[0], peer.intercept_[0]
        short = da.maximum(1.0 - (2.0 * y - 1.0) * (X @ w + b), 0.0)
        loss = float((short**2 if model.loss == "squared_hinge" else short).sum().compute())
        above = (0.5 * (w @ w + b * b) + C * loss) / model.objective_ - 1.0
        if above <= 1e-4:
            return f"{seconds:.0f} s"
    return f"> {seconds:.0f} s ({above:.0e} above)"


if __name__ == "__main__":
    main()
