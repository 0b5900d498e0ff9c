"""The code on the pages of the documentation runs, and prints what they say."""

import doctest
import importlib
import json
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import skscreen
import skscreen.datasets
import skscreen.distributed
import skscreen.inspection
import skscreen.preprocessing
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.svm.screening.rules import BOUNDS as SAMPLE_BOUNDS

ROOT = Path(__file__).parents[1]
DOC = ROOT / "doc"
WITH_EXAMPLES = [
    path for path in sorted((ROOT / "skscreen").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]  # fmt: skip
PAGES = [*sorted((DOC / "guide").glob("*.md")), *sorted((DOC / "coming_from").glob("*.md"))]
PAGES += [DOC / name for name in ("index.md", "install.md", "faq.md")]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# What is left of a tolerance differs between machines.
GAP = re.compile(r"\d(\.\d)?e-\d\d")


@pytest.fixture(autouse=True)
def bounds_as_before():
    """The page on extensions adds one."""
    registries = BOUNDS, SAMPLE_BOUNDS
    before = [dict(registry) for registry in registries]
    yield
    for registry, entries in zip(registries, before, strict=True):
        registry.clear()
        registry.update(entries)


@pytest.mark.few(1)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_prints_what_it_says(page, capsys):
    text = page.read_text(encoding="utf-8")
    if "callbacks=" in text and parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip("scikit-learn has callbacks from 1.9 on")
    blocks = BLOCK.findall(text)
    names = {"__name__": "__main__"}
    for (kind, code), (next_kind, said) in pairwise([*blocks, ("", "")]):
        if kind == "python":
            exec(compile(code, page.name, "exec"), names)
            printed = capsys.readouterr().out
            if next_kind == "text":
                assert GAP.sub("gap", printed) == GAP.sub("gap", said)
            else:
                assert printed == ""


@pytest.mark.few(6)
@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: path.stem)
def test_docstrings_print_what_they_say(path):
    if path.parent.name == "distributed":
        pytest.importorskip("distributed")
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_copies_are_converted_to_onnx(capsys):
    for library in ("skl2onnx", "onnxruntime"):
        pytest.importorskip(library)
    text = (DOC / "guide" / "exporting.md").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for code in re.findall(r"^```(?:python|py)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(code, "exporting.md", "exec"), names)
    capsys.readouterr()


def test_table_of_benchmarks_is_that_of_the_numbers():
    pictures = runpy.run_path(str(DOC / "pictures.py"))
    jobs = json.loads((DOC / "_static" / "readme_figures.json").read_text(encoding="utf-8"))
    again = "run python doc/pictures.py"
    assert pictures["TABLE"].read_text(encoding="utf-8") == pictures["table"](jobs), again
    assert len(jobs) <= 10
    for job in jobs:
        page = (DOC / f"{job['page']}.md").read_text(encoding="utf-8")
        cells = re.split(r"\s*(?:\||<br>)\s*", page)
        more = "> " if job.get("more") else ""
        theirs = [f"{job['peer_seconds']:g}", *([job["times"]] if "times" in job else [])]
        for number in f"{job['seconds']:g}", *(more + value for value in theirs):
            assert number in cells, f"{job['job']}: {number} is not on its page"
    assert (DOC / "_static" / "readme.png").stat().st_size < 150_000


@pytest.mark.parametrize(
    "names",
    [
        skscreen.__all__,
        skscreen.inspection.__all__,
        skscreen.datasets.__all__,
        skscreen.distributed.__all__,
        skscreen.preprocessing.__all__,
    ],
    ids=["skscreen", "inspection", "datasets", "distributed", "preprocessing"],
)
def test_every_public_name_is_in_the_reference(names):
    listed = (DOC / "api" / "index.md").read_text(encoding="utf-8").split()
    assert set(names) <= set(listed)
