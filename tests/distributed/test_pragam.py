import pickle
import subprocess
import sys
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import get_client, wait
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale

from skscreen import PragamSVC
from skscreen.distributed import DistributedPragamSVC
from skscreen.distributed.samples import PartitionedSamples

# 190 tumours with 30 features; 75 irises of three classes.
X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[::3]), y[::3]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X, IRIS_Y = scale(IRIS_X)[::2], IRIS_Y[::2]
ROWS = da.from_array(X, chunks=(100, -1))


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0.001, "tol": 1e-6},
        {"C": 0.001, "tol": 1e-3, "fit_intercept": False, "restart": False},
        {"C": 0.001, "tol": 1e-11, "algorithm": "bmrm"},
        {"C": 0.001, "tol": 1e-4, "algorithm": "ls-bmrm"},
        {"C": 0.001, "tol": 1e-2, "algorithm": "pegasos"},
    ],
    ids=lambda parameters: parameters.get("algorithm", "pragam"),
)
def test_the_optimum_is_that_in_memory(client, parameters):
    here = PragamSVC(**parameters).fit(X, y)
    there = DistributedPragamSVC(**parameters).fit(ROWS, y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-10)
    assert_allclose(there.coef_, here.coef_, rtol=1e-7, atol=1e-9)
    assert_array_equal(there.n_iter_, here.n_iter_)
    assert there.dual_gap_ <= parameters["tol"]
    # The certificate, from the definition.
    w, b, signs = there.coef_[0], there.intercept_[0], np.where(y == 1, 1.0, -1.0)
    lam = 1.0 / (there.C * len(X))
    primal = 0.5 * lam * w @ w + np.maximum(1.0 - signs * (X @ w + b), 0.0).mean()
    assert_allclose(there.objective_, primal, rtol=1e-12)
    if parameters.get("algorithm", "pragam") == "pragam":
        a = signs * there.dual_coef_[0] * lam
        assert -1e-15 <= a.min()
        assert a.max() <= 1.0 / len(X) + 1e-15
        dual = a.sum() - np.sum((X.T @ (signs * a)) ** 2) / (2.0 * lam)
        assert primal - dual <= parameters["tol"] + 1e-14


def test_weights_of_samples_and_classes(client):
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    weights[:100] = 0.0
    settings = {"C": 0.001, "tol": 1e-6, "class_weight": {0: 2.0}}
    here = PragamSVC(**settings).fit(X, y, sample_weight=weights)
    there = DistributedPragamSVC(**settings)
    there.fit(ROWS, da.from_array(y), sample_weight=da.from_array(weights, chunks=50))
    assert_allclose(there.objective_, here.objective_, rtol=1e-10)
    assert_allclose(there.dual_coef_, here.dual_coef_, atol=1e-7)
    assert not there.dual_coef_[0, weights == 0.0].any()


def test_more_classes_and_predictions_by_blocks(client):
    settings = {"C": 0.01, "tol": 1e-5, "n_jobs": 2}
    here = PragamSVC(**settings).fit(IRIS_X, IRIS_Y)
    rows = da.from_array(IRIS_X, chunks=((20, 55), (3, 1)))
    there = DistributedPragamSVC(**settings).fit(rows, IRIS_Y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-10)
    scores = there.decision_function(rows)
    assert isinstance(scores, da.Array)
    assert scores.shape == (75, 3)
    assert_allclose(scores.compute(), there.decision_function(IRIS_X), rtol=1e-12)
    assert_array_equal(there.predict(rows).compute(), there.predict(IRIS_X))
    assert there.score(rows, da.from_array(IRIS_Y)) == here.score(IRIS_X, IRIS_Y)


def test_names_of_classes_and_one_column_of_scores(client):
    names = np.array(["benign", "malign"])[y]
    model = DistributedPragamSVC(C=0.001, tol=1e-3).fit(ROWS, names)
    assert model.decision_function(ROWS).shape == (len(X),)
    assert_allclose(model.decision_function(ROWS).compute(), model.decision_function(X))
    assert_array_equal(model.predict(ROWS).compute(), model.predict(X))
    # Without the cluster, as everything that was learned is on the driver.
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_chunks_of_other_kinds(client):
    settings = {"C": 0.001, "tol": 1e-4}
    here = PragamSVC(**settings).fit(X, y)
    thin = da.from_array(np.where(X > 0.5, X, 0.0), chunks=(100, -1))
    csr = thin.map_blocks(sparse.csr_array)
    assert_allclose(
        DistributedPragamSVC(**settings).fit(csr, y).objective_,
        PragamSVC(**settings).fit(np.where(X > 0.5, X, 0.0), y).objective_,
        rtol=1e-10,
    )
    # Rows that were selected: Dask does not know how many there are.
    selected = ROWS[da.from_array(np.arange(len(X)) % 2 == 0, chunks=100)]
    assert np.isnan(selected.shape[0])
    model = DistributedPragamSVC(**settings).fit(selected, y[::2])
    assert_allclose(
        model.objective_, PragamSVC(**settings).fit(X[::2], y[::2]).objective_, rtol=1e-10
    )
    model = DistributedPragamSVC(**settings).fit(ROWS.astype(np.float32), y)
    assert_allclose(model.objective_, here.objective_, rtol=1e-5)


