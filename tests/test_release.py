"""What a release writes in several places agrees."""

import re
from pathlib import Path

import skscreen

ROOT = Path(__file__).parents[1]


def read(name: str, pattern: str) -> tuple[str, str]:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found.groups()


def test_version_and_date_agree():
    version, date = read("CHANGELOG.md", r"^## \[(\d.*)\] - (.+)$")
    cited = read("CITATION.cff", r'^version: (.+)\ndate-released: "(.+)"$')
    assert version == skscreen.__version__
    assert cited == (version, date)
