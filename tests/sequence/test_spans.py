"""Scores of spans: those of seqeval, for tags in any order."""

import warnings

import numpy as np
import pytest
import seqeval.scheme
from cases import some
from numpy.testing import assert_allclose
from seqeval.metrics import classification_report, f1_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.exceptions import UndefinedMetricWarning

from skscreen.metrics import sequence_accuracy, span_f1, span_report
from skscreen.sequence.spans import SCHEMES, spans_of

AVERAGES = ["micro", "macro", "weighted", None]
numbers = pytest.mark.parametrize("n", some([1_000, 10_000], 0))


def random_tags(rng, prefixes, types=("-X", "-Y-Z", "-", ""), n_sequences=2):
    """Two taggings of the same sequences, some without a type."""
    tags = ["O", *(f"{prefix}{kind}" for prefix in prefixes if prefix != "O" for kind in types)]
    lengths = rng.integers(1, 8, size=n_sequences)
    return [[[str(tag) for tag in rng.choice(tags, size=n)] for n in lengths] for _ in range(2)]


def theirs(score, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return score(*args, **options)


@pytest.mark.few(3)
@numbers
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.slow
def test_random_taggings_as_seqeval(scheme, n):
    rng, kind = np.random.default_rng(0), getattr(seqeval.scheme, scheme)
    for _ in range(n):
        for tags in random_tags(rng, scheme.strip("12"), n_sequences=1):
            wanted = seqeval.scheme.Tokens(tags[0], kind).entities
            found = spans_of(np.array(tags[0]), scheme, "y_true")
            assert found == {(span.tag, span.start, span.end) for span in wanted}, tags


@numbers
@pytest.mark.parametrize("prefixes", ["OBI", "OIES", "OBIES"])
@pytest.mark.slow
def test_random_taggings_as_conlleval(prefixes, n):
    rng = np.random.default_rng(1)
    for _ in range(n):
        for tags in random_tags(rng, prefixes, n_sequences=1):
            wanted = theirs(get_entities, tags[0])
            found = spans_of(np.array(tags[0]), None, "y_true")
            assert found == {(kind, first, last + 1) for kind, first, last in wanted}, tags


@pytest.mark.few(12)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("scheme", [None, *SCHEMES])
def test_averages_as_seqeval(scheme, average):
    rng = np.random.default_rng(3)
    strict = {"mode": "strict", "scheme": getattr(seqeval.scheme, scheme)} if scheme else {}
    for _ in range(30):
        y_true, y_pred = random_tags(rng, scheme.strip("12") if scheme else "OBIES")
        wanted = theirs(f1_score, y_true, y_pred, average=average, **strict)
        found = theirs(span_f1, y_true, y_pred, scheme=scheme, average=average)
        # A mean over no types at all is NaN there.
        assert_allclose(found, np.nan_to_num(wanted), atol=1e-12, err_msg=f"{y_true} {y_pred}")


@pytest.mark.parametrize("scheme", [None, "IOB2", "BILOU"])
@pytest.mark.slow
def test_reports_are_those_of_seqeval(scheme):
    rng = np.random.default_rng(2)
    strict = {"mode": "strict", "scheme": getattr(seqeval.scheme, scheme)} if scheme else {}
    for _ in range(30):
        y_true, y_pred = random_tags(rng, (scheme or "OBI").strip("2"), ("-X", "-long-type-here"))
        if not theirs(f1_score, y_true, y_pred, average=None, **strict).size:
            continue
        text = theirs(classification_report, y_true, y_pred, digits=3, **strict)
        assert span_report(y_true, y_pred, scheme=scheme, digits=3) == text
        wanted = theirs(classification_report, y_true, y_pred, output_dict=True, **strict)
        found = span_report(y_true, y_pred, scheme=scheme, output_dict=True)
        assert found.keys() == wanted.keys()
        for name, row in wanted.items():
            assert found[name] == pytest.approx(row)


def test_types_without_a_name():
    assert span_f1([["O", "I-", "I-"]], [["I-", "B-", "O"]]) == 0.0
    assert span_f1([["B", "I", "O"]], [["B-", "I-", "O"]]) == 1.0


def test_no_spans_at_all_are_said():
    for average in AVERAGES:
        with pytest.warns(UndefinedMetricWarning, match="no spans"):
            assert np.sum(span_f1([["O"]], [["O"]], average=average)) == 0.0
    with pytest.warns(UndefinedMetricWarning):
        assert span_report([["O"], []], [["O"], []], output_dict=True)["micro avg"]["support"] == 0


@pytest.mark.parametrize(
    ("y_true", "y_pred", "options", "message"),
    [
        ([["O"], ["O", "X-a"]], [["O"], ["O", "O"]], {}, r"^y_true\b"),
        ([["O"]], [["L-a"]], {}, r"^y_pred\b"),
        ([["S-a"]], [["O"]], {"scheme": "IOB2"}, r"^y_true\b"),
        ([["O-a"]], [["O"]], {}, "got 'O-a'"),
        ([["BAD"]], [["O"]], {}, "got 'BAD'"),
        ([[1]], [[1]], {}, "got 1"),
        ([["O"]], [[1]], {}, "Mix of label input types"),
        ([["O"]], [["O"]], {"scheme": "IOB"}, r"^scheme\b"),
        ([["O"]], [["O"]], {"average": "samples"}, r"^average\b"),
        ([["O"]], [["O", "O"]], {}, r"^y_pred\[0\] must have"),
        ([["O"]], [], {}, r"^y_pred must hold"),
        (3, [["O"]], {}, r"^y_true must"),
    ],
)
def test_bad_tags(y_true, y_pred, options, message):
    with pytest.raises(ValueError, match=message):
        span_f1(y_true, y_pred, **options)


def test_labels_of_mixed_kinds_are_no_zero():
    with pytest.raises(ValueError, match=r"Mix of label input types \(string and number\)"):
        sequence_accuracy([["0", "1"]], [[0, 1]])
    assert sequence_accuracy([[0, 1], []], [[0, 1.0], []]) == 1.0
