"""Fuzzing of every public function: no crash, no hang, no number that is not finite, no wrong one.

    python -m tests.proofs.fuzz.run [--minutes 20] [--target NAME,...] [--seed 0] [--engine auto]
    python -m tests.proofs.fuzz.run --target NAME --replay HEX

What is drawn is in `inputs.py`, what is called in `targets.py`, what is expected in
`checks.py`. Each target has a process of its own, so that a crash of the interpreter is a
finding like another. Two engines choose the bytes that Hypothesis makes examples of. "atheris"
(libFuzzer) keeps those that reach new branches of the Python code of skscreen and changes them;
compiled loops it does not see. "random" draws afresh each time, and is what there is without
atheris. A finding is printed once, with the bytes that repeat it. The exit code is 1 if
there is one. Needs the `bench` extra.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import skscreen
from tests.proofs.fuzz.targets import TARGETS, once

# Seconds without an end after which a process is given up: for what no signal interrupts.
STUCK = 120.0
# Most bytes of an example.
LONGEST = 4096


def example_of(name: str):
    """Return the function that makes an example of bytes and runs it."""

    @settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data):
        once(name, data)

    return run.hypothesis.fuzz_one_input


class Recorder:
    """Runs examples, keeps what is found and goes on.

    Parameters
    ----------
    name : str
        Of the target.
    file : Path
        Gets a line of JSON for each new finding, and one of numbers at the end.
    seconds : float
    """

    def __init__(self, name: str, file: Path, seconds: float):
        self.run, self.file, self.seen, self.n_examples = example_of(name), file, set(), 0
        self.ends = time.monotonic() + seconds

    def __call__(self, content: bytes) -> None:
        """Run one example; ends the process when the time is over."""
        if time.monotonic() >= self.ends:
            self.note(examples=self.n_examples)
            # The engine has no other way to be stopped.
            sys.stdout.flush()
            os._exit(0)
        faulthandler.dump_traceback_later(STUCK, exit=True)
        self.file.with_suffix(".last").write_bytes(content)
        try:
            self.run(content)
        except BaseException as error:
            # A time limit may strike late, after the call.
            key = " ".join(str(error).split())[:120]
            if key not in self.seen:
                self.seen.add(key)
                self.note(
                    finding=str(error), notes=getattr(error, "__notes__", []), bytes=content.hex()
                )
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.n_examples += 1

    def note(self, **line) -> None:
        """Write a line."""
        with self.file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def instrument() -> int:
    """Have atheris count the branches of skscreen's Python functions; return their number."""
    import atheris

    done = set()
    for name, module in list(sys.modules.items()):
        if not name.startswith("skscreen"):
            continue
        for value in list(vars(module).values()):
            for member in vars(value).values() if isinstance(value, type) else [value]:
                function = getattr(member, "__func__", getattr(member, "fget", member))
                while isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__"):
                    function = function.__wrapped__
                ours = getattr(function, "__module__", "") or ""
                if isinstance(function, types.FunctionType) and ours.startswith("skscreen"):
                    if function not in done:
                        done.add(function)
                        atheris.instrument_func(function)
    return len(done)


def child(name: str, file: Path, seconds: float, seed: int, engine: str) -> None:
    """Fuzz one target until the time is over; does not return."""
    warnings.simplefilter("ignore")
    draw = random.Random(f"{seed} {name}")
    recorder = Recorder(name, file, seconds)
    # Modules are loaded before anything is timed, by examples whose findings come again later.
    for _ in range(20):
        try:
            recorder.run(draw.randbytes(500))
        except Exception:
            continue
    if engine == "atheris":
        import atheris

        instrument()
        # What it would write goes the way of the folder.
        options = (
            f"-artifact_prefix={file.parent}/", f"-seed={seed + 1}", f"-max_len={LONGEST}",
            "-timeout=86400", "-rss_limit_mb=0", "-len_control=20", "-verbosity=0",
            "-print_final_stats=0",
        )  # fmt: skip
        atheris.Setup(["fuzz", *options], recorder)
    # The time of a target begins when its code is instrumented.
    recorder.ends = time.monotonic() + seconds
    if engine == "atheris":
        atheris.Fuzz()
    while True:
        recorder(draw.randbytes(draw.choice((50, 200, 1000))))


def fuzz(name: str, seconds: float, seed: int, engine: str) -> tuple[int, list[dict]]:
    """Fuzz one target in a process of its own; return how many examples, and the findings."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found"
        ends, lines = time.monotonic() + seconds, []
        while (left := ends - time.monotonic()) > 0.0:
            command = [sys.executable, "-m", "tests.proofs.fuzz.run", "--child", str(file),
                       "--target", name, "--minutes", str(left / 60.0), "--seed", str(seed),
                       "--engine", engine]  # fmt: skip
            errors = file.with_suffix(".errors")
            with errors.open("w") as out:
                # A session of its own: workers that joblib has started end with it.
                process = subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=out, start_new_session=True
                )
                process.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if process.returncode == 0:
                break
            # A fresh start, with other examples.
            seed += 1000
            last = file.with_suffix(".last")
            content = last.read_bytes().hex() if last.exists() else ""
            tail = errors.read_text().strip().splitlines()[-12:]
            with file.open("a") as out:
                line = {"finding": f"process ended with {process.returncode}", "notes": tail,
                        "bytes": content}  # fmt: skip
                out.write(json.dumps(line) + "\n")
            if not content:
                break
        lines = [json.loads(line) for line in file.read_text().splitlines()]
    n_examples = sum(line.get("examples", 0) for line in lines)
    return n_examples, [line for line in lines if "finding" in line]


def engines() -> tuple[str, ...]:
    """Return the engines that there are, best first."""
    try:
        import atheris  # noqa: F401
    except ImportError:
        return ("random",)
    return "atheris", "random"


def main(argv: list[str] | None = None) -> int:
    """Fuzz all targets, or those asked for; return 1 if something is found or nothing was tried."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="for all targets together")
    parser.add_argument("--target", default=",".join(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("auto", "atheris", "random"), default="auto")
    parser.add_argument("--replay", default=None, help="bytes of a finding")
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    engine = engines()[0] if args.engine == "auto" else args.engine
    names = args.target.split(",")
    if unknown := set(names) - set(TARGETS):
        parser.error(f"unknown {sorted(unknown)}; there are {', '.join(TARGETS)}")
    with threadpool_limits(limits=1):
        if args.replay is not None:
            example_of(names[0])(bytes.fromhex(args.replay))
            return 0
        if args.child is not None:
            child(names[0], args.child, 60.0 * args.minutes, args.seed, engine)
    print(f"skscreen {skscreen.__version__}, engine {engine}, seed {args.seed}", flush=True)
    total, found, untried = 0, 0, []
    for name in names:
        share = 60.0 * args.minutes / len(names)
        n_examples, findings = fuzz(name, share, args.seed, engine)
        total, found = total + n_examples, found + len(findings)
        untried += [] if n_examples else [name]
        print(f"{name}: {n_examples} examples, {len(findings)} findings", flush=True)
        for finding in findings:
            print(f"  {finding['finding']}\n    {' '.join(finding['notes'])}")
            print(f"    --target '{name}' --replay {finding['bytes']}", flush=True)
    print(f"{total} examples of {len(names)} targets in {args.minutes:g} minutes: {found} findings")
    if untried:
        print(f"Not tried: {', '.join(untried)}. Give more minutes.")
    return int(found > 0 or bool(untried))


if __name__ == "__main__":
    sys.exit(main())
