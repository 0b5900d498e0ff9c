"""What the points of an embedding say about answers, and how much better others could be."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from skscreen.answers.answers import Answers
from skscreen.answers.formats import check_format, in_format
from skscreen.answers.given import Given, places_of
from skscreen.embedding.problem.answers import compacted
from skscreen.embedding.problem.losses import CONVEX_LOSSES, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, answer_margins
from skscreen.embedding.solvers.convex import value_and_bound
from skscreen.embedding.solvers.solve import SOLVERS, convex_solver
from skscreen.embedding.solvers.state import Settings


def predict(model: BaseEstimator, given: Given, result_format: str | None) -> np.ndarray:
    """Return whether trials agree with the points of a model, or its answers in a format."""
    answers = given.answers
    agree = agreement(model, answers)
    if result_format is None:
        return given.least(agree)
    check_format(result_format)
    if model.loss == "oddoneout" and result_format not in ("list-boolean", "list-count"):
        raise ValueError("result_format must be 'list-boolean' or 'list-count' for trials.")
    if result_format == "tensor-count":
        rows = places_of(answers, model.objects_)
    else:
        # With the names of strangers, too.
        rows = answers.objects[answers.rows]
    rows, responses = in_format(rows, agree > 0, result_format, len(model.embedding_))
    return rows if responses is None else responses


def agreement(model: BaseEstimator, answers: Answers) -> np.ndarray:
    """Return whether the points agree with each row: 1, -1, or 0 where they do not say."""
    rows = places_of(answers, model.objects_, strangers=True)
    known = ((rows >= 0) & model.compared_[rows]).all(axis=1)
    agree = np.zeros(len(rows), dtype=np.int64)
    agree[known] = np.sign(answer_margins(model.embedding_, rows[known], EmbeddingLoss(model.loss)))
    return agree


def lower_bound(model: BaseEstimator, tol: float) -> float:
    """Return a lower bound on the objective of an embedding."""
    if model.loss not in CONVEX_LOSSES:
        raise ValueError(
            f"loss must be 'gnmds', 'ste' or 'oddoneout' for a lower bound, got {model.loss!r}."
        )
    check_scalar(tol, "tol", Real, min_val=0.0)
    loss = EmbeddingLoss.of(model)
    rows, compared = compacted(model.answers_.rows, len(model.embedding_))
    problem = EmbeddingProblem(rows, model.answers_.weights, len(compared), loss, model.reg_)
    X = model.embedding_[compared]
    best = value_and_bound(problem, X)[1]
    if not np.isinf(tol):
        solver = SOLVERS[convex_solver(loss)]
        for progress in solver(problem, X.copy(), Settings(tol=float(tol)), None):
            best = max(best, progress.value * (1.0 - progress.dual_gap))
    return best
