import pickle
import warnings

import numpy as np
import pytest
from chain_reference import log_loss, margin_objective, margin_optimum
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from skscreen import KernelChainClassifier, PragamChainSVC

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2, 3, 1]
X = [RNG.normal(size=(length, 2)) for length in LENGTHS]
CODES = [RNG.integers(0, 3, length) for length in LENGTHS]
Y = [np.array(["x", "y", "z"])[codes] for codes in CODES]
BOTH = [PragamChainSVC(), KernelChainClassifier()]


def digit_words(n_words, seed, rows):
    """Synthetic words: real images of digits, in sequences drawn from a table of label pairs."""
    images, digits = load_digits(return_X_y=True)
    images, digits = images[rows] / 16.0, digits[rows]
    keep = digits < 5
    images, digits = images[keep], digits[keep]
    table = np.random.default_rng(7).dirichlet(np.full(5, 0.2), size=5)
    rng = np.random.default_rng(seed)
    words = []
    for _ in range(n_words):
        word = [int(rng.integers(5))]
        while len(word) < rng.integers(2, 7):
            word.append(int(rng.choice(5, p=table[word[-1]])))
        words.append(np.array(word))
    noise = [0.6 * rng.normal(size=(len(word), 64)) for word in words]
    pick = [[rng.choice(np.flatnonzero(digits == d)) for d in word] for word in words]
    return [images[p] + e for p, e in zip(pick, noise, strict=True)], words


TRAIN, TEST = digit_words(150, 0, slice(0, 900)), digit_words(150, 1, slice(900, None))


