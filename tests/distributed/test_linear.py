import os
import pickle
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pytest
from cases import some
from dask import delayed
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from skscreen import ScreenedLinearSVC
from skscreen.distributed import DistributedLinearSVC, distributed_svc_path
from skscreen.distributed.linear_newton import ClusterRows, LocalRows, Newton, Problems
from skscreen.distributed.linear_passes import LENGTHS, PassRequest, linear_pass, linear_product
from skscreen.distributed.rows import Block

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[::3]), y[::3]
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X, IRIS_Y = scale(IRIS_X)[::2], IRIS_Y[::2]
ROWS = da.from_array(X, chunks=(100, -1))
HALF_WORDS = np.array(["a"] * 100 + [1] * 90, dtype=object)
SPOILED = da.from_array(np.where(np.arange(190)[:, None] == 100, np.nan, X), chunks=(100, -1))


def primal_and_dual(model, rows, signs, weights=1.0):
    """Return P and the dual value of its alphas for one problem, from the definitions."""
    w, b = model.coef_[0], model.intercept_[0]
    h = 1.0 - signs * (rows @ w + b)
    short = np.maximum(h, 0.0)
    half = 0.5 * (w @ w + b * b)
    alpha = 2.0 * model.C * weights * short
    u = np.append(rows.T @ (signs * alpha), np.sum(signs * alpha))
    primal = half + model.C * np.sum(weights * short**2)
    return primal, np.sum(alpha - weights * model.C * short**2) - 0.5 * u @ u


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.01, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_in_memory(client, loss, C, fit_intercept):
    options = {"loss": loss, "fit_intercept": fit_intercept, "intercept_scaling": 2.0}
    here = ScreenedLinearSVC(C, tol=1e-12, **options).fit(X, y)
    there = DistributedLinearSVC(C, tol=1e-9, **options).fit(ROWS, y)
    assert there.dual_gap_ <= 1e-9
    assert_allclose(there.objective_, np.squeeze(here.objective_), rtol=1e-8)
    assert_allclose(there.coef_, here.coef_, rtol=1e-4, atol=1e-4 * abs(here.coef_).max())
    assert_allclose(there.intercept_, here.intercept_, rtol=1e-3, atol=1e-4)


def test_the_certificate_by_definition(client):
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    model = DistributedLinearSVC(0.1, tol=1e-6).fit(ROWS, y, sample_weight=weights)
    primal, dual = primal_and_dual(model, X, np.where(y == 1, 1.0, -1.0), weights)
    assert_allclose(model.objective_, primal, rtol=1e-12)
    assert (primal - dual) / primal <= 1e-6
    assert_allclose(model.dual_gap_, (primal - dual) / primal, atol=1e-11)
    assert model.history_["gap"][-1] == model.dual_gap_
    assert model.history_.dtype.names == ("iteration", "seconds", "primal", "dual", "gap")


