"""An object with few answers among others with many."""

import numpy as np
import pytest

from skscreen import OrdinalEmbedding, next_queries, read_answers
from skscreen._compiled import embedding
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.tools.bootstrap import nearest_similar
from skscreen.embedding.tools.redraw import Response, redraw
from skscreen.inspection import EmbeddingDisplay

N, NOISE = 30, 0.1


def answers_about(points, rows, rng):
    """Put the nearer object second, but for a tenth of the answers."""
    i, j, k = rows.T
    near, far = (((points[i] - points[v]) ** 2).sum(axis=1) for v in (j, k))
    right = (near < far) ^ (rng.random(len(rows)) < NOISE)
    return np.where(right[:, None], rows, rows[:, [0, 2, 1]])


def rare_object(seed, n_answers, n_components=2, n_rows=1500):
    """True points, answers about all but the last object, and answers about the last."""
    rng = np.random.default_rng([seed, n_answers])
    points = rng.normal(size=(N + 1, n_components))
    known = [rng.choice(N, 3, replace=False) for _ in range(n_rows)]
    about = [np.r_[N, rng.choice(N, 2, replace=False)] for _ in range(n_answers)]
    return points, *(answers_about(points, np.array(rows), rng) for rows in (known, about))


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("n_answers", [10, 40, 100])
def test_it_is_not_flung_out_of_the_map(n_answers, n_components):
    flung = 0
    for seed in range(40):
        _, known, about = rare_object(seed, n_answers, n_components)
        model = OrdinalEmbedding(n_components, random_state=0).fit(np.r_[known, about])
        radii = np.linalg.norm(model.embedding_ - model.embedding_[:N].mean(axis=0), axis=1)
        flung += radii[N] > 1.5 * radii[:N].max()
    assert flung <= (1 if n_answers == 10 else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["soe", "ste", "gnmds", "tste", "ckl", "oddoneout"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_object_in_the_wrong_place_is_moved_where_its_answers_are_better(name, weighted):
    points, known, about = rare_object(0, 40)
    rows = np.concatenate([known, about]).astype(np.int32)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(rows)) if weighted else None
    problem = EmbeddingProblem(rows, weights, N + 1, EmbeddingLoss(name, 0.1), 1e-3)
    X = points - points.mean(axis=0)
    X[N] = 6.0
    before, others = problem.evaluate(X)[0], X[:N].copy()
    assert embedding.place_sweep(X, problem.terms)[0] >= 1
    after = problem.evaluate(X)[0]
    assert after < before
    assert np.linalg.norm(X[N]) < 4.0
    if name in ("soe", "ste", "gnmds"):
        assert np.linalg.norm(X[:N] - others, axis=1).max() < 4.0
    # Sweeps end, and never raise the objective.
    for _ in range(20):
        moved, _ = embedding.place_sweep(X, problem.terms)
        now = problem.evaluate(X)[0]
        assert now <= after
        after = now
    assert moved <= 1


@pytest.mark.parametrize("loss", ["soe", "oddoneout"])
def test_places_are_drawn_from_the_map_times_the_probability_of_the_answers(loss):
    """Mean and covariance, by a sum over a grid."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(12, 2)), [[0.0, 0.0]]])
    rows = np.array([[12, 0, 1], [12, 2, 3], [4, 12, 5]])
    weights = np.array([1.0, 2.0, 0.5])
    counts = np.array([150.0] * 12 + [3.0])
    response, loss = Response(2.0, 0.1), EmbeddingLoss(loss)
    drawn = np.repeat(points[None], 4000, axis=0)
    redraw(drawn, rows, np.tile(weights, (4000, 1)), counts, loss, response, rng)
    assert np.array_equal(drawn[:, :12], np.repeat(points[None, :12], 4000, axis=0))
    shares = counts / counts.sum()
    middle = shares @ points
    covariance = (points - middle).T @ ((points - middle) * shares[:, None]) * 1.25
    grid = np.stack(np.meshgrid(*[np.linspace(-5.0, 5.0, 161)] * 2), axis=-1).reshape(-1, 2)
    off = grid - middle
    logs = -0.5 * (off @ np.linalg.inv(covariance) * off).sum(axis=1)
    for (i, j, k), weight in zip(rows, weights, strict=True):
        places = [np.tile(points[v], (len(grid), 1)) if v < 12 else grid for v in (i, j, k)]
        near, far, third = (
            ((places[a] - places[b]) ** 2).sum(axis=1) for a, b in ((0, 1), (0, 2), (1, 2))
        )
        margin = np.minimum(far, third) - near if loss.of_trials else far - near
        logs += weight * np.log(0.05 + 0.9 / (1.0 + np.exp(-2.0 * margin)))
    density = np.exp(logs - logs.max())
    density /= density.sum()
    mean = density @ grid
    expected = (grid - mean).T @ ((grid - mean) * density[:, None])
    np.testing.assert_allclose(drawn[:, 12].mean(axis=0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn[:, 12].T), expected, atol=0.06)


@pytest.mark.few(1)
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["soe", "ste"])
def test_regions_grow_where_answers_lack(loss):
    sizes, inside = np.zeros(3), 0
    for turn, n_answers in enumerate((1, 10, 40)):
        for seed in range(4):
            points, known, about = rare_object(seed, n_answers)
            model = OrdinalEmbedding(2, loss=loss, random_state=0).fit(np.r_[known, about])
            places = model.bootstrap(40, random_state=0).points
            # The true map, brought near by the objects that are known well.
            weights = np.append(np.ones(N), 0.0)
            truth = nearest_similar(points, model.embedding_, weights)[N]
            off = truth - places[:, N].mean(axis=0)
            inside += off @ np.linalg.solve(np.cov(places[:, N].T), off) <= -2.0 * np.log(0.05)
            sizes[turn] += places[:, N].std(axis=0).mean() / places[:, :N].std(axis=0).mean()
    sizes /= 4
    assert sizes[0] > sizes[1] > sizes[2] > 1.0
    assert sizes[0] > 4.0
    assert inside >= 9


def test_what_answers_do_not_fix_has_no_region():
    """Objects in no answer, and a batch that is never compared with the others."""
    _, rows, _ = rare_object(0, 1)
    apart = rows[(rows < 12).all(axis=1) | (rows >= 12).all(axis=1)]
    names = np.array([f"face {v:02d}" for v in range(N + 1)])
    answers = read_answers(names[apart], objects=names)
    with pytest.warns(UserWarning, match="2 pieces"):
        model = OrdinalEmbedding(2, random_state=0).fit(answers)
    with pytest.warns(UserWarning, match=r"face 00, .*face 04 and 8\b"):
        sample = model.bootstrap(10, random_state=0)
    free = np.isinf(sample.points).any(axis=(0, 2))
    assert free.tolist() == [True] * 12 + [False] * 18 + [True]
    assert np.isinf(sample.points[:, free]).all()
    display = EmbeddingDisplay.from_estimator(model, regions=sample)
    assert len(display.ellipses_.get_paths()) == 18


def test_three_objects_are_asked_about_once():
    _, rows, _ = rare_object(0, 1)
    model = OrdinalEmbedding(2, random_state=0).fit(rows)
    asked = {tuple(row) for row in np.sort(rows, axis=1).tolist()}
    new = [tuple(sorted(row)) for row in next_queries(model, 200).tolist()]
    assert len(set(new)) == 200
    assert not asked & set(new)
    few = rows[(rows < 8).all(axis=1)]
    model = OrdinalEmbedding(2, random_state=0).fit(few)
    asked = {tuple(row) for row in np.sort(few, axis=1).tolist()}
    with pytest.warns(UserWarning, match="repeats=True"):
        new = next_queries(model, 80, random_state=0)
    assert {tuple(sorted(row)) for row in new.tolist()} | asked >= {
        (i, j, k) for k in range(8) for j in range(k) for i in range(j)
    }
    assert len(next_queries(model, 80, repeats=True, random_state=0)) == 80


def test_answers_of_a_person_are_drawn_together():
    """Each person has an own map, so that single answers tell less than they seem to."""
    rng = np.random.default_rng(1)
    common, rows, people = rng.normal(size=(15, 2)), [], []
    for person in range(6):
        own = common + rng.normal(size=common.shape)
        asked = np.array([rng.choice(15, 3, replace=False) for _ in range(400)])
        rows.append(answers_about(own, asked, rng))
        people += [f"person {person}"] * 400
    rows = np.concatenate(rows)
    model = OrdinalEmbedding(2, random_state=0).fit(rows)
    single = model.bootstrap(40, random_state=0)
    groups = model.bootstrap(40, groups=people, random_state=0)
    assert groups.points.std(axis=0).mean() > 1.2 * single.points.std(axis=0).mean()
    # All answers of a person are drawn or left out.
    left_out = groups.left_out.reshape(40, 6, 400)
    assert np.all(left_out == left_out[:, :, :1])
    for wrong, message in (
        (people[1:], r"^groups\b"),
        (["one"] * 2400, r"^groups\b"),
    ):
        with pytest.raises(ValueError, match=message):
            model.bootstrap(2, groups=wrong)