def test_blocks_are_on_both_workers(client):
    rows = ROWS.persist(workers=min(client.nthreads()))
    wait(rows)
    blocks = PartitionedSamples.of(client, rows, np.arange(len(X)))
    held = client.who_has(blocks._blocks.futures)
    assert {workers[-1] for workers in held.values()} == set(client.nthreads())


@pytest.mark.filterwarnings("error")
def test_long_vectors_go_to_workers_without_a_warning(client):
    # 10 MB a block.
    rows = da.ones((2_600_000, 1), chunks=(1_300_000, 1), dtype=np.float32)
    blocks = PartitionedSamples.of(client, rows, np.arange(len(rows)))
    assert_allclose(blocks.combine(np.full(blocks.n, 0.5)), [1_300_000.0])


def test_warm_start(client):
    model = DistributedPragamSVC(C=0.001, tol=1e-4, warm_start=True).fit(ROWS, y)
    assert model.fit(ROWS, y).n_iter_ <= 1


def test_the_loss_of_a_worker_changes_nothing(client, lose_worker):
    settings = {"C": 0.001, "tol": 1e-4}
    model = DistributedPragamSVC(**settings).fit(ROWS, y)
    lost = lose_worker(PartitionedSamples, "combine", 8)
    again = clone(model).fit(ROWS, y)
    assert len(lost) == 1
    assert_allclose(again.objective_, model.objective_, rtol=1e-13)
    assert_allclose(again.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    assert_array_equal(again.n_iter_, model.n_iter_)


def test_a_fit_that_is_cut_short_says_so(client):
    with pytest.warns(ConvergenceWarning, match="2 iterations of 'pragam'") as caught:
        DistributedPragamSVC(max_iter=2).fit(ROWS, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "error", "message"),
    [
        (X, y, None, TypeError, "X must be a dask array, got ndarray"),
        (ROWS[:, 0], y, None, ValueError, "two dimensions"),
        (ROWS.astype(complex), y, None, ValueError, "real numbers"),
        (ROWS[:, :0], y, None, ValueError, "at least one row and one column"),
        (ROWS, y[:-1], None, ValueError, "inconsistent numbers of samples"),
        (ROWS, np.zeros(len(X)), None, ValueError, "number of classes"),
        (ROWS, y, -np.ones(len(X)), ValueError, "sample_weight"),
        (da.where(ROWS > 2.0, np.nan, ROWS), y, None, ValueError, "NaN"),
    ],
)
def test_bad_input(client, rows, labels, weights, error, message):
    with pytest.raises(error, match=message):
        DistributedPragamSVC().fit(rows, labels, sample_weight=weights)


def test_bad_parameters_and_columns(client):
    with pytest.raises(ValueError, match="restart"):
        DistributedPragamSVC(algorithm="bmrm", restart=False).fit(ROWS, y)
    with pytest.raises(TypeError, match="batch_size"):
        DistributedPragamSVC(batch_size=3)
    with pytest.raises(NotFittedError):
        DistributedPragamSVC().predict(ROWS)
    model = DistributedPragamSVC(C=0.001, tol=1e-2).fit(ROWS, y)
    with pytest.raises(ValueError, match=r"shape \(n, 30\)"):
        model.predict(ROWS[:, :2])


def test_not_inside_a_task(client):
    def fit():
        DistributedPragamSVC().fit(da.zeros((4, 2)), [0, 0, 1, 1])

    with pytest.raises(RuntimeError, match="inside a task"):
        get_client().submit(fit).result()


def test_without_a_client(monkeypatch):
    def none():
        raise ValueError

    monkeypatch.setattr("skscreen.distributed.parts.get_client", none)
    with pytest.raises(RuntimeError, match="No Dask client found"):
        DistributedPragamSVC().fit(ROWS, y)


def test_without_dask():
    code = """
import sys, skscreen
assert not {"dask", "distributed"} & set(sys.modules)
sys.modules["distributed"] = None
import skscreen.distributed
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: skscreen.distributed needs Dask" in run.stderr


def test_threads_leave_the_configuration_as_it_was(client):
    name = "distributed.admin.large-graph-warning-threshold"
    before = dask.config.get(name)
    rows, labels = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        DistributedPragamSVC(n_jobs=2, max_iter=20).fit(da.from_array(rows, chunks=50), labels)
    assert dask.config.get(name) == before
