"""Linear models of more rows than one would hold in memory: passes, seconds, megabytes, a model.

    python -m benchmarks.whole.dask_rows [--sizes 5e5x10,2e6x50] [--workers 1,2] [--loss LOSSES]

Float32 rows are made on the workers of a local cluster, four blocks; no data are needed. Features
are autoregressive with correlation --correlation, labels a random hyperplane with noise. CPU
seconds are those of the driver + of the busier worker, because others may use the machine: their
sum is what a fit takes on idle cores. Megabytes are the largest resident sets in the fit. Up to
--in-memory rows `ScreenedLinearSVC` fits the same rows in this process, once, and with --exact the
largest difference of coefficients at a tolerance of 1e-11 is found, relative to the largest.

With --epochs the peer is scikit-learn's averaged `SGDClassifier`, which goes from block to block on
the workers, as dask-ml's Incremental does. Its first step is the best of a grid for the first
block, which is not counted. What is printed are the CPU seconds of `partial_fit` until its
objective is 1e-2, 1e-3 and 1e-4 above the optimum, relative, looked at after every block.

At last a model of the time is fitted to the table of the squared hinge, and printed for many
workers: see `predict`.
"""

import argparse
import os
import platform
import time
import warnings

import dask
import dask.array as da
import distributed
import numpy as np
from distributed import Client, LocalCluster, wait
from scipy.optimize import nnls
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

import skscreen
from benchmarks.whole.on_dask import fitted
from skscreen import ScreenedLinearSVC
from skscreen.distributed import DistributedLinearSVC

C, BLOCKS = 1.0, 4
# First steps of the peer, and the excess of its objective to reach.
STEPS, TARGETS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1), (1e-2, 1e-3, 1e-4)
# A network of 10 Gbit/s, and a round trip.
BANDWIDTH, LATENCY = 1.25e9, 0.01
# Work that is predicted: rows, features and workers.
LARGE = ((1e8, 50), (1e9, 50), (1e9, 200))
MANY = (1, 2, 10, 100, 1000)


