"""What `SVC` accepts, where it can mean the same."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from svm_reference import box_qp, dual, free_optimum

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVCCV, ScreenedSVR
from skscreen.svm.probabilities import probabilities

X, y = load_iris(return_X_y=True)
X = scale(X)
RARE = np.where(np.abs(X) > 0.5, X, 0.0)
SEPARABLE, LABELS = X[:100], np.where(y[:100] == 1, 1.0, -1.0)
WORDS = ["A A", "A", "B", "B B", "A B", "A A B", "B B A"]
COUNTS = np.array([[word.count(letter) for letter in "AB"] for word in WORDS], dtype=float)
KINDS = np.array([1, 1, 2, 2, 1, 1, 2])


def letters(A, B):
    """Kernel of words, which are known to be words."""
    assert all(isinstance(word, str) for word in [*A, *B])
    return np.array([[sum(a.count(c) * b.count(c) for c in "AB") for b in B] for a in A], float)


def test_parameters_without_effect():
    expected = ScreenedSVC().fit(X, y)
    for options in ({"shrinking": False}, {"max_iter": -1}):
        model = ScreenedSVC(**options).fit(X, y)
        assert_array_equal(model.dual_coef_, expected.dual_coef_)


@pytest.mark.few(5)
@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"multi_class": "ovr"}], ids=str)
@pytest.mark.parametrize("labels", [y, y > 0, np.where(y == 1, 5, y)], ids=["3", "2", "names"])
def test_probabilities_of_svc(options, labels):
    # Folds and with them sigmoids differ.
    rows = np.random.default_rng(0).permutation(150)
    data, labels = X[rows], labels[rows]
    with pytest.warns(FutureWarning, match=r"\bprobability\b"):
        model = ScreenedSVC(probability=True, random_state=0, **options).fit(data, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = {name: value for name, value in options.items() if name == "kernel"}
        peer = SVC(probability=True, random_state=0, **kernel).fit(data, labels)
    found, expected = model.predict_proba(data), peer.predict_proba(data)
    assert_allclose(found.sum(axis=1), 1.0)
    if "multi_class" not in options:
        assert np.abs(found - expected).mean() < 0.02
    assert np.mean(model.classes_[found.argmax(axis=1)] == labels) > 0.9
    assert_allclose(model.predict_log_proba(data), np.log(found))
    again = pickle.loads(pickle.dumps(model)).predict_proba(data)
    assert_array_equal(again, found)


def test_coupled_probabilities_are_the_optimum():
    rng = np.random.default_rng(0)
    for k in (3, 5):
        p = rng.uniform(0.05, 0.95, (20, k * (k - 1) // 2))
        # Scores whose sigmoids these are.
        scores, plain = np.log(p / (1.0 - p)), np.tile([-1.0, 0.0], (p.shape[1], 1))
        all_found = probabilities(scores, plain, True)
        # Rows do not depend on each other.
        assert_array_equal(
            np.vstack([probabilities(f[None], plain, True) for f in scores]), all_found
        )
        for found, row in zip(all_found, p, strict=True):
            Q, places = np.zeros((k, k)), zip(*np.triu_indices(k, 1), strict=True)
            for (i, j), r in zip(places, row, strict=True):
                term = np.zeros(k)
                term[i], term[j] = 1.0 - r, -r
                Q += 2.0 * np.outer(term, term)
            # The minimum of q'Qq over sums of 1, which has no negative entry.
            best = np.linalg.solve(Q, np.ones(k))
            assert_allclose(found, best / best.sum(), atol=1e-4)


def test_probabilities_of_classes_that_a_fold_lacks():
    rng = np.random.default_rng(0)
    for labels in ([0, 1, 1, 2, 2], [0, 0, 0, 0, 1], [0, 1, 2, 3]):
        rows = rng.normal(size=(len(labels), 2)) + np.array(labels)[:, None]
        for how in ("ovo", "ovr"):
            model = ScreenedSVC(probability=True, multi_class=how, random_state=0)
            with pytest.warns(FutureWarning, match="`probability`"):
                found = model.fit(rows, labels).predict_proba(rows)
            assert_allclose(found.sum(axis=1), 1.0)


def test_samples_of_negative_weight_are_left_out_as_by_svc():
    weights = np.random.default_rng(0).normal(size=150)
    ours = ScreenedSVC(gamma=0.5, tol=1e-9).fit(X, y, weights)
    theirs = SVC(gamma=0.5, tol=1e-8).fit(X, y, weights)
    # Its `support_` counts the samples that are left.
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    with pytest.raises(ValueError, match=r"^Invalid input.*sample_weight"):
        ScreenedSVC().fit(X, y, -np.ones(150))
    with pytest.raises(ValueError, match=r"^Invalid input.*of y"):
        ScreenedSVC().fit(X, y, np.where(y == 1, 1.0, -1.0))


def test_without_probabilities_it_is_said_what_has_them():
    model = ScreenedSVC().fit(X, y)
    assert not hasattr(model, "predict_proba") and not hasattr(ScreenedSVCCV(), "predict_proba")
    with pytest.raises(AttributeError, match=r"CalibratedClassifierCV\(ScreenedSVC\(\.\.\.\)"):
        model.predict_proba(X)
    chances = CalibratedClassifierCV(ScreenedSVC(), ensemble=False).fit(X, y).predict_proba(X)
    assert np.mean(chances.argmax(axis=1) == y) > 0.9
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.set_params(probability=True).predict_proba(X)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_is_public(gamma):
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    for data in (X, sparse.csr_array(X)):
        for model in (ScreenedSVC(gamma=gamma), ScreenedSVR(gamma=gamma)):
            assert_allclose(model.fit(data, y).gamma_, expected)
    assert not hasattr(ScreenedSVC(kernel="linear").fit(X, y), "gamma_")


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_gamma_may_be_zero(kernel):
    options = {"kernel": kernel, "gamma": 0.0, "coef0": 1.0, "C": 0.1}
    model, peer = (kind(**options).fit(X[20:140], y[20:140]) for kind in (ScreenedSVC, SVC))
    assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "precomputed", lambda A, B: A @ B.T])
def test_gamma_of_another_kernel_is_ignored(kernel):
    data = X @ X.T if kernel == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [
            ScreenedSVC(kernel=kernel, gamma=gamma, random_state=0).fit(data, y)
            for gamma in (0.1, "scale")
        ]
    assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("options", [{"kernel": "linear"}, {}, {"multi_class": "ovr"}], ids=str)
def test_coefficients_of_sparse_samples_are_sparse(container, options):
    dense, thin = (ScreenedSVC(**options).fit(data, y) for data in (RARE, container(RARE)))
    assert isinstance(thin.dual_coef_, container) and isinstance(dense.dual_coef_, np.ndarray)
    assert_allclose(thin.dual_coef_.toarray(), dense.dual_coef_, atol=1e-6)
    if options.get("kernel") == "linear":
        assert isinstance(thin.coef_, container)
        assert_allclose(thin.coef_.toarray(), dense.coef_, atol=1e-6)
    for shown in (RARE, container(RARE)):
        assert_allclose(thin.decision_function(shown), dense.decision_function(RARE), atol=1e-6)
    assert isinstance(ScreenedLinearSVC().fit(container(RARE), y).coef_, np.ndarray)


@pytest.mark.parametrize("make", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_a_kernel_of_strings(make):
    model = ScreenedSVC(kernel=letters, tol=1e-9).fit(make(WORDS), KINDS)
    rows = ScreenedSVC(kernel="linear", tol=1e-9).fit(COUNTS, KINDS)
    table = ScreenedSVC(kernel="precomputed", tol=1e-9).fit(COUNTS @ COUNTS.T, KINDS)
    for words in (WORDS, WORDS[2:4]):
        counts = np.array([[word.count(letter) for letter in "AB"] for word in words])
        scores = model.decision_function(make(words))
        assert_allclose(scores, rows.decision_function(counts), atol=1e-6)
        assert_allclose(scores, table.decision_function(counts @ COUNTS.T), atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(WORDS), model.predict(WORDS))
    search = GridSearchCV(clone(model), {"C": [0.1, 1.0]}, cv=2).fit(2 * WORDS, [*KINDS, *KINDS])
    own = ScreenedSVCCV([0.1, 1.0], cv=2, kernel=letters).fit(2 * WORDS, [*KINDS, *KINDS])
    assert own.best_score_ == search.best_score_
    # And back to rows.
    assert_allclose(model.set_params(kernel="linear").fit(COUNTS, KINDS).coef_, rows.coef_)


@pytest.mark.parametrize("options", [{}, {"intercept": "penalised"}, {"fit_intercept": False}])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_hard_margin_against_clarabel(kernel, options):
    rows = load_breast_cancer().data[:60, :8]
    data, signs = (SEPARABLE, LABELS) if kernel == "linear" else (scale(rows), LABELS[20:80])
    model = ScreenedSVC(np.inf, kernel=kernel, tol=1e-9, **options).fit(data, signs)
    bias = float(options == {"intercept": "penalised"})
    K = data @ data.T if kernel == "linear" else np.exp(-sq(data) / data.shape[1] / data.var())
    Q = signs[:, None] * (K + bias) * signs
    # The solution of every C above its largest dual variable.
    far = np.full(len(signs), 3.0 * np.abs(model.dual_coef_).max())
    alpha = box_qp(Q, far) if options else free_optimum(Q, far, signs)[0]
    assert alpha.max() < 0.5 * far[0]
    assert_allclose(model.objective_, [dual(Q, alpha)], rtol=1e-6)
    assert model.dual_gap_ <= 1e-9
    margins = signs * model.decision_function(data)
    assert_allclose(margins.min(), 1.0, rtol=1e-9)


def sq(data):
    return ((data[:, None] - data) ** 2).sum(axis=2)


def test_a_hard_margin_is_that_of_a_huge_C_with_weights_and_classes():
    weights = np.random.default_rng(0).choice([0.0, 0.5, 3.0], y.size)
    model, peer = (
        kind(C=C, gamma=1.0).fit(X, y, weights) for kind, C in ((ScreenedSVC, np.inf), (SVC, 1e10))
    )
    assert_array_equal(model.predict(X), peer.predict(X))
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-2)


@pytest.mark.parametrize("options", [{}, {"intercept": "penalised"}, {"fit_intercept": False}])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_hard_margin_that_does_not_exist(kernel, options):
    data, labels = (X[50:], y[50:]) if kernel == "linear" else (np.vstack([X, X]), np.r_[y, 1 - y])
    with pytest.raises(ValueError, match=r"^C=inf"):
        ScreenedSVC(np.inf, kernel=kernel, **options).fit(data, labels)


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "model",
    [
        ScreenedLinearSVC(random_state=0),
        ScreenedSVC(kernel="linear"),
        ScreenedSVC(),
        ScreenedSVC(multi_class="ovr"),
        ScreenedSVC(kernel="poly"),
        ScreenedSVC(intercept="penalised"),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(6))
def test_scores_equal_within_rounding_errors_are_of_the_first_class(model, seed):
    """Every sample stands there with either label, so every score is zero."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2, (int(rng.integers(6, 20)), int(rng.integers(1, 4)))).astype(float)
    labels = rng.integers(0, 2, len(data))
    data, labels = np.vstack([data, data]), np.r_[labels, 1 - labels]
    for given in (data, sparse.csr_array(data), data.astype(np.float32)):
        fitted = clone(model).fit(given, labels)
        assert not fitted.predict(given).any()
        one_by_one = [fitted.predict(given[[i]])[0] for i in range(len(labels))]
        assert not np.any(one_by_one)
        assert not fitted.decision_function(given).any()


