import warnings

import numpy as np
import pytest
from chain_cases import CODES, LENGTHS, X, Y, digit_words, weights_of, with_constants
from chain_reference import margin_objective, margin_optimum
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skscreen import ChainCRF, MaxMarginChain, SequenceTransformer
from tests.awkward_data import UNEVEN

SOLVERS = ["frank-wolfe", "smoothing", "pragam", "bmrm"]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("C", "intercept", "ends"), [(0.1, True, False), (2.0, False, True)])
def test_conic_solver(solver, C, intercept, ends):
    lam, tol = 1.0 / (C * len(X)), 1e-3
    whole = with_constants(X, intercept, ends)
    best = margin_optimum(whole, CODES, 3, lam)
    model = MaxMarginChain(
        C, solver=solver, fit_intercept=intercept, fit_start_end=ends, tol=tol
    ).fit(X, Y)
    w = weights_of(model, intercept, ends)
    assert_allclose(model.objective_, margin_objective(whole, CODES, 3, lam, w), rtol=1e-10)
    assert best - 1e-9 <= model.objective_ <= best / (1.0 - tol) + 1e-9
    assert model.objective_ * (1.0 - model.dual_gap_) <= best + 1e-9
    assert 0.0 <= model.dual_gap_ <= tol
    last = model.history_[-1]
    assert last["primal"] == model.objective_ and last["iteration"] == model.n_iter_
    assert_allclose(last["primal"] - last["dual"], model.dual_gap_ * model.objective_, atol=1e-12)


@pytest.mark.few(2)
@pytest.mark.parametrize("C", [0.1, 2.0, 50.0])
def test_many_digits(C):
    best = margin_optimum(X, CODES, 3, 1.0 / (C * len(X)))
    model = MaxMarginChain(C, fit_intercept=False, tol=1e-9).fit(X, Y)
    assert_allclose(model.objective_, best, rtol=1e-7)


def test_words_of_digits():
    """Steps between labels help where single digits are hard to read."""
    train = digit_words(150, 0, slice(0, 900))
    test = digit_words(150, 1, slice(900, None))
    model = MaxMarginChain(0.1, tol=1e-2)
    score = model.fit(*train).score(*test)
    # The same labels one by one: sequences of length one know no steps.
    alone = [
        (
            [row[None] for part in X for row in part],
            [label for part in y for label in part[:, None]],
        )
        for X, y in (train, test)
    ]
    assert score > 0.7
    assert score > model.fit(*alone[0]).score(*alone[1]) + 0.05


def test_long_sequences_need_many_labellings():
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 4, 150) for _ in range(4)]
    X = [np.eye(4)[labels] + rng.normal(size=(150, 4)) for labels in y]
    fast, slow = (MaxMarginChain(1.0, solver=name, tol=5e-3).fit(X, y)
                  for name in ("frank-wolfe", "pragam"))  # fmt: skip
    assert abs(fast.objective_ - slow.objective_) <= 5e-3 * fast.objective_


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "balanced"])
def test_dense_and_sparse_rows_of_many_labels_have_one_optimum(weights):
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 7, length) for length in (1, 2, 9, 30, 4, 12)]
    dense = [rng.normal(size=(len(labels), 9)) * rng.integers(0, 2, 9) for labels in y]
    model = MaxMarginChain(2.0, tol=1e-6, class_weight=weights)
    values = [
        clone(model).fit(X, y).objective_ for X in (dense, [sparse.csr_array(x) for x in dense])
    ]
    assert_allclose(*values, rtol=2e-6)


