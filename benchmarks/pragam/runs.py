"""Runs of `paper.py`: algorithms with their CPU time, error and test accuracy."""

import time
from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.sparse.linalg import svds

from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.pragam.solvers import Solver
from skscreen.samples.rows import LinearSamples


@dataclass(frozen=True)
class Split:
    """Training and test samples with labels -1 and +1, and the lambda chosen."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    lam: float
    validation: float

    def risk(self, lam: float, free: bool) -> HingeRisk:
        """Return the mean hinge loss of the training samples."""
        samples = LinearSamples(self.X, self.y)
        return HingeRisk(samples, np.ones(samples.n), lam, free)

    def accuracy(self, w: np.ndarray, b: float) -> float:
        """Return the share of the test samples that are right."""
        return float(np.mean(np.where(self.X_test @ w + b > 0.0, 1.0, -1.0) == self.y_test))


@dataclass(frozen=True)
class Trace:
    """Best values so far at each iteration that was looked at."""

    free: bool
    iteration: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    accuracy: np.ndarray


def trace(split: Split, solver: Solver, free: bool, seconds: float) -> Trace:
    """Run a solver for some CPU seconds; looking at the test samples does not count."""
    rows = list(_rows(split, solver, free, seconds))
    return Trace(free, *(np.array(column) for column in zip(*rows, strict=True)))


def _rows(split, solver, free, seconds):
    risk = split.risk(split.lam, free)
    primal, dual, accuracy, looked, spent = np.inf, 0.0, 0.0, -1, 0.0
    began = time.process_time()
    for iterate in solver.iterates(risk, LinearSamples(split.X, split.y)):
        now = time.process_time() - began - spent
        paused = time.process_time()
        dual = max(dual, iterate.dual)
        if iterate.primal < primal:
            primal = iterate.primal
            # At most twenty times a decade: it takes longer than many a step.
            place = int(20.0 * np.log10(iterate.iteration + 1))
            if place > looked or now > seconds:
                looked, accuracy = place, split.accuracy(iterate.w, iterate.b)
        yield iterate.iteration, now, primal, dual, accuracy
        spent += time.process_time() - paused
        if now > seconds or primal - dual < 1e-9 * primal:
            return


def liblinear_trace(split: Split, model, seconds: float) -> Trace:
    """Fit with 1, 2, 4, ... iterations, each from the beginning."""
    rows, primal, iterations = [], np.inf, 1
    n = split.y.size
    risk = split.risk(split.lam, False)
    while not rows or (rows[-1][1] < seconds and iterations < 2**17):
        began = time.process_time()
        fitted = model(split.lam, n, max_iter=iterations, tol=1e-10).fit(split.X, split.y)
        now, w = time.process_time() - began, fitted.coef_[0]
        value = 0.5 * split.lam * float(w @ w) + risk.value(risk.gradient(w))[0]
        primal = min(primal, value)
        rows.append((iterations, now, primal, 0.0, split.accuracy(w, 0.0)))
        if fitted.n_iter_ < iterations:
            break
        iterations *= 2
    return Trace(False, *(np.array(column) for column in zip(*rows, strict=True)))


def exact_lipschitz(X) -> float:
    """Return the square of the largest singular value."""
    start = np.ones(min(X.shape))
    return float(svds(X, k=1, return_singular_vectors=False, v0=start, tol=1e-10)[0] ** 2)


class _Timed:
    """The products of samples, with their time and number."""

    def __init__(self, samples: LinearSamples):
        self._samples, self.seconds, self.count = samples, 0.0, 0

    def __getattr__(self, name: str):
        return getattr(self._samples, name)

    def margins(self, w):
        return self._time(self._samples.margins, w)

    def combine(self, a):
        return self._time(self._samples.combine, a)

    def _time(self, product, vector):
        began = time.perf_counter()
        out = product(vector)
        self.seconds += time.perf_counter() - began
        self.count += 1
        return out


def matvec_share(risk: HingeRisk, samples: LinearSamples) -> tuple[float, float, float, float]:
    """Return time over time of products, products and ms an iteration, ms of a pair by SciPy."""
    n_iter = 200
    risk = HingeRisk(_Timed(samples), np.ones(risk.size), risk.lam, risk.free_intercept)
    timed, began = risk._samples, time.perf_counter()
    (last,) = deque(islice(excessive_gap(risk), n_iter + 1), maxlen=1)
    seconds = time.perf_counter() - began
    pairs = []
    for _ in range(30):
        began = time.perf_counter()
        samples.X @ last.w, samples.X.T @ last.a
        pairs.append(time.perf_counter() - began)
    ms = 1e3 * seconds / n_iter
    return seconds / timed.seconds, timed.count / n_iter, ms, 1e3 * min(pairs)
