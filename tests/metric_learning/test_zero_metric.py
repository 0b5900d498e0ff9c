"""Where near samples cannot be brought nearer: M = 0 is optimal, and that is proved."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from rtlm_reference import brute_force_triplets

from skscreen import RTLMTripletsClassifier, ScreenedRTLM, ScreenedRTLMCV, rtlm_path
from skscreen.metric_learning.learning import chosen_lam
from skscreen.metric_learning.parameters import Parameters, Supervision
from skscreen.metric_learning.problem.build import build
from skscreen.metric_learning.problem.objective import norm

RNG = np.random.default_rng(0)
# Raw values without information about the classes: the sum of all H_t is negative definite.
X = RNG.integers(0, 256, size=(40, 5)).astype(float)
y = RNG.integers(3, size=40)
SIZES = [1e-150, 1e-20, 1.0, 1e2, 1e4, 1e6, 1e20, 1e150]
OPTIONS = [{}, {"diagonal": True}, {"pull": 0.5}, {"loss": "hinge"}, {"relative_lam": False}]
zero = pytest.mark.filterwarnings("ignore:No metric brings the near samples of the triplets")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_values_of_any_size(size, options):
    if "relative_lam" in options and not 1e-40 < size < 1e40:
        pytest.skip("a lambda of these data is no number in floating point")
    with pytest.warns(UserWarning, match=r"\blam\b") as caught:
        model = ScreenedRTLM(**options).fit(size * X, y)
    assert len(caught) == 1
    width = 0.0 if model.loss == "hinge" else model.width
    n = len(brute_force_triplets(X, y, 5))
    assert model.objective_ == pytest.approx(n * (1.0 - 0.5 * width), rel=1e-12)
    assert model.dual_gap_ == 0.0 and model.n_iter_ == 0
    assert_array_equal(model.get_mahalanobis_matrix(), 0.0)


@zero
@pytest.mark.parametrize("size", SIZES)
def test_comparisons_that_cancel(size):
    """Their sum is 0 but for rounding errors, which are large beside 0 and nothing beside them."""
    samples = size * RNG.normal(size=(12, 20))
    model = RTLMTripletsClassifier(preprocessor=samples).fit([[0, 1, 2], [0, 2, 1]])
    assert model.dual_gap_ <= 1e-6 and model.n_iter_ == 0 and model.lam_max_ == 0.0


@zero
def test_features_that_depend_on_each_other():
    samples = 1e5 * np.column_stack((X, X.sum(axis=1), np.ones(40)))
    model = ScreenedRTLM().fit(samples, y)
    assert model.dual_gap_ <= 1e-6 and model.n_iter_ == 0


@zero
def test_paths_and_searches():
    path = rtlm_path(1e5 * X, y)
    assert path.dual_gaps.max() == 0.0 and len(path) == 1
    search = ScreenedRTLMCV(3, cv=2).fit(1e5 * X, y)
    assert search.dual_gap_ == 0.0


def test_the_message_names_what_was_given():
    samples = RNG.normal(size=(12, 20))
    with pytest.warns(UserWarning, match=r"\blam\b"):
        RTLMTripletsClassifier(preprocessor=samples).fit([[0, 1, 2], [0, 2, 1]])


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_on_the_positive_part_is_one(seed, diagonal):
    """Against exact sums of integers, with eigenvalues on both sides of 0 and next to it."""
    rng = np.random.default_rng(seed)
    samples = rng.integers(-4, 5, size=(14, 4)).astype(float)
    labels = np.arange(14) % 2
    samples[labels == 1, 0] += rng.integers(0, 3)
    parameters = Parameters(n_neighbors=3, diagonal=diagonal)
    problem = build(samples, parameters, Supervision(labels))
    evaluation = problem.at(1.0).evaluate(problem.domain.project(np.zeros(problem.geometry.shape)))
    near, far = problem.geometry.differences(*problem.geometry.items.listed())
    # Differences of integers: exact once more.
    near, far = np.round(near), np.round(far)
    S = np.sum(far**2 - near**2, axis=0) if diagonal else far.T @ far - near.T @ near
    values = S if diagonal else np.linalg.eigvalsh(S)
    exact = norm(np.maximum(values, 0.0))
    assert exact * (1 - 1e-12) <= evaluation.positive_part() <= exact + 1e-9 * norm(S)


@pytest.mark.parametrize("lam, lam_max", [(1e300, np.float64(1e20)), (1e-300, np.float64(1e-100))])
def test_a_product_beyond_floating_point_is_an_error_that_names_both(lam, lam_max):
    with np.errstate(all="raise"), pytest.raises(ValueError, match=r"^lam\b"):
        chosen_lam(lam, True, SimpleNamespace(lam_max=lam_max))
