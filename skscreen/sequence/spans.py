"""Labelled spans in tags, as named entities and chunks are written, and how many are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from skscreen.fitting.warning import warn_user
from skscreen.sequence.labels import label_pairs

# When a span begins, continues and ends in each scheme: prefixes of the tag before and of the tag,
# and whether types must be the same (=), must differ (!) or do not matter (*). A dot is any prefix.
_RULES = {
    "IOB1": ("OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="),
    "IOB2": (".B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "IOE1": ("OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="),
    "IOE2": ("OI* OE* EI* EE* II! IE!", "IE= II=", "E.*"),
    "IOBES": (".B* .S*", "BI= BE= II= IE=", "S.* E.*"),
    "BILOU": (".B* .U*", "BI= BL= II= IL=", "U.* L.*"),
}
_PREFIXES = {scheme: set(scheme.strip("12")) for scheme in _RULES}
SCHEMES = tuple(_RULES)


def _table(rules: str, prefixes: set[str]) -> set[tuple[str, str, bool]]:
    """Return all (prefix before, prefix, same type) that rules name."""
    found = set()
    for before, now, types in map(tuple, rules.split()):
        for b in prefixes if before == "." else before:
            for n in prefixes if now == "." else now:
                found |= {(b, n, same) for same in (True, False) if types in "*" + "!="[same]}
    return found


_TABLES = {
    scheme: tuple(_table(rules, _PREFIXES[scheme]) for rules in _RULES[scheme]) for scheme in _RULES
}


@dataclass(frozen=True)
class SpanCounts:
    """Numbers of spans of each type, in alphabetical order: right ones, found ones, true ones."""

    types: tuple[str, ...]
    right: np.ndarray
    found: np.ndarray
    true: np.ndarray

    def scores(self, average: str | None) -> tuple:
        """Return precision, recall, F1 and number of true spans, averaged or for each type."""
        if average == "micro":
            right, found, true = (part.sum(keepdims=True) for part in self._parts)
        else:
            right, found, true = self._parts
        precision, recall = right / np.maximum(found, 1), right / np.maximum(true, 1)
        F1 = 2.0 * right / np.maximum(found + true, 1)
        if average is None:
            return precision, recall, F1, true
        weights = true if average == "weighted" else np.ones(true.size)
        if not weights.sum():
            return 0.0, 0.0, 0.0, int(true.sum())
        means = (float(np.average(part, weights=weights)) for part in (precision, recall, F1))
        return *means, int(true.sum())

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.right, self.found, self.true


def count_spans(
    y_true: Iterable[ArrayLike], y_pred: Iterable[ArrayLike], scheme: str | None
) -> SpanCounts:
    """Compare the spans of true and predicted tags."""
    if scheme is not None and scheme not in SCHEMES:
        raise ValueError(f"scheme must be None or one of {', '.join(SCHEMES)}, got {scheme!r}.")
    pairs = label_pairs(y_true, y_pred)
    right: Counter[str] = Counter()
    found, true = right.copy(), right.copy()
    for c, (truth, labels) in enumerate(pairs):
        wanted = spans_of(truth, scheme, f"y_true[{c}]")
        got = spans_of(labels, scheme, f"y_pred[{c}]")
        for counts, some in ((true, wanted), (found, got), (right, wanted & got)):
            counts.update(kind for kind, _, _ in some)
    types = tuple(sorted(true | found))
    if not types:
        warn_user(
            "There are no spans in y_true nor in y_pred: scores are set to 0.",
            UndefinedMetricWarning,
        )
    arrays = (np.array([counts[kind] for kind in types], int) for counts in (right, found, true))
    return SpanCounts(types, *arrays)


def spans_of(tags: np.ndarray, scheme: str | None, name: str) -> set[tuple[str, int, int]]:
    """Return type, first position and end of each span in the tags of a sequence."""
    read = [_read(tag, scheme, f"{name}[{t}]") for t, tag in enumerate(tags.tolist())]
    return _lenient(read) if scheme is None else _strict(read, *_TABLES[scheme])


def _read(tag: Any, scheme: str | None, name: str) -> tuple[str, str]:
    """Return prefix and type of a tag; a tag without a type has the type '_'."""
    allowed = set("OBIES") if scheme is None else _PREFIXES[scheme]
    prefix = tag[:1] if isinstance(tag, str) else ""
    if prefix not in allowed or not prefix or (prefix == "O") != (tag == "O") or (
        tag[1:] and tag[1] != "-"
    ):  # fmt: skip
        advice = ""
        if scheme is None and prefix in ("L", "U"):
            scorer = "make_scorer(span_f1, scheme='BILOU')"
            advice = f" For L and U pass scheme='BILOU', as a scorer {scorer}."
        tags = ", ".join(f"'{p}-type'" for p in sorted(allowed - {"O"}))
        raise ValueError(f"{name} must be 'O' or one of {tags}, got {tag!r}.{advice}")
    # Hyphens at the ends of a type count with a scheme for nothing, as in seqeval.
    kind = tag[2:] if scheme is None else tag[1:].strip("-")
    return prefix, kind or "_"


def _lenient(tags: list[tuple[str, str]]) -> set[tuple[str, int, int]]:
    """Return the spans as conlleval finds them, which takes no tag amiss."""
    spans, begin = set(), 0
    before, last = "O", "_"
    for t, (prefix, kind) in enumerate([*tags, ("O", "_")]):
        differs = kind != last
        if before in "ES" or (before in "BI" and (prefix in "BSO" or differs)):
            spans.add((last, begin, t))
        if prefix in "BS" or (prefix in "IE" and (before in "ESO" or differs)):
            begin = t
        before, last = prefix, kind
    return spans


def _strict(
    tags: list[tuple[str, str]], begins: set, goes_on: set, ends: set
) -> set[tuple[str, int, int]]:
    """Return the spans that are written as the scheme demands."""
    tags = [*tags, ("O", "_")]
    spans, t, before = set(), 0, ("O", "_")
    while t < len(tags):
        if not _follows(before, tags[t], begins):
            before = tags[t]
            t += 1
            continue
        end = t + 1
        while end < len(tags) and _follows(tags[end - 1], tags[end], goes_on):
            end += 1
        if _follows(tags[end - 1], tags[end], ends):
            spans.add((tags[t][1], t, end))
        before, t = tags[end - 1], end
    return spans


def _follows(before: tuple[str, str], tag: tuple[str, str], table: set) -> bool:
    return (before[0], tag[0], before[1] == tag[1]) in table
