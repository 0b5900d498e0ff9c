"""The mean hinge loss as a maximum over dual variables, with or without a free intercept.

With z_i = y_i x_i, weights s_i and caps u_i = s_i / sum s,

    R(w) = sum_i u_i (1 - <z_i, w>)_+                     = max <a, 1 - Z w> over 0 <= a <= u,
    R(w) = min_b sum_i u_i (1 - <z_i, w> - y_i b)_+       = the same with sum_i y_i a_i = 0 too.

The problem is J(w) = lam/2 |w|^2 + R(w), its dual D(a) = sum_i a_i - |Z'a|^2 / (2 lam); with lam =
1 / (C sum s), J = lam (1/2 |w|^2 + C sum_i s_i loss_i) and a = lam alpha for the alpha in [0, C s].

First-order methods measure distances between dual variables. Here they see a_i / s_i^(1/2) =: d_i
in place of a_i, with s of mean 1, so that a sample of weight 2 and two equal samples are the same
to them; for weights of one that is the a of the paper.
"""

import numpy as np

from skscreen._compiled import pragam
from skscreen.core.floats import EPS
from skscreen.core.projection import project
from skscreen.samples.intercept import balance
from skscreen.samples.rows import LinearSamples


class HingeRisk:
    """The mean hinge loss of samples without `bias`, weights s > 0 (n,), at b = 0 or the best b."""

    floor = 0.0  # J is never below

    def __init__(
        self, samples: LinearSamples, weights: np.ndarray, lam: float, free_intercept: bool
    ):
        self.lam, self.size, self.n_weights = lam, samples.n, samples.n_features
        self.caps = weights / weights.sum()
        self.free_intercept = free_intercept
        self._samples, self._b, self._around = samples, 0.0, (-np.inf, np.inf)
        # Of mean 1: the problem knows products of C and weights only.
        self._roots = np.sqrt(self.caps * samples.n)
        self._tops, self._zeros = self.caps / self._roots, np.zeros(samples.n)
        self._normal = self._roots * samples.y
        self._positive = float(self.caps[samples.y > 0.0].sum())
        # Bounds of y_i a_i.
        signed = samples.y * self.caps
        self._low, self._high = np.minimum(signed, 0.0), np.maximum(signed, 0.0)

    @property
    def centre(self) -> np.ndarray:
        """Feasible d from which a cold start begins."""
        return np.zeros(self.size)

    @property
    def curvatures(self) -> tuple[float, float]:
        """A lower and an upper bound of the Lipschitz constant of the gradient of D in d."""
        weights, samples = self._roots**2, self._samples
        total = float((weights * samples.norms**2).sum())
        if self.free_intercept:
            # Changes of d have sum_i y_i a_i = 0, so that the mean of the samples cancels, up to
            # rounding errors.
            middle = samples.combine(weights * samples.y)
            total = max(total - float(middle @ middle) / weights.sum(), 1e-13 * total)
        total /= self.lam
        # The largest of n_weights eigenvalues is at least their mean.
        smallest = total / max(self.n_weights, 1)
        # If all samples are practically at the origin, D is linear, and any constant will do.
        return (smallest, total) if smallest > 1e-300 else (1.0, 1.0)

    def variables(self, d: np.ndarray) -> np.ndarray:
        """Return a for d."""
        return self._roots * d

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of <a, 1 - Z w> in d."""
        margins = self._samples.margins(w)
        pragam.shortfalls(margins, self._roots, margins)
        return margins

    def combine(self, d: np.ndarray) -> np.ndarray:
        """Return Z'a."""
        return self._samples.combine(self._roots * d)

    def gain(self, d: np.ndarray) -> float:
        """Return the linear part of D."""
        return float(self._roots @ d)

    def value(self, g: np.ndarray) -> tuple[float, float]:
        """Return R and the best intercept for a `gradient`."""
        if not self.free_intercept:
            return pragam.hinge_sum(g, self._tops, self._normal, 0.0), 0.0
        # The kink of the loss of sample i is at b = y_i (1 - <z_i, w>).
        kinks, (low, high) = g / self._normal, self._around
        # The weighted quantile, in one pass where it is one of few values from low to high.
        b = pragam.quantile_between(kinks, self.caps, self._positive, low, high)
        # The next one is not much farther away than the last change.
        width = 4.0 * abs(b - 0.5 * (low + high)) if np.isfinite(low + high) else 1.0
        self._around = b - width, b + width
        return pragam.hinge_sum(g, self._tops, self._normal, b), b

    def rounding(self, w: np.ndarray, b: float) -> float:
        """Return what rounding errors of R may be: those of margins, of which it is a mean."""
        largest = float(self._samples.norms.max())
        return 4.0 * EPS * (float(np.linalg.norm(w)) * largest + abs(b))

    def cut(self, w: np.ndarray) -> tuple[float, float, np.ndarray, float]:
        """Return R(w), the best b, and slope and offset of a function below R, equal at w."""
        g = self.gradient(w)
        value, b = self.value(g)
        if self.free_intercept:
            g -= self._normal * b
        a = np.where(g > 0.0, self.caps, 0.0)
        if self.free_intercept:
            self.balance(g / self._roots, a)
        return value, b, -self._samples.combine(a), float(a.sum())

    def balance(self, short: np.ndarray, a: np.ndarray) -> None:
        """Make the sum of y_i a_i vanish by the samples nearest to the kink, where `short` is 0."""
        y = self._samples.y
        signed = y * a
        balance(y * short, self._low, self._high, signed)
        np.multiply(y, signed, out=a)

    def project(self, base: np.ndarray, g: np.ndarray, scale: float) -> np.ndarray:
        """Return the feasible d nearest to base + scale g."""
        out = np.empty(self.size)
        pragam.move_along(base, g, scale, out)
        if not self.free_intercept:
            return np.clip(out, 0.0, self._tops, out=out)
        # The multiplier is -scale times an intercept, which changes little from call to call.
        normal, guess = self._normal, -scale * self._b
        t = project(out, normal, normal, self._zeros, self._tops, 0.0, guess, out)
        if np.isfinite(t) and scale > 0.0:
            self._b = -t / scale
        return out

    def start(self, a: np.ndarray) -> np.ndarray:
        """Return the feasible d of the largest D on the ray through `a`, of any scale."""
        largest = float((a / self.caps).max())
        if largest <= 0.0:
            return self.centre
        # The point is feasible, up to the factor, unless labels or weights have changed.
        d = self.project(a / (largest * self._roots), self._zeros, 0.0)
        p = self.combine(d)
        square, largest = float(p @ p), float((d / self._tops).max())
        if square == 0.0 or largest == 0.0:
            return d
        return min(self.lam * self.gain(d) / square, 1.0 / largest) * d

    def reach(self, centre: np.ndarray) -> float:
        """Return (an upper bound of) the largest 1/2 |d - centre|^2 over feasible d."""
        return 0.5 * float((np.maximum(centre, self._tops - centre) ** 2).sum())
