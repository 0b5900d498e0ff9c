"""Ordinal embedding measured: the paper's experiments, human answers, and cblearn on the same.

    python -m benchmarks.embedding.run --data FOLDER [--peer-python PYTHON] [--parts human,...]
                                   [--out DIR] [--quick]

Ma, Zeng, Xiong, Xu, Cao, Liu and Yao (arXiv:1912.00362) propose SVRG-SBB; cblearn is the nearest
library. FOLDER has a `load.py` with `load(name)`. PYTHON is an interpreter of an
environment with cblearn 0.4, which pins numpy < 2; without it our side alone is measured. One
thread; seconds are CPU seconds, compilation excluded and reported. Tables are printed in markdown,
figures and numbers (results.json) go to DIR. --quick is a rehearsal.
"""

import argparse
import datetime
import json
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.embedding import limits, paper
from benchmarks.embedding.figures import peer_points
from benchmarks.embedding.runs import LOSSES, Peer, ms, split, synthetic
from benchmarks.support.data import Data
from benchmarks.support.environment import environment
from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding

SETS = (
    "eurodist", "faces36", "cars60", "texture62", "material100", "music_artists", "eggs300",
    "food100", "zappos85", "things1854",
)  # fmt: skip
CELLS = ((100, 10, 10_000, 0.0), (500, 5, 50_000, 0.1), (2000, 10, 200_000, 0.1))


@dataclass(frozen=True)
class Bench:
    """Where the data comes from, where figures go, the peer, and how much is run."""

    load: Data
    out: Path
    peer: Peer
    quick: bool
    splits: int
    components: tuple[int, ...]


def fit(train, n, p, **options):
    """CPU seconds of a fit at default arguments, and the model; a fit of milliseconds is repeated.

    The least of the repetitions counts.
    """
    seconds = []
    for _ in range(5):
        model = OrdinalEmbedding(p, objects=n, **options)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(train)
        seconds.append(time.process_time() - start)
        if sum(seconds) > 0.2:
            break
    return min(seconds), model


def human(bench: Bench) -> dict:
    """Every set of human answers, 80/20: ours and cblearn's, each at default arguments."""
    results = {}
    for p in bench.components:
        rows, checks, panels = [], [], {}
        for name in SETS[:4] if bench.quick else SETS:
            T = bench.load(name)
            n = int(T.max()) + 1
            arms = {(who, loss): [] for loss in LOSSES for who in ("skscreen", "cblearn")}
            for seed in range(bench.splits):
                train, test = split(T, seed)
                for loss in LOSSES:
                    seconds, model = fit(train, n, p, loss=loss, random_state=seed)
                    arms["skscreen", loss].append((seconds, 1.0 - model.score(test)))
                    arms["cblearn", loss].append(bench.peer.fit(train, test, n, p, loss, seed))
            means = {key: np.mean(values, axis=0) for key, values in arms.items()}
            panels[name] = means
            for loss in LOSSES:
                (ours, our_error), (theirs, error) = (
                    means[who, loss] for who in ("skscreen", "cblearn")
                )
                rows.append(
                    (name, loss, f"{our_error:.4f}", f"{error:.4f}", ms(ours), ms(theirs),
                     f"{theirs / ours:.0f}")
                )  # fmt: skip
            best = min(LOSSES, key=lambda loss: means["cblearn", loss][1])
            (ours, our_error), (theirs, error) = means["skscreen", "soe"], means["cblearn", best]
            checks.append(
                (name, f"{our_error:.4f}", f"{best} {error:.4f}", f"{our_error - error:+.4f}",
                 f"{theirs / ours:.0f}")
            )  # fmt: skip
            results[f"{name}, p={p}"] = {
                f"{who} {loss}": values for (who, loss), values in arms.items()
            }
        print(f"### {p} components, means of {bench.splits} splits\n")
        table("data,ours (default: SOE),best of cblearn's five,difference,times faster", checks)
        table("data,loss,test error ours,cblearn,ms ours,cblearn,ratio", rows)
        peer_points(bench.out, f"human_{p}", panels)
    return results


