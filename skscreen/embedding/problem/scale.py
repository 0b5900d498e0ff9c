"""The likelihood of a perceptual scale, a generalised linear model, and Newton's method for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit, log_expit, log_ndtr, ndtr

from skscreen.answers.answers import Answers
from skscreen.embedding.problem.answers import quadruplets


class ScaleFit(NamedTuple):
    """Values of all objects but the first, and how they were found."""

    values: np.ndarray  # (n_objects - 1,)
    # (P - D) / P. With the slopes of the losses as dual variables P - D = |gradient|^2 / (2 reg).
    dual_gap: float
    n_iter: int


class Judgements(NamedTuple):
    """Answers of a generalised linear model; each says that its z is positive."""

    design: sparse.csr_array  # (m, n_values): z in the values
    weights: np.ndarray  # (m,)
    # (m,): 1 where the greater pair of objects, or stimulus, is the second of the two in the order
    # of objects, else -1: what was answered, whatever the order in X.
    sides: np.ndarray
    trials: np.ndarray  # (m,): the rows of X


def sides_of(greater: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 where the first of two rows of numbers comes later in lexicographic order, else -1."""
    differ = greater != other
    column = np.argmax(differ, axis=1)[:, None]
    later = np.take_along_axis(greater, column, 1) > np.take_along_axis(other, column, 1)
    return np.where(later[:, 0], 1.0, -1.0)


def judgements_of(answers: Answers, n_objects: int) -> Judgements:
    """Return the answers about differences for the model."""
    rows, weights = quadruplets(answers.rows), answers.weights
    near, far = np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)
    weights = np.ones(len(rows)) if weights is None else weights
    return Judgements(design_of(rows, n_objects), weights, sides_of(far, near), answers.trials)


def design_of(rows: np.ndarray, n_objects: int) -> sparse.csr_array:
    """Matrix of z in the values of all objects but the first."""
    i, j, k, l = quadruplets(rows).T
    far = differences(n_objects, np.maximum(k, l), np.minimum(k, l))
    return far - differences(n_objects, np.maximum(i, j), np.minimum(i, j))


def differences(n: int, first: np.ndarray, second: np.ndarray) -> sparse.csr_array:
    """Differences of two values each in all n values but the first, which is 0; (m, n - 1)."""
    m = len(first)
    entries, places = np.repeat([1.0, -1.0], m), np.concatenate([first, second])
    return sparse.csr_array((entries, (np.tile(np.arange(m), 2), places)), shape=(m, n))[:, 1:]


def log_distribution(link: str, z: np.ndarray) -> np.ndarray:
    """Logarithm of the distribution function."""
    return log_ndtr(z) if link == "probit" else log_expit(z)


def distribution(link: str, z: np.ndarray) -> np.ndarray:
    """Distribution function."""
    return ndtr(z) if link == "probit" else expit(z)


def fit_scale(
    design: sparse.csr_array, weights: np.ndarray, link: str, reg: float, tol: float,
    max_iter: int | None, report: Callable[[float], bool] = lambda gap: False,
) -> ScaleFit:  # fmt: skip
    """Minimise the weighted mean of -log F(z), plus reg / 2 |values|^2; weights have a sum of 1."""
    values, steps = np.zeros(design.shape[1]), 0
    objective, gradient, hessian = _evaluate(design, weights, link, reg, values)
    while True:
        gap = float(gradient @ gradient) / (2.0 * reg * objective)
        stop = report(gap)
        if gap <= tol or steps == (max_iter or 100) or stop:
            break
        step = linalg.solve(hessian, gradient, assume_a="pos")
        length, before = 1.0, objective
        for _ in range(60):
            found = _evaluate(design, weights, link, reg, values - length * step)
            if found[0] < before:
                break
            length *= 0.5
        else:
            # Rounding errors prevent further progress.
            break
        values, steps = values - length * step, steps + 1
        objective, gradient, hessian = found
    return ScaleFit(values, gap, steps)


def information(
    design: sparse.csr_array, weights: np.ndarray, link: str, reg: float, values: np.ndarray
) -> np.ndarray:
    """Fisher's (expected) information about the values, (n_values, n_values), and the ridge's."""
    z = design @ values
    return _weighted_squares(design, weights * _slopes(link, z) * _slopes(link, -z), reg)


def _slopes(link: str, z: np.ndarray) -> np.ndarray:
    """Return the derivative of log F."""
    if link == "logit":
        return expit(-z)
    return np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))


def _weighted_squares(design: sparse.csr_array, weights: np.ndarray, reg: float) -> np.ndarray:
    return (design.T @ design.multiply(weights[:, None])).toarray() + reg * np.eye(design.shape[1])


def _evaluate(
    design: sparse.csr_array, weights: np.ndarray, link: str, reg: float, values: np.ndarray
):
    z = design @ values
    logs, slopes = log_distribution(link, z), _slopes(link, z)
    rise = np.maximum(z + slopes, 0.0) if link == "probit" else expit(z)
    objective = -float(weights @ logs) + 0.5 * reg * float(values @ values)
    gradient = -(design.T @ (weights * slopes)) + reg * values
    return objective, gradient, _weighted_squares(design, weights * slopes * rise, reg)
