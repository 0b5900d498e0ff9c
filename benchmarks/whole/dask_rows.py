"""Linear models of more rows than one would hold in memory: passes, seconds, megabytes, a model.

    python -m benchmarks.whole.dask_rows [--sizes 5e5x10,2e6x50] [--workers 1,2] [--loss LOSSES]

Float32 rows are made on the workers of a local cluster, four blocks; no data are needed. Features
are autoregressive with correlation --correlation, labels a random hyperplane with noise. CPU
seconds are those of the driver + of the busier worker, because others may use the machine: their
sum is what a fit takes on idle cores. Megabytes are the largest resident sets in the fit. Up to
--in-memory rows `ScreenedLinearSVC` fits the same rows in this process, once, and with --exact the
largest difference of coefficients at a tolerance of 1e-11 is found, relative to the largest.

With --epochs the peer is scikit-learn's `SGDClassifier`, which goes from block to block on the
workers, as dask-ml's Incremental does: as it is by default, and averaged, with the first step that
was best on the first block, which is not counted. What is printed are the CPU seconds of
`partial_fit` until its objective is so much above the optimum, relative, looked at after every
block. At last a model of the time is fitted to the squared hinge, and printed for many workers.
"""

import argparse
import time
import warnings
from itertools import product

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait
from scipy.optimize import nnls
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

from benchmarks.support.tables import table
from benchmarks.whole.on_dask import busy_environment, cluster_of, fitted
from skscreen import ScreenedLinearSVC
from skscreen.distributed import DistributedLinearSVC

C, BLOCKS = 1.0, 4
# First steps of the peer, and the excess of its objective to reach.
STEPS, TARGETS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1), (1e-3, 1e-4, 1e-6, 1e-7)
# Predicted work and workers; seconds of a round trip, and bytes a second.
LARGE, MANY = ((1e8, 50), (1e9, 50), (1e9, 200)), (1, 2, 10, 100, 1000)
LATENCY, BANDWIDTH = 0.01, 1.25e9


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
    print(f"{busy_environment()}; C = {C}, tol = {args.tol}, correlation {args.correlation}")
    rows = []
    counts = [int(count) for count in args.workers.split(",")]
    for n_workers in counts:
        with cluster_of(n_workers) as client:
            for size, loss in product(args.sizes.split(","), args.loss.split(",")):
                n, d = (int(float(part)) for part in size.split("x"))
                rows.append(run(client, n, d, loss, args, n_workers == counts[-1]))
                print(*rows[-1], flush=True)
            if n_workers == counts[-1]:
                a_block = seconds_a_block(client)
    table("rows,features,workers,loss,GB,passes,gap,seconds (CPU),driver MB,worker MB,"
          "in memory s (CPU),difference," + ",".join(f"{peer} to {target:.0e} CPU s"
          for peer in ("SGD", "tuned SGD") for target in TARGETS), rows)  # fmt: skip
    predict([row for row in rows if row[3] == "squared_hinge"], a_block)


