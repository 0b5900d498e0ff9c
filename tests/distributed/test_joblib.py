"""What is parallel by joblib runs on a Dask cluster unchanged, with the same results."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from skscreen import OrdinalEmbedding, PragamSVC, ScreenedLinearSVC, ScreenedSVCCV
from skscreen.datasets import make_triplets

X, y = load_iris(return_X_y=True)
X = scale(X)


def both(fit):
    """Return what is fitted without and with the cluster."""
    plain = in_threads(fit)
    with joblib.parallel_config("dask"):
        return plain, fit()


def in_threads(fit):
    """Return what is fitted in threads: processes would take seconds to start."""
    with joblib.parallel_config("threading"):
        return fit()


def test_grid_search(client):
    search = GridSearchCV(ScreenedLinearSVC(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2)
    plain, spread = both(lambda: search.fit(X, y).cv_results_["mean_test_score"])
    assert_array_equal(plain, spread)


@pytest.mark.parametrize("model", [ScreenedLinearSVC(n_jobs=2), PragamSVC(C=0.1, n_jobs=2)])
def test_one_against_the_rest(client, model):
    plain, spread = both(lambda: model.fit(X, y).decision_function(X))
    assert_array_equal(plain, spread)


def test_restarts(client):
    points = np.random.default_rng(0).standard_normal((12, 2))
    answers = make_triplets(points, 150, random_state=0)
    model = OrdinalEmbedding(n_init=4, n_jobs=2, random_state=0)
    plain, spread = both(lambda: model.fit(answers).embedding_)
    assert_allclose(plain, spread, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_workers_share_the_solutions_of_a_store(client, tmp_path):
    # More rows than small fits have, which keep nothing on disk.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 5))
    labels = (rows[:, 0] + 0.3 * rng.normal(size=400) > 0.0).astype(int)
    grid = {"C": [0.1, 1.0, 10.0]}

    def search(store):
        model = ScreenedLinearSVC(store=store)
        return GridSearchCV(model, grid, cv=2, n_jobs=2).fit(rows, labels).cv_results_

    plain = in_threads(lambda: search(None))
    with joblib.parallel_config("dask"):
        shared = search(str(tmp_path))
        again = search(str(tmp_path))
    assert any(tmp_path.rglob("*.npz"))
    assert_allclose(shared["mean_test_score"], plain["mean_test_score"])
    assert_allclose(again["mean_test_score"], plain["mean_test_score"])


def test_searches_of_the_package(client, tmp_path):
    def search(store=None):
        return ScreenedSVCCV(Cs=[0.1, 1.0], cv=2, n_jobs=2, store=store).fit(X, y).scores_

    plain = in_threads(search)
    with joblib.parallel_config("dask"):
        assert_allclose(search(str(tmp_path)), plain)
