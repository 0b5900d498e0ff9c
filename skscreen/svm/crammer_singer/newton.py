"""Proximal steps on all dual variables together, by Newton's method on the weights of few features.

With the slacks theta_i = c_i e_{y_i} - alpha_i on the simplex c_i Delta, a step maximises

    D(theta) - sum_i width / (2 c_i) |theta_i - theta_i0|^2,

whose primal has a smooth loss: at weights W, theta_i is c_i times the point of Delta nearest to
theta_i0 / c_i + l_i / width, for the losses l_ik = [k != y_i] + <w_k, x_i>. The gradient is
W - sum_i x_i alpha_i', and Newton's matrix

    I + sum_i c_i / width (x_i x_i') (x) (diag(s_i) - s_i s_i' / |s_i|),   s_ik = [theta_ik > 0],

where classes and features are nested. Neither C nor the scales of features slow it down.

References
----------
R. T. Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
convex programming, Math. Oper. Res. 1.
X. Li, D. Sun, K.-C. Toh (2018), A highly efficient semismooth Newton augmented Lagrangian method
for solving Lasso problems, SIAM J. Optim. 28.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skscreen.core.certificate import Certificate
from skscreen.core.floats import EPS
from skscreen.samples.rows import LinearSamples
from skscreen.svm.crammer_singer.faces import onto_simplex, variables

# Most Newton steps; most trials along a line.
_MOST_STEPS, _MOST_TRIALS = 30, 40
# Rounding errors of a gain, in EPS of the objective and of what the gain is a difference of.
_ROUNDED = 4.0
# Share of the gap that an inexact step may leave.
_INEXACT = 0.1
# Width over the relative gap, and the smallest and largest one.
_WIDTH, _WIDTHS = 10.0, (1e-4, 10.0)


class Pair(NamedTuple):
    """Weights (d, K) and variables (n, K), of which they need not be the sum of rows."""

    w: np.ndarray
    alpha: np.ndarray
    certificate: Certificate


def proximal_step(
    samples: LinearSamples,
    own: np.ndarray,
    c: np.ndarray,
    alpha: np.ndarray,
    w: np.ndarray,
    gap: float,
    primal: float,
    failures: int,
) -> tuple[int, Pair]:
    """Move the variables (n, K) for the weights (d, K); returns the steps, 0 without a gain.

    Also returns the weights of the step with its variables.
    """
    least, largest = _WIDTHS
    # Slacks have the rounding errors of losses over the width, from which failures may come.
    width = min(max(_WIDTH * gap / primal, least) * 4.0**failures, largest)
    step = _Proximal(samples, own, c, alpha, width)
    W, n_steps, before = w.copy(), 0, np.inf
    theta, gradient = step.at(W)
    while n_steps < _MOST_STEPS:
        size = 0.5 * float(np.vdot(gradient, gradient))
        # Weights of theta are this far from W, and change the losses of samples that are not at a
        # corner.
        reach = float(samples.norms @ (c * ((theta > 0.0).sum(axis=1) > 1)))
        small = max(size, np.sqrt(2.0 * size) * reach) <= _INEXACT * gap
        if small or (size <= _INEXACT * gap and size >= 0.25 * before):
            break
        before = size
        direction = step.direction(theta, gradient)
        n_steps += 1
        length, theta, gradient = step.along(W, direction, gradient)
        if length == 0.0:
            break
        W += length * direction
    change = theta - step.theta
    v = step.X.T @ change
    gain = float(np.vdot(step.losses(w), change)) - 0.5 * float(np.vdot(v, v))
    # Near the optimum the gain is lost in rounding errors of its terms, while the gap still falls.
    terms = float(np.abs(change).sum(axis=1) @ samples.norms) * float(np.linalg.norm(w))
    pair = step.pair(W, variables(theta, step.own_classes, c), samples.norms)
    if not gain > -_ROUNDED * EPS * (primal + terms):
        return 0, pair
    alpha[:] = pair.alpha
    return max(n_steps, 1), pair


class _Proximal:
    """The smooth problem of one step."""

    def __init__(self, samples: LinearSamples, own, c, alpha: np.ndarray, width: float):
        X = samples.X.toarray() if samples.is_sparse else samples.X
        X = X.astype(np.float64)
        self.X = np.column_stack([X, np.full(len(X), samples.bias)]) if samples.bias else X
        self.own_classes = own[:, None] == np.arange(alpha.shape[1])
        self._c, self._width = c, width
        self.theta = c[:, None] * self.own_classes - alpha
        self._centre = self.theta / c[:, None]

    def losses(self, W: np.ndarray) -> np.ndarray:
        """Return [k != y_i] + <w_k, x_i>, (n, K)."""
        return self.X @ W + ~self.own_classes

    def at(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return theta (n, K) and the gradient (d, K)."""
        wanted = self._centre + self.losses(W) / self._width
        theta = self._c[:, None] * onto_simplex(wanted, np.ones(len(wanted)))
        return theta, W - self.X.T @ (self._c[:, None] * self.own_classes - theta)

    def pair(self, W: np.ndarray, alpha: np.ndarray, norms: np.ndarray) -> Pair:
        """Return weights and variables with their certificate."""
        losses, theta = self.losses(W), self._c[:, None] * self.own_classes - alpha
        top = losses.max(axis=1)
        # What sums of rows, and scores, lose.
        size = float(self._c @ norms)
        apart = float(np.linalg.norm(W - self.X.T @ alpha)) + _ROUNDED * EPS * size
        primal = 0.5 * float(np.vdot(W, W)) + float(self._c @ (top - losses[self.own_classes]))
        gap = float(np.vdot(theta, top[:, None] - losses)) + 0.5 * apart**2
        gap += _ROUNDED * EPS * (primal + size * float(np.linalg.norm(W)))
        return Pair(W.copy(), alpha, Certificate(primal, primal - gap, gap))

    def direction(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return Newton's direction (d, K), from a system whose diagonal is scaled to 1."""
        inside = np.flatnonzero((theta > 0.0).sum(axis=1) > 1)
        (d, K), X, support = gradient.shape, self.X[inside], theta[inside] > 0.0
        scales = self._c[inside] / self._width
        shares = scales / np.maximum(support.sum(axis=1), 1)
        H = np.zeros((K * d, K * d))
        blocks = H.reshape(K, d, K, d)
        for k in range(K):
            for other in range(k + 1):
                factors = -shares * (support[:, k] & support[:, other])
                if k == other:
                    factors = factors + scales * support[:, k]
                used = np.flatnonzero(factors)
                blocks[k, :, other] = (X[used] * factors[used, None]).T @ X[used]
        H[np.diag_indices_from(H)] += 1.0
        size = np.sqrt(H.diagonal())
        H /= size
        H /= size[:, None]
        # Next to rounding errors the identity may be lost.
        H[np.diag_indices_from(H)] += 1e-14 * len(H)
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        found = cho_solve(factor, gradient.T.ravel() / size, check_finite=False) / size
        return -found.reshape(K, d).T

    def along(self, W, direction, gradient) -> tuple[float, np.ndarray, np.ndarray]:
        """Return a length at which the slope is nearly zero, and theta and the gradient there.

        Samples at corners are not in Newton's matrix. As soon as one leaves its corner the slope
        is steep, so that the length may be 1e-9: its magnitude first, then secants and halves.
        """
        start, low, high, length = float(np.vdot(gradient, direction)), 0.0, np.inf, 1.0
        below, above = start, np.inf
        for trial in range(_MOST_TRIALS):
            theta, there = self.at(W + length * direction)
            slope = float(np.vdot(there, direction))
            if abs(slope) <= -0.1 * start:
                return length, theta, there
            if slope < 0.0:
                low, below = length, slope
            else:
                high, above = length, slope
            if high == np.inf:
                length = 2.0 * length
            elif trial % 2 == 0:
                length = low + (high - low) * below / (below - above)
            else:
                length = 0.5 * (low + high) if low > 0.0 else 0.01 * high
        return (low, *self.at(W + low * direction))
