"""Bounds on the scores of one problem at C, from a point known for another C.

The bounds are those of `svm.screening`, of which every radius allows for rounding errors of scores
that are a few units of precision. Here nobody solves the problem afterwards and would notice, so
errors of sums are not taken for typical: a sum of m terms may be off by m units, products of d
features by d more (`units`). The page "Support vector machines" of the mathematics has the proof.
"""

from dataclasses import replace
from typing import cast

import numpy as np

from skscreen.core.ball import gap_radius
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.rows import LinearSamples
from skscreen.svm.certificate import Samples
from skscreen.svm.dual import Dual, Extremes
from skscreen.svm.screened.points import ReferencePoint
from skscreen.svm.screening.bounds import (
    SLACK,
    Reference,
    SampleBall,
    gap_ball,
    reference,
)
from skscreen.svm.screening.inside_box import compare_at
from skscreen.svm.screening.rules import BOUNDS, ball_test, one_ball
from skscreen.svm.solvers.weights import best_multiple

# Roundings of a score beside those of its two sums: of caps, ratios of C, signs and intercepts.
_OTHERS = 32


@np.errstate(over="ignore", invalid="ignore")
def bounds_at(
    samples: Samples, dual: Dual, point: ReferencePoint, C: float, tests: str
) -> Extremes:
    """Return the lowest and highest score that each sample may have at the optimum for C.

    `dual` is the problem at C = 1; with a free intercept, which is unpenalised, the bounds hold for
    every optimal one.
    """
    free = dual.free
    if isinstance(samples, LinearSamples) and point.w is not None:
        # Dual variables for weights and the hinge are nearer to the solution than the weights.
        if dual.smooth and not free and tests != "gap":
            return _no_nan(*_pair_bounds(samples, dual, point, point.w, C))
    known = _reference(samples, dual.at(point.C), point.beta, point.f)
    rho = C / point.C
    extremes = _dual_bounds(samples, known, rho, tests)
    if not free:
        return _no_nan(*extremes)
    lower, upper = dual.at(C).scores_between(extremes)
    if tests == "gap":
        known, rho = _scaled(samples, known, rho), 1.0
    least, most = compare_at(known, rho, samples)
    return _no_nan(np.fmax(lower, least), np.fmin(upper, most))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def relative_gap(samples: Samples, dual: Dual, point: ReferencePoint, C: float) -> float:
    """Return the relative duality gap of a reference in the problem for C, or a little more.

    Dual variables above the bounds for C are scaled down with all others.
    """
    largest = float((np.abs(point.beta) / dual.width).max())
    there, factor = dual.at(C), min(1.0, C / largest) if largest > 0.0 else 1.0
    f = None if point.f is None else factor * point.f
    known = _reference(samples, there, factor * point.beta, f)
    of_duals = _primal(there, known.square, known.f)
    if point.w is None or not isinstance(samples, LinearSamples):
        return float(np.divide(known.gap, of_duals))
    primal = _primal(there, float(point.w @ point.w), samples.margins(point.w))
    return float(np.divide(known.gap + (primal - of_duals), primal)) + SLACK * EPS


def _primal(dual: Dual, square: float, f: np.ndarray) -> float:
    """Return the primal value of scores f (n,), with the best intercept, where |w|^2 = square."""
    return 0.5 * square + float(dual.losses(dual.target - f - dual.best_intercept(f)).sum())


def _no_nan(lower: np.ndarray, upper: np.ndarray) -> Extremes:
    """Return bounds where NaN means that there are none."""
    return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)


def units(samples: Samples, beta: np.ndarray) -> float:
    """Return how far scores of sum beta_i x_i may be off, over |x_i| sum |beta_j| |x_j|."""
    return EPS * (np.count_nonzero(beta) + _OTHERS) + _of_products(samples)


def _of_products(samples: Samples) -> float:
    """Return how far products <x_i, x_j> may be off, over |x_i| |x_j|."""
    if isinstance(samples, LinearSamples):
        return EPS * samples.n_features
    # No sample stands twice here.
    return cast(Gram, samples.gram).computed_error


def _norms(samples: Samples) -> np.ndarray:
    """Return the lengths of samples, or a little more."""
    return samples.norms * (1.0 + EPS * _OTHERS + _of_products(samples))


def _reference(
    samples: Samples, dual: Dual, beta: np.ndarray, f: np.ndarray | None = None
) -> Reference:
    """Return dual variables as a reference, for the problem they are for."""
    f, norms = samples.q_dot(beta) if f is None else f, _norms(samples)
    rounding = units(samples, beta) * float(norms @ np.abs(beta))
    return reference(norms, f, beta, dual, dual.best_intercept(f), rounding=rounding)


def _scaled(samples: Samples, known: Reference, rho: float) -> Reference:
    """Return rho times a reference, for rho times its losses."""
    return _reference(samples, known.dual.at(rho), rho * known.beta)


def _dual_bounds(samples: Samples, known: Reference, rho: float, tests: str) -> Extremes:
    """Bound the scores without a free intercept from dual variables, by the tests of a path."""
    if tests == "gap":
        known = _scaled(samples, known, rho)
        scale, b = best_multiple(known.dual, known.square, known.f)
        # The best multiple is known to three digits, and that of a solution is 1.
        balls = gap_ball(known), gap_ball(replace(known, b=b), scale)
        return ball_test(min(balls, key=lambda ball: ball.radius), known.norms)
    # The dual variables that belong to w of a smooth loss are those of BT1.
    bound = (None if known.dual.smooth else BOUNDS[tests]) or one_ball

    def products(step: np.ndarray) -> tuple[np.ndarray, float]:
        error = units(samples, step) * float(known.norms @ np.abs(step)) + rho * known.shift
        return samples.q_dot(step), error / (SLACK * EPS)

    return bound(known, rho, products)


def _pair_bounds(
    samples: LinearSamples, dual: Dual, point: ReferencePoint, w: np.ndarray, C: float
) -> Extremes:
    """Bound the scores by the gap ball of weights and of dual variables that are not theirs."""
    norms, dual = _norms(samples), dual.at(C)
    beta = (C / point.C) * point.beta
    f, u = samples.margins(w), samples.combine(beta)
    # How far u, and scores of a computed vector over |x_i|, may be off.
    error, single = units(samples, beta) * float(norms @ np.abs(beta)), EPS * (u.size + _OTHERS)
    size, apart = (float(np.linalg.norm(v)) * (1.0 + single) for v in (w, w - u))
    apart += error
    there = Reference(norms, f, beta, dual, size**2, size, single * size)
    radius = gap_radius(
        there.slackness(beta, dual, 0.0), apart, 1.0, single * (size + apart) + error
    )
    return ball_test(SampleBall(0.5 * (f + samples.margins(u)), float(radius)), norms)
