"""Every public name, parameter, default and attribute that differs from 0.2.0 has a row."""

import json
import re
from pathlib import Path

import pytest
from public_signatures import signatures

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
    "paths": ["svc_path", "svr_path"],
}


def rows() -> list[tuple[set[str], str]]:
    """Return the names of each row of the migration table, and its text."""
    text = (ROOT / "CHANGELOG.md").read_text()
    table = text.split("### Migration from 0.2.0")[1].split("\n### ")[0]
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


def missing(old: dict, new: dict, known: list) -> list[str]:
    """Return the differences that no row tells."""
    return sorted(
        f"{name}: {what}"
        for name, what in differences(old, new)
        if not any(
            (name in names and (what == name or re.search(rf"\b{re.escape(what)}\b", text)))
            or (what == name and f"`{name}" in text)
            for names, text in known
        )
    )


def test_each_difference_from_0_2_0_has_a_row():
    old = json.loads((ROOT / "tests" / "signatures_0.2.0.json").read_text())
    assert missing(old, signatures(), rows()) == []


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"f": {"": {"a": "1"}}, "K": {"": {}, "attributes": ["x_"]}}, []),
        ({"f": {"": {"a": "2"}}, "K": {"": {}, "attributes": ["x_"]}}, ["f: a"]),
        ({"f": {"": {"b": "1"}}, "K": {"": {}, "attributes": []}}, ["K: x_", "f: a"]),
        ({"f": {"": {"a": "1", "b": "required"}}}, ["K: K", "f: b"]),
    ],
)
def test_differences_are_found(new, found):
    old = {"f": {"": {"a": "1"}}, "K": {"": {}, "attributes": ["x_"]}}
    assert missing(old, new, []) == found
    assert missing(old, new, [({"f", "K"}, "`a`, b and `x_`")]) == []
