"""Bad comparisons get errors that name the argument, what was expected and what was got."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM, rtlm_path

X, y = load_wine(return_X_y=True)
X, y = scale(X[::3, :5]), y[::3]
T, Q = np.tile([0, 1, 2], (40, 1)), np.tile([0, 1, 2, 3], (60, 1))
S, D = np.tile([0, 1], (90, 1)), np.tile([2, 3], (90, 1))
UPPER = np.linspace(0.5, 1.5, len(S))

QUADRUPLET, PAIRS = [[0, 1, 2, 3]], ([[0, 1]], [[2, 3]], 1.0, 2.0)


@pytest.mark.parametrize("train", [ScreenedRTLM().fit, rtlm_path])
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"quadruplets": [[0, 1, 2]]}, ValueError, "quadruplets"),
        ({"quadruplets": []}, ValueError, "quadruplets"),
        ({"quadruplets": [[0, 1, 2, 3], [0]]}, ValueError, "quadruplets"),
        ({"quadruplets": [[0.0, 1, 2, 3]]}, TypeError, "quadruplets must be integers, .* float64"),
        ({"quadruplets": [list("abcd")]}, TypeError, "quadruplets must be integers"),
        ({"quadruplets": [[0, 1, 2, 60]]}, ValueError, "quadruplets must .* 0 to 59, .* 0 to 60"),
        ({"quadruplets": [[0, 1, -2, 3]]}, ValueError, "quadruplets must .* got -2 to 3"),
        ({"quadruplets": [[0, 1, 2, 3], [4, 4, 2, 3]]}, ValueError, r"row 1 is \[4, 4, 2, 3\]"),
        ({"quadruplets": [[0, 1, 2, 2]]}, ValueError, "quadruplets .* row 0"),
        ({"quadruplets": [[0, 1, 1, 0]]}, ValueError, "quadruplets .* row 0"),
        ({"pairs": (S, D, 1.0)}, ValueError, "pairs must be a tuple"),
        ({"pairs": S}, ValueError, "pairs must be a tuple"),
        ({"pairs": (T, D, 1.0, 2.0)}, ValueError, r"S of pairs must .* got \(40, 3\)"),
        ({"pairs": (S, D[:, 0], 1.0, 2.0)}, ValueError, r"D of pairs must .* got \(90,\)"),
        ({"pairs": (S, D + 0.5, 1.0, 2.0)}, TypeError, "D of pairs must be integers"),
        ({"pairs": (S + 60, D, 1.0, 2.0)}, ValueError, "S of pairs must be indices from 0 to 59"),
        ({"pairs": (S, [[3, 3]], 1.0, 2.0)}, ValueError, r"D of pairs must .* row 0 is \[3, 3\]"),
        ({"pairs": ([], [], 1.0, 2.0)}, ValueError, "S and D of pairs must not both be empty"),
        ({"pairs": (S, D, 0.0, 2.0)}, ValueError, "U of pairs must be positive .* got 0"),
        ({"pairs": (S, D, 1.0, -2.0)}, ValueError, "L of pairs must be positive .* got -2"),
        ({"pairs": (S, D, np.nan, 2.0)}, ValueError, "Input U of pairs contains NaN"),
        ({"pairs": (S, D, 1.0, np.inf)}, ValueError, "Input L of pairs contains infinity"),
        ({"pairs": (S, D, UPPER[1:], 2.0)}, ValueError, "U of pairs must be .* each of its 90"),
        ({"pairs": (S, D, 1.0, "far")}, ValueError, "convert string"),
        ({"pairs": (S, D, None, 2.0)}, ValueError, "U of pairs"),
        (
            {"quadruplets": QUADRUPLET, "pairs": PAIRS, "comparison_weight": [1.0, 1.0]},
            ValueError,
            "comparison_weight",
        ),
        ({"quadruplets": QUADRUPLET, "comparison_weight": ["a"]}, ValueError, "convert string"),
        ({"quadruplets": QUADRUPLET, "comparison_weight": [-1.0]}, ValueError, "comparison_weight"),
        (
            {"quadruplets": QUADRUPLET, "comparison_weight": [np.nan]},
            ValueError,
            "comparison_weight",
        ),
        (
            {"quadruplets": QUADRUPLET, "comparison_weight": [np.inf]},
            ValueError,
            "comparison_weight",
        ),
        ({"quadruplets": QUADRUPLET, "comparison_weight": [0.0]}, ValueError, "comparison_weight"),
        (
            {"y": y, "comparison_weight": np.ones(len(y))},
            ValueError,
            "comparison_weight belongs to comparisons",
        ),
        ({"comparison_weight": np.ones(3)}, ValueError, "belongs to comparisons"),
    ],
    ids=str,
)
def test_bad_comparisons(train, arguments, error, match):
    with pytest.raises(error, match=match):
        train(X, **arguments)


@pytest.mark.parametrize("pull", [-1.0, np.nan, np.inf, "strong", None])
def test_bad_pull(pull):
    with pytest.raises(ValueError, match=r"\bpull\b"):
        ScreenedRTLM(pull=pull).fit(X, y)
    with pytest.raises(ValueError, match=r"\bpull\b"):
        rtlm_path(X, y, pull=pull)