@pytest.mark.parametrize("class_weight", [{0: 2.0}, "balanced"])
@pytest.mark.slow
def test_weights_of_samples_and_classes(client, class_weight):
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    here = ScreenedLinearSVC(0.1, class_weight=class_weight, tol=1e-12).fit(X, y, weights)
    there = DistributedLinearSVC(0.1, class_weight=class_weight, tol=1e-10)
    there.fit(ROWS, da.from_array(y), sample_weight=da.from_array(weights, chunks=50))
    assert_allclose(there.coef_, here.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.slow
def test_class_weights_of_many_classes(client, loss):
    """As in `LinearSVC`, the samples of other classes have their sample weights alone."""
    weights, options = np.linspace(0.5, 2.0, 75), {"loss": loss, "class_weight": {0: 3.0, 2: 0.5}}
    theirs = LinearSVC(C=0.1, tol=1e-10, max_iter=10**6, **options).fit(IRIS_X, IRIS_Y, weights)
    rows = da.from_array(IRIS_X, chunks=(30, 4))
    model = DistributedLinearSVC(0.1, tol=1e-9, **options).fit(rows, IRIS_Y, sample_weight=weights)
    assert_allclose(model.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.slow
def test_many_classes_and_predictions_by_blocks(client):
    here = ScreenedLinearSVC(tol=1e-12).fit(IRIS_X, IRIS_Y)
    rows = da.from_array(IRIS_X, chunks=((20, 55), (3, 1)))
    there = DistributedLinearSVC(tol=1e-10).fit(rows, IRIS_Y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    scores = there.decision_function(rows)
    assert isinstance(scores, da.Array)
    assert scores.shape == (75, 3)
    assert_allclose(scores.compute(), there.decision_function(IRIS_X), rtol=1e-12)
    assert_array_equal(there.predict(rows).compute(), there.predict(IRIS_X))
    accuracy = np.mean(there.predict(IRIS_X) == IRIS_Y)
    assert there.score(rows, da.from_array(IRIS_Y)) == there.score(IRIS_X, IRIS_Y) == accuracy
    weights = np.arange(75.0)
    assert_allclose(
        there.score(rows, IRIS_Y, weights), there.score(IRIS_X, IRIS_Y, sample_weight=weights)
    )


def test_names_of_classes_and_one_column_of_scores(client):
    names = np.array(["benign", "malign"])[y]
    model = DistributedLinearSVC(tol=1e-3).fit(ROWS, names)
    assert isinstance(model.objective_, float)
    assert_allclose(model.decision_function(ROWS).compute(), model.decision_function(X))
    assert_array_equal(model.predict(ROWS).compute(), model.predict(X))
    assert model.score(ROWS, names) > 0.95
    # Without the cluster, as everything that was learned is on the driver.
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.slow
def test_chunks_of_other_kinds(client):
    thin = np.where(X > 0.5, X, 0.0)
    expected = ScreenedLinearSVC(tol=1e-12).fit(thin, y).coef_
    csr = da.from_array(thin, chunks=(100, -1)).map_blocks(sparse.csr_array)
    assert_allclose(
        DistributedLinearSVC(tol=1e-11).fit(csr, y).coef_, expected, rtol=1e-4, atol=1e-12
    )
    # Rows that were selected: Dask does not know how many there are.
    selected = ROWS[da.from_array(np.arange(len(X)) % 2 == 0, chunks=100)]
    assert np.isnan(selected.shape[0])
    model = DistributedLinearSVC(tol=1e-10).fit(selected, y[::2])
    expected = ScreenedLinearSVC(tol=1e-12).fit(X[::2], y[::2]).coef_
    assert_allclose(model.coef_, expected, rtol=1e-3, atol=1e-5)
    assert_array_equal(model.predict(selected).compute(), model.predict(X[::2]))
    assert model.score(selected, y[::2]) == model.score(X[::2], y[::2])
    single = DistributedLinearSVC(tol=1e-9).fit(ROWS.astype(np.float32), y)
    whole = ScreenedLinearSVC(tol=1e-12).fit(X.astype(np.float32).astype(float), y)
    assert_allclose(single.coef_, whole.coef_, rtol=1e-3, atol=1e-4)
    # The certificate is in double precision although the rows are not.
    rounded = X.astype(np.float32).astype(float)
    primal, dual = primal_and_dual(single, rounded, np.where(y == 1, 1.0, -1.0))
    assert_allclose(single.objective_, primal, rtol=1e-12)
    assert (primal - dual) / primal <= 1e-9 + 1e-12


@pytest.mark.slow
def test_chunks_that_lie_in_memory_in_other_ways(client):
    wanted = DistributedLinearSVC(0.1).fit(ROWS, y).objective_
    for weights in (da.ones(len(X), chunks=100), da.from_array(np.ones(len(X)), chunks=100)[::-1]):
        assert DistributedLinearSVC(0.1).fit(ROWS, y, weights).objective_ == wanted
    nothing = DistributedLinearSVC(0.1).fit(da.zeros((len(X), 2), chunks=(100, 2)), y)
    assert not nothing.coef_.any()
    assert DistributedLinearSVC(0.1).fit(ROWS[:, ::-1], y).objective_ == pytest.approx(wanted)


@pytest.mark.slow
def test_several_C_in_the_same_passes(client):
    path = distributed_svc_path(ROWS, y, [1.0, 0.01, 0.1], tol=1e-9)
    assert_array_equal(path.Cs, [0.01, 0.1, 1.0])
    for i, C in enumerate(path.Cs):
        expected = ScreenedLinearSVC(C, tol=1e-12).fit(X, y)
        assert_allclose(path.coefs[i], expected.coef_, rtol=1e-3, atol=1e-5)
        assert_allclose(path[i].predict(ROWS).compute(), expected.predict(X))
        assert path[i].C == C
    assert (path.dual_gaps <= 1e-9).all()
    iris = distributed_svc_path(da.from_array(IRIS_X, chunks=(50, -1)), IRIS_Y, [0.1, 1.0])
    assert iris.coefs.shape == (2, 3, 4)
    for Cs in ([0.0, 1.0], ["a"]):
        with pytest.raises(ValueError, match=r"^Cs must"):
            distributed_svc_path(ROWS, y, Cs)


@pytest.mark.parametrize("widths", [np.empty((2, 0)), np.array([[0.4, 0.1], [0.2, 0.05]])])
def test_sums_of_a_pass(widths):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(50, 3)), rng.random(50)
    codes = rng.integers(0, 2, 50, dtype=np.int32)
    W, scale = rng.normal(size=(2, 4)), 0.7
    positive = np.array([0, 1])
    none = np.zeros(2, bool)
    task = PassRequest(np.arange(2), positive, none, none, widths, scale, True)

    def smooth(W):
        h = 1.0 - np.where(codes[:, None] == positive, 1.0, -1.0) * (
            rows @ W[:, :3].T + scale * W[:, 3]
        )
        if not widths.size:
            return weights @ np.maximum(h, 0.0) ** 2
        a = np.clip(0.5 + h / widths[:, 0], 0.0, 1.0)
        return weights @ (a * h - 0.5 * widths[:, 0] * (a - 0.5) ** 2)

    sums, _ = linear_pass(Block(rows, codes, weights), W, task, None)
    assert_allclose(sums[0].smooth, smooth(W), rtol=1e-12)
    step = 1e-6
    for j in range(4):
        unit = np.zeros((2, 4))
        unit[:, j] = step
        slope = (smooth(W + unit) - smooth(W - unit)) / (2.0 * step)
        assert_allclose(-sums[0].gradient[:, j], slope, rtol=1e-5, atol=1e-7)
    # Sums of other rows are added in place: those here must not be those of "next".
    for other in sums[1:]:
        for mine, theirs in zip(vars(sums[0]).values(), vars(other).values(), strict=True):
            assert not np.shares_memory(mine, theirs)
    # Second derivatives as matrices and as products are the same.
    flat = PassRequest(np.arange(2), positive, none, none, widths, scale, False)
    block = Block(rows, codes, weights)
    passed = linear_pass(block, W, flat, None)
    parts = passed[0]
    V = rng.normal(size=(2, 4))
    products = linear_product(block, V, none, scale, passed)
    for p in range(2):
        lower = np.tril(sums[0].curvature[p])
        matrix = lower + np.tril(lower, -1).T
        assert_allclose(products[p], matrix @ V[p], rtol=1e-10)
        assert_allclose(parts[0].curvature[p], np.diag(matrix), rtol=1e-10)
    # Slopes along the step from h = 0, where a block begins.
    assert sums[0].slopes.shape == (2, LENGTHS.size)


@pytest.mark.parametrize("hinge", [False, True])
def test_conjugate_gradients_for_wide_rows(hinge):
    class Wide(Problems):
        with_matrix = False

    block = Block(X, y.astype(np.int32), np.ones(len(X)))
    problems = Wide(np.array([1]), np.array([0.1]), 1.0, hinge, 31)
    for found in Newton(LocalRows(block), problems, np.zeros((1, 31)), 1e-7).passes(300):  # noqa: B007
        pass
    loss = "hinge" if hinge else "squared_hinge"
    expected = ScreenedLinearSVC(0.1, loss=loss, tol=1e-12).fit(X, y)
    assert found.gap <= 1e-7
    assert_allclose(found.primal, expected.objective_, rtol=1e-6)


@pytest.mark.proof
def test_warm_start_and_a_fit_that_is_cut_short(client):
    with pytest.warns(ConvergenceWarning, match="tol=1e-12") as caught:
        model = DistributedLinearSVC(10.0, loss="hinge", tol=1e-12, max_iter=2).fit(ROWS, y)
    assert caught[0].filename == __file__
    model.set_params(max_iter=None, warm_start=True, tol=1e-6)
    assert model.fit(ROWS, y).dual_gap_ <= 1e-6
    assert DistributedLinearSVC(tol=1e-4, warm_start=True).fit(ROWS, y).fit(ROWS, y).n_iter_ == 1
    with pytest.raises(ValueError, match=r"^warm_start\b"):
        model.fit(ROWS[:, :5], y)


@pytest.mark.proof
@pytest.mark.parametrize("loss", some(["squared_hinge", "hinge"], 0))
def test_the_loss_of_a_worker_changes_nothing(lose_worker, loss):
    # No start from a part, so that there are passes in which a worker can be lost.
    settings = {"C": 0.1, "tol": 1e-9, "loss": loss, "warm_start": True}
    rows = ROWS.persist()
    zero = {"classes_": np.array([0, 1]), "coef_": np.zeros((1, 30)), "intercept_": np.zeros(1)}

    def fit():
        model = DistributedLinearSVC(**settings)
        vars(model).update(zero)
        return model.fit(rows, y)

    model = fit()
    lost = lose_worker(ClusterRows, "evaluate", 4)
    again = fit()
    assert len(lost) == 1
    assert_allclose(again.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    assert again.n_iter_ == model.n_iter_ > 4


@pytest.mark.proof
def test_a_lost_cluster_leaves_the_last_iterate():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def killing(self, array):
            # The second pass needs what ends the process that computes it.
            return array if self.n_passes < 2 else client.submit(os._exit, 1)

        model = DistributedLinearSVC(10.0, loss="hinge", tol=1e-13)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ClusterRows, "_shared", killing)
            with pytest.raises(RuntimeError, match=r"pass 2\b.*warm_start=True"):
                model.fit(ROWS, y)
    assert model.coef_.shape == (1, 30)
    assert model.score(X, y) > 0.9
    assert np.isfinite(model.dual_gap_)


@pytest.mark.few(11)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "labels", "weights", "error", "message"),
    [
        (X, y, None, TypeError, r"^X\b"),
        (ROWS[:, 0], y, None, ValueError, "two dimensions"),
        (ROWS.astype(complex), y, None, ValueError, "real numbers"),
        (ROWS[:, :0], y, None, ValueError, r"^X\b"),
        (ROWS, y[:-1], None, ValueError, r"^y\b"),
        (ROWS, None, None, ValueError, r"^y\b"),
        (ROWS, np.zeros(len(X)), None, ValueError, r"^y\b"),
        (ROWS, np.where(y, 1.0, np.nan), None, ValueError, r"\by\b"),
        (ROWS, y, -np.ones(len(X)), ValueError, r"\bsample_weight\b"),
        (SPOILED, y, None, ValueError, r"\bX\b"),
        (delayed(X), y, None, TypeError, r"^X\b"),
        (ROWS, delayed(y), None, TypeError, r"^y\b"),
        (ROWS, HALF_WORDS, None, ValueError, r"^y\b"),
        (da.ma.masked_greater(ROWS, 2.0), y, None, ValueError, r"\bX\b"),
        (ROWS, da.ma.masked_equal(da.from_array(y), 1), None, ValueError, r"\by\b"),
        (ROWS, y, ["a"] * len(X), ValueError, "could not convert string to float"),
        (ROWS, y, np.zeros(len(X)), ValueError, r"^sample_weight\b"),
        (ROWS, y, (y == 1) * 1.0, ValueError, r"^sample_weight\b"),
    ],
)  # fmt: skip
def test_bad_input(client, rows, labels, weights, error, message):
    with pytest.raises(error, match=message):
        DistributedLinearSVC().fit(rows, labels, sample_weight=weights)


