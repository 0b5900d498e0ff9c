"""L-BFGS for ordinal embedding, compiled: at 100 objects an evaluation takes a tenth of a ms."""

from collections.abc import Iterator
from math import isfinite, sqrt

import numpy as np

from skscreen.core.compiling import njit
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.state import Progress, Settings

# Most steps.
_EPOCHS = 200
# Pairs of steps and changes of the gradient that are remembered.
_MEMORY = 10
# A step must reach this share of the decrease predicted by the slope.
_ARMIJO = 1e-4
# Length of the first step, over the size of the embedding.
_FIRST = 0.3
# Halvings of a step before the search ends.
_LINE_SEARCH_STEPS = 20


def lbfgs(
    problem: EmbeddingProblem, X: np.ndarray, settings: Settings, rng=None, passes: float = 0.0
) -> Iterator[Progress]:
    """Minimise F from X, after so many passes; nothing in it is random."""
    work, terms = problem.workspace(), problem.terms
    gradient = np.empty_like(X)
    value = evaluate(X, terms, work, gradient)
    steps, changes = np.empty((_MEMORY, X.size)), np.empty((_MEMORY, X.size))
    curvatures = np.zeros(_MEMORY)
    # Trial point and gradient, direction.
    spare = np.empty((3, *X.shape))
    n_pairs, stopped = 0, False
    passes += 1
    for _ in range(settings.max_iter or _EPOCHS):
        old = value
        value, n_pairs, evaluations, length = _iterate(
            X, value, gradient, steps, changes, curvatures, n_pairs, terms, work, spare
        )
        passes += evaluations
        # No decrease even along the gradient, because of rounding errors.
        stopped = length == 0.0 or old - value <= settings.tol * abs(old)
        yield Progress(passes, value, length, X, stopped and isfinite(value))
        if stopped:
            return


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _add(scale, x, y):
    for i in range(x.size):
        y[i] += scale * x[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _direct(gradient, steps, changes, curvatures, n_pairs, direction):
    """Two-loop recursion (Nocedal and Wright 2006, Algorithm 7.4); pair r is in row r % memory."""
    memory = curvatures.size
    for i in range(direction.size):
        direction[i] = -gradient[i]
    coefficients = np.empty(memory)
    first = max(0, n_pairs - memory)
    for r in range(n_pairs - 1, first - 1, -1):
        row = r % memory
        coefficients[row] = _dot(steps[row], direction) / curvatures[row]
        _add(-coefficients[row], changes[row], direction)
    if n_pairs:
        row = (n_pairs - 1) % memory
        scale = curvatures[row] / _dot(changes[row], changes[row])
        for i in range(direction.size):
            direction[i] *= scale
    for r in range(first, n_pairs):
        row = r % memory
        shift = coefficients[row] - _dot(changes[row], direction) / curvatures[row]
        _add(shift, steps[row], direction)


@njit(cache=True, nogil=True, error_model="numpy")
def _iterate(X, value, gradient, steps, changes, curvatures, n_pairs, terms, work, spare):
    """One iteration; new value, number of pairs, evaluations, and the length of the step (or 0)."""
    trial, trial_gradient, direction = spare[0], spare[1], spare[2]
    x, g, t = X.ravel(), gradient.ravel(), trial.ravel()
    h, s = trial_gradient.ravel(), direction.ravel()
    evaluations = 0
    while True:
        _direct(g, steps, changes, curvatures, n_pairs, s)
        slope = _dot(g, s)
        size = sqrt(_dot(g, g))
        if size == 0.0 or not size < np.inf:
            return value, n_pairs, evaluations, 0.0
        step = 1.0
        if n_pairs == 0:
            step = max(_FIRST * sqrt(_dot(x, x)), 1e-8) / size
        new = np.inf
        for _ in range(_LINE_SEARCH_STEPS):
            for i in range(x.size):
                t[i] = x[i] + step * s[i]
            new = evaluate(trial, terms, work, trial_gradient)
            evaluations += 1
            if new <= value + _ARMIJO * step * slope:
                break
            # Minimum of the parabola through both values and the slope.
            excess = new - value - step * slope
            share = -0.5 * step * slope / excess if excess < np.inf else 0.1
            step *= min(max(share, 0.1), 0.5)
        if new <= value + _ARMIJO * step * slope:
            break
        if n_pairs == 0:
            return value, n_pairs, evaluations, 0.0
        n_pairs = 0
    row = n_pairs % curvatures.size
    for i in range(x.size):
        steps[row, i] = t[i] - x[i]
        changes[row, i] = h[i] - g[i]
    curvature = _dot(steps[row], changes[row])
    length = sqrt(_dot(steps[row], steps[row]))
    if curvature > 1e-10 * length * sqrt(_dot(changes[row], changes[row])):
        curvatures[row] = curvature
        n_pairs += 1
    # Without slices, for which numba compiles error messages for seconds.
    for i in range(x.size):
        x[i], g[i] = t[i], h[i]
    return new, n_pairs, evaluations, length
