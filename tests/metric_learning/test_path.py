import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rtlm_reference import Explicit, brute_force_triplets, item_matrices
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import scale
from sklearn.utils.validation import check_is_fitted

from skscreen import ScreenedRTLM, rtlm_path, screen_triplets
from skscreen.metric_learning.learning import steps_of
from skscreen.metric_learning.path import RTLMPath
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.solvers.solution import Solution

# 89 wines with 13 features: 801 triplets for three neighbours.
X, y = load_wine(return_X_y=True)
X, y = scale(X[::2]), y[::2]
X.setflags(write=False)
y.setflags(write=False)

# No metric separates the irises, so their path ends by the paper's stopping rule.
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
IRIS_X = scale(IRIS_X)

KINDS = [
    {"loss": loss, "diagonal": diagonal}
    for loss in ("smoothed_hinge", "hinge")
    for diagonal in (False, True)
]


def wine_path(**options):
    return rtlm_path(X, y, **{"n_neighbors": 3, "ratio": 0.6, "n_lams": 12, **options})


@pytest.fixture(scope="module", params=KINDS, ids=str)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def path(kind):
    return wine_path(**kind)


@pytest.fixture(scope="module")
def iris_path():
    return rtlm_path(IRIS_X, IRIS_Y)


# -- the grid ------------------------------------------------------------------------------------


@pytest.mark.few(3)
def test_starts_at_lam_max_with_constant_ratio(path):
    assert path.lams[0] == path.lam_max
    assert_allclose(path.lams[1:] / path.lams[:-1], 0.6)
    model = ScreenedRTLM(lam=1.0, n_neighbors=3, **kind_of(path)).fit(X, y)
    assert path.lam_max == model.lam_max_
    assert path.n_triplets == model.n_triplets_
    assert_array_equal(path[0].components_, model.components_)


def test_absolute_values_that_are_taken_for_fractions_are_warned_of():
    model, absolute = ScreenedRTLM(lam=0.1, n_neighbors=3).fit(X, y), {"relative_lam": False}
    calls = [
        lambda **how: ScreenedRTLM(lam=model.lam_, n_neighbors=3, **how).fit(X, y),
        lambda **how: rtlm_path(X, y, lams=[model.lam_], n_neighbors=3, **how),
        lambda **how: screen_triplets(X, y, lam=model.lam_, reference=model, **how),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="pass relative_lam=False"):
            call()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(**absolute)


def kind_of(path):
    return {"loss": path.model.loss, "diagonal": path.model.diagonal}


def relative_decrease(path):
    loss = np.array([solution.loss for solution in path.solutions])
    return (loss[:-1] - loss[1:]) / loss[:-1] * path.lams[:-1] / (path.lams[:-1] - path.lams[1:])


def test_stopping_rule(iris_path):
    assert_allclose(iris_path.lams[1:] / iris_path.lams[:-1], 0.9)
    assert np.all(relative_decrease(iris_path)[:-1] >= 0.01)
    assert relative_decrease(iris_path)[-1] < 0.01
    # It is not the other rule, that for separable data.
    assert iris_path.solutions[-1].loss > 0.5 * iris_path.objectives[-1]
    assert iris_path.dual_gaps.max() <= 1e-6


