"""Accelerated projected gradient with dynamic screening and an active set.

Algorithm 1 of Yoshida et al. (2019), rebuilt: rounds of `screen_every` steps on the undecided
items; between rounds the balls of the current point screen. It stops on the duality gap of the
*full* problem. Small problems with little progress are handed to an interior-point method.
"""

from dataclasses import replace

import numpy as np

from skscreen.metric_learning.problem.domains import Metric
from skscreen.metric_learning.problem.objective import Evaluation, Objective, norm
from skscreen.metric_learning.solvers.anderson import AndersonMemory
from skscreen.metric_learning.solvers.descent import Descent
from skscreen.metric_learning.solvers.interior_point import interior_point, interior_point_work
from skscreen.metric_learning.solvers.progress import Progress, Settings
from skscreen.metric_learning.solvers.reduction import Reduction
from skscreen.metric_learning.solvers.solution import Solution, Warm


def minimise(
    full: Objective, start: Metric, settings: Settings, *, warm: Warm | None = None,
    reduced: Objective | None = None, memory: AndersonMemory | None = None,
) -> tuple[Solution, Evaluation]:  # fmt: skip
    """Minimise an objective with nothing fixed to a certified relative duality gap."""
    # `reduced` is what decisions that hold at this lambda have left of it.
    progress = Progress(full.lam, settings)
    # The solve at the lambda before tells how long this one will be.
    short = warm is not None and warm.is_short
    reduction = Reduction(full, reduced, progress, short)
    # With proximal smoothing there are nearly always many steps.
    if warm is not None and settings.screening and (not short or full.proximal is not None):
        reduction.screen_from(warm.evaluation, warm.lam)
    memory = AndersonMemory(full.geometry.shape) if memory is None else memory
    descent = Descent(memory, 1.0 / full.lam if warm is None else warm.step, progress)
    evaluation, second_order = reduction.undecided.evaluate(start), True
    while True:
        progress.note(evaluation)
        if progress.is_done(evaluation) or progress.is_spent:
            confirmed = reduction.confirm(evaluation)
            if progress.is_done(confirmed) or progress.is_spent:
                return _solution(confirmed, progress, descent), confirmed
            memory.cut()
            evaluation = reduction.repair(confirmed)
        evaluation = reduction.screen_if_due(evaluation)
        # Only once in a solve: if it does not converge, rounding errors are the reason.
        if second_order and progress.work >= interior_point_work(reduction.undecided):
            second_order = False
            evaluation = _interior_point(evaluation, progress)
            descent.restart()
            reduction.undecided = evaluation.objective
            continue
        evaluation = reduction.run(descent, evaluation)


def _interior_point(evaluation: Evaluation, progress: Progress) -> Evaluation:
    """Solve the reduced problem by second-order steps; keep what they gained, if anything."""
    objective, target, lam = evaluation.objective, progress.target(evaluation), progress.lam
    # A start that is far too small makes no progress; one ten times too large costs three steps.
    size = max(norm(evaluation.point.value), norm(evaluation.adjoint_split[0].value) / lam)
    scale = size / np.sqrt(objective.geometry.n_features)
    if not np.isfinite(scale):
        return evaluation
    n_before = progress.n_iter
    left = progress.settings.max_iter - n_before
    for point, alpha, n_iter in interior_point(objective, scale, 0.1 * target, left):
        if objective.proximal is not None:
            centre = objective.proximal.centre.copy()
            items = objective.geometry.items
            centre[items.numbers(*items.listed())] = alpha
            objective = replace(objective, proximal=replace(objective.proximal, centre=centre))
        result, progress.n_iter = objective.evaluate(point), n_before + n_iter
        if result.gap(lam) <= target:
            break
    before, after = evaluation.gap(lam), result.gap(lam)
    if after >= before:
        return evaluation
    # Close to the target only rounding errors are left, and gradient steps would not do better.
    progress.stalled |= target < after < 1e-2 * before
    return result


def _solution(evaluation: Evaluation, progress: Progress, descent: Descent) -> Solution:
    progress.note(evaluation)
    certificate = evaluation.certificate(progress.lam)
    converged = bool(certificate.relative_gap <= progress.settings.tol)
    # Not a step shortened by rounding errors, with which the next solve would stall, too.
    step = descent.good_length
    return Solution(
        progress.lam, evaluation.point, certificate, evaluation.loss, progress.n_iter, converged,
        tuple(progress.events), step, progress.seconds, tuple(progress.lines),
    )  # fmt: skip
