"""The steps of a fit of an estimator, which a search over penalties shares."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skscreen.concepts.fit import Agreed, Settings, agree, solve_starts
from skscreen.concepts.problem.objective import Objective, check_free
from skscreen.concepts.problem.trials import Trials
from skscreen.concepts.reading import Reading
from skscreen.concepts.tools.errors import count_significant
from skscreen.fitting.callbacks import Tasks
from skscreen.fitting.warning import warn_user

# The ridge as a share of the L1 penalty.
RIDGE = 0.05


def ridge(model: BaseEstimator, l1: float) -> float:
    """Return the strength of the ridge beside that of the L1 penalty."""
    return RIDGE * l1 if model.l2 == "auto" else float(model.l2)


def settings_of(model: BaseEstimator) -> Settings:
    """Return how a model solves its problem."""
    return Settings(int(model.max_iter), float(model.tol), model.n_jobs)


def objective_of(model: BaseEstimator, trials: Trials, l1: float, n_fits: int) -> Objective:
    """Return the objective of a fit, if the memory of so many at a time is free."""
    check_free(trials, model.n_components, min(effective_n_jobs(model.n_jobs), n_fits))
    return Objective(trials, l1, ridge(model, l1))


def n_tasks(model: BaseEstimator) -> int:
    """Return the number of starts, with the fit after several."""
    return int(model.n_init) + (model.n_init > 1)


def fit_dimensions(
    model: BaseEstimator, reading: Reading, objective: Objective, tasks: Tasks, done: float = 0.0
) -> None:
    """Solve from all starts and set the fitted attributes; a share `done` of the work is done."""
    n_init, count = int(model.n_init), n_tasks(model)
    rng = check_random_state(model.random_state)
    seeds = rng.randint(2**31 - 1, size=n_init).tolist()
    settings = settings_of(model)
    shares = [0.0] * count

    def told(start: int, share: float, text: str) -> None:
        shares[start] = share
        tasks.bar.update(done + (1.0 - done) * sum(shares) / count, text)

    found = []
    for solution in solve_starts(objective, int(model.n_components), seeds, settings, told):
        found.append(solution)
        shares[len(found) - 1] = 1.0
        fraction = done + (1.0 - done) * sum(shares) / count
        if tasks.end_task(fraction, f"start {len(found)} of {n_init}"):
            break
    agreed = agree(objective, reading.trials, found, model.min_support, settings, told)
    if n_init > 1:
        tasks.end_task(1.0, f"dimensions={agreed.X.shape[1]}")
    _warn(model, agreed, objective.l1)
    _store(model, agreed, reading, objective)


def _warn(model: BaseEstimator, found: Agreed, l1: float) -> None:
    """Tell what is wrong with a result."""
    if found.n_failed:
        warn_user(
            f"{found.n_failed} of the starts and the fit after them did not reach "
            f"tol={model.tol:g} in max_iter={model.max_iter} iterations. Raise max_iter.",
            ConvergenceWarning,
        )
    if not found.X.shape[1]:
        warn_user(
            f"No dimension is left: with l1={l1:.3g} and min_support={model.min_support:g} the "
            "trials support none. Lower l1 or min_support, or ask more trials."
        )


def _store(model: BaseEstimator, found: Agreed, reading: Reading, objective: Objective) -> None:
    """Set the fitted attributes."""
    n_objects, d = len(reading.answers.objects), found.X.shape[1]
    model.l1_, model.l2_ = objective.l1, objective.l2
    model.support_, model.reproducibility_ = found.support, found.reproducibility
    model.standard_errors_ = np.full((n_objects, d), np.nan)
    model.standard_errors_[reading.compared] = found.errors
    model.n_significant_ = count_significant(found.X, found.errors)
    model.objective_, model.log_likelihood_ = found.objective, found.log_likelihood
    model.history_, model.n_iter_ = found.history, len(found.history)
    model.answers_, model.n_trials_ = reading.answers, reading.n_given
    model.objects_ = reading.answers.objects
    model.compared_ = np.zeros(n_objects, dtype=bool)
    model.compared_[reading.compared] = True
    embedding = np.zeros((n_objects, d))
    embedding[reading.compared] = found.X
    # The last one says that the model is fitted.
    model.embedding_ = embedding
