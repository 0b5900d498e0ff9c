"""Searches for what is wrong, of minutes each; `make proofs` runs them.

Every script has more options, `python -m tests.proofs.safety.fits --help`, and prints what it did.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs import soak
from tests.proofs.fuzz import run as fuzz
from tests.proofs.safety import (
    at_nu,
    comparisons,
    features,
    fits,
    gaps,
    losses,
    samples,
    screening,
)

pytestmark = [pytest.mark.proof, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def minutes(request):
    return request.config.getoption("--proof-minutes")


@pytest.fixture
def seed(request):
    return str(request.config.getoption("--proof-seed"))


@pytest.mark.parametrize(
    "script",
    [samples, screening, fits, losses, features],
    ids=["samples", "screening", "fits", "losses", "features"],
)
def test_no_decision_about_samples_or_features_is_wrong(script, minutes, seed):
    assert script.main(["--minutes", str(minutes), "--seed", seed]) == 0


def test_no_decision_about_comparisons_is_wrong(minutes, seed):
    n_decisions = str(int(500_000 * minutes))
    assert comparisons.main(["--decisions", n_decisions, "--seed", seed]) == 0


def test_no_gap_is_larger_than_said(minutes, seed):
    assert gaps.main(["--problems", str(int(40 * minutes)), "--first", seed]) == 0


def test_no_gap_or_decision_at_a_nu_is_wrong(minutes, seed):
    assert at_nu.main(["--problems", str(int(100 * minutes)), "--first", seed]) == 0


def test_every_call_ends_in_a_right_answer_or_a_clear_error(minutes, seed):
    # A share of it for each of the targets, of which there are many.
    assert fuzz.main(["--minutes", str(10 * minutes), "--seed", seed]) == 0


def test_results_repeat_and_memory_does_not_grow(minutes, seed):
    # The first tenth is a warm-up, in which caches and pools reach their sizes.
    assert soak.main(["--minutes", str(5 * minutes), "--seed", seed]) == 0


@pytest.mark.parametrize("module", ["test_svm", "test_sparse"])
def test_scikit_learns_own_tests_of_its_machines(module):
    """The names are swapped; what is known to differ has a reason."""
    swapped = ["-p", "sklearn_swap", "--pyargs", f"sklearn.svm.tests.{module}"]
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *swapped]
    done = subprocess.run(run, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