def test_a_hard_margin_says_how_much_rounding_errors_hide():
    points = np.linspace(0.0, 1.0, 7)[:, None]
    labels = np.arange(7) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ScreenedSVC(np.inf, gamma=1.0, tol=1e-3).fit(points, labels)
    assert model.dual_gap_ >= np.finfo(float).eps * np.abs(model.dual_coef_).sum()


def test_ties_of_two_classes_are_not_broken_by_scores_of_pairs():
    model = ScreenedSVC(break_ties=True, decision_function_shape="ovo").fit(SEPARABLE, LABELS)
    with pytest.raises(ValueError, match=r"^break_ties\b"):
        model.predict(SEPARABLE)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_scores_of_unscaled_data_are_not_taken_for_rounding_errors(loss, n_classes):
    """The terms of a score are huge there, and it is no noise for that."""
    rng = np.random.default_rng(0)
    X = 1000.0 * rng.normal(size=(3000, 4))
    y = np.digitize(X[:, 0] + 1000.0 * rng.normal(size=3000), [0.0, 800.0][: n_classes - 1])
    model = ScreenedLinearSVC(loss=loss, C=1e4).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    expected = scores.argmax(axis=1) if n_classes > 2 else (scores[:, 0] > 0.0).astype(int)
    assert np.mean(model.predict(X) == expected) > 0.999


