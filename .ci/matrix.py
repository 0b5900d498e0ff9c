"""Test the wheel on every Python that pyproject.toml names; `make test-matrix` runs this.

A cell is a fresh environment: each Python with the newest dependencies, the oldest also with the
oldest that pyproject.toml allows. The tests are those of the source distribution, from which the
package is taken out first, so that only the installed wheel can be imported.
"""

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from xml.etree import ElementTree

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "build" / "matrix"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHON = "Programming Language :: Python :: 3."
PYTHONS = ["3." + line.removeprefix(PYTHON) for line in PROJECT["classifiers"] if PYTHON in line]
SHOWN = ["numpy", "scipy", "scikit-learn"]
COLUMNS = ["Python", "dependencies", *SHOWN, "passed", "failed", "skipped", "seconds", ""]


def uv(*arguments) -> str:
    """Run uv, the installer that can choose the oldest versions; return what it prints."""
    command = [sys.executable, "-m", "uv", "--no-python-downloads", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def wrong_bounds(versions: dict) -> list[str]:
    """Name lower bounds that no installation can have: another requirement asks for more."""
    lines = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    oldest = {Requirement(line).name: Requirement(line).specifier for line in lines}
    return [
        f"{name}{bound} means >={versions[name]}"
        for name, bound in oldest.items()
        if Version(str(bound).removeprefix(">=")) != Version(versions[name])
    ]


def run_cell(python: str, resolution: str, sdist: Path, wheel: Path) -> dict:
    """Make the environment of one cell, run the tests in it, and return its row of the table."""
    row = {"Python": python, "dependencies": resolution}
    try:
        interpreter = uv("python", "find", "--system", python)
    except subprocess.CalledProcessError:
        return row | {"": "not here, left out"}
    print(f"\nPython {python}, {resolution} dependencies: {interpreter}", flush=True)
    cell = CELLS / f"{python}-{resolution}"
    with tarfile.open(sdist) as archive:
        archive.extractall(cell, filter="data")
    (tests,) = cell.iterdir()
    shutil.rmtree(tests / "skscreen")
    venv, oldest = cell / "venv", resolution == "oldest"
    try:
        uv("venv", "--quiet", "--python", interpreter, venv)
        which = ["--resolution", "lowest-direct" if oldest else "highest", "--no-build"]
        what = ["-r", ROOT / "pyproject.toml", "--extra", "test", wheel]
        uv("pip", "install", "--quiet", "--python", venv, *which, *what)
    except subprocess.CalledProcessError:
        return row | {"": "FAILED: does not install"}
    packages = json.loads(uv("pip", "list", "--quiet", "--python", venv, "--format", "json"))
    versions = {package["name"]: package["version"] for package in packages}
    row |= {name: versions[name] for name in SHOWN}
    if oldest and (wrong := wrong_bounds(versions)):
        return row | {"": f"FAILED: {'; '.join(wrong)}"}

    options = ["-q", "-n", "auto", "--dist", "worksteal", "--junit-xml", cell / "result.xml"]
    code = subprocess.run([venv / "bin" / "pytest", *options], cwd=tests).returncode
    if code > 1:
        return row | {"": f"FAILED: pytest stopped with code {code}"}
    suite = ElementTree.parse(cell / "result.xml").getroot()[0]
    total, failures, errors, skipped = (
        int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")
    )
    row |= {"failed": failures + errors, "skipped": skipped}
    row |= {"passed": total - row["failed"] - skipped, "seconds": round(float(suite.get("time")))}
    return row | {"": "FAILED" if code else ""}


def main(pythons: list[str]) -> int:
    """Run the cells of the Pythons, print the table and return how many failed."""
    ((sdist,), (wheel,)) = ((ROOT / "dist").glob(pattern) for pattern in ("*.tar.gz", "*.whl"))
    shutil.rmtree(CELLS, ignore_errors=True)
    cells = [(python, "newest") for python in pythons or PYTHONS]
    cells[:0] = [(python, "oldest") for python in PYTHONS[:1] if (python, "newest") in cells]
    rows = [run_cell(*cell, sdist, wheel) for cell in cells]
    table = [COLUMNS, *([str(row.get(column, "")) for column in COLUMNS] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print()
    for line in table:
        print("  ".join(map(str.ljust, line, widths)).rstrip())
    return sum("FAILED" in row[""] for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
