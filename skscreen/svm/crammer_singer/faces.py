"""Moves all samples between the corners of their simplexes together, by conjugate gradients.

Sweeps are slow where many samples depend on each other. With the slacks theta_ik = c_i [k = y_i] -
alpha_ik >= 0, which add up to c_i, a face is a set of slacks that stay 0. On it the dual is a
quadratic function of the others, whose maximum is looked for; the way there ends, or is projected,
where other slacks become 0.
"""

import numpy as np

from skscreen.samples.rows import LinearSamples

# Steps of conjugate gradients, the share of the residual at which they end, and of the curvature.
_MOST_STEPS, _RESIDUAL, _FLAT = 50, 0.03, 1e-14
# Lengths of steps that are tried, projected.
_LENGTHS = (1.0, 0.3, 0.1)


def move_on_face(
    samples: LinearSamples, own: np.ndarray, c: np.ndarray, alpha: np.ndarray, w: np.ndarray
) -> int:
    """Move the variables (n, K) for the weights (n_features, K); returns the steps, 0 if none."""
    theta = c[:, None] * (np.arange(alpha.shape[1]) == own[:, None]) - alpha
    free = theta > 0.0
    rows = np.flatnonzero(free.sum(axis=1) > 1)
    if rows.size == 0:
        return 0
    theta, free, own, c = theta[rows], free[rows], own[rows], c[rows]
    face = _Face(samples, rows, free)
    losses = face.scores(w) + (np.arange(free.shape[1]) != own[:, None])
    step, n_steps = face.maximum(losses)
    change = max(
        (onto_simplex(theta + length * step, c) - theta for length in _LENGTHS),
        key=lambda change: face.gain(losses, change),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(step < 0.0, -theta / step, np.inf)
    inside = min(1.0, float(ends.min())) * step
    if face.gain(losses, inside) > face.gain(losses, change):
        change = inside
    if not face.gain(losses, change) > 0.0:
        return n_steps
    alpha[rows] = variables(
        np.maximum(theta + change, 0.0), np.arange(free.shape[1]) == own[:, None], c
    )
    return n_steps


class _Face:
    """The slacks that are not 0, of some rows; matrices of slacks have the shape (m, K)."""

    def __init__(self, samples: LinearSamples, rows: np.ndarray, free: np.ndarray):
        self._X = samples.X[rows].astype(np.float64)
        self._bias, self._free, self._count = samples.bias, free, free.sum(axis=1, keepdims=True)
        squares = samples.norms[rows, None] ** 2
        self._scales = 1.0 / np.maximum(squares, 1e-12 * squares.max())

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores of all classes for weights (n_features, K)."""
        d = self._X.shape[1]
        out = np.asarray(self._X @ w[:d])
        return out + self._bias * w[d] if self._bias else out

    def weights(self, P: np.ndarray) -> np.ndarray:
        """Return the sum of rows times slacks, (n_features, K)."""
        out = np.asarray(self._X.T @ P)
        return np.vstack([out, self._bias * P.sum(axis=0)]) if self._bias else out

    def projected(self, P: np.ndarray) -> np.ndarray:
        """Return the nearest direction that keeps sums, and slacks that are 0."""
        P = np.where(self._free, P, 0.0)
        return np.where(self._free, P - P.sum(axis=1, keepdims=True) / self._count, 0.0)

    def gain(self, losses: np.ndarray, change: np.ndarray) -> float:
        """Return by how much the dual grows."""
        v = self.weights(change)
        return float(np.vdot(losses, change) - 0.5 * np.vdot(v, v))

    def maximum(self, losses: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the step to the maximum, or to where conjugate gradients end; and their steps."""
        residual = self.projected(losses)
        step, direction, before, steps = np.zeros_like(residual), None, 1.0, 0
        first = float(np.vdot(residual, self._scales * residual))
        while steps < _MOST_STEPS:
            size = float(np.vdot(residual, self._scales * residual))
            if size <= _RESIDUAL**2 * first:
                break
            z = self._scales * residual
            direction = z if direction is None else z + size / before * direction
            v = self.weights(direction)
            curvature = float(np.vdot(v, v))
            steps += 1
            if curvature <= _FLAT * float(np.vdot(direction, direction / self._scales)):
                step = step + 1e6 * direction if steps == 1 else step
                break
            length = size / curvature
            step = step + length * direction
            residual = residual - length * self.projected(self.scores(v))
            before = size
        return step, steps


def variables(theta: np.ndarray, own_classes: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the variables (m, K) of slacks >= 0: feasible, and exactly 0 where these are."""
    out = np.where(own_classes, 0.0, np.minimum(-theta, 0.0))
    total = -out.sum(axis=1)
    out *= np.minimum(1.0, c / np.maximum(total, c))[:, None]
    out[own_classes] = -out.sum(axis=1)
    return out


def onto_simplex(V: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the rows >= 0 with sums c (m,) nearest to those of V."""
    V = V - V.max(axis=1, keepdims=True)
    ordered = -np.sort(-V, axis=1)
    places = np.arange(1, V.shape[1] + 1)
    means = (np.cumsum(ordered, axis=1) - c[:, None]) / places
    count = np.count_nonzero(ordered > means, axis=1)
    return np.maximum(V - means[np.arange(len(V)), np.maximum(count, 1) - 1][:, None], 0.0)
