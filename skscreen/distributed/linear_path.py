"""Linear classifiers for several C, found in the same passes over rows on Dask workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skscreen.core.checks import MatrixLike
from skscreen.distributed.linear import DistributedLinearSVC
from skscreen.distributed.linear_fit import (
    attributes,
    from_part,
    one_or_all,
    problems_of,
    solve_rows,
)
from skscreen.distributed.parts import QUIET, connected
from skscreen.distributed.rows import read_rows
from skscreen.fitting.grid import positive_values
from skscreen.fitting.path import place_of


@dataclass(frozen=True)
class DistributedSVCPath:
    """Linear support vector classifiers for several C, returned by `distributed_svc_path`.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending: the strongest regularisation first.
    classes : ndarray of shape (n_classes,)
    coefs : ndarray of shape (n_Cs, n_problems, n_features)
    intercepts : ndarray of shape (n_Cs, n_problems)
    objectives : ndarray of shape (n_Cs, n_problems)
    dual_gaps : ndarray of shape (n_Cs,)
        Relative; the largest of all problems.
    n_iter : int
        Passes over the rows for all C together.
    feature_names : ndarray of str or None
        If X was a frame whose columns have names.
    model : DistributedLinearSVC
        The parameters of the path.
    """

    Cs: np.ndarray
    classes: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    n_iter: int
    feature_names: np.ndarray | None
    model: DistributedLinearSVC

    def __len__(self) -> int:
        return len(self.Cs)

    def __getitem__(self, i: int) -> DistributedLinearSVC:
        """Return the fitted estimator of a C."""
        i = place_of(i, len(self))
        model = clone(self.model).set_params(C=float(self.Cs[i]))
        model.classes_, model.n_features_in_ = self.classes, self.coefs.shape[2]
        model.coef_, model.intercept_ = self.coefs[i], self.intercepts[i]
        model.objective_ = one_or_all(self.objectives[i])
        model.dual_gap_, model.n_iter_ = float(self.dual_gaps[i]), self.n_iter
        if self.feature_names is not None:
            model.feature_names_in_ = self.feature_names
        return model


def distributed_svc_path(
    X: da.Array | MatrixLike, y: da.Array | ArrayLike, Cs: Sequence[float], *,
    sample_weight: da.Array | ArrayLike | None = None, loss: str = "squared_hinge",
    fit_intercept: bool = True, intercept_scaling: float = 1.0, tol: float = 1e-4,
    max_iter: int | None = None, class_weight: dict | str | None = None, verbose: int = 0,
) -> DistributedSVCPath:  # fmt: skip
    """Fit `DistributedLinearSVC` for several C in the same passes over the rows.

    Parameters
    ----------
    X, y, sample_weight
        As in `DistributedLinearSVC.fit`.
    Cs : sequence of float
        Values > 0; sorted in ascending order in the result.
    loss, fit_intercept, intercept_scaling, class_weight, tol, max_iter, verbose
        As in `DistributedLinearSVC`.

    Returns
    -------
    DistributedSVCPath
        ``path[i]`` is the fitted estimator of ``path.Cs[i]``.

    Raises
    ------
    TypeError, ValueError, MemoryError, RuntimeError
        As `DistributedLinearSVC`; also if `Cs` are not positive numbers.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` passes did not reach `tol` for some C; names the gap that was reached.

    Notes
    -----
    A pass costs as much as one for each C; there are as many passes as the hardest C needs.
    """
    grid = positive_values("Cs", Cs)
    model = DistributedLinearSVC(
        loss=loss, fit_intercept=fit_intercept, intercept_scaling=intercept_scaling, tol=tol,
        max_iter=max_iter, class_weight=class_weight, verbose=verbose,
    )  # fmt: skip
    model._validate_params()
    with dask.config.set(QUIET):
        data = read_rows(connected(), X, y, sample_weight, model.class_weight)
        problems = problems_of(model, data, grid.tolist())
        found = solve_rows(model, data, problems, from_part(data, problems, float(model.tol)))
    shape, (coefs, intercepts) = (grid.size, -1), attributes(found.W, problems)
    return DistributedSVCPath(
        grid, data.classes, coefs.reshape(*shape, data.n_features), intercepts.reshape(shape),
        found.primal.reshape(shape), found.gap.reshape(shape).max(axis=1), model.n_iter_,
        data.names, model,
    )  # fmt: skip
