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
        ({"quadruplets": [[0.0, 1, 2, 3]]}, TypeError, r"^quadruplets\b"),
        ({"quadruplets": [list("abcd")]}, TypeError, r"^quadruplets\b"),
        ({"quadruplets": [[0, 1, 2, 60]]}, ValueError, r"^quadruplets\b"),
        ({"quadruplets": [[0, 1, -2, 3]]}, ValueError, r"^quadruplets\b"),
        ({"quadruplets": [[0, 1, 2, 3], [4, 4, 2, 3]]}, ValueError, r"^quadruplets\b.*row 1"),
        ({"quadruplets": [[0, 1, 2, 2]]}, ValueError, r"^quadruplets\b.*row 0"),
        ({"quadruplets": [[0, 1, 1, 0]]}, ValueError, r"^quadruplets\b.*row 0"),
        ({"pairs": (S, D, 1.0)}, ValueError, r"^pairs\b"),
        ({"pairs": S}, ValueError, r"^pairs\b"),
        ({"pairs": (T, D, 1.0, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D[:, 0], 1.0, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D + 0.5, 1.0, 2.0)}, TypeError, r"\bpairs\b"),
        ({"pairs": (S + 60, D, 1.0, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, [[3, 3]], 1.0, 2.0)}, ValueError, r"\bpairs\b.*row 0"),
        ({"pairs": ([], [], 1.0, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D, 0.0, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D, 1.0, -2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D, np.nan, 2.0)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D, 1.0, np.inf)}, ValueError, r"\bpairs\b"),
        ({"pairs": (S, D, UPPER[1:], 2.0)}, ValueError, r"\bpairs\b"),
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
            r"^comparison_weight\b",
        ),
        ({"comparison_weight": np.ones(3)}, ValueError, r"^comparison_weight\b"),
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
