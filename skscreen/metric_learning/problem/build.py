"""Builds the problem of metric learning: samples, what is compared, coordinates.

Features in which no sample differs, and with few samples directions outside of their span, have no
part in the optimum: the problem is solved in coordinates without them.
"""

from numbers import Integral
from typing import TypeAlias

import numpy as np
from scipy import sparse

from skscreen.core.floats import EPS
from skscreen.fitting.warning import warn_user
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.problem.compared import Compared, compared_samples
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone, row_space
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.samples import (
    Samples,
    read_samples,
    without_constant_features,
)

# Coordinates of a problem, (n_features, r); None for the features.
Basis: TypeAlias = np.ndarray | sparse.csr_array | None


def build(X: np.ndarray, parameters: Parameters, supervision: Supervision) -> Problem:
    """Return the problem of samples (n, d), in double or single precision."""
    check_components(parameters.n_components, X.shape[1])
    samples = read_samples(X, parameters.linear_term, parameters.diagonal)
    samples = without_constant_features(samples)
    compared = compared_samples(samples, parameters, supervision)
    geometry, basis = _in_coordinates(samples, compared, parameters.diagonal)
    pull = 0.0 if supervision.lists else float(parameters.pull)
    problem = Problem(
        geometry, parameters.loss_function, domain_of(parameters),
        *linear_part(geometry, samples, basis, pull), basis, samples.unit,
        samples.given.dtype.type, compared.rows, compared.triplets,
    )  # fmt: skip
    warn_of_zero_metric(problem, samples, (supervision.lists or ["triplets"])[0])
    return problem


def check_components(n_components: int | float | None, n_features: int) -> None:
    """Refuse more rows of the map than there are features."""
    if isinstance(n_components, Integral) and int(n_components) > n_features:
        raise ValueError(
            f"n_components must be at most {n_features}, the number of features, got "
            f"{n_components}."
        )


def domain_of(parameters: Parameters) -> PSDCone | NonnegativeOrthant:
    """Return what metrics are allowed."""
    return NonnegativeOrthant() if parameters.diagonal else PSDCone()


def _in_coordinates(
    samples: Samples, compared: Compared, diagonal: bool
) -> tuple[Comparisons, Basis]:
    """Return the items in the coordinates of the problem, and these, (n_features, r)."""
    points, items = compared.points, compared.items
    n_features = points.shape[1]
    if diagonal:
        NonnegativeOrthant.check_memory(n_features)
        return DiagonalComparisons(points, items), samples.V
    PSDCone.check_memory(min(points.shape) if samples.is_separable else n_features)
    span = row_space(points) if samples.is_separable else None
    if span is None:
        return Comparisons(points, items), samples.V
    geometry = Comparisons(points @ span, items, n_features)
    return geometry, span if samples.V is None else samples.V @ span


def linear_part(
    geometry: Comparisons, samples: Samples, basis: Basis, pull: float
) -> tuple[np.ndarray | None, float]:
    """Return the linear term B of an objective, of near pairs and of features, and its error."""
    B, error = geometry.near_term(pull) if pull > 0.0 else (None, 0.0)
    C, unit = samples.C, samples.unit
    if C is None:
        return B, error
    largest = float(np.abs(C).max(initial=0.0)) / unit / unit
    # Squares, in units of scaled samples, must be finite.
    if largest > 1e140:
        raise ValueError(
            f"linear_term, with numbers up to {np.abs(C).max():g}, is too large beside X, whose "
            f"values are about {unit:.0e}: losses would not count in floating point. Rescale X."
        )
    term = C / unit**2
    if basis is not None:
        term = basis.T @ term if C.ndim == 1 else basis.T @ (basis.T @ term).T
        term = term if term.ndim == 1 else 0.5 * (term + term.T)
        error += 16.0 * EPS * float(np.linalg.norm(C)) / unit**2
    return (-term if B is None else B - term), error


def warn_of_zero_metric(problem: Problem, samples: Samples, name: str) -> None:
    """Warn where the zero metric is optimal for every lambda; `name` is what is compared."""
    if not problem.ray.value.any():
        beside = "" if samples.C is None else " by more than linear_term takes"
        warn_user(
            f"No metric brings the near samples of the {name} nearer than the far ones on "
            f"average{beside}, so the zero metric is optimal for every lam."
        )
