import numpy as np
import pytest
from embedding_reference import loss_values
from numpy.testing import assert_allclose, assert_array_equal

from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import (
    EmbeddingProblem,
    answer_margins,
    margins,
    wrong_share,
)

N, P, M = 12, 3, 100
rng = np.random.default_rng(0)
TRIPLETS = np.array([rng.permutation(N)[:3] for _ in range(M)], dtype=np.int32)
QUADRUPLETS = np.array([rng.permutation(N)[:4] for _ in range(M)], dtype=np.int32)
# Pairs that share objects in every way.
QUADRUPLETS[:40, 2] = QUADRUPLETS[:40, 0]
QUADRUPLETS[40:60, 3] = QUADRUPLETS[40:60, 1]
WEIGHTS = rng.uniform(0.2, 3.0, size=M)
X = rng.normal(size=(N, P))
LOSSES = [
    EmbeddingLoss("gnmds", 1.0),
    EmbeddingLoss("ckl", 1e-3),
    EmbeddingLoss("ste"),
    EmbeddingLoss("tste", 2.0),
    EmbeddingLoss("tste", 2.3),
    EmbeddingLoss("soe", 0.1),
]
KINDS = [
    (rows, weights, compress)
    for rows in (TRIPLETS, QUADRUPLETS)
    for weights in (None, WEIGHTS)
    for compress in (False, True)
]
kinds = pytest.mark.parametrize(
    "kind", KINDS, ids=lambda k: f"{k[0].shape[1]}-{k[1] is not None}-{k[2]}"
)
losses = pytest.mark.parametrize("loss", LOSSES, ids=str)


def problem(kind, loss, reg=0.1):
    rows, weights, compress = kind
    return EmbeddingProblem(rows, weights, N, loss, reg, compress)


def by_hand(kind, loss, X, reg=0.1):
    rows, weights, _ = kind
    i, j, l, k = rows.T if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]].T
    a, c = ((X[i] - X[j]) ** 2).sum(axis=1), ((X[l] - X[k]) ** 2).sum(axis=1)
    mean = np.average(loss_values(loss, a, c)[0], weights=weights)
    return mean + reg * np.mean((X**2).sum(axis=1))


@kinds
@losses
def test_objective_is_the_weighted_mean_and_the_ridge(kind, loss):
    assert_allclose(problem(kind, loss).evaluate(X)[0], by_hand(kind, loss, X), rtol=1e-12)


@pytest.mark.few(26)
@kinds
@losses
def test_gradient_agrees_with_finite_differences(kind, loss):
    gradient = problem(kind, loss).evaluate(X)[1]
    for seed in range(10):
        direction = np.random.default_rng(seed).normal(size=X.shape)
        values = [by_hand(kind, loss, X + step * direction) for step in (1e-6, -1e-6)]
        assert_allclose((values[0] - values[1]) / 2e-6, np.sum(gradient * direction), atol=2e-8)


@losses
@pytest.mark.parametrize("scale", [1e-9, 5.0, 20.0, 1e3, 1e6])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_lists_of_pairs_change_nothing_however_far_the_points(loss, scale, weights):
    values, gradients = zip(
        *(
            problem((QUADRUPLETS, weights, compress), loss).evaluate(scale * X)
            for compress in (False, True)
        ),
        strict=True,
    )
    assert np.isfinite(values).all()
    assert np.isfinite(gradients).all()
    assert_allclose(values[0], values[1], rtol=1e-10)
    assert_allclose(gradients[0], gradients[1], rtol=1e-7, atol=1e-10 * abs(gradients[0]).max())


@losses
@pytest.mark.parametrize("compress", [False, True])
def test_weights_are_repetitions(loss, compress):
    counts = np.arange(M) % 3 + 1
    repeated = problem((np.repeat(TRIPLETS, counts, axis=0), None, compress), loss).evaluate(X)
    weighted = problem((TRIPLETS, counts.astype(float), compress), loss).evaluate(X)
    assert_allclose(repeated[0], weighted[0], rtol=1e-12)
    assert_allclose(repeated[1], weighted[1], atol=1e-14)