def run(client: Client, n: int, d: int, loss: str, args, compare: bool) -> tuple:
    """Return a row of the table."""
    X, y = made(n, d, args.correlation)
    model = DistributedLinearSVC(C, loss=loss, tol=args.tol)
    fitted(client, model, X[:: max(n // 1000, 1)], y[:: max(n // 1000, 1)])
    _, most, cost = fitted(client, model, X, y)
    here = in_memory(X, y, model, args) if n <= args.in_memory and compare else ("", "")
    peers = [""] * 2 * len(TARGETS)
    if args.epochs:
        pairs = zip(X.to_delayed().ravel(), y.to_delayed(), strict=True)
        blocks = [client.compute([*pair]) for pair in pairs]
        plain = SGDClassifier(loss=loss, alpha=1.0 / (C * n), random_state=0)
        both = plain, tuned(client, plain, blocks[0])
        least = model.objective_
        peers = [c for peer in both for c in sgd(client, peer, blocks, least, args.epochs)]
    return (
        n, d, len(client.nthreads()), loss, f"{4e-9 * n * d:.2f}", model.n_iter_,
        f"{model.dual_gap_:.0e}", cost, f"{most[0]:.0f}", f"{max(most[1:]):.0f}", *here, *peers,
    )  # fmt: skip


def in_memory(X: da.Array, y: da.Array, model: DistributedLinearSVC, args) -> tuple:
    """Return the cost of a fit in this process, and the difference of coefficients."""
    exact = None
    if args.exact:
        exact = DistributedLinearSVC(C, loss=model.loss, tol=1e-11, max_iter=500).fit(X, y)
    X, y = X.compute(), y.compute()
    _, _, cost = fitted(None, ScreenedLinearSVC(C, loss=model.loss, tol=args.tol), X, y)
    if exact is None:
        return cost, ""
    peer = ScreenedLinearSVC(C, loss=model.loss, tol=1e-11).fit(X, y)
    apart = np.abs(exact.coef_ - peer.coef_).max() / np.abs(peer.coef_).max()
    return cost, f"{apart:.0e}"


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


def tuned(client: Client, plain: SGDClassifier, block: list) -> SGDClassifier:
    """Return the averaged peer with the first step that is best on a block."""
    new = {"average": True, "learning_rate": "invscaling", "power_t": 0.5}
    tries = [clone(plain).set_params(eta0=step, **new) for step in STEPS]
    moves = [client.submit(moved, peer, *block, pure=False) for peer in tries]
    losses = client.gather([client.submit(loss_of, peer, *block, pure=False) for peer in moves])
    return tries[int(np.nanargmin(losses))]


def sgd(client: Client, peer: SGDClassifier, blocks: list, least: float, epochs: int) -> list[str]:
    """Return the seconds of the peer to each target, or how far it is after all epochs."""
    seconds, reached, above = 0.0, [], np.inf
    for k in range(epochs * len(blocks)):
        peer = client.submit(moved, peer, *blocks[k % len(blocks)], pure=False)
        seconds += client.submit(getattr, peer, "seconds").result()
        losses = [client.submit(loss_of, peer, *block, pure=False) for block in blocks]
        half = client.submit(half_square, peer).result()
        above = (half + C * sum(client.gather(losses))) / least - 1.0
        while len(reached) < len(TARGETS) and above <= TARGETS[len(reached)]:
            reached.append(f"{seconds:.2f}")
        if len(reached) == len(TARGETS):
            return reached
    return reached + [f"> {seconds:.1f} ({above:.0e})"] * (len(TARGETS) - len(reached))


def moved(peer: SGDClassifier, rows, labels) -> SGDClassifier:
    """Return the peer after a block; on a worker."""
    started = time.process_time()
    peer.partial_fit(rows, labels, classes=[0, 1])
    peer.seconds = time.process_time() - started
    return peer


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


def predict(rows: list[tuple], a_block: float) -> None:
    """Fit start + passes n (c0 + c2 D^2) to the CPU seconds of workers of n rows; print for many.

    The driver serves the blocks one after the other, and gets D^2 numbers of each.
    """
    n, D, passes, seconds = np.array([(r[0] / r[2], r[1] + 1.0, r[5], r[7].worker) for r in rows]).T
    terms = np.column_stack([np.ones_like(n), passes * n, passes * n * D**2])
    (start, c0, c2), _ = nnls(terms / seconds[:, None], np.ones_like(n))
    off = np.abs(terms @ [start, c0, c2] / seconds - 1.0)
    print(f"Start {start:.2f} s, {1e9 * c0:.0f} + {1e9 * c2:.4f} D^2 ns for a row in a pass, "
          f"{1e3 * a_block:.1f} ms of the driver for a block; {np.median(off):.0%} off in "
          f"the median, at most {off.max():.0%}. {passes.max():.0f} passes:\n")  # fmt: skip
    times = [[
        start + passes.max() * (n / k * (c0 + c2 * (d + 1) ** 2) + LATENCY
                                + k * (a_block + 8.0 * (d + 1) ** 2 / BANDWIDTH)) for k in MANY
    ] for n, d in LARGE]  # fmt: skip
    table("rows,features," + ",".join(f"{k} workers s" for k in MANY),
          [(f"{n:.0e}", d, *(f"{t:.3g}" for t in row))
           for (n, d), row in zip(LARGE, times, strict=True)])  # fmt: skip


if __name__ == "__main__":
    main()
