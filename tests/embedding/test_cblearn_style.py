"""What cblearn's own tests ask of its estimators, asked of ours."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import check_grad

from skscreen import OrdinalEmbedding, embedding_dimension_test
from skscreen.datasets import make_triplets
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.metrics import procrustes_distance

LOSSES = ["soe", "ste", "tste", "ckl", "gnmds"]
POINTS = np.random.RandomState(42).rand(12, 2)
TRIPLETS = make_triplets(POINTS, 500, random_state=42)


def test_repeated_starts_make_a_scale_stable():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 1))
    options = {"noise": 0.1, "noise_model": "distances"}
    answers = make_triplets(points, 120, random_state=1, **options)
    unseen = make_triplets(points, 3000, random_state=2, **options)
    model = OrdinalEmbedding(1, n_init=10)
    assert all(model.set_params(random_state=seed).fit(answers).score(unseen) > 0.8
               for seed in range(3))  # fmt: skip


@pytest.mark.parametrize(("n", "d"), [(20, 1), (50, 2), (100, 3)])
def test_the_gradient_is_that_of_the_loss_anywhere(n, d):
    rng = np.random.default_rng(n)
    rows = make_triplets(rng.normal(size=(n, d)), 2 * n * d, random_state=0).astype(np.int32)
    problem = EmbeddingProblem(rows, None, n, EmbeddingLoss("soe", 0.1), 0.0)

    def part(which):
        return lambda x: np.ravel(problem.evaluate(x.reshape(n, d))[which])

    for _ in range(3):
        start = rng.uniform(-2.0, 2.0, size=n * d)
        assert check_grad(lambda x: part(0)(x)[0], part(1), start) < 1e-6


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_components", [0, -1, 2.5, "2", None])
def test_a_dimension_that_is_none_is_named(loss, n_components):
    with pytest.raises(ValueError, match="'n_components' parameter"):
        OrdinalEmbedding(n_components, loss=loss).fit(TRIPLETS)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_components", [1, np.int64(3), 10])
def test_any_whole_number_is_a_dimension(loss, n_components):
    model = OrdinalEmbedding(n_components, loss=loss, random_state=0)
    assert model.fit(TRIPLETS).embedding_.shape == (12, n_components)
    assert model.transform().shape == (12, n_components)


@pytest.mark.parametrize(
    "dimensions", [range(10), [-1, 1], [1, 2, 2.5], [], [2], [[1, 2], [3, 4]], [3, 2, 1], [1, 1, 2]]
)
def test_dimensions_to_compare_ascend_from_one(dimensions):
    with pytest.raises(ValueError, match=r"^dimensions\b"):
        embedding_dimension_test(TRIPLETS, dimensions, cv=2)


def test_the_dimension_is_recovered_as_a_python_integer():
    found = embedding_dimension_test(TRIPLETS, [1, 2, 3], cv=5, random_state=42)
    assert found.dimension_ == 2
    assert type(found.dimension_) is int
    assert_array_equal(found.dimensions_, [1, 2, 3])


def test_more_triplets_bring_points_nearer():
    points = np.random.RandomState(0).rand(20, 2)
    model = OrdinalEmbedding(2, random_state=0)
    errors = [procrustes_distance(points, model.fit_transform(make_triplets(
        points, size, random_state=0))) for size in (50, 200, 1600)]  # fmt: skip
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_a_fit_goes_on_from_given_points():
    # Of a laboratory: new answers about the same objects.
    model = OrdinalEmbedding(2, random_state=0).fit(TRIPLETS[:400])
    before = model.embedding_
    again = OrdinalEmbedding(2, random_state=0).fit(TRIPLETS, init=before)
    cold = OrdinalEmbedding(2, random_state=0).fit(TRIPLETS)
    assert again.history_["passes"][-1] < cold.history_["passes"][-1]
    # Not turned: the points are where they were, but for what the new answers say, and the ridge.
    assert np.corrcoef(again.embedding_.ravel(), before.ravel())[0, 1] > 0.98
    assert again.score(TRIPLETS) > 0.97
