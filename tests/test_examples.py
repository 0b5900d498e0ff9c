"""The README says what its code prints, and the examples run."""

import re
import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
GAP = re.compile(r"\d\.\de-\d\d")


@pytest.fixture(autouse=True)
def close_figures():
    matplotlib.use("agg")
    yield
    plt.close("all")


def code_blocks(language: str) -> list[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)


def test_readme_prints_what_it_says(capsys):
    (code,), (said,) = code_blocks("python"), code_blocks("text")
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    # The gap that is reached differs between machines; what is promised is the tolerance.
    assert GAP.sub("gap", printed) == GAP.sub("gap", said)
    assert max(float(gap) for gap in GAP.findall(printed + said)) <= 1e-6


def test_first_example_runs(capsys):
    result = runpy.run_path(str(ROOT / "examples" / "plot_metric_path.py"))
    assert result["display"].best_index_ is not None
    assert "values of λ" in capsys.readouterr().out


def test_map_of_cities_runs(capsys):
    result = runpy.run_path(str(ROOT / "examples" / "plot_eurodist.py"))
    wrong, classical, distance = re.findall(r"[\d.]+", capsys.readouterr().out)
    assert float(wrong) < 6.0
    assert float(classical) < 6.0
    assert float(distance) < 0.05
    points, at = result["display"].points, result["cities"].names.index
    # East is right and north is up, as on the map it is turned to.
    assert points[at("Vienna"), 0] > points[at("Lisbon"), 0]
    assert points[at("Stockholm"), 1] > points[at("Athens"), 1]


def test_lower_bound_example_meets_theory(capsys):
    result = runpy.run_path(str(ROOT / "examples" / "plot_bmrm_lower_bound.py"))
    assert max(result["deviation"], result["deviation_errors"]) < 1e-10
    assert "deviation from theory" in capsys.readouterr().out


def run(name: str) -> dict:
    return runpy.run_path(str(ROOT / "examples" / f"plot_{name}.py"))


def test_certificate_example_bounds_the_error(capsys):
    result = run("certificate")
    assert np.all(result["errors"] <= result["gaps"] + 1e-11)
    assert np.all(result["distances"] <= result["radii"])


def test_pair_bounds_example_orders_unseen_pairs(capsys):
    run("pair_bounds")
    euclidean, learned = map(float, re.findall(r"([\d.]+)%", capsys.readouterr().out))
    assert learned > euclidean


def test_eps_path_example_keeps_its_promise(capsys):
    result = run("svc_eps_path")
    assert result["errors"].max() <= result["eps"]


def test_store_example_keeps_solutions_and_scores(capsys):
    result = run("grid_search_store")
    alone, stored = result["alone"].cv_results_, result["stored"].cv_results_
    assert np.allclose(alone["mean_test_score"], stored["mean_test_score"], atol=0.002)
    # The folds of each C, and the refit.
    assert result["n_solved"] == 5 * len(result["Cs"]) + 1


def test_chain_example_beats_single_positions(capsys):
    result = run("chain")
    assert result["accuracy_chain"] > result["accuracy_single"] + 0.1


def test_labellers_of_digit_words_beat_single_images():
    accuracy = run("digit_words")["accuracy"]
    assert accuracy["max-margin chain"] > accuracy["single images"] + 0.03
    assert accuracy["conditional random field"] > accuracy["single images"] + 0.05


@pytest.mark.parametrize(
    "name",
    [
        "certified_C",
        "embedding_losses",
        "embedding_solvers",
        "feature_weights",
        "learned_space",
        "new_objects",
        "odd_one_out",
        "pragam",
        "projection",
        "screening_bounds",
        "svc_screening",
    ],
)
def test_example_draws_a_figure_and_says_something(name, capsys):
    run(name)
    assert plt.get_fignums() and capsys.readouterr().out


def test_every_example_is_run():
    run_here = Path(__file__).read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("plot_*.py"):
        assert re.search(rf'"(plot_)?{path.stem.removeprefix("plot_")}(\.py)?"', run_here), path


def test_demo_writes_table_and_figures(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    import demo

    monkeypatch.setattr(demo, "DATA_SETS", demo.DATA_SETS[:1])
    demo.main(["--output", str(tmp_path)])
    out, err = capsys.readouterr()
    assert re.search(r"^wine +151,380 ", out, flags=re.MULTILINE)
    assert "wine, without screening" in err
    assert {file.name for file in tmp_path.iterdir()} == {"path.png", "screening.png"}
    assert all(f"Figure: {file}" in out for file in tmp_path.iterdir())


def test_tuples_examples_learn(capsys):
    run("verification")
    euclidean, learned = map(float, re.findall(r"pictures ([\d.]+)", capsys.readouterr().out))
    assert learned > euclidean
    result = run("triplets")
    assert min(result["scores"]) > result["base"]
    result = run("quadruplets")
    assert set(np.argsort(result["weights"])[-3:]) == set(np.flatnonzero(result["truth"]))
