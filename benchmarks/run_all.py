"""All benchmarks, one after the other; what they print goes into one JSON file.

    python benchmarks/run_all.py --data FOLDER --out DIR [--only svc,store] [--peer-python PYTHON]

FOLDER holds the benchmark data and its `load.py`. Figures and text go to DIR, with `results.json`:
versions, machine, seconds and output of each script. `--peer-python` is the interpreter of an
environment with cblearn, whose pins conflict with ours.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# Arguments beside --data, and whether a script takes --out and --peer-python.
SCRIPTS = {
    "latency": ([], False, False),
    "rtlm_path": (["--data"], False, False),
    "rtlm_paper": (["--data"], True, False),
    "svc": (["--data"], False, False),
    "store": (["--data"], False, False),
    "certified": (["--data"], False, False),
    "pragam": (["--data"], True, False),
    "embedding": (["--data"], True, True),
    "on_dask": (["--data"], False, False),
    "safety": ([], False, False),
    "safety_samples": ([], False, False),
    "fuzz": ([], False, False),
    "soak": ([], False, False),
}
PACKAGES = (
    "skscreen", "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl", "matplotlib",
)  # fmt: skip


def main() -> int:
    """Run the scripts asked for; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with load.py")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--only", default=",".join(SCRIPTS))
    parser.add_argument("--peer-python", default=None)
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - set(SCRIPTS):
        parser.error(f"unknown {sorted(unknown)}; there are {', '.join(SCRIPTS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    results = {
        "versions": {name: version(name) for name in PACKAGES},
        "machine": {"processor": processor(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "scripts": {},
    }
    failed = []
    for name in names:
        command = [sys.executable, str(HERE / f"{name}.py")]
        takes, out, peer = SCRIPTS[name]
        if takes:
            command += ["--data", str(args.data)]
        if out:
            command += ["--out", str(args.out / name)]
        if peer and args.peer_python:
            command += ["--peer-python", args.peer_python]
        print(f"{name} ...", flush=True)
        started = time.perf_counter()
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        (args.out / f"{name}.txt").write_text(run.stdout + run.stderr)
        results["scripts"][name] = {
            "seconds": round(seconds, 1), "code": run.returncode, "output": run.stdout.splitlines(),
        }  # fmt: skip
        (args.out / "results.json").write_text(json.dumps(results, indent=1))
        print(f"{name}: {seconds:.0f} s, exit code {run.returncode}", flush=True)
        if run.returncode:
            failed.append(name)
    print(f"results in {args.out}; failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def version(name: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """Return the name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration, IndexError):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