def test_stop_moves_the_end(iris_path):
    shorter = rtlm_path(IRIS_X, IRIS_Y, stop=0.1)
    assert len(shorter) < len(iris_path)
    assert_array_equal(shorter.lams, iris_path.lams[: len(shorter)])
    assert relative_decrease(shorter)[-1] < 0.1 <= relative_decrease(shorter)[:-1].min()


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", ["smoothed_hinge", "hinge"])
def test_path_of_separable_data_ends(loss):
    # Two classes far from each other: the loss goes to 0 and the stopping rule alone never holds.
    apart = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [20.0]], 20, axis=0)
    labels = np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = rtlm_path(apart, labels, n_neighbors=3, loss=loss)
    assert path.solutions[-1].loss <= 0.01 * path.objectives[-1]
    assert path.solutions[-2].loss > 0.01 * path.objectives[-2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_automatic_grid_is_finite():
    path = rtlm_path(
        [[0.0], [0.1], [9.0], [9.1]], [0, 0, 1, 1], n_neighbors=1, ratio=1e-3, stop=0, max_iter=1000
    )
    assert len(path) <= 7
    assert path.lams[-1] > 0.0


@pytest.mark.parametrize("n_lams", [1, 2, 5])
def test_n_lams(n_lams):
    path = wine_path(n_lams=n_lams, stop=0.0)
    assert len(path) == n_lams
    assert_allclose(path.lams, path.lam_max * 0.6 ** np.arange(n_lams))


@pytest.mark.parametrize("as_type", [list, tuple, np.array, pd.Series])
def test_given_lams_are_absolute_and_sorted(as_type):
    path = rtlm_path(
        X, y, n_neighbors=3, lams=as_type([50, 2000, 50, 1e9, 300]), relative_lam=False
    )
    assert path.lams.tolist() == [1e9, 2000.0, 300.0, 50.0]
    assert path.dual_gaps.max() <= 1e-6
    assert path.lam_max < 1e9


def test_given_lams_know_no_stopping_rule_but_n_lams():
    lams = [1000.0, 999.9, 999.8]
    assert len(rtlm_path(X, y, n_neighbors=3, lams=lams, relative_lam=False, stop=1e9)) == 3
    first = rtlm_path(X, y, n_neighbors=3, lams=lams, relative_lam=False, n_lams=2)
    assert first.lams.tolist() == lams[:2]


# -- the solutions -------------------------------------------------------------------------------


def test_certificates(path):
    assert path.dual_gaps.max() <= 1e-6
    assert path.dual_gaps.min() >= 0.0
    assert path.converged.all()
    gamma = 0.0 if path.model.loss == "hinge" else 0.05
    triplets = brute_force_triplets(X, y, 3)
    problem = Explicit(item_matrices(X, triplets, path.model.diagonal), gamma)
    for solution, M, lam in zip(path.solutions, path.matrices, path.lams, strict=True):
        certificate = solution.certificate
        assert_allclose(certificate.primal, problem.primal(M, lam), rtol=1e-10)
        assert_allclose(certificate.primal - certificate.dual, certificate.gap, atol=1e-9)
        assert_allclose(solution.loss, problem.losses(problem.margins(M)).sum(), rtol=1e-8)
        if gamma:
            dual = problem.dual(problem.dual_variables(problem.margins(M)), lam)
            assert certificate.primal - dual <= 1.1e-6 * certificate.primal


def test_agrees_with_single_fits(path):
    for i in (1, 5, len(path) - 1):
        model = ScreenedRTLM(
            lam=path.lams[i], relative_lam=False, n_neighbors=3, **kind_of(path)
        ).fit(X, y)
        assert_allclose(path.objectives[i], model.objective_, rtol=1e-6)
        gaps = path.dual_gaps[i] * path.objectives[i], model.dual_gap_ * model.objective_
        radius = sum(np.sqrt(2.0 * gap / path.lams[i]) for gap in gaps)
        M = path[i].get_mahalanobis_matrix()
        assert np.linalg.norm(M - model.get_mahalanobis_matrix()) <= 1.001 * radius


def test_objective_and_loss_fall_with_lam(path):
    losses = np.array([solution.loss for solution in path.solutions])
    assert np.all(np.diff(path.objectives) < 0.0)
    assert np.all(np.diff(losses) < 0.0)
    sizes = np.linalg.norm(path.matrices.reshape(len(path), -1), axis=1)
    assert np.all(np.diff(sizes) > 0.0)


def test_warm_starts_save_iterations():
    lams = wine_path().lams[4:]
    path = rtlm_path(X, y, n_neighbors=3, lams=lams, relative_lam=False)
    cold = [
        rtlm_path(X, y, n_neighbors=3, lams=[lam], relative_lam=False).n_iters[0] for lam in lams
    ]
    assert path.n_iters.sum() < sum(cold)


def test_path_is_a_sequence_of_estimators(path):
    assert isinstance(path, RTLMPath)
    assert len(path) == len(list(path)) == 12
    assert all(isinstance(solution, Solution) for solution in path.solutions)
    assert all(isinstance(model, ScreenedRTLM) for model in path)
    assert [model.lam_ for model in path] == path.lams.tolist()
    assert_allclose([model.lam for model in path], path.lams / path.lam_max)
    assert path.solutions[-1].lam == path.lams[-1]
    with pytest.raises(IndexError):
        path[12]
    for name in ("lams objectives dual_gaps n_iters rates path_rates seconds converged").split():
        assert getattr(path, name).shape == (12,), name
    assert path.matrices.shape == ((12, 13) if path.model.diagonal else (12, 13, 13))
    assert path.seconds.min() > 0.0
    assert path.n_iters.dtype.kind == "i"


def test_matrices_are_those_of_the_estimators(path):
    for i in (0, 7, -1):
        M = path.matrices[i]
        expected = np.diag(M) if path.model.diagonal else M
        assert_allclose(path[i].get_mahalanobis_matrix(), expected, atol=1e-12)


@pytest.mark.few(3)
def test_screening_rates(path):
    for rates in (path.rates, path.path_rates):
        assert rates.min() >= 0.0
        assert rates.max() <= 1.0
    # Near the start nearly everything is decided before the first step.
    assert path.path_rates[1:].mean() > 0.2
    assert path.rates[1:].mean() > 0.5
    without = wine_path(screening=False, **kind_of(path))
    assert_array_equal(without.rates, 0.0)
    assert_allclose(without.objectives, path.objectives, rtol=1e-6)


@pytest.mark.few(3)
@pytest.mark.slow
def test_rates_of_short_solves_are_what_path_screening_would_decide(path):
    if path.model.loss == "hinge":
        pytest.skip("its solves are never short")
    looked = [
        any(event.where == "path" for event in solution.history) for solution in path.solutions
    ]
    assert not all(looked[1:])
    for t in range(1, len(path)):
        # From both sides of what one more pass could change: an exact reference decides as much.
        lams, options = [path.lams[t - 1], path.lams[t]], kind_of(path)
        exact = rtlm_path(X, y, n_neighbors=3, lams=lams, relative_lam=False, tol=1e-10, **options)
        assert path.path_rates[t] == pytest.approx(exact.path_rates[1], abs=0.05)
        assert path.rates[t] >= path.path_rates[t]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "bound", ["gap", "gb", "pgb", "dgb", "cdgb", "rrpb", ["rrpb", "pgb"]], ids=str
)
def test_every_bound_gives_the_same_path(path, bound):
    other = wine_path(bound=bound, **kind_of(path))
    assert_allclose(other.objectives, path.objectives, rtol=1e-6)
    assert other.dual_gaps.max() <= 1e-6
    assert other.rates[1:].max() > 0.0


