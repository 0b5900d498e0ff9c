"""How many threads the BLAS underneath may use."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from threadpoolctl import threadpool_info, threadpool_limits

from skscreen import PragamSVC, ScreenedSVC
from skscreen.fitting.threads import blas_threads_for
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.svm import settings


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("BLAS has one thread only")
        yield


def test_narrow_products_and_threads_of_our_own_leave_one(two_threads):
    for width, n_jobs, expected in ((10, None, 1), (1000, None, 2), (1000, 2, 1)):
        with blas_threads_for(width, n_jobs):
            assert blas_threads() == {expected}
        assert blas_threads() == {2}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_factors_of_free_samples_have_one_thread(n_jobs, two_threads, monkeypatch):
    seen, solve = [], settings.solve_kernel
    monkeypatch.setattr(
        settings, "solve_kernel", lambda *a, **k: seen.append(blas_threads()) or solve(*a, **k)
    )
    X, y = load_wine(return_X_y=True)
    ScreenedSVC(multi_class="ovr", n_jobs=n_jobs).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert seen == [{1}] * 3 and blas_threads() == {2}


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 2), (2, 1)])
def test_classes_in_threads_do_not_multiply_those_of_blas(
    n_jobs, expected, two_threads, monkeypatch
):
    seen, made = [], HingeRisk.__init__
    monkeypatch.setattr(
        HingeRisk, "__init__", lambda *a, **k: seen.append(blas_threads()) or made(*a, **k)
    )
    X, y = load_wine(return_X_y=True)
    PragamSVC(C=1e-3, n_jobs=n_jobs).fit(np.tile(X, 10), y)
    assert set(map(frozenset, seen)) == {frozenset({expected})} and blas_threads() == {2}
