"""Bounds on the margins of one problem at C, from a point known for another C.

The bounds are those of `svm.screening`, of which every radius allows for rounding errors of margins
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
from skscreen.samples.losses import SampleLosses
from skscreen.samples.rows import LinearSamples
from skscreen.svm.path_solver import Samples
from skscreen.svm.screened.points import Point
from skscreen.svm.screening.bounds import (
    SLACK,
    Reference,
    SampleBall,
    gap_ball,
    reference,
)
from skscreen.svm.screening.inside_box import compare_at
from skscreen.svm.screening.rules import BOUNDS, Extremes, ball_test, one_ball
from skscreen.svm.solvers.hinge import HingeTerms, best_multiple

# Roundings of a margin beside those of its two sums: of caps, ratios of C, signs and intercepts.
_OTHERS = 32


@np.errstate(over="ignore", invalid="ignore")
def bounds_at(
    samples: Samples, losses: SampleLosses, free: bool, point: Point, C: float, tests: str
) -> Extremes:
    """Return the lowest and highest margin that each sample may have at the optimum for C.

    `losses` are those at C = 1; with a `free` intercept, which is unpenalised, the bounds hold for
    every optimal one.
    """
    if isinstance(samples, LinearSamples) and point.w is not None and not free and tests != "gap":
        return _no_nan(*_pair_bounds(samples, losses, point, point.w, C))
    known = _reference(samples, losses.at(point.C), free, point.alpha, point.margins)
    rho = C / point.C
    extremes = _dual_bounds(samples, known, rho, tests)
    if not free:
        return _no_nan(*extremes)
    terms = HingeTerms(losses.at(C), samples.y)
    lower, upper = terms.bounds(extremes)
    if tests == "gap":
        known, rho = _scaled(samples, known, rho), 1.0
    least, most = compare_at(known, rho, samples)
    return _no_nan(np.fmax(lower, least), np.fmin(upper, most))


def _no_nan(lower: np.ndarray, upper: np.ndarray) -> Extremes:
    """Return bounds where NaN means that there are none."""
    return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)


def units(samples: Samples, alpha: np.ndarray) -> float:
    """Return how far margins of sum alpha_i z_i may be off, over |z_i| sum alpha_j |z_j|."""
    return EPS * (np.count_nonzero(alpha) + _OTHERS) + _of_products(samples)


def _of_products(samples: Samples) -> float:
    """Return how far products <z_i, z_j> may be off, over |z_i| |z_j|."""
    if isinstance(samples, LinearSamples):
        return EPS * samples.n_features
    # No sample stands twice here.
    return cast(Gram, samples.gram).computed_error


def _norms(samples: Samples) -> np.ndarray:
    """Return the lengths of samples, or a little more."""
    return samples.norms * (1.0 + EPS * _OTHERS + _of_products(samples))


def _reference(
    samples: Samples,
    losses: SampleLosses,
    free: bool,
    alpha: np.ndarray,
    margins: np.ndarray | None = None,
) -> Reference:
    """Return dual variables as a reference, for the losses they are for."""
    margins = samples.q_dot(alpha) if margins is None else margins
    signs = samples.y if free else None
    norms = _norms(samples)
    b = HingeTerms(losses, signs).best_intercept(margins)
    rounding = units(samples, alpha) * float(norms @ alpha)
    return reference(norms, margins, alpha, losses, signs, b, rounding=rounding)


def _scaled(samples: Samples, known: Reference, rho: float) -> Reference:
    """Return rho times a reference, for rho times its losses."""
    return _reference(samples, known.losses.at(rho), known.signs is not None, rho * known.alpha)


def _dual_bounds(samples: Samples, known: Reference, rho: float, tests: str) -> Extremes:
    """Bound the margins without a free intercept from dual variables, by the tests of a path."""
    if tests == "gap":
        known = _scaled(samples, known, rho)
        terms = HingeTerms(known.losses, known.signs)
        scale, b = best_multiple(terms, known.square, known.margins)
        return ball_test(gap_ball(replace(known, b=b), scale), known.norms)
    # The dual variables that belong to w of a smooth loss are those of BT1.
    bound = (None if known.losses.smooth else BOUNDS[tests]) or one_ball

    def products(step: np.ndarray) -> tuple[np.ndarray, float]:
        error = units(samples, step) * float(known.norms @ np.abs(step)) + rho * known.shift
        return samples.q_dot(step), error / (SLACK * EPS)

    return bound(known, rho, products)


def _pair_bounds(
    samples: LinearSamples, losses: SampleLosses, point: Point, w: np.ndarray, C: float
) -> Extremes:
    """Bound the margins by the gap ball of weights and of dual variables that are not theirs."""
    norms, losses = _norms(samples), losses.at(C)
    alpha = (C / point.C) * point.alpha
    margins, u = samples.margins(w), samples.combine(alpha)
    # How far u, and margins of a computed vector over |z_i|, may be off.
    error, single = units(samples, alpha) * float(norms @ alpha), EPS * (u.size + _OTHERS)
    size, apart = (float(np.linalg.norm(v)) * (1.0 + single) for v in (w, w - u))
    apart += error
    there = Reference(norms, margins, alpha, losses, size**2, size, single * size)
    radius = gap_radius(
        there.slackness(alpha, losses, 0.0), apart, 1.0, single * (size + apart) + error
    )
    return ball_test(SampleBall(0.5 * (margins + samples.margins(u)), float(radius)), norms)