@pytest.mark.few(4)
@pytest.mark.parametrize("rule", ["linear", "semidefinite"])
def test_every_rule_gives_the_same_path_and_decides_more(path, rule):
    other = wine_path(rule=rule, **kind_of(path))
    assert_allclose(other.objectives, path.objectives, rtol=1e-6)
    assert other.dual_gaps.max() <= 1e-6
    assert other.path_rates.mean() > path.path_rates.mean()


def test_estimator_is_that_of_a_fit(path):
    model = path[3]
    check_is_fitted(model)
    fitted = ScreenedRTLM(lam=path.lams[3], relative_lam=False, n_neighbors=3, **kind_of(path))
    fitted.fit(X, y)
    assert model.lam == pytest.approx(path.lams[3] / path.lam_max)
    same = {"lam": model.lam, "relative_lam": True}
    assert model.get_params() == fitted.get_params() | same
    assert {name for name in vars(model) if name.endswith("_")} == {
        name for name in vars(fitted) if name.endswith("_")
    }
    assert model.lam_ == path.lams[3]
    assert model.lam_max_ == path.lam_max
    assert model.n_triplets_ == path.n_triplets
    assert model.objective_ == path.objectives[3]
    assert model.dual_gap_ == path.dual_gaps[3]
    assert model.n_iter_ == path.n_iters[3]
    assert model.transform(X).shape == (len(X), len(model.components_))
    assert_array_equal(model.screening_history_, steps_of(path.solutions[3:4], path.problem))
    # It is a model of its own.
    assert path[3] is not model
    model.fit(IRIS_X, IRIS_Y)
    assert path[3].n_features_in_ == 13


def test_estimator_keeps_feature_names():
    frame = pd.DataFrame(X, columns=[f"wine_{i}" for i in range(13)])
    path = rtlm_path(frame, pd.Series(y), n_neighbors=3, n_lams=2)
    model = path[-1].set_output(transform="pandas")
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert list(model.transform(frame).columns) == list(model.get_feature_names_out())
    with pytest.raises(NotFittedError):
        check_is_fitted(path.model)


def test_triplets_instead_of_labels():
    triplets = brute_force_triplets(X, y, 3)
    path = rtlm_path(X, triplets=triplets, ratio=0.6, n_lams=12)
    assert path.n_triplets == len(triplets)
    assert_allclose(path.objectives, wine_path().objectives, rtol=1e-6)


@pytest.mark.few(3)
def test_deterministic_and_leaves_the_data_alone(path):
    again = wine_path(**kind_of(path))
    assert_array_equal(again.matrices, path.matrices)
    assert_array_equal(again.n_iters, path.n_iters)
    own_X, own_y = X.copy(), y.copy()
    rtlm_path(own_X, own_y, n_neighbors=3, n_lams=3)
    assert_array_equal(own_X, X)
    assert_array_equal(own_y, y)


def test_pickle(path):
    loaded = pickle.loads(pickle.dumps(path))
    assert_array_equal(loaded.matrices, path.matrices)
    assert_array_equal(loaded[1].transform(X), path[1].transform(X))


