"""Benchmarks that replace parts of the package find these parts, and papers' scripts end well."""

import importlib.util
import json
import re
import time
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

from benchmarks.asv import fits
from benchmarks.embedding.paper_retrieval import LOSSES, METHODS
from benchmarks.embedding.run import PARTS, Bench
from benchmarks.metric_learning import paper
from benchmarks.metric_learning.paper_reasons import reasons
from benchmarks.page import write_page
from benchmarks.pragam import paper as pragam_paper
from benchmarks.support.comparison import Bench as Peers
from benchmarks.support.data import Sets, checksum, fetch_libsvm
from benchmarks.support.dots import read_seconds, short_ratio
from benchmarks.svm import after, linear, peers_here
from benchmarks.svm import paper as svm_paper
from benchmarks.svm.paper import COLUMNS, tables

# A folder of data sets as the scripts expect it, each of two small clouds.
TWO_CLASSES = """
import numpy as np
from scipy import sparse

def load(name):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.7) + y[:, None]
    return (sparse.csr_array(X) if name == "reuters_money" else X), y

def info(name):
    return {}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "load.py").write_text(TWO_CLASSES)
    return tmp_path


def test_commands_that_pages_name_are_there():
    """Modules of `python -m`, and files of scripts, on the pages and in the first files."""
    root = Path(__file__).parents[1]
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "doc").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    modules = set(re.findall(r"python -m (benchmarks[.\w]*\w)", text))
    files = set(re.findall(r"`(benchmarks/[\w/]+\.py)", text))
    assert modules and files
    assert all(importlib.util.find_spec(module) for module in modules)
    assert all((root / file).exists() for file in files)


@pytest.mark.proof
def test_the_page_of_a_family_has_a_figure_and_a_folded_table(tmp_path):
    ours = ["fit", "made 9 × 2", "ScreenedSVC", "0.5", "gap 1e-7"]
    rows = [[*ours, "SVC", "2", "tol=1e-3", "4 times faster"],
            [*ours, "thundersvm-cpu", "> 60", "", "> 120 times faster"]]  # fmt: skip
    entry = {"module": "benchmarks.compare", "date": "2026-11-29T12:00", "environment": "here",
             "code": 0, "output": [],
             "tables": [{"title": "", "columns": [], "rows": rows}]}  # fmt: skip
    write_page({"scripts": {"kernel": entry}}, tmp_path, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| SVC: tol=1e-3<br>thundersvm-cpu | 2<br>> 60 |" in page
    assert page.index("page/kernel.png") < page.index("<details>")
    assert (tmp_path / "page" / "kernel.png").stat().st_size > 1000


def test_ratios_are_written_in_two_digits():
    assert [short_ratio(r) for r in (384.2, 4.23, 0.94, 0.023)] == [
        "384x",
        "4.2x",
        "0.9x",
        "0.023x",
    ]
    cells = ("> 60", "1,234", "0.04", "3.6e-05", "failed")
    assert [read_seconds(cell) for cell in cells] == [60, 1234, 0.04, 3.6e-5, None]


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore")
def test_every_job_of_asv_runs():
    """On a twentieth of its data; those of a few samples as they are."""
    reached = {job: fits.reached(fit(fits.data(20))) for job, fit in fits.JOBS.items()}
    # The objective of a one-class machine is below zero.
    assert all(np.isfinite(value) and value != 0.0 for value in reached.values())
    timed, imported = fits.Fit(), fits.Import()
    assert set(timed.params) == set(reached) and timed.timer is time.process_time
    timed.time_fit("RBF, iris")
    assert timed.track_objective("RBF, iris") == reached["RBF, iris"]
    before = imported.timer()
    imported.time_import()
    assert imported.timer() > before


@pytest.mark.proof
def test_the_ablation_of_paths_replaces_what_is_there(capsys):
    X, y = load_iris(return_X_y=True)
    # Rows of three features are padded; the ablation has to leave the padding out.
    reasons(X[::2, 1:], y[::2], "iris", n_neighbors=None, n_lams=12)
    shown = capsys.readouterr().out
    rows = [line.split("|") for line in shown.splitlines() if line.startswith("|")][2:]
    iterations, visits = [int(row[2]) for row in rows[:4]], [float(row[10]) for row in rows[:4]]
    # Starts and acceleration are gone, and then screening earns its visits back.
    assert iterations[0] < iterations[1] and iterations[0] < iterations[2] == iterations[3]
    assert visits[3] > 2.0 * visits[2]


LOAD = """
import numpy as np

