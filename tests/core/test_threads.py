"""Work in threads, and how many threads the BLAS underneath may use."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed
from sklearn.datasets import load_wine, make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from skscreen import PragamSVC, ScreenedSVC
from skscreen.core import threads
from skscreen.core.threads import blas_threads_for, in_threads, n_threads
from skscreen.pragam.hinge_risk import HingeRisk
from skscreen.samples.kernels import kernel_blocks
from skscreen.samples.rows import LinearSamples
from skscreen.svm import sample_set


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


def test_products_of_a_few_rows_leave_one(two_threads):
    for n, expected in ((2000, 1), (10_000, 2)):
        rows = LinearSamples(np.ones((n, 400)), np.ones(n))
        with blas_threads_for(rows.width):
            assert blas_threads() == {expected}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_factors_of_free_samples_have_one_thread(n_jobs, two_threads, monkeypatch):
    seen, solve = [], sample_set.solve_kernel
    monkeypatch.setattr(
        sample_set, "solve_kernel", lambda *a, **k: seen.append(blas_threads()) or solve(*a, **k)
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


@pytest.mark.parametrize(("n", "n_values", "expected"), [(3, 2**24, 3), (3, 100, 1), (1, 2**24, 1)])
def test_work_is_shared_where_there_is_much(n, n_values, expected, two_threads, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: n)
    calls, done = [], np.zeros(1000)

    def work(parts):
        calls.append(blas_threads())
        for part in parts:
            assert part.start % 64 == 0
            done[part] += 1.0

    in_threads(work, 1000, 64, n_values)
    assert calls == [{1}] * expected
    assert np.all(done == 1.0) and blas_threads() == {2}


def test_errors_in_threads_are_raised(two_threads, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda parts: [1 / part.start for part in parts], 1000, 64, 2**24)
    assert blas_threads() == {2}


def test_one_thread_is_used_where_a_limit_or_others_say_so(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(2):
        if n_threads() != 2:
            pytest.skip("one processor")
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(n_threads).result() == 1
        with threadpool_limits(1):
            assert n_threads() == 1


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 2), (np.int64(1), 1)])
def test_n_jobs_limits_the_threads_of_kernel_values(n_jobs, expected, monkeypatch):
    seen, tiles = [], kernel_blocks.in_threads
    monkeypatch.setattr(
        kernel_blocks, "in_threads", lambda *a, **k: seen.append(n_threads()) or tiles(*a, **k)
    )
    X, y = make_classification(2500, random_state=0)
    with threadpool_limits(2):
        if n_threads() != 2:
            pytest.skip("one processor")
        model = ScreenedSVC(n_jobs=n_jobs, tol=0.1).fit(X, y)
        fitted = len(seen)
        model.predict(X)
    assert 0 < fitted < len(seen) and set(seen) == {expected}


@pytest.mark.slow
def test_workers_share_the_processors():
    found = Parallel(2, backend="loky")(delayed(n_threads)() for _ in range(2))
    assert max(found) <= max(cpu_count() // 2, 1)


def test_n_jobs_may_be_an_integer_of_numpy():
    X, y = load_wine(return_X_y=True)
    assert ScreenedSVC(n_jobs=np.int64(2), multi_class="ovr").fit(X, y).dual_gap_ <= 1e-6
