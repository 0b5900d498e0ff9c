"""All benchmarks, one after the other; what they print goes into one JSON file and one page.

    python -m benchmarks.run_all --data FOLDER --out DIR [--only linear,...]
                                 [--peer-python PYTHON] [--page PAGE]

FOLDER holds the benchmark data and its `load.py`. Figures and text go to DIR, with `results.json`:
for each script module, environment, date, seconds and output with its tables. A file
that is there is kept but for the scripts that run, so that all can be measured in parts. Of it
`page.py` makes a page, DIR/benchmarks.md or PAGE. `--peer-python` is the interpreter of an
environment with the peers in `peers.txt`, whose pins conflict with ours.
"""

import argparse
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.compare import FAMILIES
from benchmarks.page import write_page
from benchmarks.support.environment import environment

# By the name in `results.json`: the module, and which of --data, --out and --peer-python it takes.
SCRIPTS = {
    **{family: ("benchmarks.compare", "data", "peer") for family in FAMILIES},
    "svc_paper": ("benchmarks.svm.paper", "data", "out"),
    "rtlm_memory": ("benchmarks.metric_learning.memory", "data"),
    "rtlm_paper": ("benchmarks.metric_learning.paper", "data", "out"),
    "pragam": ("benchmarks.pragam.paper", "data", "out"),
    "embedding_paper": ("benchmarks.embedding.run", "data", "out"),
    "growth": ("benchmarks.whole.growth", "out"),
    "identities": ("benchmarks.metric_learning.identities",),
    "on_dask": ("benchmarks.whole.on_dask", "data"),
    "dask_rows": ("benchmarks.whole.dask_rows",),
    "safety": ("tests.proofs.safety.comparisons",),
    "safety_samples": ("tests.proofs.safety.samples",),
    "safety_screening": ("tests.proofs.safety.screening",),
    "safety_fits": ("tests.proofs.safety.fits",),
    "safety_losses": ("tests.proofs.safety.losses",),
    "safety_features": ("tests.proofs.safety.features",),
    "safety_gaps": ("tests.proofs.safety.gaps",),
    "fuzz": ("tests.proofs.fuzz.run",),
    "soak": ("tests.proofs.soak",),
}


def main() -> int:
    """Run the scripts asked for; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--only", default=",".join(SCRIPTS))
    parser.add_argument("--peer-python", default=None)
    parser.add_argument("--page", type=Path, default=None, help="default: DIR/benchmarks.md")
    args = parser.parse_args()
    names = [name for name in args.only.split(",") if name]
    if unknown := set(names) - set(SCRIPTS):
        parser.error(f"unknown {sorted(unknown)}; there are {', '.join(SCRIPTS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    file, failed = args.out / "results.json", []
    for name in names:
        print(f"{name} ...", flush=True)
        entry = run(name, args)
        print(f"{name}: {entry['seconds']:.0f} s, exit code {entry['code']}", flush=True)
        if entry["code"]:
            failed.append(name)
        # Read late: another run may have added scripts of its own in the meantime.
        found = stored(file)["scripts"] | {name: entry}
        found = {known: found[known] for known in SCRIPTS if known in found}
        file.write_text(json.dumps({"scripts": found}, indent=1) + "\n")
    page = args.page or args.out / "benchmarks.md"
    write_page(stored(file), args.out, page)
    print(f"results in {args.out}, page {page}; failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def stored(file: Path) -> dict:
    """Return the results that are there."""
    return json.loads(file.read_text()) if file.exists() else {"scripts": {}}


def run(name: str, args) -> dict:
    """Run a script; return what it printed, and when, where and with what."""
    module, *takes = SCRIPTS[name]
    command = [sys.executable, "-m", module]
    if name in FAMILIES:
        command += ["--family", name]
    if "data" in takes:
        command += ["--data", str(args.data)]
    if "out" in takes:
        command += ["--out", str(args.out / name)]
    if "peer" in takes and args.peer_python:
        command += ["--peer-python", args.peer_python]
    entry = {
        "module": module,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "environment": environment(),
    }
    started = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    (args.out / f"{name}.txt").write_text(ran.stdout + ran.stderr)
    lines = ran.stdout.splitlines()
    return entry | {
        "seconds": round(time.perf_counter() - started, 1), "code": ran.returncode,
        "output": lines, "tables": tables(lines),
    }  # fmt: skip


def tables(lines: list[str]) -> list[dict]:
    """Take the tables in Markdown out of printed lines: title, column names, rows of text."""
    found, title, rows = [], "", []
    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if len(rows) > 2:
            found.append({"title": title, "columns": rows[0], "rows": rows[2:]})
            rows = []
        title = line.strip() or title
    return found


if __name__ == "__main__":
    sys.exit(main())
