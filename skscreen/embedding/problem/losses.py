"""Losses of ordinal embedding: how badly a squared distance a < c is violated.

An answer "i and j are nearer to each other than l and k" is right where a = |x_i - x_j|^2 is below
c = |x_l - x_k|^2. Each loss f(a, c) is handed out as numbers u, v >= 0, df/da and df/dc with
f = u + log v: sums of logarithms become one logarithm of a product (see `objective.py`).

A choice of the odd one out among three compares three distances: the one between the two others is
right where it is the smallest. It is a row (i, j, k) like that of a triplet, with k the odd one.
"""

from dataclasses import dataclass
from math import exp, log, sqrt

from skscreen.core.compiling import njit

GNMDS, CKL, STE, TSTE, SOE, ODD = range(6)
CODES = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE, "oddoneout": ODD}

# Below this a distance counts as this one: the square root has no slope at 0.
SMALLEST = 1e-12
# Smallest number whose reciprocal may be a factor.
_TINY = 1e-100


@dataclass(frozen=True)
class EmbeddingLoss:
    """A loss with its one parameter.

    Parameters
    ----------
    name : {"gnmds", "ckl", "ste", "tste", "soe", "oddoneout"}
        "gnmds": hinge max(0, 1 + a - c), with a quadratic piece of width `shape` >= 0 (Agarwal et
        al. 2007); "ckl": log((a + c + 2 mu) / (c + mu)) with mu = `shape` > 0 (Tamuz et al. 2011);
        "ste": log(1 + exp(a - c)), and "tste": log(1 + ((alpha + a) / (alpha + c))^h) with
        alpha = `shape` > 0 and h = (alpha + 1) / 2 (van der Maaten and Weinberger 2012); "soe":
        max(0, sqrt(a) + delta - sqrt(c))^2 with delta = `shape` > 0 (Terada and von Luxburg 2014);
        "oddoneout": see `choice`.
    shape : float
        Not used by "ste" and "oddoneout".
    """

    name: str
    shape: float = 1.0

    @classmethod
    def of(cls, estimator) -> "EmbeddingLoss":
        """Return the loss that the parameters of an estimator name."""
        alpha = estimator.alpha
        if alpha is None:
            alpha = max(estimator.n_components - 1, 1)
        shapes = {
            "gnmds": estimator.smoothing,
            "ckl": estimator.mu,
            "tste": alpha,
            "soe": estimator.margin,
        }
        return cls(estimator.loss, float(shapes.get(estimator.loss, 1.0)))

    @property
    def code(self) -> int:
        """The number by which kernels know the loss."""
        return CODES[self.name]

    @property
    def of_trials(self) -> bool:
        """Whether answers are choices of the odd one out, not of the nearer pair."""
        return self.name == "oddoneout"


@njit(cache=True, nogil=True, error_model="numpy")
def squared_distance(X, i, j):
    """Squared distance of two objects."""
    total = 0.0
    for d in range(X.shape[1]):
        difference = X[i, d] - X[j, d]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def power(x, h):
    """x^h for 0 < x <= 1, by multiplications where 2 h is a whole number."""
    # A number beyond the range of integers must not be converted.
    if not 2.0 * h <= 64.0 or int(2.0 * h) != 2.0 * h:
        return exp(h * log(x))
    twice = int(2.0 * h)
    result = sqrt(x) if twice & 1 else 1.0
    n = twice >> 1
    while n:
        if n & 1:
            result *= x
        x *= x
        n >>= 1
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def answer(loss, shape, a, c):
    """u, v, df/da, df/dc of one answer, with f = u + log v and 1 <= v."""
    if loss == GNMDS:
        s = 1.0 + a - c
        if s <= 0.0:
            return 0.0, 1.0, 0.0, 0.0
        if s < shape:
            return s * s / (2.0 * shape), 1.0, s / shape, -s / shape
        return s - 0.5 * shape, 1.0, 1.0, -1.0
    if loss == STE:
        z = a - c
        e = exp(-abs(z))
        if z > 0.0:
            slope = 1.0 / (1.0 + e)
            return z, 1.0 + e, slope, -slope
        slope = e / (1.0 + e)
        return 0.0, 1.0 + e, slope, -slope
    if loss == TSTE:
        h = 0.5 * (shape + 1.0)
        near, far = shape + a, shape + c
        if a > c:
            x = far / near
            e = power(x, h)
            slope = h / (1.0 + e)
            if e < _TINY:
                return -h * log(x), 1.0, slope / near, -slope / far
            return 0.0, 1.0 + 1.0 / e, slope / near, -slope / far
        e = power(near / far, h)
        slope = h * e / (1.0 + e)
        return 0.0, 1.0 + e, slope / near, -slope / far
    if loss == CKL:
        both = a + c + 2.0 * shape
        near, far = 1.0 / both, 1.0 / (c + shape)
        # Not far / near, which saves callers without slopes a division.
        return 0.0, both * far, near, near - far
    root_a, root_c = sqrt(max(a, SMALLEST)), sqrt(max(c, SMALLEST))
    s = root_a + shape - root_c
    if s <= 0.0:
        return 0.0, 1.0, 0.0, 0.0
    return s * s, 1.0, s / root_a, -s / root_c


@njit(cache=True, nogil=True, error_model="numpy")
def choice(a, c, e):
    """u, v and the slopes of f = -log(exp(-a) / (exp(-a) + exp(-c) + exp(-e))) = u + log v.

    Of the odd one out: a is the squared distance of the two others, c and e are those from each of
    them to it. The likelihood is that of Zheng, Pereira, Baker and Hebart (2019, SPoSE) and of
    Muttenthaler et al. (2022, VICE), with the similarity -|x_i - x_j|^2 in place of a product.
    """
    largest = max(0.0, a - c, a - e)
    right, first, second = exp(-largest), exp(a - c - largest), exp(a - e - largest)
    total = right + first + second
    first /= total
    second /= total
    return largest, total, first + second, -first, -second
