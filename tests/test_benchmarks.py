"""Benchmarks that replace parts of the package find these parts."""

import re

import pytest
from sklearn.datasets import load_iris

from benchmarks.metric_learning.paper_reasons import reasons
from benchmarks.support.data import Sets
from benchmarks.svm.paper import COLUMNS, tables


@pytest.mark.slow
def test_the_ablation_of_paths_replaces_what_is_there(capsys):
    X, y = load_iris(return_X_y=True)
    reasons(X[::2], y[::2], "iris", n_neighbors=None, n_lams=12)
    shown = capsys.readouterr().out
    rows = [line.split("|") for line in shown.splitlines() if line.startswith("|")][2:]
    iterations, visits = [int(row[2]) for row in rows[:4]], [float(row[10]) for row in rows[:4]]
    # Starts and acceleration are gone, and then screening earns its visits back.
    assert iterations[0] < iterations[1] and iterations[0] < iterations[2] == iterations[3]
    assert visits[3] > 2.0 * visits[2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_tables_of_safe_sample_screening_run(capsys, tmp_path):
    """Tables III and IV, of a linear and three RBF kernels, on part of a small set."""
    tables(lambda name: Sets(tmp_path)(name, 60), ["breast_cancer"], limit=0.05)
    lines = capsys.readouterr().out.splitlines()
    fits, paths = ([line for line in lines if start in line] for start in ("one fit", "path of"))
    assert len(fits) == len(paths) == 4
    for line in (*fits, *paths):
        assert all(f"{column} " in line for column in COLUMNS)
        # Every solver of the table reaches the gap; the peer's is named.
        assert "missed" not in line and not re.search(r"gap \S+  (Full|Shr|BT1|IT)", line)
