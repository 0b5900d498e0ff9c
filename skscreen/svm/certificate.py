"""The certificates that users see, of points of a `Dual`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.kernels.gram import KernelSamples
from skscreen.samples.rows import LinearSamples
from skscreen.svm.dual import Dual, View
from skscreen.svm.solvers.solution import SampleSolution

Samples = LinearSamples | KernelSamples


class GivenTargets(NamedTuple):
    """What targets of a regression lost by rounding, (2 n,), and what was taken off intercepts."""

    lost: np.ndarray
    origin: float


@dataclass
class Point:
    """A point on some samples, arrays (m,)."""

    beta: np.ndarray
    f: np.ndarray  # scores without intercept
    errors: np.ndarray  # bounds on their errors
    exact: np.ndarray  # which scores no computation makes better


def certify(
    dual: Dual, point: Point, tol: float, better: Callable[[np.ndarray], tuple] | None
) -> tuple[View, np.ndarray]:
    """Return the certificate of a point, and what its samples add to the gap at most, (m,).

    Scores whose errors matter are computed by `better`, if there is such. A point without losses
    but for such errors, as of a hard margin, becomes longer in place where that helps.
    """
    while True:
        view, parts, losses = dual.largest_gap(point.beta, point.f, point.errors)
        small = view.gap <= tol * view.primal
        if better is None:
            break
        matters = (parts > 0.0) & (not small)
        if view.gap >= view.primal or tol < 5e-7:
            # The primal value is needed precisely.
            matters |= losses > 0.0
        J = np.flatnonzero(matters & ~point.exact)
        if J.size == 0:
            break
        point.f[J], point.errors[J] = better(J)
        point.exact[J] = True
    longer = None if small else dual.stretched(point.beta, point.f, point.errors)
    if longer is not None and longer[1].gap < view.gap:
        factor, view = longer
        for part in (point.beta, point.f, point.errors):
            part *= factor
    return view, parts


def certified(
    samples: Samples,
    dual: Dual,
    found: SampleSolution,
    tol: float,
    given: GivenTargets | None = None,
) -> SampleSolution:
    """Return a solution with the certificate that users see.

    Gaps are the largest for scores within their errors, which a huge C enlarges. Where `tol`
    depends on these errors scores are computed more precisely: by rows those of the weights, by a
    kernel those that add to the gap. What then still has losses through errors alone becomes
    longer. Last, targets and intercept are those that users have.
    """
    if isinstance(samples, LinearSamples):
        solution = _by_rows(samples, dual, found, tol)
    elif samples.gram.whole is not None:
        solution = _by_values(samples, dual, found, tol)
    else:
        # Solvers have bounds on errors of values in tiles.
        solution = found if found.converged else _by_values(samples, dual, found, tol)
        if found.certificate.gap < solution.certificate.gap:
            solution = found
    return as_given(samples, dual, solution, tol, given)


def at_intercepts(
    dual: Dual, found: SampleSolution, b: float | np.ndarray, errors: np.ndarray
) -> Certificate:
    """Return the certificate of a point with the intercept b of all samples, or one of each.

    It is the largest for scores within errors, without what sums add to the primal value.
    """
    gap, lost = dual.gap_of_slopes(found.beta, dual.target - found.scores - b, errors)
    primal = 0.5 * found.square + lost
    gap += 0.5 * found.apart**2 + 4.0 * EPS * primal
    return Certificate(primal, primal - gap, gap)


def without_losses(
    samples: Samples, dual: Dual, found: SampleSolution, tol: float
) -> SampleSolution:
    """Return a solution scaled until no sample has a loss, and its certificate for C = inf."""
    box = dual._replace(
        low=np.where(dual.low < 0.0, -np.inf, 0.0), high=np.where(dual.high > 0.0, np.inf, 0.0)
    )
    longer = box.stretched(found.beta, found.scores, rounding(samples, dual, found))
    if longer is None:
        unknown = replace(found.certificate, gap=np.inf)
        return replace(found, C=np.inf, certificate=unknown, converged=False)
    hard, gap, primal = _scaled(found, *longer)
    certificate = Certificate(primal, primal - gap, max(gap, EPS * primal))
    converged = certificate.relative_gap <= tol
    return replace(hard, C=np.inf, certificate=certificate, converged=converged)


def rounding(samples: Samples, dual: Dual, solution: SampleSolution) -> np.ndarray:
    """Return estimates of rounding errors of scores: twice those of a sum of products."""
    targets = 2.0 * EPS * np.abs(dual.target)
    if isinstance(samples, KernelSamples):
        size = samples.summed(solution.beta)
        b = np.abs(dual.of_samples(solution.b))
        return targets + 2.0 * EPS * (b + size * samples.norms)
    w = samples.combine(solution.beta) if solution.w is None else solution.w
    return targets + samples.rounding(w, solution.b)


def _by_rows(samples: LinearSamples, dual: Dual, found: SampleSolution, tol: float):
    """Certify weights: by scores in extended precision where errors matter."""
    errors, beta, f = rounding(samples, dual, found), found.beta, found.scores
    effect = max(dual.largest_gap(beta, f, errors)[0].gap - dual.view(beta, f).gap, 0.0)
    # Weights, as sums of rows, have rounding errors too.
    blur = EPS * float(found.alpha @ samples.norms)
    primal, gap = found.certificate.primal, found.certificate.gap + effect
    unsure = max(effect, blur * (found.apart + 0.5 * blur)) > 1e-9 * primal
    if found.w is not None and (gap > tol * primal or unsure):
        found = _measured(samples, dual, found, found.w)
    if found.certificate.gap <= tol * found.certificate.primal:
        return replace(found, converged=True)
    return _longer(dual, errors, found, tol)


def _by_values(samples: KernelSamples, dual: Dual, found: SampleSolution, tol: float):
    """Certify a point known by kernel values: by some in extended precision where errors matter."""
    errors, beta, f = rounding(samples, dual, found), found.beta, found.scores.copy()
    exact, errors = errors, errors + samples.value_errors(found.alpha)
    least = dual.view(beta, f).gap
    view, parts, _ = dual.largest_gap(beta, f, errors)
    given, allowed = found.certificate, tol * found.certificate.primal
    unsure = least <= allowed or view.gap > 2.0 * least
    if unsure and given.gap <= allowed < view.gap:
        # Small values have small errors.
        errors = exact + samples.close_value_errors(found.alpha)
        view, parts, _ = dual.largest_gap(beta, f, errors)
    if unsure and max(given.gap, view.gap) > allowed:
        # Bounds on errors of kernel values say too much: those scores without such errors.
        J = np.flatnonzero(parts > 0.0)
        f[J], errors[J] = samples.exact_scores(J, beta), exact[J]
        view = dual.largest_gap(beta, f, errors)[0]
        least, given = view.gap, Certificate(view.primal, view.primal - view.gap, view.gap)
        # The gap is that of the best intercept for these scores.
        found = replace(found, b=view.b)
    gap = given.gap + max(view.gap - least, 0.0)
    given = Certificate(given.primal, given.primal - gap, gap)
    found = replace(found, certificate=given, converged=given.relative_gap <= tol)
    return found if found.converged else _longer(dual, errors, replace(found, scores=f), tol)


def _longer(dual: Dual, errors, found: SampleSolution, tol: float) -> SampleSolution:
    """Return a solution, longer if it has losses through errors alone and that helps."""
    longer = dual.stretched(found.beta, found.scores, errors)
    if longer is not None:
        scaled, gap, primal = _scaled(found, *longer)
        if gap < found.certificate.gap:
            found = replace(scaled, certificate=Certificate(primal, primal - gap, gap))
    return replace(found, converged=found.certificate.relative_gap <= tol)


def _scaled(
    found: SampleSolution, factor: float, view: View
) -> tuple[SampleSolution, float, float]:
    """Return a solution `factor` times as long, without a loss, its gap and primal value."""
    longer = found.stretched(factor, view.b)
    primal = view.primal if longer.w is None else 0.5 * float(longer.w @ longer.w)
    return longer, view.gap + 0.5 * longer.apart**2, primal


def as_given(
    samples: Samples, dual: Dual, found: SampleSolution, tol: float, given: GivenTargets | None
) -> SampleSolution:
    """Return a regression with the certificate of users' targets and rounded intercept."""
    if given is None:
        return found
    w, b, lost = found.w, found.b, given.lost
    if isinstance(samples, LinearSamples) and w is not None:
        b = samples.intercept(w, b)
    moved = np.longdouble(b + given.origin) - given.origin - b if given.origin else 0.0
    lost = lost - float(moved)
    slopes = dual.target - found.scores - found.b
    slackness, loss = np.subtract(
        dual.gap_of_slopes(found.beta, slopes + lost), dual.gap_of_slopes(found.beta, slopes)
    )
    before = found.certificate
    if max(abs(slackness), abs(loss)) <= 1e-9 * before.primal:
        return found
    if isinstance(samples, LinearSamples) and w is not None:
        found = _measured(samples, dual, found, w, lost)
    else:
        primal, gap = before.primal + loss, before.gap + max(slackness, 0.0)
        found = replace(found, certificate=Certificate(primal, primal - gap, gap))
    return replace(found, converged=found.certificate.relative_gap <= tol)


def _measured(
    samples: LinearSamples, dual: Dual, solution: SampleSolution, w: np.ndarray,
    lost: np.ndarray | float = 0.0,
) -> SampleSolution:  # fmt: skip
    """Return the solution with the certificate of the weights w (d,) that users have.

    Their scores, computed in extended precision, have no rounding errors to speak of; targets
    have `lost` some digits.
    """
    beta = solution.beta
    slopes = dual.target - samples.exact_margins(w, solution.b) + lost
    slackness, loss = dual.gap_of_slopes(beta, slopes.astype(np.float64))
    exact = samples.exact_combine(beta)
    # Of rows so long that even their sum has errors.
    blur = float(np.finfo(np.longdouble).eps) * float(np.abs(beta) @ samples.norms)
    own, apart = exact.astype(np.float64), float(np.linalg.norm(w - exact)) + blur
    primal, gained = 0.5 * float(w @ w) + loss, dual.gain(beta) - 0.5 * float(own @ own)
    gained -= float(np.sum(solution.b * dual.sums))
    # Sums have rounding errors.
    gap = slackness + 0.5 * apart**2 + 4.0 * EPS * primal
    return replace(solution, certificate=Certificate(primal, gained, gap), apart=apart)