@pytest.mark.parametrize("C", [0.1, 2.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_conic_solver(C, tol):
    lam = 1.0 / (C * len(X))
    best = margin_optimum(X, CODES, 3, lam)
    model = PragamChainSVC(C, tol=tol).fit(X, Y)
    w = np.concatenate([model.coef_.ravel(), model.transition_.ravel()])
    assert_allclose(model.objective_, margin_objective(X, CODES, 3, lam, w), rtol=1e-10)
    assert best - 1e-9 <= model.objective_ <= best + tol
    assert model.objective_ - model.dual_gap_ <= best + 1e-9
    assert 0.0 <= model.dual_gap_ <= tol
    assert_array_equal(model.history_["iteration"], np.arange(model.n_iter_ + 1))
    last = model.history_[-1]
    assert last["primal"] == model.objective_
    assert last["primal"] - last["dual"] == model.dual_gap_


@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize("eta", [1.0, 0.4])
def test_kernel_chain_against_a_plain_optimiser(C, eta):
    """With the linear kernel, on the weights themselves and by enumeration."""
    lam = 1.0 / (C * len(X))
    scale = np.concatenate([np.ones(6), np.full(9, eta)])

    def objective(v):
        return 0.5 * lam * v @ v + log_loss(X, CODES, 3, scale * v)

    best = minimize(objective, np.zeros(15), tol=1e-10)
    model = KernelChainClassifier(C, kernel="linear", transition_scale=eta, tol=1e-8).fit(X, Y)
    assert_allclose(model.objective_, best.fun, atol=1e-7)
    assert model.objective_ - model.dual_gap_ <= best.fun + 1e-9
    assert_allclose(model.transition_.ravel(), (scale * best.x)[6:], atol=1e-3)


def test_kernel_chain_of_single_labels_is_logistic_regression():
    images, digits = load_digits(n_class=3, return_X_y=True)
    images = images[:120] / 16.0
    singles, labels = [row[None] for row in images], [digits[i : i + 1] for i in range(120)]
    model = KernelChainClassifier(0.5, kernel="linear", tol=1e-9).fit(singles, labels)
    peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
    peer.fit(images, digits[:120])
    assert_allclose((model.dual_coef_.T @ model.observations_), peer.coef_, atol=2e-4)
    assert_allclose(model.transition_, 0.0, atol=1e-12)


def test_kernels_of_scikit_learn():
    named = KernelChainClassifier(kernel="rbf", gamma=0.3).fit(X, Y)
    function = KernelChainClassifier(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.3)).fit(X, Y)
    assert_allclose(named.dual_coef_, function.dual_coef_, atol=1e-8)
    for options in ({"kernel": "poly", "degree": 2, "coef0": 1.0}, {"gamma": 3.0}, {"C": 30.0}):
        assert abs(KernelChainClassifier(**options).fit(X, Y).objective_ - named.objective_) > 1e-3


@pytest.mark.parametrize("estimator", BOTH)
def test_words_of_digits(estimator):
    """Steps between labels help where single digits are hard to read."""
    if isinstance(estimator, PragamChainSVC):
        estimator = clone(estimator).set_params(C=0.1, tol=0.02)
    score = clone(estimator).fit(*TRAIN).score(*TEST)
    # The same labels one by one: sequences of length one know no steps.
    train, test = (
        (
            [row[None] for part in X for row in part],
            [label for part in y for label in part[:, None]],
        )
        for X, y in (TRAIN, TEST)
    )
    alone = clone(estimator).fit(*train).score(*test)
    assert score > 0.7
    assert score > alone + 0.05


@pytest.mark.parametrize("estimator", BOTH)
def test_predictions(estimator):
    model = clone(estimator).fit(X, [list(labels) for labels in Y])
    found = model.predict(X)
    assert [len(part) for part in found] == LENGTHS
    right = np.mean(np.concatenate(found) == np.concatenate(Y))
    assert model.score(X, Y) == right
    assert_array_equal(model.classes_, ["x", "y", "z"])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(np.concatenate(again.predict(X)), np.concatenate(found))
    with pytest.raises(ValueError, match="X has 3 features, but was fitted with 2"):
        model.predict([np.zeros((2, 3))])
    with pytest.raises(ValueError, match="y must hold one sequence of labels"):
        model.score(X, Y[:-1])


def test_options_of_pragam_reach_it():
    plain = PragamChainSVC(tol=1e-4).fit(X, Y)
    large = PragamChainSVC(tol=1e-4, lipschitz=1e4).fit(X, Y)
    published = PragamChainSVC(tol=1e-4, restart=False).fit(X, Y)
    assert plain.n_iter_ < large.n_iter_ and plain.n_iter_ < published.n_iter_
    threads = PragamChainSVC(tol=1e-4, n_jobs=2).fit(X, Y)
    assert_allclose(threads.coef_, plain.coef_, atol=1e-8)


def test_few_iterations_warn_with_the_gap(capsys):
    with pytest.warns(ConvergenceWarning, match=r"3 iterations .* gap of \d.*e.* > tol=0.001"):
        PragamChainSVC(max_iter=3).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match=r"distance of at most \d.*e.* > tol=1e-09"):
        KernelChainClassifier(tol=1e-9, max_iter=2).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        PragamChainSVC(verbose=1).fit(X, Y)
    assert "100% gap=" in capsys.readouterr().err


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[0], Y[0], r"X must be a list of arrays .* Put a single sequence into a list"),
        (3.0, Y, "X must be a list of arrays, got float"),
        ([X[0], np.full_like(X[1], np.inf), *X[2:]], Y, r"Input X\[1\] contains infinity"),
        ([], [], "at least one sequence"),
        ([X[0], np.zeros((2, 5))], Y[:2], "same features in all sequences"),
        ([X[0], np.zeros(5)], Y[:2], r"X\[1\] must have shape \(length, n_features\), got \(5,\)"),
        (X, Y[:-1], "y must hold 6 sequences, as X does, got 5"),
        (X, [*Y[:-1], Y[0]], r"y\[5\] must have 1 labels, .* got 3"),
        ([np.full((2, 2), np.nan)], [[0, 1]], "NaN"),
        (X, [np.zeros(length, int) for length in LENGTHS], "number of classes in y has to be"),
        (X, [np.full(length, 0.5) for length in LENGTHS], "continuous"),
    ],
)
def test_bad_sequences(estimator, X, y, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PragamChainSVC(C=0.0), "'C' parameter"),
        (PragamChainSVC(lipschitz="exact"), "'lipschitz' parameter"),
        (PragamChainSVC(tol=0.0), "'tol' parameter"),
        (PragamChainSVC(max_iter=0), "'max_iter' parameter"),
        (KernelChainClassifier(kernel="precomputed"), "'kernel' parameter"),
        (KernelChainClassifier(transition_scale=0.0), "'transition_scale' parameter"),
    ],
)
def test_bad_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("estimator", BOTH)
def test_a_failed_fit_leaves_the_estimator_unfitted(estimator):
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold"):
        model.fit(X, Y[:-1])
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("model", BOTH)
def test_what_cannot_be_learned_from_is_refused_by_name(model):
    for X_given, y_given, message in (
        ([1e200 * part for part in X], Y, "X holds numbers up to .* rescale it"),
        (X, None, "y must be a list of arrays"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X_given, y_given)
    with pytest.raises(ValueError, match="C times the weights"):
        clone(model).set_params(C=1e300).fit(X, Y)
    fitted = clone(model).fit(X, Y)
    assert fitted.score(X, iter(Y)) == fitted.score(X, Y)


def test_a_kernel_chain_refuses_values_that_are_not_finite():
    model = KernelChainClassifier(kernel="poly", degree=30, gamma=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(ValueError, match="kernel has values that are not finite on X"):
            model.fit([1e30 * part for part in X], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("error", category=RuntimeWarning, module="skscreen")
        with pytest.raises(ValueError, match="kernel has values that are not finite on X"):
            KernelChainClassifier(kernel="poly", degree=30, gamma=1e12).fit(X, Y)
    with pytest.raises(ValueError, match="'transition_scale'"):
        KernelChainClassifier(transition_scale=1e308).fit(X, Y)


def test_the_objective_is_that_of_the_coefficients_where_the_line_search_breaks_down():
    model = KernelChainClassifier(transition_scale=1e12, max_iter=100)
    with pytest.warns(ConvergenceWarning):
        model.fit([1e-8 * part for part in X], Y)
    at_zero = np.log(3) * sum(LENGTHS) / len(LENGTHS)
    if not model.transition_.any() and not model.dual_coef_.any():
        assert_allclose(model.objective_, at_zero)
    assert model.objective_ <= at_zero * (1.0 + 1e-9)


def test_a_given_lipschitz_far_too_small_ends_with_a_warning_and_numbers():
    rng = np.random.default_rng(0)
    chains = [1e9 * rng.random((3, 3)) * (rng.random((3, 3)) < 0.4) for _ in range(4)]
    labels = [[0, 1, 0], [0, 2, 0], [0, 0, 1], [2, 2, 1]]
    model = PragamChainSVC(lipschitz=1e6, max_iter=300)
    with pytest.warns(ConvergenceWarning), np.errstate(all="ignore"):
        model.fit(chains, labels)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.transition_).all()
    assert model.n_iter_ < 300


@pytest.mark.parametrize("estimator", BOTH)
def test_labels_in_columns(estimator):
    columns = [labels[:, None] for labels in Y]
    fitted = clone(estimator).fit(X, columns)
    assert fitted.score(X, columns) == fitted.score(X, Y)
