"""Compile the loops with other compilers and for other machines; `make portable` runs this.

`tests/portable/loops.cpp` runs loops of every room. With each compiler that is found it is compiled
twice: as the package is, where numbers may differ by rounding from those of the first compiler, and
without contraction of products and sums, where those named "same." may not differ in any bit.
Programs for ARM run in qemu; for macOS and Windows they are compiled, and neither linked nor run.
What is not found is skipped, and said at the end.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "tests" / "portable" / "loops.cpp"
OPTIONS = [
    "-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-Wall",
    "-Wextra", "-Wno-unknown-pragmas", "-Wno-pass-failed", f"-I{ROOT / 'skscreen' / '_compiled'}",
]  # fmt: skip
# Differences of rounding, relative to the largest number of a line; in single precision.
ROUNDING, SINGLE = 1e-12, 1e-6
ZIG = [sys.executable, "-m", "ziglang", "c++", "-target"]
ARM = "aarch64-linux-gnu-"
# Compilers with their options, and what runs their programs; None where nothing here can.
COMPILERS = {
    "c++": ([os.environ.get("CXX", "c++")], []),
    "c++, AVX2": ([os.environ.get("CXX", "c++"), "-march=x86-64-v3"], []),
    "clang++": (["clang++"], []),
    "clang++, AVX2": (["clang++", "-march=x86-64-v3"], []),
    "g++ for ARM, in qemu": ([f"{ARM}g++", "-static", "-Wno-psabi"], ["qemu-aarch64"]),
    "zig c++ for macOS on ARM": ([*ZIG, "aarch64-macos"], None),
    "zig c++ for Windows": ([*ZIG, "x86_64-windows-gnu"], None),
}


def missing(compiler: list[str], runner: list[str] | None) -> list[str]:
    """Name the tools of a row that are not here."""
    tools = [tool for tool in [compiler[0], *(runner or [])] if shutil.which(tool) is None]
    if "ziglang" in compiler and find_spec("ziglang") is None:
        tools.append("ziglang (of the Python Package Index)")
    return tools


def numbers(text: str) -> list[tuple[str, list[float]]]:
    """Return the names and numbers of what a program prints."""
    rows = (line.split() for line in text.splitlines())
    return [(name, [float.fromhex(part) for part in parts]) for name, *parts in rows]


def differs(found: list[float], expected: list[float], slack: float) -> bool:
    """Whether numbers are further apart than rounding is, or at all without `slack`."""
    room = slack * max(map(abs, expected), default=0.0)
    pairs = zip(found, expected, strict=True)
    return any(not (a == b or abs(a - b) <= room or (a != a and b != b)) for a, b in pairs)


def slack_of(name: str, strict: bool) -> float:
    """Return how far a line may be off, where products and sums are contracted or are not."""
    if strict and name.startswith("same."):
        return 0.0
    return SINGLE if name.endswith(".single") else ROUNDING


def run(
    compiler: list[str], runner: list[str] | None, *options: str
) -> list[tuple[str, list[float]]]:
    """Compile the program, run it, and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "loops"
        only = ["-c"] if runner is None else []
        subprocess.run([*compiler, *OPTIONS, *options, *only, PROGRAM, "-o", program], check=True)
        if runner is None:
            return []
        done = subprocess.run([*runner, program], check=True, stdout=subprocess.PIPE, text=True)
        return numbers(done.stdout)


def main() -> int:
    """Compare all rows with the first; return how many are wrong."""
    expected: dict[str, list[tuple[str, list[float]]]] = {}
    wrong, skipped = 0, []
    for title, (compiler, runner) in COMPILERS.items():
        if tools := missing(compiler, runner):
            skipped.append(f"{title}: no {' and no '.join(tools)}")
            continue
        for contract in ("-ffp-contract=off", "-ffp-contract=fast"):
            found = run(compiler, runner, contract)
            if runner is None:
                print(f"{title}: compiled", flush=True)
                break
            right, strict = expected.setdefault(contract, found), contract.endswith("off")
            same = sum(a == b for a, b in zip(found, right, strict=True))
            bad = [
                name
                for (name, mine), (_, theirs) in zip(found, right, strict=True)
                if differs(mine, theirs, slack_of(name, strict))
            ]
            wrong += len(bad)
            how = "as compiled for users" if not strict else "without contraction"
            print(f"{title}, {how}: {same} of {len(found)} lines in every bit", *bad, flush=True)
    print(*(f"skipped {row}" for row in skipped), sep="\n")
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(), 1))
