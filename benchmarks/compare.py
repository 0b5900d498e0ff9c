"""Ours beside others, one table a family: CPU seconds of one thread at the quality that is printed.

    python -m benchmarks.compare --data FOLDER [--peer-python PYTHON] [--family linear,...]
                                 [--jobs hinge,...] [--limit 60] [--repeats 3]

FOLDER holds the data and a `load.py`; without one it keeps what is fetched from OpenML and LIBSVM,
and work on other data is an error. PYTHON is an interpreter with the peers of `peers.txt`, without
it they are left out. A family is a module with JOBS, functions that yield a row for each piece of
work and peer: its docstring says what is compared and what must agree. What the first call of a
process costs (imports, loading) is not counted.
"""

import argparse
import importlib
import inspect
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.support.comparison import HEADER, Bench, Row
from benchmarks.support.environment import environment, one_thread
from benchmarks.support.tables import table

FAMILIES = {
    "linear": "benchmarks.svm.linear",
    "kernel": "benchmarks.svm.kernels",
    "nu": "benchmarks.svm.nu",
    "after": "benchmarks.svm.after",
    "search": "benchmarks.svm.searches",
    "metric": "benchmarks.metric_learning.peers",
    "embedding": "benchmarks.embedding.peers",
    "concepts": "benchmarks.concepts.peers",
    "sequence": "benchmarks.sequence.peers",
}


def main(argv: list[str] | None = None) -> int:
    """Run the families and jobs asked for; return 1 if a job is unknown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--peer-python", help="interpreter of an environment with the peers")
    parser.add_argument("--family", default=",".join(FAMILIES))
    parser.add_argument("--jobs", default="", help="all of the families, if none is named")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of a peer's fit")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of short fits counts")
    args = parser.parse_args(argv)
    bench = Bench(args.data, args.peer_python, args.limit, args.repeats)
    modules = {name: importlib.import_module(FAMILIES[name]) for name in args.family.split(",")}
    wanted = set(args.jobs.split(",")) - {""}
    known = set().union(*(module.JOBS for module in modules.values()))
    if wanted - known:
        parser.error(f"unknown jobs {sorted(wanted - known)}; there are {', '.join(sorted(known))}")
    print(f"{environment()}; limit for a fit of a peer: {args.limit:g} s\n")
    with one_thread():
        for name, module in modules.items():
            family(name, module, bench, wanted or known)
    return 0


def family(name: str, module, bench: Bench, wanted: set[str]) -> None:
    """Print the table of a family."""
    started, rows = time.perf_counter(), []
    for job, function in module.JOBS.items():
        if job not in wanted:
            continue
        print(f"{name}: {job}: {inspect.getdoc(function).splitlines()[0]}", flush=True)
        for row in function(bench):
            rows.append(row)
            print("   ", *row.cells(), sep=" | ", flush=True)
    print(f"\n{name}, {time.perf_counter() - started:.0f} s\n")
    table(HEADER, [row.cells() for row in rows])
    print(means(rows), flush=True)


def means(rows: list[Row]) -> str:
    """Say how each peer compares in the geometric mean over all work."""
    found = {}
    for row in rows:
        if np.isfinite(row.ratio):
            found.setdefault(row.peer.name, []).append(row.ratio)
    said = (
        f"{peer} takes {np.exp(np.mean(np.log(ratios))):.2g} times as long in the geometric mean "
        f"of {len(ratios)} rows ({min(ratios):.2g} to {max(ratios):.2g})"
        for peer, ratios in found.items()
    )
    return "\n".join(said) + "\n"


if __name__ == "__main__":
    sys.exit(main())