def load(name):
    rng = np.random.default_rng(len(name))
    classes = 2 if name in ("phishing", "a9a", "madelon", "colon_cancer") else 3
    # A fifth of them is taken; a part of that has to have 30 neighbours.
    y = np.arange(300 if name == "phishing" else 60) % classes
    X = rng.normal(size=(y.size, 40 if name in ("a9a", "mnist") else 4))
    X[:, 0] += 2.0 * y
    return X, y
"""


@pytest.mark.proof
@pytest.mark.parametrize("part", [part for part in paper.PARTS if part != "reasons"])
def test_every_part_of_safe_triplet_screening_runs(part, capsys, tmp_path, monkeypatch):
    """Tables and figures of the paper, on small made sets; the ablation has its own test above."""
    (tmp_path / "load.py").write_text(LOAD)
    arguments = ["--data", tmp_path, "--out", tmp_path / "out", "--parts", part, "--quick",
                 "--sets", "segment,iris"]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["paper", *map(str, arguments), "--repeats", "1"])
    clocks = paper.progress.perf_counter, paper.reduction.perf_counter
    try:
        paper.main()
    finally:
        paper.progress.perf_counter, paper.reduction.perf_counter = clocks
    assert "|" in capsys.readouterr().out
    assert list((tmp_path / "out").glob("*.png"))


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_tables_of_safe_sample_screening_run(capsys, tmp_path):
    """Tables III and IV, of a linear and three RBF kernels, on part of a small set."""
    few = Namespace(limit=0.05)
    tables(lambda name: Sets(tmp_path)(name, 60), ["breast_cancer"], few)
    shown = capsys.readouterr().out
    fits, paths = ([line.split("|")[1:-1] for line in part.splitlines() if line.startswith("|")]
                   for part in shown.split("The eps-path"))  # fmt: skip
    assert [cell.strip() for cell in fits[0][3:9]] == list(COLUMNS)
    assert len(fits) == len(paths) == 2 + 4
    # Every solver of the table reaches the gap; the peer's is named.
    assert not any("gap" in cell for row in fits[2:] for cell in row[3:9])
    assert all(("SVC" in row[9]) and float(row[10].strip(" >")) > 0.0 for row in fits[2:])
    assert "missed" not in shown


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_script_of_safe_sample_screening_ends_well(capsys, folder):
    sets = "magic,reuters_money"
    options = ["--parts", "tables", "--out", str(folder / "out"), "--limit", "0.02"]
    svm_paper.main(["--data", str(folder), "--sets", sets, *options])
    shown = capsys.readouterr().out
    assert shown.count("| magic ") == shown.count("| reuters_money ") == 8


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_script_of_pragam_ends_well(capsys, folder):
    """Every part, with its tables and figures."""
    out = folder / "out"
    pragam_paper.main(
        ["--data", str(folder), "--out", str(out), "--sets", "a9a,reuters_money", "--quick",
         "--seconds", "0.02"]
    )  # fmt: skip
    shown = capsys.readouterr().out
    assert all(f"## {part}" in shown for part in pragam_paper.PARTS)
    results = json.loads((out / "pragam.json").read_text())
    assert results.keys() >= {"a9a", "slopes", "exact_over_automatic", "time_over_products"}
    assert len(list(out.glob("*.png"))) + len(list(out.glob("*.svg"))) >= 3


@pytest.mark.proof
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS)
def test_every_experiment_on_ordinal_embedding_runs(part, capsys, tmp_path):
    def load(name):
        if name == "mnist":
            return load_digits(n_class=4, return_X_y=True)
        n = {"music_artists": 400, "things1854": 1854, "food100": 30, "material100": 30}[name]
        rows = [np.random.default_rng(k).choice(n, 3, replace=False) for k in range(700)]
        return np.array(rows)

    results = PARTS[part](Bench(load, tmp_path, 0))
    assert "|" in capsys.readouterr().out
    if part == "retrieval":
        # All rows of the paper's Table II, and the default solver.
        assert len(METHODS) == 12
        assert list(results) == [f"{loss} / {method}" for loss in LOSSES for method in METHODS]
        found = np.array(list(results.values()))
        assert found.shape == (48, 3, 2)
        assert np.all((found >= 0.0) & (found <= 1.0))
        assert (tmp_path / "retrieval.png").exists()


@pytest.mark.proof
def test_shares_decided_rise_with_the_reference_and_the_intersection_decides_most(folder, capsys):
    options = ["--parts", "rates", "--out", str(folder / "out"), "--quick"]
    svm_paper.main(["--data", str(folder), "--sets", "breast_cancer", *options])
    assert "| BT2 " in capsys.readouterr().out
    assert (folder / "out" / "shares.png").stat().st_size > 1000


@pytest.mark.slow
def test_a_peer_is_timed_at_the_loosest_tolerance_that_reaches_the_gap(tmp_path):
    X, y = Sets(tmp_path)("breast_cancer")
    dual = linear.certified_dual(X, y, 0.1)
    near = peers_here.linear_svc(X, y, dual, 1e-2, 10.0, C=0.1, loss="hinge")
    assert not near.late and 1e-6 < float(near.reached.split()[1]) <= 1e-2
    far = peers_here.linear_svc(X, y, dual, -1.0, 10.0, C=0.1, loss="hinge", max_iter=100)
    assert far.late
    ended = peers_here.ladder("peer", lambda tol: "ImportError: none", dual, None, 1e-6, 2.0)
    assert ended.failed and not ended.late
    assert peers_here.ladder("peer", lambda tol: "> 2 s", dual, None, 1e-6, 2.0).late


@pytest.mark.proof
def test_small_fits_and_what_follows_them_are_beside_their_peers(folder):
    X, y = load_iris(return_X_y=True)
    bench = Peers(folder, repeats=1)
    for work in ("fit", "rows", "one row", "file"):
        rows = list(after.beside(bench, (work,), "iris", X, y, X[:3]))
        assert [row.peer.name for row in rows] == ["SVC", "SVC", "LinearSVC"]
        assert all(row.ratio > 0.0 and "kB" in row.peer.reached for row in rows)
    assert after.faces(3, 4)[0].shape == (12, 128)


def test_files_of_public_sets_are_kept_and_checked(tmp_path):
    """Two parts, in an edition whose features are on with other values than 1."""
    X = sparse.csr_array(1.0 * (np.random.default_rng(0).random((30, 5)) < 0.5))
    y = np.arange(30) % 3
    web, folder = tmp_path / "web", tmp_path / "kept"
    for place in (web, folder):
        place.mkdir()
    for name, part in (("some", slice(20)), ("some.t", slice(20, None))):
        dump_svmlight_file(0.5 * X[part], y[part] + 1, str(web / name), zero_based=False)
    wanted = ["some", "some.t"], checksum(X, y), f"{web.as_uri()}/"
    found, labels = fetch_libsvm(folder, *wanted)
    assert np.array_equal(found, X.toarray()) and np.array_equal(labels, y)
    (web / "some").unlink()
    assert np.array_equal(fetch_libsvm(folder, *wanted)[0], found)
    with pytest.raises(ValueError, match="checksum"):
        fetch_libsvm(folder, wanted[0], "0" * 64)
