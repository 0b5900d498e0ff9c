"""Squared distances, beside differences summed up one by one."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from skscreen.samples.kernels.distances import (
    all_squared_distances,
    rbf_of_distances,
    square_norms,
    squared_distances,
)
from skscreen.samples.kernels.kernel import Kernel

X = np.random.default_rng(0).normal(size=(600, 7))
DISTANCES = cdist(X, X, "sqeuclidean")


@pytest.mark.parametrize("by_differences", [False, True])
@pytest.mark.parametrize("as_csr", [False, True])
def test_distances_between_all_samples_and_two_sets(as_csr, by_differences):
    data, squares = sparse.csr_array(X) if as_csr else X, square_norms(X)
    D = np.empty((600, 600))
    all_squared_distances(data, squares, by_differences, D)
    np.testing.assert_allclose(D, DISTANCES, atol=1e-12)
    np.testing.assert_array_equal(D, D.T)
    assert not np.diagonal(D).any() and D.min() >= 0.0
    part = squared_distances(data[:9], data, squares[:9], squares, by_differences)
    np.testing.assert_allclose(part, DISTANCES[:9], atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_of_the_largest_numbers_are_far_away(kind):
    """As where a code for a missing value is asked for."""
    largest = kind(np.full((2, 7), np.finfo(float).max) * [[1.0], [-1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(Kernel("rbf", gamma=0.3).between(largest, kind(X)), 0.0)


def test_the_kernel_of_distances_in_place_and_elsewhere():
    expected, other = np.exp(-0.3 * DISTANCES), np.empty((600, 600))
    np.testing.assert_allclose(rbf_of_distances(DISTANCES, 0.3, other), expected, rtol=1e-14)
    D = DISTANCES.copy()
    assert rbf_of_distances(D, 0.3, D) is D
    np.testing.assert_array_equal(D, other)
