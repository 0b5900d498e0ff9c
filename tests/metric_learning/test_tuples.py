"""The contract of metric-learn's tuple classifiers and Mahalanobis mixin, on ours, and our own.

Deliberate differences are listed in doc/coming_from/metric_learn.md.
"""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import mahalanobis, pdist, squareform
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from skscreen import (
    RTLMPairsClassifier,
    RTLMQuadrupletsClassifier,
    RTLMTripletsClassifier,
    ScreenedRTLM,
)

X, LABELS = load_iris(return_X_y=True)
X = X[np.random.default_rng(0).permutation(150)]
LABELS = LABELS[np.random.default_rng(0).permutation(150)]
SIZES = {RTLMPairsClassifier: 2, RTLMTripletsClassifier: 3, RTLMQuadrupletsClassifier: 4}
KINDS = list(SIZES)


def made(kind, n=120, seed=0):
    """Tuples of indices of X that the labels have right, and their answers."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.choice(150, SIZES[kind], replace=False) for _ in range(8 * n)])
    alike = LABELS[rows[:, 0]] == LABELS[rows[:, 1]]
    if kind is RTLMPairsClassifier:
        return rows[:n], np.where(alike, 1, -1)[:n]
    first = 0 if kind is RTLMTripletsClassifier else 2
    rows = rows[alike & (LABELS[rows[:, first]] != LABELS[rows[:, -1]])][:n]
    return rows, np.ones(len(rows), dtype=int)


def given(kind, with_preprocessor):
    """Return an estimator with what to fit it with."""
    rows, y = made(kind)
    if with_preprocessor:
        return kind(preprocessor=X), rows, y
    return kind(), X[rows], y


both = pytest.mark.parametrize("with_preprocessor", [True, False])
every = pytest.mark.parametrize("kind", KINDS)


def with_identity(kind, d=5):
    """Return an estimator whose metric is Euclidean."""
    rng = np.random.default_rng(1)
    tuples = rng.normal(size=(20, SIZES[kind], d))
    model = kind().fit(tuples, np.tile([1, -1], 10))
    model.components_ = np.eye(d)
    return model


# -- what metric-learn asks of all of them -------------------------------------------------------


@both
@every
def test_predictions_are_one_or_minus_one(kind, with_preprocessor):
    model, tuples, y = given(kind, with_preprocessor)
    train, test, y_train, _ = train_test_split(tuples, y, random_state=0)
    assert set(model.fit(train, y_train).predict(test)) <= {-1, 1}


@both
@every
def test_nothing_is_there_before_fit(kind, with_preprocessor):
    model, tuples, y = given(kind, with_preprocessor)
    calls = [
        lambda: model.predict(tuples), lambda: model.decision_function(tuples),
        lambda: model.pair_score(tuples[:, :2]), lambda: model.pair_distance(tuples[:, :2]),
        lambda: model.transform(X), model.get_metric, model.get_mahalanobis_matrix,
    ]  # fmt: skip
    if kind is RTLMPairsClassifier:
        calls += [lambda: model.calibrate_threshold(tuples, y), lambda: model.set_threshold(0.5)]
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_accuracy_of_a_known_metric(kind):
    """Of points on a line one of four comparisons is right."""
    model = with_identity(kind)
    at = np.arange(4.0)[:, None] * np.ones(5)
    order = [[0, 2, 1], [1, 3, 0], [1, 2, 3], [3, 0, 2]]
    if kind is RTLMQuadrupletsClassifier:
        order = [[0, 2, 0, 1], [1, 3, 1, 0], [1, 2, 0, 3], [3, 0, 2, 1]]
    assert model.score(at[np.array(order)]) == 0.25
    assert model.score(at[np.array(order)], [-1, 1, 1, 1]) == 0.5


@pytest.mark.parametrize("kind", KINDS[1:])
def test_equal_distances_are_not_in_order(kind):
    model = with_identity(kind, d=2)
    ties = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[2.0, 2.0]] * 3])
    if kind is RTLMQuadrupletsClassifier:
        ties = ties[:, [0, 1, 0, 2]]
    assert_array_equal(model.predict(ties), [-1, -1])
    assert model.score(ties) == model.score(ties, [-1, -1]) == 0.0


@both
def test_a_threshold_divides_pairs(with_preprocessor):
    model, pairs, y = given(RTLMPairsClassifier, with_preprocessor)
    model.fit(pairs[:90], y[:90])
    scores, predicted = model.pair_score(pairs[90:]), model.predict(pairs[90:])
    assert scores[predicted == -1].max() < -model.threshold_ <= scores[predicted == 1].min()


def test_accuracy_of_pairs_on_a_line():
    model = with_identity(RTLMPairsClassifier)
    at = np.arange(4.0)[:, None] * np.eye(5)[0] / 4.0
    model.set_threshold(0.5)
    pairs = at[np.array([[0, 1], [0, 3], [1, 2], [2, 3]])]
    assert_array_equal(model.predict(pairs), [1, -1, 1, 1])
    assert model.score(pairs, [1, -1, 1, 1]) == 1.0
    assert model.score(pairs, [-1, 1, -1, -1]) == 0.0


# -- the Mahalanobis mixin, of ScreenedRTLM too --------------------------------------------------


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def model(request):
    estimator, tuples, y = given(request.param, False)
    return estimator.fit(tuples, y)


def test_pair_score_is_minus_the_distance(model):
    pairs = np.array(list(product(X[:20], X[:20])))
    assert_array_equal(model.pair_score(pairs), -model.pair_distance(pairs))


def test_distances_of_pairs_are_those_of_mapped_samples(model):
    pairs = np.array(list(product(X[:20], X[:20])))
    distances = model.pair_distance(pairs).reshape(20, 20)
    assert np.all(distances >= 0) and np.all(distances.diagonal() == 0.0)
    assert_array_equal(distances, distances.T)
    assert np.all(distances <= distances[:, :, None] + distances[:, None, :] + 1e-12)
    assert_allclose(squareform(distances), pdist(model.transform(X[:20])), atol=1e-12)
    assert_allclose(model.transform(X), X @ model.components_.T)


def test_pairs_and_samples_of_another_shape_are_refused(model):
    pairs = np.array(list(product(X[:3], X[:3])))
    for wrong in (pairs[0], X, pairs[:, :, :2], pairs[:, [0, 1, 1]]):
        with pytest.raises(ValueError, match="pairs must"):
            model.pair_distance(wrong)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.transform(X[0])
    with pytest.raises(ValueError, match=r"^X\b"):
        model.transform(X[:, :3])


def test_the_map_is_linear(model):
    total = model.transform(X[:10]) + model.transform(X[10:20])
    assert_allclose(model.transform(X[:10] + X[10:20]), total, atol=1e-12)
    assert_allclose(model.transform(5 * X[:10]), 5 * model.transform(X[:10]), atol=1e-12)


def test_metric_is_a_mahalanobis_distance(model):
    metric, M = model.get_metric(), model.get_mahalanobis_matrix()
    assert_array_equal(M, M.T)
    for seed in range(10):
        a, b, c = np.random.default_rng(seed).normal(size=(3, 4))
        assert_allclose(metric(a, b), mahalanobis(a, b, VI=M), rtol=1e-12)
        assert metric(a, b) == metric(b, a) >= 0.0 == metric(a, a)
        assert metric(a, c) <= metric(a, b) + metric(b, c) + 1e-12
        assert_allclose(metric(a, b, squared=True), metric(a, b) ** 2, rtol=1e-14)
        assert metric(a[None], b) == metric(a, b)
    again = pickle.loads(pickle.dumps(metric))
    model.components_[:] = 0.0
    assert again(X[0], X[9]) == metric(X[0], X[9]) > 0.0


def test_metric_takes_vectors_only(model):
    metric = model.get_metric()
    for u, v in ((X[:4], X[1:5]), (X[0], X[1:5]), (X[0], X[0, :3]), (X[:0], X[0]), (0.0, X[0])):
        with pytest.raises(ValueError, match=r"^[uv]\b"):
            metric(u, v)


def test_scikit_learn_takes_the_metric(model):
    assert DBSCAN(metric=model.get_metric()).fit(X[:40]).labels_.shape == (40,)


@every
def test_one_feature(kind):
    rows, y = made(kind)
    model = kind().fit(X[:, 1:2][rows], y)
    assert model.components_.shape == (1, 1)


# -- thresholds ----------------------------------------------------------------------------------

STRATEGIES = [
    {"strategy": "accuracy"},
    *({"strategy": "f_beta", "beta": beta} for beta in (0, 0.1, 0.5, 1.0, 5.0)),
    *({"strategy": s, "min_rate": rate}
      for s in ("max_tpr", "max_tnr") for rate in (0, 0.1, 0.5, 0.8, 1.0)),
]  # fmt: skip


def quality(y, predicted, strategy, min_rate=None, beta=1.0):
    """Return what a strategy wants to be great, by its definition."""
    right = np.sum((predicted == 1) & (y == 1))
    tpr = right / max(np.sum(y == 1), 1)
    tnr = np.sum((predicted == -1) & (y == -1)) / max(np.sum(y == -1), 1)
    if strategy == "accuracy":
        return np.mean(y == predicted)
    if strategy == "max_tpr":
        return tpr if tnr >= min_rate else -1.0
    if strategy == "max_tnr":
        return tnr if tpr >= min_rate else -1.0
    precision = right / max(np.sum(predicted == 1), 1)
    return (1 + beta**2) * precision * tpr / ((beta**2 * precision + tpr) or 1.0)


@pytest.mark.few(8)
@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("how", STRATEGIES, ids=str)
def test_no_other_threshold_is_better(how, duplicates):
    rng = np.random.default_rng(42)
    pairs, y = rng.normal(size=(50, 2, 5)), rng.choice([-1, 1], 50)
    if duplicates:
        pairs[6:10] = pairs[10:14]
        y[6:8] = y[10:12]
    model = with_identity(RTLMPairsClassifier).calibrate_threshold(pairs, y, **how)
    best = quality(y, model.predict(pairs), **how)
    distances = model.pair_distance(pairs)
    for threshold in (0.0, *distances, distances.max() + 1.0):
        found = quality(y, model.set_threshold(threshold).predict(pairs), **how)
        assert found <= best + 1e-12


@pytest.mark.parametrize(
    ("y", "how", "accepted"),
    [
        # Dissimilar pairs are the near ones.
        ([-1, -1, -1, -1, 1, 1, 1], {"strategy": "accuracy"}, False),
        ([-1, -1, -1, 1, 1, 1, 1], {"strategy": "accuracy"}, True),
        ([-1, -1, -1, 1, 1, 1, 1], {"strategy": "max_tpr", "min_rate": 0.0}, True),
        ([-1, -1, -1, 1, 1, 1, 1], {"strategy": "max_tnr", "min_rate": 0.0}, False),
        ([-1, 1, -1, 1, -1, 1], {"strategy": "f_beta", "beta": 1.0}, True),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_all_or_none_can_be_best(y, how, accepted, scale):
    model = with_identity(RTLMPairsClassifier, d=1)
    pairs = scale * np.stack([np.zeros(len(y)), np.arange(len(y))], axis=1)[:, :, None]
    model.calibrate_threshold(pairs, y, **how)
    assert_array_equal(model.predict(pairs), [1 if accepted else -1] * len(y))


@pytest.mark.few(14)
@pytest.mark.slow
@both
@pytest.mark.parametrize("how", [None, {}, *STRATEGIES], ids=str)
def test_fit_calibrates(how, with_preprocessor):
    model, pairs, y = given(RTLMPairsClassifier, with_preprocessor)
    threshold = model.fit(pairs, y, calibration_params=how).threshold_
    assert model.calibrate_threshold(pairs, y, **(how or {})).threshold_ == threshold
    assert set(model.predict(pairs)) <= {-1, 1}


@pytest.mark.few(15)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"strategy": "weird"}, r"^strategy\b"),
        *(({"strategy": s, "min_rate": rate}, r"^min_rate\b")
          for s in ("max_tpr", "max_tnr") for rate in (None, "weird", -0.2, 1.2, 3 + 2j, np.nan)),
        *(({"strategy": "f_beta", "beta": beta}, r"^beta\b")
          for beta in (None, "weird", 3 + 2j, np.nan, 1e300)),
    ],
)  # fmt: skip
def test_wrong_calibration_is_refused_before_the_fit(how, message, monkeypatch):
    model, pairs, y = given(RTLMPairsClassifier, False)
    model.fit(pairs, y)
    with pytest.raises(ValueError, match=message):
        model.calibrate_threshold(pairs, y, **how)

    def fit(*_, **__):
        raise AssertionError

    monkeypatch.setattr(ScreenedRTLM, "fit", fit)
    with pytest.raises(ValueError, match=message):
        model.fit(pairs, y, calibration_params=how)


def test_set_threshold_takes_a_number():
    model = with_identity(RTLMPairsClassifier)
    assert model.set_threshold(0.5) is model and model.threshold_ == 0.5
    assert model.set_threshold(np.float32(2)).threshold_ == 2.0
    for wrong in ("ABC", None, [1, 2, 3], {"key": None}, (1, 2), set(), np.ones((2, 2)), np.nan):
        with pytest.raises(ValueError, match=r"^threshold\b"):
            model.set_threshold(wrong)


# -- what is learned -----------------------------------------------------------------------------


@pytest.mark.slow
@every
def test_vectors_indices_names_and_lists_give_the_same_metric(kind):
    rows, y = made(kind)
    model = kind(preprocessor=X).fit(rows, y)
    assert model.dual_gap_ <= model.tol
    names = np.array([f"{i}.png" for i in range(150)])

    def open_images(some):
        return [X[int(name[:-4])] for name in some]

    for other, tuples in (
        (kind(), X[rows]), (kind(), X[rows].tolist()), (kind(preprocessor=X.tolist()), rows),
        (kind(preprocessor=open_images), names[rows]), (kind(preprocessor=X), X[rows]),
    ):  # fmt: skip
        other.fit(tuples, y)
        assert_allclose(other.get_mahalanobis_matrix(), model.get_mahalanobis_matrix(), rtol=1e-3)
        assert_allclose(other.decision_function(tuples), model.decision_function(rows), rtol=1e-3)
        assert other.n_features_in_ == 4 and other.n_triplets_ == model.n_triplets_
    assert_allclose(model.transform(np.arange(3)), model.transform(X[:3]))


@every
def test_indices_in_integers_of_pandas(kind):
    rows, y = made(kind)
    expected = kind(preprocessor=X).fit(rows, y).objective_
    nullable = pd.DataFrame(rows).astype("Int64")
    assert kind(preprocessor=X).fit(nullable, y).objective_ == expected


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_negative_answer_turns_a_comparison_round(kind):
    rows, _ = made(kind)
    model = kind(preprocessor=X).fit(rows)
    turned, y = rows.copy(), np.ones(len(rows), dtype=int)
    y[::2] = -1
    turned[::2] = rows[::2][:, [0, 2, 1] if kind is RTLMTripletsClassifier else [2, 3, 0, 1]]
    assert_allclose(model.objective_, kind(preprocessor=X).fit(turned, y).objective_, rtol=1e-6)
    assert model.score(turned, y) == model.score(rows) > 0.8


def test_features_in_another_order_than_those_of_the_preprocessor():
    frame = pd.DataFrame(X, columns=list("abcd"))
    rows, y = made(RTLMPairsClassifier)
    model = RTLMPairsClassifier(preprocessor=frame).fit(rows, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert_allclose(model.transform(frame), X @ model.components_.T)
    assert_allclose(model.transform(np.arange(3)), model.transform(frame[:3]))
    with pytest.raises(ValueError, match="same order"):
        model.transform(frame[list("dcba")])
    assert not hasattr(model.set_params(preprocessor=X).fit(rows, y), "feature_names_in_")


def test_the_problems_are_those_of_the_transformer():
    options = {"lam": 0.1, "width": 0.2, "diagonal": True, "tol": 1e-8}
    for kind in KINDS:
        rows, y = made(kind)
        model = kind(preprocessor=X, **options).fit(rows, y)
        lists = {model._name: rows}
        if kind is RTLMPairsClassifier:
            lists = {"pairs": (rows[y == 1], rows[y == -1])}
            assert model.n_triplets_ == np.sum(y == 1) * np.sum(y == -1)
        other = ScreenedRTLM(**options).fit(X, **lists)
        assert_allclose(model.objective_, other.objective_, rtol=1e-7)
    bounded = RTLMPairsClassifier(bounds=(1.0, 3.0), preprocessor=X).fit(*made(RTLMPairsClassifier))
    pairs, y = made(RTLMPairsClassifier)
    other = ScreenedRTLM().fit(X, pairs=(pairs[y == 1], pairs[y == -1], 1.0, 3.0))
    assert_allclose(bounded.objective_, other.objective_, rtol=1e-5)


@pytest.mark.parametrize("cut", [lambda pairs: pd.DataFrame(pairs), np.asfortranarray,
                                 lambda pairs: np.hstack((pairs, pairs))[:, 1:3]])  # fmt: skip
def test_pairs_may_be_columns_of_a_frame_or_of_a_wider_array(cut):
    pairs, y = made(RTLMPairsClassifier)
    S, D = (cut(pairs[y == sign]) for sign in (1, -1))
    found = ScreenedRTLM(lam=0.1).fit(X, pairs=(S, D))
    right = ScreenedRTLM(lam=0.1).fit(X, pairs=(np.asarray(S).tolist(), np.asarray(D).tolist()))
    assert_array_equal(found.get_mahalanobis_matrix(), right.get_mahalanobis_matrix())


@pytest.mark.parametrize("loss", ["smoothed_hinge", "hinge"])
def test_every_similar_pair_is_compared_with_every_dissimilar_one(loss):
    """As listed one by one; with long and with short rows."""
    pairs, y = made(RTLMPairsClassifier, 200)
    for most in (200, 20):
        S, D = pairs[y == 1][:20], pairs[y == -1][:most]
        listed = np.array([(*near, *far) for near in S for far in D])
        model = ScreenedRTLM(lam=0.1, loss=loss).fit(X, pairs=(S, D))
        other = ScreenedRTLM(lam=0.1, loss=loss).fit(X, quadruplets=listed)
        assert model.n_triplets_ == other.n_triplets_ == len(listed)
        assert model.dual_objective_ <= other.objective_ * (1 + 1e-12)
        assert other.dual_objective_ <= model.objective_ * (1 + 1e-12)
        assert model.dual_gap_ <= 1e-6
    for other in ({"triplets": [[0, 1, 2]]}, {"comparison_weight": np.ones(5)}):
        with pytest.raises(ValueError, match=r"\bbounds\b"):
            ScreenedRTLM().fit(X, pairs=(S, D), **other)


@every
def test_equal_vectors_in_a_tuple_are_two_samples(kind):
    rows, y = made(kind)
    tuples = X[rows]
    tuples[3, 1] = tuples[3, 0]
    model = kind().fit(tuples, y)
    assert model.dual_gap_ <= model.tol and np.all(np.isfinite(model.decision_function(tuples)))


@pytest.mark.few(3)
@both
@every
@pytest.mark.slow
def test_cross_validation_splits_tuples(kind, with_preprocessor):
    model, tuples, y = given(kind, with_preprocessor)
    assert cross_val_score(model, tuples, y, cv=2).min() > 0.7
    search = GridSearchCV(model, {"lam": [0.1, 0.001]}, cv=2).fit(tuples, y)
    assert search.best_estimator_.lam in (0.1, 0.001) and search.score(tuples, y) > 0.7
    again = clone(model).fit(tuples, y)
    restored = pickle.loads(pickle.dumps(again))
    assert_array_equal(restored.predict(tuples), again.predict(tuples))


@every
def test_wrong_tuples_are_named(kind):
    name, size = kind.__name__[4:-10].lower(), SIZES[kind]
    rows, y = made(kind)
    for tuples, message in (
        (rows, f"{name} must be vectors.*pass preprocessor=X to {kind.__name__}"),
        (X[rows][:, :1], f"{name} must have shape \\(n_{name}, {size}, n_features\\)"),
        (X[rows][:, :, :0], f"{name} must have shape|minimum of 1 is required"),
        (np.where(np.arange(4) == 2, np.nan, X[rows]), f"Input {name} contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            kind().fit(tuples, y)
    known = kind(preprocessor=X)
    for tuples, message in (
        (rows + 100, f"{name} must be indices from 0 to 149"), (-rows, f"{name} must be indices"),
        (rows[:, :1], f"{name} must have shape"), (rows[:0], f"{name} must have shape"),
        (np.zeros_like(rows), f"{name} must compare different samples; row 0 is"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            known.fit(tuples, y)
    for given in (rows / 2.0, rows.astype(str)):
        with pytest.raises(TypeError, match=rf"^{name}\b"):
            known.fit(given, y)
    with pytest.raises(ValueError, match=r"^preprocessor\b"):
        kind(preprocessor=lambda names: X[:3]).fit(rows, y)
    with pytest.raises(ValueError, match="'preprocessor' parameter"):
        kind(preprocessor="X").fit(rows, y)
    with pytest.raises(ValueError, match=r"^y\b"):
        known.fit(rows, np.arange(len(y)) % 2)
    with pytest.raises(ValueError, match=rf"^y\b.*\b{len(y)}\b"):
        known.fit(rows, y[1:])
    # What failed leaves nothing behind.
    assert not hasattr(known, "components_")


def test_pairs_need_both_answers_and_two_bounds():
    rows, y = made(RTLMPairsClassifier)
    with pytest.raises(ValueError, match=r"^y\b"):
        RTLMPairsClassifier(preprocessor=X).fit(rows, np.ones(len(rows)))
    with pytest.raises(ValueError, match=r"^bounds\b"):
        RTLMPairsClassifier(bounds=(1.0,), preprocessor=X).fit(rows, y)
    with pytest.raises(ValueError, match=r"\bpairs\b"):
        RTLMPairsClassifier(bounds=(1.0, -1.0), preprocessor=X).fit(rows, y)


def test_what_stands_in_the_place_of_samples_names_and_answers():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(8, 3)), np.array(list("abcdefgh"))
    pairs, y = names[[[0, 1], [2, 3], [4, 5], [6, 7]]], np.array([1, -1, 1, -1])
    samples = dict(zip(names.tolist(), X, strict=True))
    for given in (samples, pd.Series(list(X), index=names)):
        with pytest.raises(TypeError, match=r"^preprocessor\b"):
            RTLMPairsClassifier(preprocessor=given).fit(pairs, y)

    def look_up(names):
        return np.stack([samples[name] for name in names])

    model = RTLMPairsClassifier(preprocessor=look_up).fit(pairs, y)
    assert model.score(pairs, y.astype(object)) == model.score(pairs, y)
    with pytest.raises(ValueError, match=r"^y\b"):
        model.score(pairs, y > 0)
    for missing in (None, np.nan, pd.NA):
        table = pd.DataFrame(pairs.astype(object))
        table.iloc[2, 1] = missing
        with pytest.raises(ValueError, match=r"^pairs\b.*row 2"):
            RTLMPairsClassifier(preprocessor=look_up).fit(table, y)
    with pytest.raises(TypeError, match=r"^calibration_params\b"):
        RTLMPairsClassifier(preprocessor=look_up).fit(pairs, y, calibration_params="accuracy")


@pytest.mark.parametrize("kind", SIZES)
def test_a_fit_asks_once_for_the_samples_of_its_tuples(kind):
    rows, y = made(kind)
    asked = []

    def look_up(places):
        asked.append(places)
        return X[places]

    model = kind(preprocessor=look_up).fit(rows, y)
    assert len(asked) == 1
    np.testing.assert_array_equal(asked[0], np.unique(rows))
    if kind is RTLMPairsClassifier:
        threshold = model.threshold_
        assert model.calibrate_threshold(rows, y).threshold_ == threshold


@pytest.mark.slow
def test_a_lambda_at_which_the_objective_overflows_is_refused():
    tuples = np.random.default_rng(0).integers(-9, 9, size=(26, 4, 6))
    with pytest.raises(ValueError, match=r"^lam\b"):
        RTLMQuadrupletsClassifier(lam=1e-300, loss="squared_hinge").fit(tuples)
    model = RTLMQuadrupletsClassifier(lam=1e-300, loss="smoothed_hinge")
    assert np.isfinite(model.fit(tuples[:3]).objective_)
