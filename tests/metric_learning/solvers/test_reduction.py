import numpy as np
import pytest

from skscreen import ScreenedRTLM
from skscreen.metric_learning.path_solver import solver_options
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.solvers.progress import Progress
from skscreen.metric_learning.solvers.reduction import Reduction


@pytest.mark.parametrize("active_set", [True, False])
def test_items_without_loss_are_left_out_for_a_round(active_set):
    """Two classes far apart: under a large metric nearly all triplets have a margin above 1."""
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    X = rng.normal(size=(500, 8)) + 3.0 * y[:, None]
    model = ScreenedRTLM(n_neighbors=90, active_set=active_set)
    problem = build(model, X, y)
    full = problem.at(1e-3 * problem.lam_max)
    evaluation = full.evaluate(problem.first.scaled(10.0 / problem.lam_max))
    reduction = Reduction(full, None, Progress(full.lam, solver_options(model)), short=False)
    part = reduction.active(evaluation)
    if not active_set:
        assert part is evaluation
        return
    left = part.objective.geometry
    assert 0 < left.n_items < 0.02 * full.geometry.n_items
    # Loss and gradient are the same, which makes the last evaluation of a round one of all items.
    again = part.objective.evaluate(part.point)
    assert again.loss == pytest.approx(evaluation.loss, rel=1e-12)
    np.testing.assert_allclose(again.adjoint, evaluation.adjoint, rtol=1e-9)
    assert reduction.take(again).objective.geometry is full.geometry
