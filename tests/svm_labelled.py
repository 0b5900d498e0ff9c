"""Problems as they are printed, with labels and margins, solved in signed variables."""

import numpy as np

from skscreen.samples.kernels import gram
from skscreen.samples.losses import hinge
from skscreen.svm.dual import Dual, Sums
from skscreen.svm.solvers import polish as polishing
from skscreen.svm.solvers.kernel import solve as kernel
from skscreen.svm.solvers.linear import solve as linear
from skscreen.svm.solvers.linear import state


def unlabelled(caps):
    """The problem of hinges whose labels are all +1, without an intercept."""
    return Dual.of(hinge(caps), np.ones(len(caps)), False)


def decide(lower, upper, codes=None):
    """Codes by bounds on the margins of hinges."""
    return unlabelled(np.ones(len(lower))).codes(lower, upper, codes)


class KernelSamples:
    """Kernel values with labels."""

    def __init__(self, values, y, *, bias=0.0):
        self.inner, self.y = gram.KernelSamples(values, bias=bias), y

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def signed(self, y):
        return KernelSamples(self.inner.gram, y, bias=self.inner.bias)

    def q_dot(self, alpha):
        return self.y * self.inner.q_dot(self.y * alpha)

    def products(self, index):
        return self.y[index][:, None] * self.inner.products(index) * self.y

    def block(self, rows, columns):
        return self.y[rows][:, None] * self.inner.block(rows, columns) * self.y[columns]


class Labelled:
    """A solution with dual variables and margins of labelled samples."""

    def __init__(self, found, y):
        self.found, self.margins = found, y * found.scores

    def __getattr__(self, name):
        return getattr(self.found, name)


def without_labels(samples):
    return samples.inner if isinstance(samples, KernelSamples) else samples.signed(abs(samples.y))


def solve_kernel(
    samples, losses, *, free=False, sums=None, start=None, margins=None, **how
):  # fmt: skip
    y = samples.y
    start, scores = (None if part is None else y * part for part in (start, margins))
    dual = Dual.of(losses, y, free, sums)
    begin = None if start is None else kernel.Start(start, start, scores)
    return Labelled(kernel.solve_kernel(samples.inner, dual, start=begin, **how), y)


def solve_linear(samples, losses, *, free=False, total=0.0, start=None, **how):
    y = samples.y
    dual = Dual.of(losses, y, free, Sums(np.array([total])))
    start = None if start is None else y * start
    return Labelled(linear.solve_linear(without_labels(samples), dual, start=start, **how), y)


def polish(samples, losses, solution, free=False):
    dual = Dual.of(losses, samples.y, free)
    found = polishing.polish(without_labels(samples), dual, solution.found)
    return solution if found is solution.found else Labelled(found, samples.y)


def state_of(samples, losses, start=None, fixed=None, free=False):
    start = None if start is None else samples.y * start
    dual = Dual.of(losses, samples.y, free)
    return state.SampleState(without_labels(samples), dual, start, fixed)
