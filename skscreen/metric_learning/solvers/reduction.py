"""The part of a problem that a solve looks at: what is undecided, and of that what is active."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from skscreen.core.certificate import ScreeningEvent
from skscreen.metric_learning.problem.objective import Evaluation, Objective, extend
from skscreen.metric_learning.screening.active import active_part, leave_out, screen
from skscreen.metric_learning.solvers.descent import Descent
from skscreen.metric_learning.solvers.progress import Progress


class Reduction:
    """The undecided items of a problem at one lambda."""

    def __init__(self, full: Objective, reduced: Objective | None, progress: Progress, short: bool):
        # `full` has nothing fixed, `reduced` is what decisions that hold at this lambda have left.
        # `short`: so few steps are expected that neither screening nor guesses before the first
        # pay.
        self.full, self.progress, self.short = full, progress, short
        # What leaves nothing out may have its places in an older order than `full`.
        leaves_out = reduced is not None and reduced.n_zero + reduced.n_linear > 0
        self.undecided = reduced if reduced is not None and leaves_out else full
        self.guesses = progress.settings.active_set
        self._screened_gap, self._last_value = np.inf, np.inf
        if reduced is not None:
            self._record("range", progress.started)

    @property
    def n_decided(self) -> int:
        """Number of items that are left out."""
        return self.undecided.n_zero + self.undecided.n_linear

    def screen(self, where: str, evaluation: Evaluation, reference_lam: float) -> bool:
        """Screen from an evaluation; return whether anything was decided."""
        began, before = perf_counter(), self.n_decided
        decision = screen(self.undecided, evaluation, reference_lam, self.progress.settings.hook)
        self.undecided = leave_out(self.undecided, decision)
        self._record(where, began)
        return self.n_decided > before

    def screen_from(self, evaluation: Evaluation, reference_lam: float) -> None:
        """Screen by the evaluation of the full problem at another lambda."""
        if self.n_decided > 0:
            margins = self.undecided.geometry.margins(evaluation.point)
            evaluation = replace(evaluation, margins=margins, objective=self.undecided)
        self.screen("path", evaluation, reference_lam)

    def screen_if_due(self, evaluation: Evaluation) -> Evaluation:
        """Screen where the radius, the root of the gap, has halved since; return the evaluation."""
        gap = evaluation.gap(self.progress.lam)
        due = self.progress.settings.screening and not self._is_too_early
        if not due or gap > 0.25 * self._screened_gap:
            return evaluation
        self._screened_gap = gap
        if not self.screen("dynamic", evaluation, self.progress.lam):
            return evaluation
        self._last_value = np.inf
        return self.undecided.evaluate(evaluation.point)

    def run(self, descent: Descent, evaluation: Evaluation) -> Evaluation:
        """Make a round of steps from an evaluation of the undecided items to another one."""
        active = self.active(evaluation)
        if active is None:
            found = descent.run(evaluation)
            self.undecided = found.objective
            return found
        found = descent.run(active)
        self.undecided = replace(self.undecided, proximal=found.objective.proximal)
        return self.undecided.evaluate(found.point)

    def active(self, evaluation: Evaluation) -> Evaluation | None:
        """Leave out items without loss for a round, if that makes evaluations much cheaper."""
        # Each new guess is a new objective, on which the memory of past steps is worth less.
        # Guesses end where they fail to descend.
        value = evaluation.smoothed_primal(self.progress.lam)
        self.guesses &= value <= self._last_value or evaluation.fenchel_young > 0.0
        self._last_value = value
        if not self.guesses or self._is_too_early:
            return None
        part = active_part(self.undecided, evaluation)
        if part.geometry.n_items == self.undecided.geometry.n_items:
            return None
        # Where evaluations get less than four times as fast, guessing does not pay.
        work = self.undecided.geometry.evaluation_work
        if part.geometry.evaluation_work > 0.25 * work:
            self.guesses = False
            return None
        return replace(evaluation, objective=part, margins=part.geometry.margins(evaluation.point))

    def confirm(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation of the full problem."""
        return extend(evaluation, self.full) if self.n_decided > 0 else evaluation

    def repair(self, confirmed: Evaluation) -> Evaluation:
        """Take all decisions back: the full certificate disagrees with the reduced one."""
        self._last_value = np.inf
        if self.n_decided > 0:
            began = perf_counter()
            self.undecided = confirmed.objective
            self._screened_gap = np.inf
            self._record("repair", began)
        return self.undecided.evaluate(confirmed.point)

    @property
    def _is_too_early(self) -> bool:
        return self.short and self.progress.n_iter == 0

    def _record(self, where: str, began: float) -> None:
        """Add a screening step that began at a time, with the numbers of items after it."""
        n_zero, n_linear = self.undecided.n_zero, self.undecided.n_linear
        counts = n_zero, n_linear, self.full.geometry.n_items - n_zero - n_linear
        at, seconds = (self.progress.lam, self.progress.n_iter), perf_counter() - began
        self.progress.events.append(ScreeningEvent(where, *at, *counts, seconds))