def main() -> None:
    """Run all sizes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="2e5x10,1e6x10,2e5x50,1e6x50,2e5x200")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--loss", default="squared_hinge,hinge")
    parser.add_argument("--correlation", type=float, default=0.0)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=0, help="most passes of the peer")
    parser.add_argument("--in-memory", type=float, default=2e6, help="most rows to compare")
    parser.add_argument("--exact", action="store_true", help="compare coefficients too")
    args = parser.parse_args()
    print(
        f"skscreen {skscreen.__version__}, distributed {distributed.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores; processes that others ran on them: "
        f"{os.getloadavg()[0]:.1f}; C = {C}, tol = {args.tol}, correlation {args.correlation}"
    )
    heads = ("rows", "features", "workers", "loss", "GB", "passes", "gap", "seconds (CPU)",
             "driver, MB", "worker, MB", "in memory, s (CPU)", "difference",
             *(f"SGD to {target:.0e}, CPU s" for target in TARGETS))  # fmt: skip
    print("\n| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    found = []
    counts = [int(count) for count in args.workers.split(",")]
    for n_workers in counts:
        with (
            threadpool_limits(1),
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            for size in args.sizes.split(","):
                n, d = (int(float(part)) for part in size.split("x"))
                for loss in args.loss.split(","):
                    costs = run(client, n, d, loss, args, n_workers == counts[-1])
                    if loss == "squared_hinge":
                        found += [(n / n_workers, d, *cost) for cost in costs]
            if n_workers == counts[-1]:
                a_block = seconds_a_block(client)
    print(f"\nA pass of the driver takes {1e3 * a_block:.1f} ms for each block.")
    if len({d for _, d, *_ in found}) > 2:
        predict(found, a_block)


def run(client: Client, n: int, d: int, loss: str, args, compare: bool) -> list[tuple]:
    """Print a row of the table; return passes and CPU seconds of a worker, of two fits."""
    X, y = made(n, d, args.correlation)
    model = DistributedLinearSVC(C, loss=loss, tol=args.tol)
    fitted(client, model, X[:: max(n // 1000, 1)], y[:: max(n // 1000, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, first = fitted(client, model.set_params(max_iter=1), X, y)
    _, most, cost = fitted(client, model.set_params(max_iter=None), X, y)
    memory = in_memory(X, y, model, args) if n <= args.in_memory and compare else " | "
    peer = sgd(client, X, y, model, args.epochs) if args.epochs else [""] * len(TARGETS)
    print(
        f"| {n:,} | {d} | {len(client.nthreads())} | {loss} | {4e-9 * n * d:.2f} | "
        f"{model.n_iter_} | {model.dual_gap_:.0e} | {cost} | {most[0]:.0f} | {max(most[1:]):.0f} "
        f"| {memory} | {' | '.join(peer)} |",
        flush=True,
    )
    return [(1, first.worker), (model.n_iter_, cost.worker)]


def in_memory(X: da.Array, y: da.Array, model: DistributedLinearSVC, args) -> str:
    """Return the cost of a fit in this process, and the difference of coefficients."""
    exact = None
    if args.exact:
        exact = DistributedLinearSVC(C, loss=model.loss, tol=1e-11, max_iter=500).fit(X, y)
    X, y = X.compute(), y.compute()
    _, _, cost = fitted(None, ScreenedLinearSVC(C, loss=model.loss, tol=args.tol), X, y)
    if exact is None:
        return f"{cost} | "
    peer = ScreenedLinearSVC(C, loss=model.loss, tol=1e-11).fit(X, y)
    apart = np.abs(exact.coef_ - peer.coef_).max() / np.abs(peer.coef_).max()
    return f"{cost} | {apart:.0e}"


def made(n: int, d: int, correlation: float) -> tuple[da.Array, da.Array]:
    """Return rows and labels, made block by block on the workers."""
    size = n // BLOCKS
    pairs = [dask.delayed(block, nout=2)(k, size, d, correlation) for k in range(BLOCKS)]
    X = da.concatenate([da.from_delayed(rows, (size, d), np.float32) for rows, _ in pairs])
    y = da.concatenate([da.from_delayed(labels, (size,), np.int8) for _, labels in pairs])
    X, y = dask.persist(X, y)
    wait([X, y])
    return X, y


def block(seed: int, n: int, d: int, correlation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the labels of a block."""
    w = np.random.default_rng(0).standard_normal(d, dtype=np.float32) / d**0.5
    rng = np.random.default_rng([1, seed])
    X = rng.standard_normal((n, d), dtype=np.float32)
    if correlation:
        X[:, 1:] *= np.float32((1.0 - correlation**2) ** 0.5)
        X = lfilter(np.ones(1, np.float32), np.float32([1.0, -correlation]), X, axis=1)
    return X, (X @ w + 0.5 * rng.standard_normal(n) > 0.0).astype(np.int8)


def sgd(client: Client, X: da.Array, y: da.Array, model, epochs: int) -> list[str]:
    """Return the seconds of the peer to each target, or how far it is after all epochs."""
    blocks = [
        client.compute([rows, labels])
        for rows, labels in zip(X.to_delayed().ravel(), y.to_delayed(), strict=True)
    ]
    new = {"loss": model.loss, "alpha": 1.0 / (C * len(y)), "average": True, "random_state": 0,
           "learning_rate": "invscaling", "power_t": 0.5}  # fmt: skip
    tries = [
        client.submit(moved, SGDClassifier(eta0=step, **new), *blocks[0], pure=False)
        for step in STEPS
    ]
    here = [client.submit(loss_of, tried, *blocks[0], pure=False) for tried in tries]
    best = STEPS[int(np.nanargmin(client.gather(here)))]
    peer, seconds, reached, above = SGDClassifier(eta0=best, **new), 0.0, [], np.inf
    for k in range(epochs * len(blocks)):
        peer = client.submit(moved, peer, *blocks[k % len(blocks)], pure=False)
        seconds += client.submit(seconds_of, peer).result()
        losses = [client.submit(loss_of, peer, *block, pure=False) for block in blocks]
        half = client.submit(half_square, peer).result()
        above = (half + C * sum(client.gather(losses))) / model.objective_ - 1.0
        while len(reached) < len(TARGETS) and above <= TARGETS[len(reached)]:
            reached.append(f"{seconds:.2f}")
        if len(reached) == len(TARGETS):
            return reached
    return reached + [f"> {seconds:.1f} ({above:.0e})"] * (len(TARGETS) - len(reached))