@pytest.mark.slow
def test_what_has_no_score(client):
    model = DistributedLinearSVC(tol=1e-2).fit(ROWS, y)
    for labels, message in (
        (y.astype(str), r"^y\b"),
        (np.where(y, 1.0, np.nan), "y contains NaN"),
        (da.from_array(y[:-1]), r"^y\b"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(ROWS, labels)
    with pytest.raises(ValueError, match=r"^sample_weight\b"):
        model.score(ROWS, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        model.score(ROWS, y, sample_weight=np.where(np.arange(190) == 3, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"^sample_weight\b"):
        model.score(ROWS, y, sample_weight=np.zeros(190))


@pytest.mark.slow
def test_bad_parameters_and_columns(client):
    with pytest.raises(ValueError, match="loss"):
        DistributedLinearSVC(loss="log").fit(ROWS, y)
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        DistributedLinearSVC(class_weight={5: 1.0}).fit(ROWS, y)
    # One that other data have, as in a fold of ScreenedLinearSVC.
    more = DistributedLinearSVC(class_weight={0: 1.0, 1: 1.0, 5: 2.0}).fit(ROWS, y)
    assert_allclose(more.coef_, DistributedLinearSVC().fit(ROWS, y).coef_)
    with pytest.raises(ValueError, match=r"^class_weight\b"):
        DistributedLinearSVC(class_weight={0: None}).fit(ROWS, y)
    with pytest.raises(NotFittedError):
        DistributedLinearSVC().predict(ROWS)
    # An integer that numpy has no type for.
    assert DistributedLinearSVC(tol=10**30).fit(ROWS, y).n_iter_ == 1
    model = DistributedLinearSVC(tol=1e-2).fit(ROWS, y)
    with pytest.raises(ValueError, match=r"shape \(n, 30\)"):
        model.predict(ROWS[:, :2])


def test_not_inside_a_task(client):
    def fit():
        DistributedLinearSVC().fit(da.zeros((4, 2)), [0, 0, 1, 1])

    with pytest.raises(RuntimeError, match="inside a task"):
        client.submit(fit).result()


def test_without_a_client(monkeypatch):
    def none():
        raise ValueError

    monkeypatch.setattr("skscreen.distributed.parts.get_client", none)
    with pytest.raises(RuntimeError, match=r"\bclient\b"):
        DistributedLinearSVC().fit(ROWS, y)


@pytest.mark.proof
def test_without_dask():
    code = """
import sys, skscreen
assert not {"dask", "distributed"} & set(sys.modules)
sys.modules["distributed"] = None
import skscreen.distributed
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: skscreen.distributed needs Dask" in run.stderr
