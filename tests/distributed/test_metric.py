import numpy as np
import pytest
from cases import some
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM
from skscreen.distributed import DistributedRTLM
from skscreen.distributed.comparisons import PartitionedComparisons
from skscreen.metric_learning.problem.comparisons import Comparisons
from skscreen.metric_learning.problem.domains import PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.metric_learning.problem.triplets import triplets_from_labels

X, y = load_wine(return_X_y=True)
X, y = scale(X), np.array(["red", "white", "rose"])[y]


def counts(model):
    return model.screening_history_[["where", "zero", "at_bound"]].tolist()


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"tol": 1e-11},
        {"bound": ("cdgb", "rrpb"), "pull": 2.0},
        {"bound": "gb", "rule": "linear", "n_neighbors": 3},
        {"diagonal": True, "rule": "semidefinite", "n_partitions": 5},
        {"lam": 1e3, "relative_lam": False, "n_neighbors": None, "width": 0.5, "bound": "pgb"},
        {"screening": False, "n_partitions": 1},
    ],
    ids=["tight", "bounds", "rule", "diagonal", "all neighbours", "no screening"],
)
def test_the_optimum_and_the_way_there_are_those_in_memory(client, parameters):
    there = DistributedRTLM(**{"tol": 1e-8, "lam": 0.002} | parameters).fit(X, y)
    settings = there.get_params()
    del settings["n_partitions"]
    here = ScreenedRTLM(**settings, active_set=False).fit(X, y)
    assert_allclose(there.objective_, here.objective_, rtol=1e-10)
    assert_allclose(there.lam_max_, here.lam_max_, rtol=1e-12)
    M = there.get_mahalanobis_matrix()
    assert_allclose(M, here.get_mahalanobis_matrix(), atol=1e-6 * np.abs(M).max())
    assert there.dual_gap_ <= there.tol
    assert there.n_triplets_ == here.n_triplets_
    # Rounding errors differ, and loose solutions on the way amplify them.
    assert [event[0] for event in counts(there)] == [event[0] for event in counts(here)]
    for left, right in zip(counts(there), counts(here), strict=True):
        assert_allclose(left[1:], right[1:], atol=0.01 * here.n_triplets_)
    assert counts(there) or not there.screening


@pytest.mark.slow
def test_the_certificate_is_one_of_the_full_problem(client):
    model = DistributedRTLM(tol=1e-9, lam=0.02, n_neighbors=4).fit(X, y)
    items = triplets_from_labels(X, np.unique(y, return_inverse=True)[1], 4)
    objective = Problem(Comparisons(X, items), SmoothedHinge(1.0, 0.05), PSDCone()).at(model.lam_)
    found = objective.evaluate(PSDCone().project(model.get_mahalanobis_matrix()))
    assert_allclose(model.objective_, found.primal(model.lam_), rtol=1e-11)
    assert model.dual_objective_ <= model.objective_
    # Screening has left less than everything, and the active set guessed none of it.
    assert model.screening_history_[-1]["undecided"] < 0.5 * model.n_triplets_


@pytest.mark.proof
@pytest.mark.parametrize("call", some([4, 10], 0))
def test_the_loss_of_a_worker_changes_nothing(lose_worker, call):
    model = DistributedRTLM(lam=0.02).fit(X, y)
    lost = lose_worker(PartitionedComparisons, "loss", call)
    again = clone(model).fit(X, y)
    assert len(lost) == 1
    assert_allclose(again.objective_, model.objective_, rtol=1e-12)
    M = model.get_mahalanobis_matrix()
    assert_allclose(again.get_mahalanobis_matrix(), M, atol=1e-8 * np.abs(M).max())
    assert again.n_iter_ == model.n_iter_


@pytest.mark.proof
def test_a_part_may_have_no_triplet_left(client):
    # Class 0 is far from all others: none of its triplets can matter.
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 20)
    points = rng.standard_normal((60, 3)) * 0.3 + 100.0 * (codes == 0)[:, None]
    points[codes == 2] += 0.5
    settings = {"lam": 1e-3, "tol": 1e-8, "n_neighbors": 3}
    there = DistributedRTLM(**settings, n_partitions=3).fit(points, codes)
    here = ScreenedRTLM(**settings, active_set=False).fit(points, codes)
    assert_allclose(there.objective_, here.objective_, rtol=1e-7)


@pytest.mark.proof
def test_more_partitions_than_samples(client):
    part = slice(55, 63)
    model = DistributedRTLM(n_partitions=50, n_neighbors=2, lam=0.5).fit(X[part], y[part])
    here = ScreenedRTLM(n_neighbors=2, lam=0.5).fit(X[part], y[part])
    assert_allclose(model.objective_, here.objective_, rtol=1e-5)


@pytest.mark.slow
def test_a_fit_that_is_cut_short_says_so(client):
    with pytest.warns(ConvergenceWarning, match="2 steps reached"):
        DistributedRTLM(lam=0.02, max_iter=2).fit(X, y)


def test_bad_input(client):
    with pytest.raises(ValueError, match=r"^loss\b"):
        DistributedRTLM(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="n_partitions"):
        DistributedRTLM(n_partitions=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^n_neighbors\b"):
        DistributedRTLM(n_neighbors=len(X)).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        DistributedRTLM().fit(np.where(X > 2.0, np.nan, X), y)
    with pytest.raises(TypeError, match="triplets"):
        DistributedRTLM().fit(X, triplets=[[0, 1, 2]])


def test_too_many_pairs_are_refused_by_the_workers(client, monkeypatch):
    def little(*args, **kwargs):
        raise MemoryError("9 triplets on 6 pairs would need too much")

    monkeypatch.setattr("skscreen.distributed.comparisons.rtlm_triplets", little)
    with pytest.raises(MemoryError, match="9 triplets"):
        DistributedRTLM().fit(X, y)
