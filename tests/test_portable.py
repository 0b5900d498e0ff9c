"""The program that `make portable` compiles for other machines follows the loops."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.proof
@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler")
def test_the_program_of_make_portable_compiles():
    options = ["-std=c++17", "-fopenmp", "-fsyntax-only", "-Werror=missing-field-initializers"]
    program = ROOT / "tests" / "portable" / "loops.cpp"
    subprocess.run(["c++", *options, "-I", ROOT / "skscreen" / "_compiled", program], check=True)