def test_solutions_hold_nothing_that_grows_with_the_triplets():
    few, many = (wine_path(n_neighbors=k, n_lams=2, screening=False) for k in (2, 20))
    assert many.n_triplets > 50 * few.n_triplets
    assert len(pickle.dumps(many.solutions)) < 2 * len(pickle.dumps(few.solutions))


# -- what the user is told -----------------------------------------------------------------------


@pytest.mark.few(3)
def test_silent_by_default(path, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wine_path(**kind_of(path))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "grid", [{"n_lams": 12}, {"n_lams": None}, {"lams": [900, 800, 700], "n_lams": 2}], ids=str
)
def test_verbose_draws_a_progress_bar_on_stderr(capsys, grid):
    rtlm_path(IRIS_X, IRIS_Y, ratio=0.6, stop=0.2, verbose=1, **grid)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) > 1
    assert "100%" in lines[-1]
    assert "lam=" in lines[-1]


@pytest.mark.parametrize("verbose", [0, 1])
def test_convergence_warning(kind, verbose):
    with pytest.warns(ConvergenceWarning) as record:
        path = wine_path(max_iter=1, verbose=verbose, **kind)
    assert [warning.filename for warning in record] == [__file__]
    message = str(record[0].message)
    for told in (f"{path.dual_gaps.max():.2e}", "tol=1e-06", "max_iter"):
        assert told in message
    assert_array_equal(path.converged, path.dual_gaps <= 1e-6)
    assert path.n_iters.max() <= 1


def interrupt_after(monkeypatch, n_solves):
    solve, calls = PathSolver.solve, []

    def interrupted(self, lam, options):
        calls.append(lam)
        if len(calls) > n_solves:
            raise KeyboardInterrupt
        return solve(self, lam, options)

    monkeypatch.setattr(PathSolver, "solve", interrupted)


def test_interrupted_path_keeps_what_it_finished(monkeypatch):
    whole = wine_path()
    interrupt_after(monkeypatch, 3)
    with pytest.warns(UserWarning, match=r"\b3 values\b") as record:
        path = wine_path()
    assert [warning.filename for warning in record] == [__file__]
    assert len(path) == 3
    assert_array_equal(path.matrices, whole.matrices[:3])


def test_path_interrupted_before_its_first_value_has_nothing_to_keep(monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        wine_path()


def test_constant_data_gives_one_zero_metric(kind):
    with pytest.warns(UserWarning, match=r"\blam\b") as record:
        path = rtlm_path(np.ones_like(X), y, **kind)
    assert [warning.filename for warning in record] == [__file__]
    assert len(path) == 1
    assert path.lam_max == 0.0
    assert_array_equal(path.matrices, 0.0)
    assert_array_equal(path[0].transform(X), 0.0)


# -- bad arguments (those shared with the estimator are in test_metric_data.py) ------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("ratio", value) for value in (0.0, 1.0, -0.5, 1.5, np.nan, "a", None)],
        *[("stop", value) for value in (-0.1, np.nan, "a", None)],
        *[("n_lams", value) for value in (0, -3, 2.5, "all")],
        *[("lams", value) for value in ([], [1.0, 0.0], [-1.0], [np.nan, 1.0], [np.inf])],
        *[("lams", value) for value in (5.0, [[1.0]], "a", ["a"], [None], [[1.0], [1.0, 2.0]])],
    ],
)
def test_bad_grid(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        rtlm_path(X, y, **{name: value})


@pytest.mark.parametrize("name", ["n_neighbours", "C", "solver", "lam", "store", "weights"])
def test_unknown_option(name):
    with pytest.raises(TypeError, match=name):
        rtlm_path(X, y, **{name: 1})


def test_options_are_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        rtlm_path(X, y, [1.0], 0.5)


def test_too_many_neighbours():
    with pytest.raises(ValueError, match=r"^n_neighbors\b"):
        rtlm_path(X, y, n_neighbors=len(X))


def test_a_solve_cut_short_by_rounding_errors_does_not_stall_the_next():
    """With its step length, 1e-20, one lambda after the other stopped at gaps up to 3e-2."""
    rng = np.random.default_rng(3)
    labels, data = np.arange(60) % 2, rng.normal(size=(60, 5))
    data[:, 0] += labels
    data[0] *= 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = rtlm_path(data, labels, ratio=0.6, n_lams=8, stop=0.0, pull=2.0, n_neighbors=None)
    assert path.dual_gaps.max() <= 1e-5


def test_a_lambda_at_which_the_objective_overflows_is_refused():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match=r"^lam\b.*\boverflows\b"):
        rtlm_path(rows, np.arange(40) % 2, lams=[1e-300, 1e-305], loss="squared_hinge")
