"""The rooms of the package: which may import which, and what they may not take."""

import ast
import re
from pathlib import Path

import pytest

import skscreen

PACKAGE = Path(skscreen.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")
MAP = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")

# What a room may import beside itself. A new arrow is a decision: it changes the map too.
GROUND = {"core", "fitting"}
ARROWS = {
    "core": set(),
    "fitting": {"core"},
    "samples": GROUND,
    "metric_learning": GROUND,
    "embedding": GROUND,
    "svm": GROUND | {"samples"},
    "pragam": GROUND | {"samples"},
    "sequence": GROUND | {"samples", "pragam"},
    "distributed": GROUND | {"samples", "pragam", "metric_learning"},
    "inspection": {"svm"},
    "metrics": {"embedding"},
    "preprocessing": {"embedding"},
    "datasets": {"core"},
}


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    """Yield the module and the name of everything that a file takes from the package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skscreen"):
            for alias in node.names:
                yield node.module, alias.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_what_it_may(path):
    allowed = ARROWS[room(path)] | {room(path)}
    used = {f"{module}.{name}".split(".")[1] for module, name in imports(path)}
    assert used <= allowed


def test_every_room_is_on_the_map():
    on_map = {name for row in re.findall(r"^\| (`.+?) \|", MAP, flags=re.MULTILINE)
              for name in re.findall(r"`(\w+)(?:/|\.py)`", row)}  # fmt: skip
    assert set(map(room, FILES)) == set(ARROWS) == on_map
