"""Data of the tests of ScreenedRTLM, and what two solutions of one problem have in common."""

from dataclasses import replace

import numpy as np
from cases import some
from numpy.testing import assert_allclose
from rtlm_reference import CASES, Explicit, brute_force_triplets, item_matrices
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM
from skscreen.metric_learning.screening.paper import bounds

# 89 wines with 13 features: 801 triplets for three neighbours, no two distances are equal.
X, y = load_wine(return_X_y=True)
X, y = scale(X[::2]), y[::2]
X.setflags(write=False)
y.setflags(write=False)
T = brute_force_triplets(X, y, 3)

# 50 irises with 4 features, two of them with the same values.
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X, IRIS_Y = scale(IRIS_X)[::3], IRIS_Y[::3]

# In these any two of data, loss and kind of metric meet.
ALL_CASES = some(CASES, 0, 3, 5, 6, 8, 11)

KINDS = [
    {"loss": loss, "diagonal": diagonal}
    for loss in ("smoothed_hinge", "hinge")
    for diagonal in (False, True)
]
BOUNDS = ["gap", "gb", "pgb", "dgb", "cdgb", "rrpb"]
RULES = ["sphere", "linear", "semidefinite"]


def rtlm(**options):
    return ScreenedRTLM(**{"n_neighbors": 3, **options})


def vector_or_matrix(model):
    matrix = model.get_mahalanobis_matrix()
    return np.diag(matrix) if model.diagonal else matrix


def explicit(X, triplets, model):
    """The same problem from explicit matrices, by code that shares nothing with the package."""
    gamma = 0.0 if model.loss == "hinge" else model.width
    return Explicit(item_matrices(X, triplets, model.diagonal), gamma)


def path_ball(evaluation, lam, reference_lam):
    """RPB (Theorem J5): RRPB for a reference that is exact, which no solver gives."""
    radius = 0.5 * abs(reference_lam - lam) / lam * np.linalg.norm(evaluation.point.value)
    ball = bounds.rrpb_ball(evaluation, lam, reference_lam)
    return replace(ball, radius=float(radius))


def error_radius(model):
    """How far the optimum may be: P is lam-strongly convex."""
    return np.sqrt(2.0 * model.dual_gap_ * model.objective_ / model.lam_)


def assert_same_optimum(left, right):
    """As near to each other as their two certificates promise."""
    assert_allclose(left.lam_, right.lam_, rtol=1e-10)
    assert left.n_triplets_ == right.n_triplets_
    worst_gap = max(left.dual_gap_, right.dual_gap_)
    assert abs(left.objective_ - right.objective_) <= 1.001 * worst_gap * left.objective_
    distance = np.linalg.norm(left.get_mahalanobis_matrix() - right.get_mahalanobis_matrix())
    assert distance <= 1.001 * (error_radius(left) + error_radius(right))


def history(model):
    """Screening events without the seconds."""
    return [event[:-1] for event in model.screening_history_.tolist()]