@losses
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("compress", [False, True])
def test_a_part_of_a_problem_is_the_problem_of_a_part(loss, weights, compress):
    held_out, _, part = problem((TRIPLETS, weights, compress), loss).split(30)
    assert_array_equal(held_out, TRIPLETS[:30])
    rest = None if weights is None else weights[30:]
    direct = problem((TRIPLETS[30:], rest, compress), loss)
    assert_allclose(part.evaluate(X)[0], direct.evaluate(X)[0], rtol=1e-12)
    assert_allclose(part.evaluate(X)[1], direct.evaluate(X)[1], atol=1e-14)


def test_pairs_are_listed_where_they_are_few_for_the_answers():
    assert len(EmbeddingProblem(TRIPLETS, None, N, LOSSES[0], 0.0).terms.pairs) <= N * (N - 1) // 2
    assert len(EmbeddingProblem(TRIPLETS, None, 21, LOSSES[0], 0.0).terms.pairs) == 0


def test_margins_and_the_share_of_wrong_answers():
    line = np.array([[0.0], [1.0], [3.0], [-1.0]])
    rows = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3]], dtype=np.int32)
    assert_array_equal(margins(line, rows), [8.0, -8.0, 0.0])
    # A tie is wrong.
    loss = LOSSES[0]
    assert_allclose(wrong_share(line, rows, None, loss), 2.0 / 3.0)
    assert_allclose(wrong_share(line, rows, np.array([3.0, 0.5, 0.5]), loss), 0.25)
    assert wrong_share(np.full((4, 1), np.nan), rows, None, loss) == 1.0


def test_the_odd_one_out_is_far_from_both_others():
    line = np.array([[0.0], [1.0], [3.0], [-1.0]])
    # The second: 1 is nearer to 2 than 3 is, but not than 2 is to 3.
    rows = np.array([[0, 1, 2], [1, 2, 0], [3, 0, 1]], dtype=np.int32)
    odd = EmbeddingLoss("oddoneout")
    assert_array_equal(answer_margins(line, rows, odd), [3.0, -3.0, 0.0])
    assert_allclose(wrong_share(line, rows, None, odd), 2.0 / 3.0)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 20.0, 1e6])
def test_odd_one_out_is_a_choice_among_three(weights, compress, scale):
    trials = EmbeddingProblem(TRIPLETS, weights, N, EmbeddingLoss("oddoneout"), 0.1, compress)

    def by_hand(X):
        i, j, k = TRIPLETS.T
        squares = [-((X[u] - X[v]) ** 2).sum(axis=1) for u, v in ((i, j), (i, k), (j, k))]
        losses = np.logaddexp.reduce(squares, axis=0) - squares[0]
        return np.average(losses, weights=weights) + 0.1 * np.mean((X**2).sum(axis=1))

    value, gradient = trials.evaluate(scale * X)
    assert_allclose(value, by_hand(scale * X), rtol=1e-12)
    if scale == 1.0:
        for seed in range(10):
            direction = np.random.default_rng(seed).normal(size=X.shape)
            values = [by_hand(X + step * direction) for step in (1e-6, -1e-6)]
            slope = (values[0] - values[1]) / 2e-6
            assert_allclose(slope, np.sum(gradient * direction), atol=2e-8)
    other = EmbeddingProblem(TRIPLETS, weights, N, EmbeddingLoss("oddoneout"), 0.1, not compress)
    assert_allclose(other.evaluate(scale * X)[1], gradient, rtol=1e-7, atol=1e-10 * scale)
    _, _, rest = trials.split(30)
    rest_weights = None if weights is None else weights[30:]
    part = EmbeddingProblem(TRIPLETS[30:], rest_weights, N, trials.loss, 0.1, compress)
    assert_allclose(rest.evaluate(X)[1], part.evaluate(X)[1], atol=1e-14)