def test_sparse_weights_predict_samples_of_single_precision():
    samples = sparse.csr_matrix(X * (np.abs(X) > 0.5))
    single = samples.astype(np.float32)
    for model in (
        ScreenedSVC(kernel="linear", multi_class="ovr", intercept="penalised").fit(single, y),
        ScreenedSVC(kernel="linear", multi_class="ovr", intercept="penalised").fit(samples, y),
        ScreenedLinearSVC().fit(samples, y).sparsify(),
    ):
        assert sparse.issparse(model.coef_)
        expected = single @ model.coef_.T.toarray() + model.intercept_
        assert_allclose(model.decision_function(single), np.squeeze(expected), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("sigma", "degree"), [(3.0, 3), (2.0, 5)])
def test_small_scores_of_short_samples_are_no_rounding_errors(sigma, degree, n_classes):
    """With a polynomial kernel scores grow with the length of a sample."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(600, 4))
    side = data[:, 0] / np.linalg.norm(data, axis=1) + 0.15 * rng.normal(size=600)
    labels = np.digitize(side, [0.0, 0.4][: n_classes - 1])
    data *= 1e3 * np.exp(sigma * rng.normal(size=(600, 1)))
    model = ScreenedSVC(kernel="poly", degree=degree, fit_intercept=False, multi_class="ovr")
    model.fit(data, labels)
    K = (model.gamma_ * data @ model.support_vectors_.T) ** degree
    scores = K @ model.dual_coef_.T
    expected = scores.argmax(axis=1) if n_classes > 2 else (scores[:, 0] > 0.0).astype(int)
    assert_array_equal(model.predict(data), expected)


@pytest.mark.parametrize("number", [np.float16, np.float32, np.longdouble])
def test_parameters_may_be_numbers_of_numpy(number):
    """Of any precision; `tol` in a single one overflowed next to limits in a double one."""
    plain = {"C": 0.5, "tol": 0.0078125}
    given = {name: number(value) for name, value in plain.items()}
    for make, targets in (
        (lambda **options: ScreenedSVC(multi_class="ovr", **options), y),
        (lambda **options: ScreenedLinearSVC(random_state=0, **options), y),
        (ScreenedSVR, X[:, 0]),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, expected = make(**given).fit(X, targets), make(**plain).fit(X, targets)
        assert_array_equal(found.predict(X), expected.predict(X))
        assert found.dual_gap_ == expected.dual_gap_


def outcome(model, labels):
    """Return the type and the text of the error of a fit of labels."""
    with pytest.raises((TypeError, ValueError)) as caught:
        model.fit(X[:40], labels)
    return caught.type, str(caught.value)


TWO = y[30:70].copy()
NAMED = np.array(["a", "b"], dtype=object)[TWO]


@pytest.mark.parametrize(
    "labels",
    [
        TWO.astype(object), TWO.astype(float).astype(object), (TWO > 0).astype(object),
        np.where(TWO > 0, np.nan, NAMED), np.where(TWO > 0, None, NAMED)[::-1],
        np.where(TWO > 0, 1, NAMED), np.where(TWO > 0, np.nan, 1.0), X[:40, 0], TWO[:-1],
        np.c_[TWO, TWO], np.ones(40), None, TWO.astype(complex), NAMED.astype("S"),
    ],
    ids=[
        "integers", "floats", "booleans", "NaN", "None", "mixed", "nan", "continuous", "short",
        "columns", "one", "missing", "complex", "bytes",
    ],
)  # fmt: skip
def test_errors_of_labels_are_those_of_svc(labels):
    kind, text = outcome(SVC(), labels)
    found, said = outcome(ScreenedSVC(), labels)
    assert found is kind
    # NumPy's own text of a mixture, and that of NaN without the name, say less.
    if "not supported" not in text:
        assert (
            said.replace("ScreenedSVC", "SVC")
            .replace("Input y", "Input")
            .startswith(text.replace("Input y", "Input").rstrip("."))
        )
    assert outcome(ScreenedLinearSVC(), labels)[0] is outcome(LinearSVC(), labels)[0]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.slow
def test_samples_whose_variance_underflows_are_not_those_of_another_gamma(container):
    for size in (1e-155, 1e-160, 1e-170, 1e-300):
        for kernel in ("rbf", "poly", "sigmoid"):
            with pytest.raises(ValueError, match=r"^X\b"):
                ScreenedSVC(kernel=kernel).fit(container(size * X), y)
        # Classes of 20, 35 and 50 samples: the larger one of a pair is predicted.
        some = np.r_[0:20, 50:85, 100:150]
        linear = ScreenedSVC(kernel="linear").fit(container(size * X[some]), y[some])
        assert_array_equal(linear.predict(container(size * X)), np.full(150, 2))
    usual = ScreenedSVC().fit(container(X), y).decision_function(container(X))
    for size in (1e-140, 1e-153):
        small = ScreenedSVC().fit(container(size * X), y)
        assert_allclose(small.decision_function(container(size * X)), usual, atol=1e-5)


def test_the_variance_of_constant_samples_is_none():
    """As in `SVC`, gamma is 1 then."""
    labels = np.arange(40) % 2
    for rows in (np.zeros((40, 2)), np.full((40, 2), 1e-200), sparse.csr_array((40, 2))):
        assert ScreenedSVC().fit(rows, labels).gamma_ == 1.0


def test_a_variance_of_sparse_samples_that_underflows_is_told():
    # The mean square is a normal number, what is left of it without the square of the mean not.
    column = sparse.csr_array(np.r_[np.full(14, 1.6e-154), 1.7e-154][:, None])
    with pytest.raises(ValueError, match=r"^X\b"):
        ScreenedSVC().fit(column, np.arange(15) % 2)
