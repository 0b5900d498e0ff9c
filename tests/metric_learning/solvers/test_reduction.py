from dataclasses import replace

import numpy as np
import pytest

from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.path_solver import solver_settings
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.descent import Descent
from skscreen.metric_learning.solvers.progress import Progress, Settings
from skscreen.metric_learning.solvers.reduction import Reduction


@pytest.mark.parametrize("active_set", [True, False])
def test_items_without_loss_are_left_out_for_a_round(active_set):
    """Two classes far apart: under a large metric nearly all triplets have a margin above 1."""
    rng = np.random.default_rng(0)
    y = np.arange(500) % 2
    X = rng.normal(size=(500, 8)) + 3.0 * y[:, None]
    parameters = Parameters(n_neighbors=90, active_set=active_set)
    problem = build(X, parameters, Supervision(y))
    full = problem.at(1e-3 * problem.lam_max)
    evaluation = full.evaluate(problem.ray.scaled(10.0 / problem.lam_max))
    reduction = Reduction(full, None, Progress(full.lam, solver_settings(parameters)), short=False)
    part = reduction.active(evaluation)
    if not active_set:
        assert part is None
        return
    left = part.objective.geometry
    assert 0 < left.n_items < 0.02 * full.geometry.n_items
    # Loss and gradient are the same, which makes the last evaluation of a round one of all items.
    again = part.objective.evaluate(part.point)
    assert again.loss == pytest.approx(evaluation.loss, rel=1e-12)
    np.testing.assert_allclose(again.adjoint, evaluation.adjoint, rtol=1e-9)
    descent = Descent(AndersonMemory(full.geometry.shape), 1.0 / full.lam, reduction.progress)
    assert reduction.run(descent, evaluation).objective.geometry.n_items == full.geometry.n_items


@pytest.mark.parametrize("fraction", [0.9, 0.3])
def test_ranges_that_leave_nothing_out_do_not_mix_orders(fraction):
    """Places are sorted again by every reference; what ranges leave has the order of its own."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), np.arange(120) % 2
    problem = build(X + y[:, None], Parameters(n_neighbors=20), Supervision(y))
    lam = 0.5 * problem.lam_max
    reference = problem.at(lam).evaluate(problem.ray.scaled(1.0 / problem.lam_max)).in_order()
    full = replace(reference.objective, lam=fraction * lam)
    assert not np.array_equal(full.geometry.far_sizes, problem.geometry.far_sizes)
    counts = []
    for reduced in (None, problem.at(fraction * lam)):
        reduction = Reduction(full, reduced, Progress(full.lam, Settings()), short=False)
        reduction.screen_from(reference, lam)
        counts.append((reduction.undecided.n_zero, reduction.undecided.n_linear))
    assert counts[0] == counts[1] and sum(counts[0]) > 0
