"""scikit-learn's own checks, once for each estimator that takes samples or answers in rows."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_checks
from sklearn.utils.fixes import parse_version

import skscreen

pytestmark = [pytest.mark.contract, pytest.mark.filterwarnings("ignore")]

# Options only where the defaults cost time: short grids, few folds, few neighbours.
CHECKED = [
    skscreen.OrdinalEmbedding(),
    skscreen.PragamSVC(),
    skscreen.ScreenedLinearSVC(),
    skscreen.ScreenedLinearSVR(),
    skscreen.ScreenedNuSVC(nu=0.3),
    skscreen.ScreenedNuSVR(nu=0.2),
    skscreen.ScreenedOneClassSVM(),
    skscreen.ScreenedRTLM(),
    skscreen.ScreenedRTLMCV([0.3, 0.1], cv=2, n_neighbors=2),
    skscreen.ScreenedSVC(),
    skscreen.ScreenedSVCCV([0.1, 1.0], cv=2, kernel="linear", intercept="penalised"),
    skscreen.ScreenedSVR(),
    skscreen.ScreenedSVRCV([0.1, 1.0], cv=2),
]
# No check of scikit-learn's has input of these shapes; their rooms test what can be asked of them.
OTHER_SHAPES = {
    "sequences": {
        "ChainCRF", "KernelChainClassifier", "MaxMarginChain", "SequenceTransformer",
    },
    "pairs, triplets and quadruplets of samples": {
        "RTLMPairsClassifier", "RTLMQuadrupletsClassifier", "RTLMTripletsClassifier",
    },
    "answers": {"ConceptEmbedding", "ConceptEmbeddingCV", "DifferenceScaling"},
}  # fmt: skip

FEATURES = "the check passes features, which are no indices of objects"
LABELS = "the check passes labels 0 and 1, which say nothing about answers"
PER_OBJECT = "transform returns the points of the objects, not a row for each answer"
FAILURES_OF_EMBEDDINGS = {
    "check_methods_sample_order_invariance": PER_OBJECT,
    "check_methods_subset_invariance": PER_OBJECT,
    "check_n_features_in_after_fitting": "predict takes triplets and quadruplets after either",
    "check_sample_weight_equivalence_on_dense_data": FEATURES,
    "check_transformer_data_not_an_array": LABELS,
    "check_transformer_general": LABELS,
    "check_transformer_n_iter": LABELS,
    "check_transformer_preserve_dtypes": LABELS,
    "check_sample_weight_equivalence_on_sparse_data": FEATURES,
    "check_sample_weights_not_overwritten": FEATURES,
    "check_sample_weights_pandas_series": FEATURES,
    "check_sample_weights_not_an_array": FEATURES,
    "check_sample_weights_shape": FEATURES,
}
if parse_version(sklearn.__version__) < parse_version("1.7.2"):
    FAILURES_OF_EMBEDDINGS["check_positive_only_tag_during_fit"] = "it subtracts a mean of integers"


OF_METRICS = "a sample given twice is a neighbour twice, one of weight 2 only once"
LARGE_NU = "no nu but a tiny one is feasible for classes of such weights"
SMALL_NU = "labels by chance, of which so small a nu keeps classes whose hulls meet"
FAILURES = {
    skscreen.ScreenedNuSVC: {
        "check_class_weight_classifiers": LARGE_NU,
        "check_estimator_sparse_tag": SMALL_NU,
    },
    skscreen.OrdinalEmbedding: FAILURES_OF_EMBEDDINGS,
    skscreen.ScreenedRTLM: {"check_sample_weight_equivalence_on_dense_data": OF_METRICS},
}


def expected_failures(estimator) -> dict[str, str]:
    """Return the checks that an estimator does not pass, each with its reason."""
    return FAILURES.get(type(estimator), {})


def triplets_for_rows(estimator, X, X_test=None, kernel=None):
    """A triplet in place of each row of features."""
    first = np.arange(len(X))
    return np.stack([first, first + 1, first + 2], axis=1) % max(len(X), 3)


def signs_for_labels(estimator, y):
    return np.where(np.arange(len(y)) % 2 == 0, 1, -1)


@estimator_checks.parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_sklearn_contract(estimator, check, monkeypatch):
    if isinstance(estimator, skscreen.OrdinalEmbedding):
        monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", triplets_for_rows)
        monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", signs_for_labels)
    check(estimator)


def test_every_estimator_is_checked_or_has_a_reason():
    public = {name: getattr(skscreen, name) for name in skscreen.__all__}
    estimators = {name for name, value in public.items()
                  if isinstance(value, type) and issubclass(value, BaseEstimator)}  # fmt: skip
    checked = {type(estimator).__name__ for estimator in CHECKED}
    assert checked | set().union(*OTHER_SHAPES.values()) == estimators