def made(bench: Bench) -> dict:
    """Made answers: each loss of ours against cblearn's, both at default arguments."""
    rows, ratios, results = [], {}, {}
    for n, p, size, noise in CELLS[:1] if bench.quick else CELLS:
        for loss in LOSSES:
            found = []
            for seed in range(bench.splits):
                train, test = synthetic(n, p, size, noise, seed)
                seconds, model = fit(train, n, p, loss=loss, random_state=seed)
                peer = bench.peer.fit(train, test, n, p, loss, seed)
                found.append((seconds, 1.0 - model.score(test), *peer))
            ours, our_error, theirs, error = np.mean(found, axis=0)
            ratios.setdefault(loss, []).append(theirs / ours)
            cell = f"{n}, {p}, {size:,}, {noise:.0%}"
            results[f"{loss}: {cell}"] = found
            rows.append(
                (cell, loss, f"{our_error:.4f}", f"{error:.4f}", f"{our_error - error:+.4f}",
                 ms(ours), ms(theirs), f"{theirs / ours:.0f}")
            )  # fmt: skip
    table(
        "n; p; answers; noise,loss,test error ours,cblearn,difference,ms ours,cblearn,ratio",
        [(row[0].replace(", ", "; "), *row[1:]) for row in rows],
    )
    every = np.concatenate(list(ratios.values()))
    print(f"Geometric mean of the ratios: {np.exp(np.mean(np.log(every))):.0f}; by loss: ", end="")
    print(
        ", ".join(f"{loss} {np.exp(np.mean(np.log(r))):.0f}" for loss, r in ratios.items()),
        f"(smallest {every.min():.0f})\n",
    )
    return results


def cold(bench: Bench) -> dict:
    """Compilation: the first fit of a process, with and without a cache on disk."""
    code = (
        "import time, numpy as np; start = time.process_time();"
        "from skscreen import OrdinalEmbedding;"
        "rows = np.array([np.random.default_rng(s).permutation(20)[:3] for s in range(500)]);"
        "loaded = time.process_time(); OrdinalEmbedding().fit(rows);"
        "print(loaded - start, time.process_time() - loaded)"
    )
    folder, rows = bench.out / "numba_cache", []
    for state in ("no cache", "cache on disk"):
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**__import__("os").environ, "NUMBA_CACHE_DIR": str(folder)},
        )  # fmt: skip
        imported, fitted = map(float, result.stdout.split())
        rows.append((state, f"{imported:.2f}", f"{fitted:.2f}"))
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    folder.rmdir()
    table("state,s to import,s of the first fit", rows)
    return {}


PARTS = {
    "cold": cold,
    "table1": paper.table_one,
    "figure1": paper.figure_one,
    "figure2": paper.figure_two,
    "music": paper.music,
    "retrieval": paper.retrieval,
    "growth": limits.growth,
    "epochs": limits.epochs,
    "starts": limits.starts,
    "made": made,
    "human": human,
}


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--peer-python", help="interpreter of an environment with cblearn")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--out", type=Path, default=Path("embedding"), help="folder for figures")
    parser.add_argument("--splits", type=int, default=2, help="of the parts human and made")
    parser.add_argument("--components", default="2,5", help="of the part human")
    parser.add_argument("--quick", action="store_true", help="a rehearsal on less")
    args = parser.parse_args()
    unknown = set(args.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    args.out.mkdir(parents=True, exist_ok=True)
    print(f"{environment()}, {datetime.date.today()}")
    components = tuple(int(p) for p in args.components.split(","))
    peer = Peer(args.peer_python)
    if peer.process:
        print(f"peer: {peer.process.versions('cblearn', 'numpy', 'scikit-learn')}")
    bench = Bench(Data(args.data), args.out, peer, args.quick, args.splits, components)
    file = args.out / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    with threadpool_limits(1):
        compile_all()
        for part in args.parts.split(","):
            print(f"\n## {part}\n\n{PARTS[part].__doc__}\n", flush=True)
            results[part] = PARTS[part](bench)
            file.write_text(json.dumps(results, default=lambda value: np.asarray(value).tolist()))


def compile_all() -> None:
    """Compile what the parts use, before anything is measured."""
    train, _ = synthetic(20, 2, 500, 0.2, 0)
    weights = np.ones(len(train))
    weights[0] = 2.0
    for n in (20, 200):
        for solver in ("auto", "lbfgs", "svrg-sbb", "sgd", "batch"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                OrdinalEmbedding(solver=solver).fit(train, n_objects=n, sample_weight=weights)
    OrdinalEmbedding(formulation="convex", loss="ste").fit(train)


if __name__ == "__main__":
    main()
