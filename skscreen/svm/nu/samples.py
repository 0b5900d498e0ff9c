"""Samples of problems at a nu, by their kernel values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from skscreen.core.checks import Matrix
from skscreen.samples.kernels.gram import KernelSamples, Places
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.labels import of_rows
from skscreen.samples.multiclass import Division, OneVsOne
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.problem import TrainingSet
from skscreen.svm.roads import Fit, Road, is_few_at_nu
from skscreen.svm.sample_set import SampleSet, Settings
from skscreen.svm.solvers.kernel.few import FewValues, few_values, in_memory


def limit_of(model: BaseEstimator) -> int | None:
    """Return the limit of steps of an estimator."""
    # Loops count in 64 bits.
    return None if model.max_iter in (None, -1) else min(int(model.max_iter), 2**53)


@dataclass
class NuSamples:
    """The samples of a problem at a nu, as its road asks for them.

    They are those at some `places` of a larger set, `every`. `values` returns the kernel values of
    all samples of that set, if it is small; problems of several classes share them.
    """

    every: SampleSet  # its fit is that of the places
    places: np.ndarray
    values: Callable[[], FewValues]

    @classmethod
    def of(
        cls, model: BaseEstimator, X: Matrix, kernel: Kernel, classes: Sequence[int],
        places: np.ndarray | None = None, values: Callable[[], FewValues] | None = None,
        indefinite: str = "warn", **how: Any,
    ) -> NuSamples:  # fmt: skip
        """Return those of an estimator, by default all of X; `how` is more of the `Fit`."""
        settings = Settings(
            loss="hinge", bias=0.0, free=True, screening="", solver="auto",
            max_iter=limit_of(model), cache_size=model.cache_size, random_state=0,
        )  # fmt: skip
        fit = Fit(
            str(kernel.name), tuple(classes), settings.loss, is_definite=kernel.is_definite,
            plan="nu", cache_size=settings.cache_size, indefinite=indefinite, **how,
        )  # fmt: skip
        places = np.arange(X.shape[0]) if places is None else places
        values = partial(values_at_nu, X, kernel) if values is None else values
        return cls(SampleSet(X, kernel, settings, fit), places, values)

    @cached_property
    def known(self) -> SampleSet:
        """The samples of the problem alone."""
        every, places = self.every, self.places
        if places.size == every.X.shape[0]:
            return every
        return replace(every, X=of_rows(every.X, places, every.kernel.name == "precomputed"))

    @cached_property
    def road(self) -> Road:
        """How the problem is solved."""
        # Few samples are not copied.
        return (self.every if is_few_at_nu(self.every.fit, self.every) else self.known).road

    @cached_property
    def few(self) -> FewValues | None:
        """Values of few samples, of every one, for one compiled call."""
        return self.values() if self.road.solver == "class pairs" else None

    @cached_property
    def unsolved(self) -> SampleSet:
        """The same samples for what one compiled call leaves unsolved, or without one."""
        known = self.known
        return known if self.few is None else replace(known, fit=replace(known.fit, again=True))

    @cached_property
    def samples(self) -> LinearSamples | KernelSamples:
        """Rows, or kernel values; all twice in a regression."""
        known = self.unsolved
        if known.road.values == "rows":
            return LinearSamples(known.X, np.ones(known.fit.n), 0.0, compress(known.X))
        if known.road.values == "matrix":
            known.values.fill()
        gram = known.values
        return KernelSamples(Places.twice(gram) if known.fit.regression else gram)


def values_at_nu(X: Matrix, kernel: Kernel, several: bool = False) -> FewValues:
    """Return kernel values of few samples; those for several nu are computed once, all."""
    # What all values have in common is part of |w|^2, as sums of dual variables are prescribed.
    found = few_values(X, kernel, 0.0, free=False)
    return in_memory(found) if several else found


def common_weight(X: Matrix, y: np.ndarray, weights: np.ndarray) -> float:
    """Return how much weight of each class is on rows that the other class has too.

    With dual variables on such rows alone w = 0, whatever the kernel.
    """
    if sparse.issparse(X) or X.shape[0] == 0:
        return 0.0
    # Equal rows are next to each other in the order of any sum of their entries.
    order = np.argsort(np.einsum("ij,j->i", X, np.random.default_rng(0).normal(size=X.shape[1])))
    rows = X[order]
    starts = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    group, signed = np.cumsum(starts) - 1, (weights * y)[order]
    of_class = [np.bincount(group, np.maximum(part, 0.0)) for part in (signed, -signed)]
    return float(np.minimum(*of_class).sum())


def known_duals(model: BaseEstimator, data: TrainingSet) -> np.ndarray:
    """Return the dual variables with signs (n_rows, n_samples) that a fit of these samples has."""
    X, support = data.X, model.support_
    vectors = model.support_vectors_
    same = support.size == 0 or support.max() < X.shape[0]
    if same and vectors.shape == (support.size, X.shape[1]):
        apart = abs(X[support] - vectors)
        same = not apart.size or apart.max() <= 1e-6 * abs(vectors).max()
    if not same:
        raise ValueError(
            "X must hold the samples of the fit: its support vectors are not those rows of X."
        )
    coefs = model.dual_coef_
    coefs = coefs.toarray() if sparse.issparse(coefs) else coefs
    out = np.zeros((len(coefs), X.shape[0]))
    out[:, support] = coefs
    return out


def beta_of(signed: np.ndarray, division: Division, problem: int) -> np.ndarray:
    """Return the dual variables of a problem from `dual_coefs` of all samples."""
    if not isinstance(division, OneVsOne):
        return signed[problem]
    i, j = division.pairs[problem]
    return np.concatenate([signed[j - 1, division.members[i]], signed[i, division.members[j]]])


def near_zero(X: Matrix) -> tuple[Any, np.ndarray | float]:
    """Return rows for inner products with more digits, and what was taken off each."""
    X = X.astype(np.float64, copy=False)
    if sparse.issparse(X):
        return X, 0.0
    origin = X.mean(axis=0)
    return X - origin, origin
