"""Paths of regressions against single fits."""

import numpy as np
import pytest
from cases import every_pair
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from skscreen import ScreenedSVR, svr_path
from skscreen.inspection import PathDisplay, ScreeningDisplay

X, y = load_diabetes(return_X_y=True)
X, y = scale(X)[:150, :5], scale(y)[:150]
WEIGHTS = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 150)
CS = [0.01, 0.1, 1.0, 3.0]


@pytest.mark.few(4)
@every_pair(
    loss=["epsilon_insensitive", "squared_epsilon_insensitive"],
    kernel=["rbf", "linear"],
    intercept=["free", "penalised"],
    epsilon=[0.0, 0.2],
)
def test_a_path_has_the_solutions_of_single_fits(loss, kernel, intercept, epsilon):
    options = {"kernel": kernel, "intercept": intercept, "epsilon": epsilon, "tol": 1e-9}
    options["loss"] = loss
    path = svr_path(X, y, Cs=CS[::-1], sample_weight=WEIGHTS, **options)
    np.testing.assert_array_equal(path.Cs, CS)
    assert path.converged.all() and path.dual_gaps.max() <= 1e-9
    # Only where there are bounds, or samples inside a tube, is there much to decide.
    assert epsilon == 0.0 or "squared" in loss or path.path_rates[1:].max() > 0.0
    for k, C in enumerate(CS):
        alone = ScreenedSVR(C, **options).fit(X, y, WEIGHTS)
        model = path[k]
        assert model.C == C and model.objective_ == pytest.approx(alone.objective_, rel=3e-9)
        np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-4)
        np.testing.assert_array_equal(path.dual_coefs[k][model.support_], model.dual_coef_[0])
        assert np.count_nonzero(path.dual_coefs[k]) == model.support_.size
    if kernel == "linear":
        np.testing.assert_array_equal(path.coefs[-1], model.coef_[0])


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_an_eps_path_keeps_its_promise(intercept):
    options = {"intercept": intercept, "epsilon": 0.3}
    path = svr_path(X, y, eps=0.05, C_max=1.0, **options)
    assert path.Cs[-1] == 1.0 and len(path) < 200
    assert path.C_min == 0.0 if intercept == "free" else path.Cs[0] == path.C_min
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (5.0 * X.var()))
    for k in range(0, len(path) - 1, 5):
        C = 0.999 * path.Cs[k + 1]
        model = path[k]
        beta = path.dual_coefs[k]
        loss = np.maximum(np.abs(y - model.predict(X)) - 0.3, 0.0).sum()
        b = 0.0 if intercept == "free" else model.intercept_[0]
        value = 0.5 * (beta @ K @ beta + b * b) + C * loss
        best = ScreenedSVR(C, tol=1e-8, **options).fit(X, y).objective_
        assert value <= best * (1.0 + 0.0501)


def test_a_path_ends_where_there_are_no_losses_any_more():
    path = svr_path(X[:20], y[:20], eps=0.1, epsilon=0.5, gamma=1.0, C_max=1e6)
    assert path.Cs[-1] < 1e6
    model = path[len(path) - 1]
    assert np.abs(y[:20] - model.predict(X[:20])).max() <= 0.5 + 1e-3


def test_figures_of_a_path():
    path = svr_path(X, y, Cs=CS)
    assert PathDisplay.from_path(path).plot().figure_ is not None
    assert ScreeningDisplay.from_path(path).plot().figure_ is not None


def test_wrong_arguments_are_named():
    for wrong, name in (({"C": 1.0}, "C"), ({"Cs": [1.0], "eps": 0.1}, "eps"),
                        ({"epsilon": -1.0}, "epsilon"), ({"store": "x"}, "store")):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=name):
            svr_path(X, y, **wrong)


def test_a_path_of_many_samples():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(2100, 3))
    targets = np.sin(2.0 * data[:, 0]) + 0.3 * rng.normal(size=2100)
    path = svr_path(data, targets, Cs=[0.1, 0.15], tol=1e-5)
    assert path.dual_gaps.max() <= 1e-5
    alone = ScreenedSVR(0.15, tol=1e-5).fit(data, targets)
    assert path.objectives[1] == pytest.approx(alone.objective_, rel=2e-5)
