"""Decisions on the samples of a problem, from what is known of its solution or of another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skscreen.core.checks import Matrix, MatrixLike
from skscreen.samples.labels import check_bounds, of_rows
from skscreen.samples.multiclass import Division, OneVsRest
from skscreen.svm.certificate import Samples
from skscreen.svm.dual import Dual
from skscreen.svm.problem import (
    TrainingSet,
    divided_as,
    fit_of,
    has_free_intercept,
    settings_of,
    taken,
    validated,
    with_kernel,
)
from skscreen.svm.sample_set import SampleSet
from skscreen.svm.screened.points import completed
from skscreen.svm.screened.references import Fitted, GivenDuals, GivenWeights
from skscreen.svm.screened.regions import bounds_at, relative_gap
from skscreen.svm.screened.result import Decided, SampleScreening


def check_decides(model: BaseEstimator) -> None:
    """Refuse classifiers whose problems are not those of two classes with samples to decide."""
    if model.multi_class == "crammer_singer":
        raise ValueError(
            "Decisions are about problems of two classes, and multi_class='crammer_singer' is one "
            "of all classes; use 'ovr'."
        )
    if model.penalty == "l1":
        raise ValueError(
            "Decisions are about samples, and penalty='l1' drops features; use penalty='l2'."
        )


def screened_by(
    model: BaseEstimator, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[SampleScreening, Any]:
    """Return what a fitted classifier proves of samples, and why these may not be those of its fit.

    That is None where they may be.
    """
    check_decides(model)
    X, labels = validated(model, X, y, reset=False)
    division = divided_as(model, labels, sample_weight)
    X, kernel = with_kernel(model, X, division.labels, getattr(model, "gamma_", None))
    known = Fitted(model, len(labels))
    return screened_at(model, TrainingSet(X, division, kernel), known, "gap")


def screened_at(
    model: BaseEstimator, data: TrainingSet, known: Fitted | GivenDuals | GivenWeights, tests: str
) -> tuple[SampleScreening, str | None]:
    """Return decisions on all problems for the C of an estimator, and why `known` may not fit."""
    problems, lacks = [], []
    for k, (samples, dual) in enumerate(_problems_of(model, data)):
        decided, lack = _decided(model, data.division, k, samples, dual, known, tests)
        problems.append(decided)
        lacks.append(lack)
    found = SampleScreening(float(model.C), data.X, problems, data.kernel)
    return found, _misfit(known, data.X, max(lacks))


def _misfit(known: Fitted | GivenDuals | GivenWeights, X: Matrix, lack: float) -> str | None:
    """Return why a reference is none of X; what it decides is right, but it decides little."""
    # Of numbers alone nobody knows which samples they are of.
    row = known.other_row(X) if isinstance(known, Fitted) else None
    if row is not None:
        return f"row {row} of X is not the support vector of that number"
    if lack <= 0.5:
        return None
    return (
        f"its relative duality gap at its own C is {lack:.2g} there, so it was fitted on other "
        "samples, or is far from its optimum"
    )


def _problems_of(model: BaseEstimator, data: TrainingSet) -> Iterator[tuple[Samples, Dual]]:
    """Yield the samples of each problem, as its solver has them, and the problem at C = 1."""
    division, kernel = data.division, data.kernel
    # Of a kernel that is made definite the problem would be another one.
    settings = replace(settings_of(model, None), indefinite="error")
    pairwise = kernel.name == "precomputed"
    fit = replace(fit_of(model, division, kernel, settings, "one C"), again=True)
    taking_part = taken(data.X, division.labels.rows, kernel)
    samples = None
    for k in range(division.n_problems):
        if samples is None or not isinstance(division, OneVsRest):
            rows = division.rows(k)
            part = of_rows(taking_part, rows, pairwise)
            here = replace(fit, classes=(rows.size,))
            samples = SampleSet(part, kernel, settings, here)
        losses = division.losses(k, model.loss)
        dual = Dual.of(losses, division.signs(k), has_free_intercept(model))
        yield samples.path_solver(dual).samples, dual


def _decided(
    model: BaseEstimator, division: Division, problem: int, samples: Samples, dual: Dual, known,
    tests: str,
) -> tuple[Decided, float]:  # fmt: skip
    """Return the decisions of one problem, and the relative gap of the reference."""
    C = model.C
    check_bounds(C, dual.sizes)
    point = completed(known.known(problem, division, samples), samples, dual, C)
    lower, upper = bounds_at(samples, dual, point, C, tests)
    codes = dual.codes(lower, upper)
    rows = division.labels.rows[division.rows(problem)]
    # Users see margins, the scores times the signs.
    rises = (dual.signs > 0.0)[:, None]
    bounds = np.where(rises, np.stack([lower, upper], axis=1), -np.stack([upper, lower], axis=1))
    gap = relative_gap(samples, dual, point, C)
    return Decided(rows, codes, bounds, samples, dual.at(C), gap), point.lack
