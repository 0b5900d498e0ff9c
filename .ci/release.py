"""Check what a release promises of its build; `make release` runs this in half an hour.

Wheels are built from nothing: one for the oldest Python, one of the stable ABI for all later ones.
On each Python found, the wheel is installed into a fresh environment without build tools, and all
estimators are fitted on both processor levels, by a user without a home and with packages that
nobody can write to, from a folder copied elsewhere, by two cold processes at once, after an upgrade
in place, and frozen by PyInstaller: the same numbers, in every bit. Then the seconds of the first
fit in a new process and of the import are measured; the machine should be idle.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from zipfile import ZipFile

from matrix import PYTHONS, ROOT, uv

SMOKE = ROOT / ".ci" / "smoke.py"
BUILD_SECONDS, INSTALLED_BYTES, IMPORT_SECONDS = 240.0, 25e6, 0.35
# A first fit may take this many times the second, and these seconds more.
FIRST_TIMES, FIRST_SECONDS = 1.3, 0.1
# The first Python 3 that takes the wheel of the stable ABI.
STABLE = 12
LEVELS = ("base", "x86-64-v3")
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}
TIME_IMPORT = """
import sklearn.svm, time
start = time.perf_counter()
import skscreen
print(time.perf_counter() - start)
"""
NAMES = "import runpy, sys; print(*runpy.run_path(sys.argv[1])['DATA'])"

failed = []


def report(what: str, right: bool, detail: str = "") -> None:
    """Print one line, and remember what is wrong."""
    print(f"{'ok' if right else 'WRONG':5} {what:58} {detail}", flush=True)
    if not right:
        failed.append(what)


def build(source: Path, python: str, out: Path) -> Path:
    """Return a wheel built from the sources alone, in a fresh environment."""
    uv("build", "--quiet", "--python", python, "--out-dir", out, source)
    (wheel,) = out.glob("*.whl")
    return wheel


def start(python: Path, *arguments, level: str = "", **options) -> subprocess.Popen:
    """Start Python with an environment that says nothing but the level."""
    variables = {"PATH": os.defpath, "OMP_NUM_THREADS": "1", "SKSCREEN_PROCESSOR": level}
    variables |= options.pop("env", {})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": "/"}
    return subprocess.Popen([python, *arguments], env=variables, **pipes, **options)


def output(process: subprocess.Popen) -> str:
    """Return what a process prints, or the last line of its complaint."""
    printed, complaint = process.communicate()
    return complaint.strip().splitlines()[-1] if process.returncode else printed.strip()


class Installed:
    """A fresh environment with a wheel in it, and what the smoke test prints there by level."""

    def __init__(self, folder: Path, python: str, wheel: Path):
        self.folder, self.wheel, self.test = folder, wheel, folder / SMOKE.name
        uv("venv", "--quiet", "--python", python, folder)
        self.python = folder / "bin" / "python"
        self.install(wheel)
        (self.site,) = folder.glob("lib/python*/site-packages")
        shutil.copy(SMOKE, self.test)

    def install(self, *what) -> None:
        """Install packages from wheels."""
        uv("pip", "install", "--quiet", "--no-build", "--python", self.folder, *what)

    @property
    def package(self) -> Path:
        """Return where the package lies."""
        return self.site / "skscreen"

    def nbytes(self) -> int:
        """Return the bytes of the package, without what Python keeps of its modules."""
        files = [path for path in self.package.rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if path.suffix != ".pyc")

    def digest(self, printed: str, package: Path | None = None) -> str:
        """Return what a smoke test has learnt, or why not; the package must lie where it should."""
        where, _, digest = printed.partition(" ")
        return digest if Path(where) == (package or self.package) / "__init__.py" else printed

    def smoke(self, *options, level: str = "", package: Path | None = None, **more) -> str:
        """Run the smoke test; return its digest, or what went wrong."""
        printed = output(start(self.python, *options, self.test, level=level, **more))
        return self.digest(printed, package)


def check_home(at: Installed, expected: str) -> None:
    """Check that neither a home nor anything to write to is needed."""
    subprocess.run(["chmod", "-R", "a+rX,a-w", at.folder], check=True)
    who = NOBODY if os.geteuid() == 0 else {}
    for name, env in (
        ("unset", {}),
        ("missing", {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
    ):
        try:
            found = at.smoke(env=env, **who)
        except PermissionError:
            print(f"      left out: another user may not run {at.python.resolve()}")
            break
        report(f"home {name}, nothing writable", found == expected, found[:60])
    subprocess.run(["chmod", "-R", "u+w", at.folder], check=True)


def check_copied(at: Installed, expected: str) -> None:
    """Check the packages zipped and unpacked elsewhere, found by PYTHONPATH alone."""
    with tempfile.TemporaryDirectory() as folder:
        zipped = shutil.make_archive(f"{folder}/site", "zip", at.site)
        there = Path(folder) / "elsewhere"
        with ZipFile(zipped) as archive:
            archive.extractall(there)
        env = {"PYTHONPATH": str(there)}
        found = at.smoke("-S", env=env, package=there / "skscreen")
    report("copied elsewhere", found == expected, found[:60])


def check_two_at_once(at: Installed, expected: str) -> None:
    """Check two processes that both find nothing compiled by Python."""
    for folder in list(at.package.rglob("__pycache__")):
        shutil.rmtree(folder)
    both = [start(at.python, at.test) for _ in range(2)]
    found = [at.digest(output(process)) for process in both]
    report("two cold processes at once", found == [expected] * 2, found[0][:60])


def check_upgrade(at: Installed, before: Path, expected: str) -> None:
    """Check that the wheel of the commit before, once used, can be replaced in place."""
    at.install("--reinstall", "--no-deps", before)
    old = output(start(at.python, at.test))
    at.install("--reinstall", "--no-deps", at.wheel)
    with ZipFile(at.wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("skscreen/")}
    files = [path for path in at.package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    there = {path.relative_to(at.site).as_posix() for path in files}
    found = at.smoke()
    report("upgrade in place", found == expected, f"before: {old[-16:]}")
    report("upgrade leaves the new files only", there == names, str(sorted(there ^ names)[:3]))


def check_frozen(at: Installed, expected: str) -> None:
    """Check a folder made by PyInstaller, where that runs."""
    at.install("pyinstaller")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--log-level", "ERROR", "--distpath", folder, "--specpath", folder]
        options += ["--workpath", f"{folder}/work", at.test]
        env = {"HOME": folder, "PATH": os.environ["PATH"]}
        made = output(start(at.python, "-m", "PyInstaller", *options, env=env))
        program = Path(folder) / "smoke" / "smoke"
        found = output(start(program)) if program.exists() else made
    report("frozen by PyInstaller", found.endswith(expected), found[-60:])


def check_import(at: Installed) -> None:
    """Check the seconds beyond scikit-learn's own, median of five."""
    seconds = statistics.median(
        float(output(start(at.python, "-c", TIME_IMPORT))) for _ in range(5)
    )
    report(f"import within {IMPORT_SECONDS} s", seconds <= IMPORT_SECONDS, f"{seconds:.3f} s")


