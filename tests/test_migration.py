"""Each name, parameter, default and attribute that differs from 0.2.0, or is new, has a row."""

import json
import re
from pathlib import Path

import pytest
from public_signatures import signatures

from skscreen import inspection

ROOT = Path(__file__).parents[1]
# Words for several names in the first column.
GROUPS = {
    "tuple learners": [
        "RTLMPairsClassifier",
        "RTLMQuadrupletsClassifier",
        "RTLMTripletsClassifier",
    ],
    "their CV classes": ["ScreenedSVCCV", "ScreenedSVRCV"],
    "chains": ["ChainCRF", "KernelChainClassifier", "MaxMarginChain"],
    "displays": inspection.__all__,
    "paths": ["svc_path", "svr_path"],
}


def section(heading: str) -> str:
    """Return the text below a heading of the changelog."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split(heading)[1].split("\n### ")[0]


def rows(table: str) -> list[tuple[set[str], str]]:
    """Return the names of each row of a table, and its text."""
    out, before = [], set()
    for line in table.splitlines():
        if not line.startswith("| ") or line.startswith("| where"):
            continue
        where, rest = line.strip("| ").split("|", 1)
        names = set(re.findall(r"\w+", where))
        names |= {name for group, members in GROUPS.items() if group in where for name in members}
        if "the same" in where:
            names |= before
        out.append((names, rest))
        before = names
    return out


def differences(old: dict, new: dict):
    """Iterate over (name, what differs)."""
    for name, methods in old.items():
        if name not in new:
            yield name, name
            continue
        for method, before in methods.items():
            after = new[name].get(method)
            if after is None:
                yield name, method
            elif method == "attributes":
                yield from ((name, attribute) for attribute in set(before) - set(after))
            else:
                # New parameters with a default change nothing for those who do not give them.
                changed = {p for p in before if after.get(p) != before[p]}
                changed |= {p for p in after if after[p] == "required" and p not in before}
                yield from ((name, p) for p in changed)


def additions(old: dict, new: dict):
    """Iterate over (name, what is new): names, and parameters, attributes and methods of others."""
    for name, methods in new.items():
        if name not in old:
            yield name, name
            continue
        for method, after in methods.items():
            before = old[name].get(method)
            if before is None:
                yield name, method
            # What took options took the parameters that it names now.
            elif method == "attributes" or "*" not in before.values():
                yield from ((name, what) for what in after if what not in before)


def missing(found, known: list) -> list[str]:
    """Return what was found and no row tells."""
    return sorted(
        f"{name}: {what}"
        for name, what in found
        if not any(
            (name in names and (what == name or re.search(rf"\b{re.escape(what)}\b", text)))
            or (what == name and f"`{name}" in text)
            for names, text in known
        )
    )


OLD = json.loads((ROOT / "tests" / "signatures_0.2.0.json").read_text(encoding="utf-8"))


def test_each_difference_from_0_2_0_has_a_row():
    known = rows(section("### Migration from 0.2.0"))
    assert missing(differences(OLD, signatures()), known) == []


def test_what_is_new_has_a_row():
    # Of all releases since, and of the one to come.
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## [0.2.0]")[0]
    known = rows(section("### Migration from 0.2.0")) + rows(section("### New in names of 0.2.0"))
    assert missing(additions(OLD, signatures()), [*known, (set(), text)]) == []


@pytest.mark.parametrize(
    ("new", "found", "added"),
    [
        ({"f": {"": {"a": "1"}}, "K": {"": {}, "attributes": ["x_"]}}, [], []),
        ({"f": {"": {"a": "2"}}, "K": {"": {}, "attributes": ["x_"]}}, ["f: a"], []),
        ({"f": {"": {"b": "1"}}, "K": {"": {}, "attributes": []}}, ["K: x_", "f: a"], ["f: b"]),
        ({"f": {"": {"a": "1", "b": "required"}}}, ["K: K", "f: b"], ["f: b"]),
        ({"f": {"": {"a": "1"}}, "K": {"": {}, "attributes": ["x_", "y_"], "m": {}}, "g": {}}, [],
         ["K: m", "K: y_", "g: g"]),
    ],
)  # fmt: skip
def test_differences_are_found(new, found, added):
    old = {"f": {"": {"a": "1"}}, "K": {"": {}, "attributes": ["x_"]}}
    assert missing(differences(old, new), []) == found
    assert missing(additions(old, new), []) == added
    known = [({"f", "K", "g"}, "`a`, b, `x_`, y_ and m")]
    assert missing(differences(old, new), known) == missing(additions(old, new), known) == []
