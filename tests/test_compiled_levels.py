"""The compiled loops: levels of the processor, and what a wrong call is told."""

import os
import runpy
import shutil
import subprocess
import sys

import numpy as np
import pytest

from skscreen import _compiled


def test_the_best_level_is_the_default(monkeypatch):
    monkeypatch.setenv("SKSCREEN_PROCESSOR", "")
    assert runpy.run_path(_compiled.__file__)["level"] == list(_compiled.LEVELS)[-1]


def test_an_unknown_level_is_named(monkeypatch):
    monkeypatch.setenv("SKSCREEN_PROCESSOR", "sse9")
    with pytest.raises(ImportError, match="SKSCREEN_PROCESSOR='sse9'"):
        runpy.run_path(_compiled.__file__)


def test_sources_that_are_newer_than_the_loops_are_told(tmp_path):
    assert not _compiled.is_older(0.0, tmp_path)  # an installed package has no sources
    (tmp_path / "svm").mkdir()
    for name in ("module.cpp", "svm/smo.hpp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (100.0, 100.0))
    assert not _compiled.is_older(100.0, tmp_path)
    os.utime(tmp_path / "svm/smo.hpp", (101.0, 101.0))
    assert _compiled.is_older(100.0, tmp_path)
    # Such a checkout is not imported.
    os.utime(tmp_path / "svm/smo.hpp", (2e10, 2e10))
    shutil.copy(_compiled.__file__, tmp_path)
    with pytest.raises(ImportError, match="run `make compiled`"):
        runpy.run_path(str(tmp_path / "__init__.py"))


@pytest.mark.proof
def test_an_import_of_all_levels_says_nothing():
    """Types that two levels register under one name are warned of, at each import."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import skscreen._compiled"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("level", sorted(set(_compiled.LEVELS) - {_compiled.level}))
def test_extended_precision_agrees_on_each_level_that_is_forced(level):
    """As test_safety.py shows of the level in use; powers: test_kernel_blocks.py."""
    scripts = (
        "from skscreen import _compiled; print('level', _compiled.level); "
        "from tests.proofs.safety import gaps, samples; "
        "assert gaps.main(['--problems', '1']) == 0; "
        "assert samples.main(['--decisions', '1', '--kinds', 'blobs']) == 0"
    )
    done = subprocess.run(
        [sys.executable, "-c", scripts], env={**os.environ, "SKSCREEN_PROCESSOR": level},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"level {level}\n" in done.stdout
    assert "1 fits, 0 with a gap larger than they say" in done.stdout
    assert "0 not judged, 0 wrong" in done.stdout


@pytest.mark.parametrize("level", _compiled.LEVELS)
@pytest.mark.parametrize(
    "wrong", [[1.0], np.ones(3, np.float32), np.ones((3, 1)), np.ones(6)[::2], None]
)
def test_nothing_is_converted_silently(level, wrong):
    right = np.ones(3)
    loops = _compiled.LEVELS[level].core
    assert loops.total_range(right, right, right) == (3.0, 3.0, 6.0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        loops.total_range(right, wrong, right)


@pytest.mark.parametrize("level", _compiled.LEVELS)
def test_no_entries_and_read_only_ones_are_fine(level):
    none, fixed = np.empty(0), np.ones(2)
    fixed.flags.writeable = False
    loops = _compiled.LEVELS[level].core
    assert loops.total_range(none, none, none) == (0.0, 0.0, 0.0)
    assert loops.total_range(fixed, fixed, fixed) == (2.0, 2.0, 4.0)
    with pytest.raises(TypeError):  # what is written to must be writeable
        loops.project(fixed, fixed, fixed, fixed, fixed, 1.0, 0.0, fixed)