def moved(peer: SGDClassifier, rows, labels) -> SGDClassifier:
    """Return the peer after a block; on a worker."""
    started = time.process_time()
    getattr(peer, "seconds", 0.0)
    peer.partial_fit(rows, labels, classes=[0, 1])
    peer.seconds = time.process_time() - started
    return peer


def seconds_of(peer: SGDClassifier) -> float:
    """Return what the last block took."""
    return peer.seconds


def half_square(peer: SGDClassifier) -> float:
    """Return the penalty of the peer."""
    return 0.5 * float(np.square(peer.coef_).sum() + np.square(peer.intercept_).sum())


def loss_of(peer: SGDClassifier, rows, labels) -> float:
    """Return the losses of the peer on a block."""
    short = np.maximum(1.0 - (2.0 * labels - 1.0) * peer.decision_function(rows), 0.0)
    return float((short**2 if peer.loss == "squared_hinge" else short).sum())


def seconds_a_block(client: Client) -> float:
    """Return the CPU seconds of driver and scheduler for a block in a pass."""
    X, y = made(4000, 10, 0.0)
    X, y = X.rechunk((80, 10)).persist(), y.rechunk(80).persist()
    model = DistributedLinearSVC(C, loss="hinge", tol=1e-9, max_iter=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, last = (fitted(client, model.set_params(max_iter=n), X, y)[2].driver for n in (1, 6))
    return max(last - first, 0.0) / (5 * X.numblocks[0])


def predict(found: list[tuple[float, ...]], a_block: float) -> None:
    """Fit the model to (rows of a worker, features, passes, CPU seconds of a worker); print it.

    A fit with k workers of one block each takes

        start + n r D / k + passes (n (c0 + c1 D + c2 D^2) / k + LATENCY + k a_block
                                    + 8 k D^2 / BANDWIDTH)

    seconds: the driver serves the blocks one after the other.
    """
    n, d, passes, seconds = np.array(found).T
    D, once = d + 1.0, np.ones_like(d)
    terms = np.column_stack([once, n * D, n * passes, n * passes * D, n * passes * D * D])
    # Relative errors count.
    (start, r, *c), _ = nnls(terms / seconds[:, None], once)
    wrong = np.abs(terms @ [start, r, *c] / seconds - 1.0)
    print(
        f"\nA worker takes {start:.2f} s, and for each row {1e9 * r:.1f} D ns once and "
        f"{1e9 * c[0]:.0f} + {1e9 * c[1]:.2f} D + {1e9 * c[2]:.4f} D^2 ns in a pass: "
        f"{np.median(wrong):.0%} off in the median, at most {wrong.max():.0%}."
    )
    print("\n| rows | features | GB | " + " | ".join(f"{k} workers, s" for k in MANY) + " |")
    print("|" + "---|" * (len(MANY) + 3))
    for rows, features in LARGE:
        D, most, times = features + 1.0, passes.max(), []
        for k in MANY:
            driver = LATENCY + k * (a_block + 8.0 * D * D / BANDWIDTH)
            work = rows / k * (r * D + most * (c @ np.array([1.0, D, D * D])))
            times.append(start + work + most * driver)
        cells = " | ".join(f"{value:.3g}" for value in times)
        print(f"| {rows:.0e} | {features} | {4e-9 * rows * features:.0f} | {cells} |")


if __name__ == "__main__":
    main()
