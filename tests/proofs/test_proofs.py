"""Searches for what is wrong, of minutes each; `make proofs` runs them.

Every script has more options, `python -m tests.proofs.safety.fits --help`, and prints what it did.
"""

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


@pytest.mark.parametrize(
    "script",
    [samples, screening, fits, losses, features],
    ids=["samples", "screening", "fits", "losses", "features"],
)
def test_no_decision_about_samples_or_features_is_wrong(script, minutes):
    assert script.main(["--minutes", str(minutes)]) == 0


def test_no_decision_about_comparisons_is_wrong(minutes):
    assert comparisons.main(["--decisions", str(int(500_000 * minutes))]) == 0


def test_no_gap_is_larger_than_said(minutes):
    assert gaps.main(["--problems", str(int(40 * minutes))]) == 0


def test_no_gap_or_decision_at_a_nu_is_wrong(minutes):
    assert at_nu.main(["--problems", str(int(100 * minutes))]) == 0


def test_every_call_ends_in_a_right_answer_or_a_clear_error(minutes):
    # A share of it for each of the targets, of which there are many.
    assert fuzz.main(["--minutes", str(10 * minutes)]) == 0


def test_results_repeat_and_memory_does_not_grow(minutes):
    # The first tenth is a warm-up, in which caches and pools reach their sizes.
    assert soak.main(["--minutes", str(5 * minutes)]) == 0
