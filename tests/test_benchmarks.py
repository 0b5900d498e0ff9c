"""Benchmarks that replace parts of the package find these parts."""

import pytest
from sklearn.datasets import load_iris

from benchmarks.metric_learning.paper_reasons import reasons


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
