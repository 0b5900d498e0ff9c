"""Samples, labels and weights that would be read as others are refused, or brought to one form."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.class_weight import compute_sample_weight

from skscreen import (
    PragamSVC,
    RTLMPairsClassifier,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    ScreenedSVR,
)
from skscreen.metrics import precision_at_k

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6)) * (RNG.random((40, 6)) < 0.4)
Y = (X @ np.arange(6.0) + 0.5 * RNG.normal(size=40) > 0.0).astype(int)
MODELS = {
    "rbf": ScreenedSVC(),
    "linear": ScreenedSVC(kernel="linear"),
    "penalised": ScreenedLinearSVC(),
    "l1": ScreenedLinearSVC(penalty="l1"),
    "together": ScreenedLinearSVC(multi_class="crammer_singer"),
    "pragam": PragamSVC(),
    "regression": ScreenedSVR(),
    "search": ScreenedSVCCV([1.0, 10.0], cv=2),
}
of_samples = pytest.mark.parametrize("name", MODELS)


def _with_index(X, k, value):
    X.indices[k] = value
    return X


@of_samples
def test_entries_of_sparse_samples_outside_of_their_shape(name):
    model = MODELS[name].fit(sparse.csr_array(X), Y)
    for wrong, place in (
        (_with_index(sparse.csr_array(X), 2, 6), r"column 6, but shape \(40, 6\)"),
        (_with_index(sparse.csr_array(X), 2, -1), "column -1"),
        (_with_index(sparse.csc_array(X), 0, 40), "row 40, column 0"),
    ):
        with pytest.raises(ValueError, match=place + ".*counted from 0"):
            model.predict(wrong)
        with pytest.raises(ValueError, match=place + ".*counted from 0"):
            clone(model).fit(wrong, Y)


@of_samples
def test_sparse_samples_with_spare_room_or_two_kinds_of_indices(name):
    expected = MODELS[name].fit(sparse.csr_array(X), Y).predict(X)
    spare, mixed = sparse.csr_array(X), sparse.csr_array(X)
    spare.data, spare.indices = np.append(spare.data, 99.0), np.append(spare.indices, np.int32(1))
    mixed.indptr = mixed.indptr.astype(np.int64)
    for given in (spare, mixed):
        np.testing.assert_array_equal(MODELS[name].fit(given, Y).predict(given), expected)


@of_samples
def test_masked_entries_are_refused(name):
    model = MODELS[name].fit(X, Y)
    masked, first = np.ma.MaskedArray(X, X > 1.0), np.arange(40) < 1
    for call in (lambda: clone(model).fit(masked, Y), lambda: model.predict(masked)):
        with pytest.raises(ValueError, match="X has masked entries, the first at"):
            call()
    with pytest.raises(ValueError, match=r"y has masked entries, the first at \[0\]"):
        clone(model).fit(X, np.ma.MaskedArray(Y, first))
    with pytest.raises(ValueError, match="sample_weight has masked entries"):
        model.fit(X, Y, sample_weight=np.ma.MaskedArray(np.ones(40), first))
    # Nothing is masked.
    model.fit(np.ma.MaskedArray(X), np.ma.MaskedArray(Y))


@of_samples
def test_weights_of_classes_in_the_place_of_those_of_samples(name):
    for given in ({0: 1.0, 1: 2.0}, "balanced"):
        with pytest.raises(TypeError, match="compute_sample_weight"):
            MODELS[name].fit(X, Y, sample_weight=given)
        MODELS[name].fit(X, Y, sample_weight=compute_sample_weight(given, Y))


def test_masks_in_metric_learning():
    samples, first = RNG.normal(size=(40, 6)), np.arange(40) < 1
    masked = np.ma.MaskedArray(samples, samples > 2.0)
    model = ScreenedRTLM().fit(samples, Y)
    triplets = np.ma.MaskedArray([[0, 1, 2], [3, 4, 5]], [[0, 0, 0], [0, 0, 1]])
    pairs, weights = [[0, 1], [2, 3]], np.ma.MaskedArray([1.0, 2.0], [True, False])
    for name, call in (
        ("X", lambda: model.transform(masked)),
        ("X", lambda: model.fit(masked, Y)),
        ("X", lambda: ScreenedRTLMCV(2, cv=2).fit(masked, Y)),
        ("y", lambda: model.fit(samples, np.ma.MaskedArray(Y, first))),
        ("triplets", lambda: model.fit(samples, triplets=triplets)),
        ("preprocessor", lambda: RTLMPairsClassifier(preprocessor=masked).fit(pairs, [1, -1])),
        ("y", lambda: RTLMPairsClassifier(preprocessor=samples).fit(
            pairs, np.ma.MaskedArray([1, -1], [False, True]))),
        ("sample_weight", lambda: RTLMPairsClassifier(preprocessor=samples).fit(
            pairs, [1, -1], sample_weight=weights)),
        ("queries", lambda: precision_at_k(masked, Y, 1)),
        ("targets", lambda: precision_at_k(samples, np.ma.MaskedArray(Y, first), 1)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name} has masked entries"):
            call()


def test_graph_of_neighbours_with_an_index_that_is_no_sample():
    graph = _with_index(sparse.csr_array(np.ones((40, 40))), 3, 40)
    with pytest.raises(ValueError, match="neighbors has an entry in row 0, column 40"):
        ScreenedRTLM(neighbors=graph).fit(X, Y)


def test_a_metric_does_not_depend_on_the_memory_layout():
    # The features are rounded to a tenth: many neighbours are at equal distances.
    samples, labels = load_iris(return_X_y=True)
    for model in (ScreenedRTLM(), ScreenedRTLMCV(2, cv=2)):
        first = model.fit(samples, labels).components_
        np.testing.assert_array_equal(
            model.fit(np.asfortranarray(samples), labels).components_, first
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_labels_that_are_not_finite_give_no_warning_of_a_cast(missing):
    labels = np.where(np.arange(40) == 3, missing, Y)
    with pytest.raises(ValueError, match="Input y contains"):
        ScreenedRTLM().fit(X, labels)


@pytest.mark.parametrize("model", [ScreenedSVC(), PragamSVC(), ScreenedRTLM(n_neighbors=1)])
def test_labels_of_numpys_variable_strings(model):
    labels = np.array(["a", "b"])[Y]
    with pytest.raises(TypeError, match=r"y\.astype\(str\)"):
        model.fit(X, labels.astype(np.dtypes.StringDType()))
    model.fit(X, labels)