@pytest.mark.slow
def test_sweeps_that_slow_down_give_way_to_smoothing():
    """Noise of the size of the data: sweeps alone, and in turns with smoothing, took 1,259."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 30))
    y = [rng.integers(3, size=15) for _ in range(20)]
    X = [centres[labels] + rng.normal(scale=np.sqrt(30), size=(15, 30)) for labels in y]
    model = MaxMarginChain(random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-3
    assert model.n_iter_ < 800


def test_the_order_of_visits_is_drawn():
    one, same, other = (MaxMarginChain(random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    assert_array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)


def test_few_iterations_warn_with_the_gap(capsys):
    with pytest.warns(ConvergenceWarning, match="tol=1e-09"):
        MaxMarginChain(tol=1e-9, max_iter=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        MaxMarginChain(verbose=1).fit(X, Y)
    assert "100% gap=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"solver": "lbfgs"}, "'solver' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"class_weight": {"x": -1.0, "y": 1.0, "z": 1.0}}, "class_weight must hold"),
        ({"class_weight": {"q": 1.0}}, r"^class_weight\b"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MaxMarginChain(**options).fit(X, Y)


@pytest.mark.parametrize("size", [1e-12, 1e6])
@pytest.mark.parametrize("solver", ["frank-wolfe", "pragam", "bmrm"])
def test_badly_scaled_data_keep_the_certificate(size, solver):
    model = MaxMarginChain(solver=solver, max_iter=200, fit_intercept=False)
    scaled = [size * x for x in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scaled, Y)
    unscaled = SequenceTransformer(StandardScaler()).fit_transform(scaled)
    assert [len(x) for x in unscaled] == LENGTHS
    lam, w = 1.0 / len(X), weights_of(model, False, False)
    assert_allclose(model.objective_, margin_objective(scaled, CODES, 3, lam, w), rtol=1e-9)


SEPARATED = [np.array([[12573022.10933933]]), np.array([[-13210486.330130189]])]


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{"fit_start_end": False}, {}, {"fit_intercept": False}])
def test_temperatures_too_low_for_floating_point_end_the_fit(options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = MaxMarginChain(1000.0, solver="smoothing", max_iter=300, **options)
        model.fit(SEPARATED, [[0], [1]])
    assert model.dual_gap_ <= 1e-3 or (len(caught) == 1 and model.dual_gap_ <= 1.0)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_an_optimum_below_the_rounding_errors_of_losses_is_reached(C):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, known = (
            MaxMarginChain(C, solver=solver, max_iter=1000).fit(SEPARATED, [[0], [1]])
            for solver in ("auto", "frank-wolfe")
        )
    assert model.dual_gap_ <= 1e-3
    assert_allclose(model.objective_, known.objective_, rtol=2e-3)


@pytest.mark.parametrize("max_iter", [3, 10])
def test_no_more_iterations_than_asked_for(max_iter):
    with pytest.warns(ConvergenceWarning, match=f"{max_iter} iterations reached"):
        model = MaxMarginChain(100.0, tol=1e-14, max_iter=max_iter).fit(X, Y)
    assert model.n_iter_ == max_iter


@pytest.mark.few(5)
@pytest.mark.parametrize("name", UNEVEN)
@pytest.mark.parametrize(
    "model",
    [
        MaxMarginChain(),
        MaxMarginChain(class_weight="balanced"),
        ChainCRF(),
        ChainCRF(class_weight="balanced"),
    ],
    ids=["margin", "weighted margin", "likelihood", "weighted likelihood"],
)
def test_columns_of_uneven_scale_are_solved(model, name):
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=20) for _ in range(30)]
    plain = [np.c_[b + rng.normal(scale=0.4, size=20), rng.normal(size=20)] for b in y]
    scaled = [UNEVEN[name](x) for x in plain]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = clone(model).fit(scaled, y)
    assert found.dual_gap_ <= 1e-3
    # The penalty of columns of large numbers is next to nothing.
    wanted = clone(model).fit(plain, y)
    assert found.objective_ <= wanted.objective_ * 1.01
    assert found.score(scaled, y) >= wanted.score(plain, y) - 0.03


@pytest.mark.few(1)
@pytest.mark.parametrize("first", [0.0, 1.6e9], ids=["of a year", "of an hour"])
def test_weighted_time_stamps_are_solved(first):
    """The optimum is that without the column, which is a constant with a change of next to none."""
    rng = np.random.default_rng(1)
    y = [(rng.random(int(length)) < 0.15).astype(int) for length in rng.integers(5, 15, size=60)]
    X = [rng.normal(size=(b.size, 3)) + np.outer(b, [1.0, 0.5, 0.0]) for b in y]
    times = [first + 1e8 * rng.random() * (first == 0.0) + 60.0 * np.arange(b.size) for b in y]
    model, none = (MaxMarginChain(class_weight={0: 1.0, 1: 30.0}, random_state=0) for _ in "12")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit([np.c_[x, t] for x, t in zip(X, times, strict=True)], y)
        none.fit(X, y)
    assert model.dual_gap_ <= 1e-3
    assert model.objective_ <= none.objective_ * 1.001


@pytest.mark.proof
def test_grey_values_of_pixels_are_solved():
    """Frank-Wolfe alone is far from the optimum after 2000 sweeps, at gaps of half."""
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=10) for _ in range(8)]
    X = [np.c_[b + rng.normal(scale=0.4, size=10), rng.integers(256, size=(10, 5))] for b in y]
    model = MaxMarginChain(random_state=0)
    with pytest.warns(ConvergenceWarning, match="230 iterations"):
        assert clone(model).set_params(max_iter=230).fit(X, y).dual_gap_ > 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.n_iter_ < 1000
    assert np.all(np.diff(model.history_["iteration"]) > 0)
    known = MaxMarginChain(solver="smoothing").fit(X, y)
    assert_allclose(model.objective_, known.objective_, rtol=2e-3)


def test_auto_follows_the_scales_of_the_columns():
    even, uneven = (MaxMarginChain(tol=1e-2, random_state=0) for _ in range(2))
    even.fit(X, Y), uneven.fit([x * [1.0, 1e5] for x in X], Y)
    for model, solver, given in (
        (even, "frank-wolfe", X),
        (uneven, "smoothing", [x * [1.0, 1e5] for x in X]),
    ):
        same = MaxMarginChain(tol=1e-2, solver=solver, random_state=0).fit(given, Y)
        assert_array_equal(model.coef_, same.coef_)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("C", [1.0, 10.0])
def test_large_columns_that_tell_of_the_labels_are_solved(C):
    """Three noisy columns of 1e8, or one with the label itself: mixtures of few points miss it."""
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, 8) for _ in range(40)]
    noisy = [1e8 * (np.eye(3)[labels] + 0.5 * rng.normal(size=(8, 3))) for labels in y]
    single = [(1e8 * (labels - 1) + 1e6 * rng.normal(size=8))[:, None] for labels in y]
    for large in (noisy, single):
        X = [np.column_stack([rows, rng.normal(size=(8, 3))]) for rows in large]
        model = MaxMarginChain(C).fit(X, y)
        assert model.dual_gap_ <= 1e-3
        assert model.n_iter_ < 3000