def check_first_fits(at: Installed, names: list[str]) -> None:
    """Check the first fit in a new process by the second, medians of three."""
    for name in names:
        runs = [output(start(at.python, at.test, name)).split() for _ in range(3)]
        first, second = (
            statistics.median(map(float, column)) for column in zip(*runs, strict=True)
        )
        right = first <= FIRST_TIMES * second + FIRST_SECONDS
        report(f"first fit, {name}", right, f"{first:.3f} s, then {second:.3f} s")


def check_python(python: str, wheel: Path, before: Path, folder: Path) -> None:
    """Run all checks on one Python."""
    print(f"\n{python}: {wheel.name}")
    at = Installed(folder, python, wheel)
    report("installed size", at.nbytes() <= INSTALLED_BYTES, f"{at.nbytes() / 1e6:.1f} MB")
    for level in LEVELS:
        found = [at.smoke(level=level) for _ in range(2)]
        right = len(found[0]) == 64 and found[0] == found[1]
        report(f"smoke test, {level}, twice", right, found[0][-60:])
    expected = at.smoke()
    check_import(at)
    names = output(start(at.python, "-c", NAMES, at.test))
    check_first_fits(at, names.split())
    check_home(at, expected)
    check_copied(at, expected)
    check_two_at_once(at, expected)
    check_upgrade(at, before, expected)
    check_frozen(at, expected)


def wheels(python: str, folder: Path) -> tuple[Path, Path]:
    """Return the wheel of this commit, whose building is timed, and that of the commit before."""
    begin = time.perf_counter()
    wheel = build(ROOT, python, folder / "now")
    seconds = time.perf_counter() - begin
    report("wheel from nothing", seconds <= BUILD_SECONDS, f"{seconds:.0f} s: {wheel.name}")
    archive, source = folder / "before.tar", folder / "source"
    subprocess.run(["git", "archive", "--output", archive, "HEAD~1"], cwd=ROOT, check=True)
    shutil.unpack_archive(archive, source)
    return wheel, build(source, python, folder / "before")


def main(pythons: list[str]) -> int:
    """Build the wheels, check them on the Pythons, and return how many checks failed."""
    built = {}
    with tempfile.TemporaryDirectory(prefix="skscreen-release-") as folder:
        work = Path(folder)
        work.chmod(0o755)  # another user runs what is in it
        for i, name in enumerate(pythons or PYTHONS):
            try:
                python = uv("python", "find", "--system", name)
            except subprocess.CalledProcessError:
                print(f"Python {name} is not here, left out")
                continue
            version = output(start(python, "-c", "import sys; print(sys.version_info[1])"))
            oldest = int(version) < STABLE
            if oldest not in built:
                (work / f"wheels-{i}").mkdir()
                built[oldest] = wheels(python, work / f"wheels-{i}")
            check_python(python, *built[oldest], work / f"python-{i}")
    print(f"\n{len(failed)} wrong: {failed}" if failed else "\nAll right.")
    return len(failed)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
