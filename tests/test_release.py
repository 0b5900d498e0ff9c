"""What a release writes in several places agrees."""

import inspect
import re
import runpy
import tomllib
from pathlib import Path

from sklearn.base import BaseEstimator

import skscreen

ROOT = Path(__file__).parents[1]


def read(name: str, pattern: str) -> tuple[str, ...]:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found.groups()


def test_version_and_date_agree():
    version, date = read("CHANGELOG.md", r"^## \[(\d.*)\] - (.+)$")
    cited = read("CITATION.cff", r'^version: (.+)\ndate-released: "(.+)"$')
    assert version == skscreen.__version__
    assert cited == (version, date)


def test_the_recipe_needs_what_the_package_needs():
    lines = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8").splitlines()
    recipe = {line.strip("- ").replace(" ", "") for line in lines if line.startswith("    - ")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["project"]["dependencies"] + project["build-system"]["requires"]
    assert {*needed, "python" + project["project"]["requires-python"]} <= recipe


def test_wheels_are_tried_with_every_estimator():
    public = [getattr(skscreen, name) for name in skscreen.__all__]
    kinds = [each for each in public if inspect.isclass(each) and issubclass(each, BaseEstimator)]
    data = runpy.run_path(str(ROOT / ".ci" / "smoke.py"))["DATA"]
    assert {kind.__name__ for kind in kinds} == set(data)
