"""How much of the package a fit passes: what has to be known to follow it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import skscreen
from skscreen import ScreenedSVC

ROOT = Path(skscreen.__file__).parent
ROOMS = tuple(str(ROOT / room) for room in ("svm", "samples"))


def passed(model, X, y):
    """The files and the functions of svm/ and samples/ that a fit calls."""
    seen = set()

    def note(frame, event, argument):
        code = frame.f_code
        # Comprehensions are part of the function around them.
        if event == "call" and code.co_filename.startswith(ROOMS) and code.co_name[0] != "<":
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return {name for name, _ in seen}, seen


@pytest.mark.parametrize(
    ("n", "n_classes", "most_files", "most_functions"),
    [(150, 3, 11, 60), (2100, 3, 16, 79), (2500, 2, 18, 119)],
    ids=["small", "one against one", "two classes"],
)
def test_a_fit_passes_few_files_and_functions(n, n_classes, most_files, most_functions):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 5)) + y[:, None]
    files, functions = passed(ScreenedSVC(tol=1e-3), X, y)
    assert len(files) <= most_files and len(functions) <= most_functions


def test_small_linear_problems_prepare_no_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    files, functions = passed(ScreenedSVC(kernel="linear"), rng.normal(size=(150, 5)), y)
    assert not any("linear" in Path(name).parts for name in files)
    assert len(functions) <= 61
