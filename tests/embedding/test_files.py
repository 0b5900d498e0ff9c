"""Files as laboratories and crowds have them: each layout, and what is said of other things."""

import warnings

import numpy as np
import pandas as pd
import pytest
from embedding_reference import trials_of, triplets_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import norm

from skscreen import DifferenceScaling, OrdinalEmbedding, embedding_dimension_test
from skscreen.datasets import make_triplets
from skscreen.metrics import noise_ceiling, triplet_error
from skscreen.preprocessing import (
    triplets_from_mostcentral,
    triplets_from_multiselect,
    triplets_from_oddoneout,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_votes,
)

N = 24
POINTS = np.random.default_rng(0).normal(size=(N, 2))
T = triplets_of(POINTS, 900, 1, noise=0.1)
RNG = np.random.default_rng(2)
# Shown left and right at random; the nearer one was chosen.
SWAP = RNG.uniform(size=900) < 0.5
SHOWN = np.where(SWAP[:, None], T[:, [0, 2, 1]], T)
CHOSEN = T[:, 1]
NAMES = np.array([f"i{k:02d}.png" for k in range(N)])
WORKER = RNG.integers(8, size=900)
FRAME = pd.DataFrame(SHOWN, columns=["head", "left", "right"])
TRIALS, ODD = trials_of(POINTS, 1200, 3, noise=0.1)


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


PLAIN = model(objects=N).fit(T)


# -- what y holds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "response"),
    [
        (FRAME, CHOSEN, "chosen"),
        (FRAME, CHOSEN.astype(float), "chosen"),
        (FRAME, ~SWAP, "sign"),
        (FRAME, np.where(SWAP, -1, 1), "sign"),
        (FRAME, np.where(SWAP, 0, 1), "sign"),
        (FRAME, np.where(SWAP, 2.0, 1.0), "position"),
        (FRAME, np.where(SWAP, "right", "left"), "position"),
        (FRAME, np.where(SWAP, -1, 1), "count"),
        (SHOWN[:, [1, 0, 2]], CHOSEN, "chosen"),
    ],
    ids=["ids", "floats", "bool", "signs", "01", "columns", "labels", "counts", "pivot"],
)
def test_every_reading_of_y_gives_the_same_map(X, y, response):
    pivot = None if X is FRAME else 1
    fitted = model(objects=N, response=response, pivot=pivot).fit(X, y)
    assert_array_equal(fitted.embedding_, PLAIN.embedding_)
    assert fitted.response_ == response
    assert fitted.score(X, y) == PLAIN.score(T)


@pytest.mark.parametrize("first", [0, 1, 10_001])
def test_ids_of_the_chosen_objects_are_no_counts(first):
    X, y = FRAME + first, CHOSEN + first
    fit = model(objects=np.arange(first, first + N)).fit(X, y)
    assert_array_equal(fit.embedding_, PLAIN.embedding_)
    if first:
        # Of a few answers whole numbers above 0 may be counts of any of them.
        with pytest.raises(ValueError, match=r"'chosen' if .* or response='count' if"):
            model().fit(X[:4], y[:4])
    named = model().fit(pd.DataFrame(NAMES[SHOWN]), NAMES[CHOSEN])
    assert_array_equal(named.embedding_, PLAIN.embedding_)
    assert triplet_error(POINTS, SHOWN, CHOSEN) == triplet_error(POINTS, T)
    repeated = np.r_[0:900, 0:900]
    assert noise_ceiling(SHOWN[repeated], CHOSEN[repeated]) == noise_ceiling(T[repeated])


def test_a_choice_that_was_not_shown_is_named_by_its_row():
    chosen = CHOSEN.copy()
    chosen[[5, 8]] = SHOWN[[5, 8], 0]
    with pytest.raises(ValueError, match=r"row 5 has \[.*\] and y .*, as 1 rows more"):
        model(response="chosen").fit(SHOWN, chosen)
    # Nor are ids from 1 on counts because of two rows.
    with pytest.raises(ValueError, match=r"seems to hold objects. .* row 5 has \[.*\] and y"):
        model().fit(SHOWN + 1, chosen + 1)


def test_the_odd_one_for_a_loss_of_triplets_is_told_of_the_other():
    odd = np.random.default_rng(0).integers(3, size=len(SHOWN))
    with pytest.raises(ValueError, match=r"y cannot be read.*\(loss='oddoneout'\) reads it"):
        model().fit(NAMES[SHOWN], NAMES[SHOWN[np.arange(len(SHOWN)), odd]])
    stranger = NAMES[SHOWN[:, 1]].astype(object)
    stranger[3] = "nobody"
    with pytest.raises(ValueError, match=r"row 3 has \[.*\] and y 'nobody'\. With"):
        model().fit(NAMES[SHOWN], stranger)


def test_tests_of_dimension_read_as_fits_do():
    options = {"cv": 2, "random_state": 0}
    rough = model(tol=0.1, n_init=1, objects=N)
    plain = embedding_dimension_test(T, [1, 2], estimator=rough, **options)
    found = embedding_dimension_test(FRAME, [1, 2], y=CHOSEN, estimator=rough, **options)
    assert_array_equal(found.scores_, plain.scores_)


def test_votes_are_weights_of_choices():
    votes = np.random.default_rng(0).integers(0, 4, size=(200, 3))
    X = TRIALS[:200]
    convex = model(loss="oddoneout", reg=0.01, formulation="convex", tol=1e-6)
    by_votes = convex.fit(X, votes).objective_
    rows, columns = np.nonzero(votes)
    repeat = np.repeat(np.arange(len(rows)), votes[rows, columns])
    one_by_one = convex.fit(X[rows][repeat], columns[repeat])
    assert_allclose(by_votes, one_by_one.objective_, rtol=1e-5)
    triplets, weights = triplets_from_votes(X, votes)
    expected = triplets_from_oddoneout(X[rows], columns, response="position")
    assert_array_equal(triplets, expected)
    assert_array_equal(weights, np.repeat(votes[rows, columns], 2))
    pairs = model(reg=0.01).fit(SHOWN[:2], [[3, 0], [1, 2]]).answers_
    assert sorted(pairs.weights.tolist()) == [1.0, 2.0, 3.0]
    assert sorted(pairs.trials.tolist()) == [0, 1, 1]


# -- which columns hold objects ------------------------------------------------------------------

EXTRA = {
    "participant": WORKER,
    "many participants": RNG.integers(17, size=900),
    "more participants than objects": RNG.integers(40, size=900),
    "as many participants as objects": np.random.default_rng(4).integers(N, size=900),
    "trial in a block": np.arange(900) % N,
    "name of a participant": np.array([f"P{k}" for k in WORKER]),
    "one participant": np.full(900, "P1"),
    "trial": np.arange(900),
    "time": 1_000_000 + 317 * np.arange(900) % 99_991,
    "seconds": np.random.default_rng(0).uniform(0.3, 4.0, 900),
    "rating": RNG.integers(1, 8, size=900),
    "response": np.where(SWAP, 0, 1),
    "condition": np.where(SWAP, "easy", "hard"),
}


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRA)
@pytest.mark.parametrize("named", [False, True])
def test_a_column_of_something_else_is_refused_by_its_label(extra, named):
    frame = pd.DataFrame(NAMES[T] if named else T, columns=["head", "near", "far"])
    for place in (0, 3):
        with_extra = frame.copy()
        with_extra.insert(place, "extra", EXTRA[extra])
        call = r"columns=\['head', 'near', 'far'\]"
        with pytest.raises(ValueError, match=f"column 'extra' .*{call}"):
            model().fit(with_extra)
        told = model(columns=["head", "near", "far"]).fit(with_extra)
        assert_array_equal(told.embedding_, PLAIN.embedding_)
        assert told.score(with_extra) == PLAIN.score(T)
        places = [place_ + (place == 0) for place_ in range(3)]
        with pytest.raises(ValueError, match=f"column {place} .*columns="):
            model().fit(with_extra.to_numpy())
        told = model(columns=places).fit(with_extra.to_numpy())
        assert_array_equal(told.embedding_, PLAIN.embedding_)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2, 0), (1, 2, 0, 3), (1, 0, 2, 3)])
def test_a_column_with_the_choice_is_refused(order):
    frame = FRAME.assign(answer=CHOSEN).iloc[:, list(order)]
    call = r"columns=\['head', 'left', 'right'\]\).fit\(X, X\['answer'\]\)"
    with pytest.raises(ValueError, match=f"column 'answer' .*{call}"):
        model().fit(frame)
    told = model(objects=N, columns=["head", "left", "right"]).fit(frame, frame["answer"])
    assert_array_equal(told.embedding_, PLAIN.embedding_)


def test_an_answer_that_copies_a_column_is_refused():
    """Of files that list the chosen object on the left; beside a column of something else too."""
    frame = pd.DataFrame(NAMES[T], columns=["centre", "left", "right"]).assign(answer=NAMES[CHOSEN])
    for X in (frame, frame.assign(split=np.where(SWAP, "train", "test"))):
        with pytest.raises(
            ValueError, match=r"column 'answer' .*columns=\['centre', 'right', 'left'"
        ):
            model().fit(X)
    told = model(columns=["centre", "left", "right"]).fit(frame, frame["answer"])
    assert_array_equal(told.embedding_, PLAIN.embedding_)


def test_pairs_with_a_rating_go_to_the_converter():
    films = pd.DataFrame(SHOWN[:, :2], columns=["film", "other"])
    for rating in (EXTRA["rating"], EXTRA["rating"].astype(str)):
        with pytest.raises(ValueError, match=r"column 'rating' .*triplets_from_ratings"):
            model().fit(films.assign(rating=rating))
    with pytest.raises(ValueError, match="X must have 3 columns"):
        model().fit(films, EXTRA["rating"])


def test_usual_designs_are_answers():
    rng = np.random.default_rng(0)
    landmarks = make_triplets(POINTS, 300, landmarks=5, random_state=0)
    few = rng.integers(3, size=(300, 1))
    heads = np.hstack(
        [few, (few + rng.permuted(np.tile(np.arange(1, N), (300, 1)), axis=1)[:, :2]) % N]
    )
    # A grid: which four of twelve are most like the first?
    grid = triplets_from_multiselect(np.arange(13)[None], 4)
    ordered = np.sort([rng.permutation(10)[:4] for _ in range(300)], axis=1)
    once = np.arange(99).reshape(3, 33).T
    as_pairs = SHOWN[:, [0, 1, 0, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (landmarks, heads, grid, ordered, as_pairs, once[:, :3], T[:30]):
            noise_ceiling(np.repeat(rows, 2, axis=0))
            triplets_from_oddoneout(rows)


def test_the_odd_one_may_be_in_any_column():
    first = np.take_along_axis(TRIALS, (ODD[:, None] + np.arange(3)) % 3, axis=1)
    expected = model(loss="oddoneout").fit(first)
    last = pd.DataFrame(first[:, [1, 2, 0]], columns=["i", "j", "odd"]).assign(worker=0)
    for odd in ("odd", 2):
        told = model(loss="oddoneout", columns=["i", "j", "odd"], odd=odd).fit(last)
        assert_array_equal(told.embedding_, expected.embedding_)
    triplets = triplets_from_oddoneout(last, columns=["i", "j", "odd"], odd="odd")
    assert_array_equal(triplets, triplets_from_oddoneout(first))
    with pytest.raises(ValueError, match="odd must be None where y says"):
        model(loss="oddoneout", odd=2).fit(TRIALS, ODD)
    with pytest.raises(ValueError, match=r"odd must name columns of X, .*; got 'k'.* as y"):
        triplets_from_oddoneout(TRIALS, odd="k")


def test_answers_read_in_the_wrong_way_are_told_by_chance():
    last = np.take_along_axis(TRIALS, (ODD[:, None] + np.array([1, 2, 0])) % 3, axis=1)
    with pytest.warns(UserWarning, match=r"no better than chance: .* odd one \(odd\)"):
        model(loss="oddoneout").fit(last)
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"binomial test, .* pivot \(pivot\)"):
        model().fit(np.array([rng.permutation(N)[:3] for _ in range(2000)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(loss="oddoneout").fit(TRIALS, ODD)
        # A fifth of the answers at random, and few of them.
        model(objects=N).fit(triplets_of(POINTS, 300, 5, noise=0.1))
        model(objects=N).fit(triplets_of(POINTS, 1500, 5, noise=0.3))


# -- scales --------------------------------------------------------------------------------------

LEVELS = 0.1 * np.arange(11)


def triads(size, seed):
    rng = np.random.default_rng(seed)
    rows = np.sort([rng.permutation(11)[:3] for _ in range(size)], axis=1)
    low, middle, high = np.sqrt(LEVELS)[rows].T
    return rows, (high - middle) - (middle - low) + 0.15 * rng.normal(size=size) > 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_answers_read_in_the_wrong_direction_are_told_by_a_map_of_the_reverse(weighted):
    weight = np.ones(900) if weighted else None
    rejected = T[:, [0, 2, 1]]
    with pytest.warns(UserWarning, match="reverse of the answers .* the nearer one, not the far"):
        model().fit(rejected, sample_weight=weight)
    with pytest.warns(UserWarning, match="reverse of the answers"):
        model(loss="ste").fit(np.column_stack([T[:, [0, 2]], T[:, [0, 1]]]), sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The right direction of answers of which a quarter is wrong.
        noisy = np.where(np.random.default_rng(4).uniform(size=(900, 1)) < 0.2, rejected, T)
        assert model().fit(noisy).score(noisy) < 0.8


def test_the_most_central_object_is_not_the_odd_one():
    sides = np.linalg.norm(POINTS[TRIALS] - POINTS[np.roll(TRIALS, 1, axis=1)], axis=2)
    # The one opposite to the longest side.
    central = np.roll(TRIALS, -1, axis=1)[np.arange(len(TRIALS)), sides.argmax(axis=1)]
    with pytest.warns(UserWarning, match="holds the odd one.*triplets_from_mostcentral"):
        model(loss="oddoneout").fit(TRIALS, central, sample_weight=np.full(len(TRIALS), 2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = triplets_from_mostcentral(TRIALS, central)
        assert model().fit(right).score(right) > 0.9


def test_triads_have_their_pivot_in_the_middle():
    rows, upper = triads(400, 0)
    frame = pd.DataFrame(rows, columns=["S1", "S2", "S3"])
    with pytest.warns(UserWarning, match="never between the two others, .*pivot=1"):
        DifferenceScaling().fit(frame, upper)
    right = DifferenceScaling(pivot="S2").fit(frame, upper)
    moved = DifferenceScaling().fit(frame[["S2", "S1", "S3"]], upper)
    assert_array_equal(right.scale_, moved.scale_)
    assert np.all(np.diff(right.scale_[2:]) > -0.05)
    assert right.score(frame, upper) == moved.score(frame[["S2", "S1", "S3"]], upper) > 0.8


def test_levels_are_objects_whatever_their_rounding():
    rows, upper = triads(400, 0)
    plain = DifferenceScaling(pivot=1).fit(rows, upper)
    # 0.30000000000000004 and 0.3 are one level.
    typed = np.where(np.arange(400)[:, None] % 2 == 0, LEVELS[rows], np.round(LEVELS[rows], 1))
    for X in (typed, rows + 1, rows - 5, rows * 10):
        found = DifferenceScaling(pivot=1).fit(X, upper)
        assert_array_equal(found.scale_, plain.scale_)
        assert_allclose(found.objects_, np.unique(np.round(X, 6)), atol=1e-12)
        assert found.score(X, upper) == plain.score(rows, upper)
    named = DifferenceScaling(pivot=1, objects=np.round(LEVELS, 1)).fit(typed, upper)
    assert_array_equal(named.scale_, plain.scale_)


# -- missing answers -----------------------------------------------------------------------------

CONVERTERS = {
    "oddoneout": triplets_from_oddoneout,
    "mostcentral": triplets_from_mostcentral,
    "ranking": triplets_from_ranking,
    "multiselect": lambda X: triplets_from_multiselect(X, 1),
    "fit": lambda X: model().fit(X),
    "trials": lambda X: model(loss="oddoneout").fit(X),
    "objects": lambda X: model(objects=N).fit(X),
    "scale": lambda X: DifferenceScaling().fit(X),
    "ceiling": noise_ceiling,
    "error": lambda X: triplet_error(POINTS, X),
    "score": PLAIN.score,
    "predict": PLAIN.predict,
    "place": PLAIN.place,
    "dimension": embedding_dimension_test,
}


@pytest.mark.parametrize("call", CONVERTERS)
def test_a_missing_answer_is_an_error_with_its_row_and_column(call):
    hole = T[:60].astype(float)
    hole[7, 2] = np.nan
    for X in (hole, pd.DataFrame(hole), pd.DataFrame(hole).astype("Int64"),
              np.where(np.isnan(hole), None, hole)):  # fmt: skip
        with pytest.raises(ValueError, match=r"row 7 in column 2, and in 1 of 60 rows"):
            CONVERTERS[call](X)
    named = pd.DataFrame(NAMES[T[:60]], columns=["a", "b", "c"])
    named.iloc[7, 2] = None
    if call not in ("error", "score", "predict", "place"):
        with pytest.raises(ValueError, match="row 7 in column 'c'"):
            CONVERTERS[call](named)
    ragged = T[:60].tolist()
    ragged[7] = ragged[7][:2]
    with pytest.raises(ValueError, match="row 7 has 2 cells"):
        CONVERTERS[call](ragged)


@pytest.mark.parametrize("call", ["oddoneout", "fit", "scale", "objects", "ranking", "ceiling"])
def test_a_pad_of_minus_one_is_a_missing_answer(call):
    padded = T[:60].copy()
    padded[7, 2] = -1
    with pytest.raises(ValueError, match=r"got -1 in row 7, column 2.* missing"):
        CONVERTERS[call](padded)


@pytest.mark.parametrize(
    "y",
    [
        np.where(np.arange(900) == 3, np.nan, 1.0),
        pd.array([None if k == 3 else True for k in range(900)], dtype="boolean"),
        [None if k == 3 else 1 for k in range(900)],
        np.where(np.arange(900) == 3, "", NAMES[CHOSEN]),
    ],
)
def test_a_missing_response_is_an_error_with_its_row(y):
    with pytest.raises(ValueError, match=r"y has a missing answer, .* in row 3, and in 1 of 900"):
        model().fit(SHOWN, y)


# -- ratings -------------------------------------------------------------------------------------


def test_ratings_by_hand():
    rng = np.random.default_rng(0)
    pairs = np.array([rng.permutation(8)[:2] for _ in range(60)])
    ratings, who = rng.integers(1, 8, 60), rng.integers(3, size=60)
    expected = set()
    for r in range(60):
        for s in range(60):
            for i, j in (pairs[r], pairs[r][::-1]):
                for k, other in (pairs[s], pairs[s][::-1]):
                    if who[r] == who[s] and i == k and j != other and ratings[r] > ratings[s]:
                        expected.add((i, j, other))
    found = triplets_from_ratings(NAMES[pairs], ratings, groups=who)
    assert set(map(tuple, found.tolist())) == {tuple(NAMES[list(row)]) for row in expected}
    turned = triplets_from_ratings(pairs, -ratings, groups=who, dissimilarity=True)
    assert set(map(tuple, turned.tolist())) == expected


@pytest.mark.parametrize(
    ("X", "ratings", "message"),
    [
        ([[0, 1, 2]], [1], "X must have two columns"),
        ([[0, 1]], ["DontKnow"], "ratings must be numbers, got 'DontKnow'"),
        ([[0, 1], [1, 2]], [1, np.nan], "ratings has a missing answer, NaN, in row 1"),
        ([[0, 1], [1, 2]], [1], "ratings must have one value for each of the 2 rows"),
    ],
)
def test_wrong_ratings_are_named(X, ratings, message):
    with pytest.raises(ValueError, match=message):
        triplets_from_ratings(X, ratings)


@pytest.mark.slow
def test_selections_by_name():
    shown = NAMES[SHOWN]
    expected = triplets_from_multiselect(SHOWN, np.where(SWAP, 2, 1)[:, None])
    for X, select in ((FRAME, CHOSEN), (FRAME, np.where(SWAP, "right", "left")),
                      (SHOWN, np.where(SWAP, 2, 1).astype(float))):  # fmt: skip
        assert_array_equal(triplets_from_multiselect(X, select), expected)
    assert_array_equal(triplets_from_multiselect(shown, NAMES[CHOSEN]), NAMES[expected])
    moved = triplets_from_multiselect(FRAME[["left", "head", "right"]], CHOSEN, pivot="head")
    assert_array_equal(moved, expected)


def test_names_that_differ_in_spaces_are_told():
    rows = [["cat", "dog", "cow"], ["cat ", "dog", "cow"], ["dog", "cow", "cat"]]
    with pytest.warns(UserWarning, match="'cat' and 'cat ' differ in spaces or capitals only"):
        model().fit(rows)


def test_points_of_objects_that_the_fit_does_not_know():
    fitted = model(objects=N + 5).fit(T)
    with pytest.warns(UserWarning, match="X names 1 objects that were in no answer of the fit"):
        fitted.transform([[0, 1, N + 2]])
    with pytest.raises(ValueError, match="not known"):
        fitted.transform([[0, 1, N + 7]])


def test_the_scale_of_quadruplets_is_that_of_a_probit_model():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(9)[:4] for _ in range(400)]) + 1
    s = np.r_[0.0, np.linspace(0.0, 2.0, 9) ** 2]
    pairs = np.sort(rows.reshape(-1, 2, 2), axis=2)
    z = np.diff(s[pairs], axis=2)[:, :, 0]
    upper = z[:, 1] - z[:, 0] + rng.normal(size=400) > 0

    def loss(values):
        z = np.diff(np.r_[0.0, 0.0, values][pairs], axis=2)[:, :, 0]
        return -norm.logcdf(np.where(upper, 1, -1) * (z[:, 1] - z[:, 0])).sum()

    found = minimize(loss, np.linspace(0.1, 1.0, 8), method="BFGS").x
    scale = DifferenceScaling(reg=1e-9).fit(rows, upper.astype(int))
    assert_array_equal(scale.objects_, np.arange(1, 10))
    assert_allclose(scale.scale_[1:] / scale.noise_, found, rtol=1e-3, atol=1e-3)


def test_which_column_a_code_stands_for_is_not_guessed():
    """Keys v, b, n for left, middle, right: in alphabetical order they would give a wrong map."""
    keys = np.array(list("vbn"))[np.random.default_rng(0).integers(3, size=len(SHOWN))]
    with pytest.raises(ValueError, match=r"map\(\{'b': \?, 'n': \?, 'v': \?\}\) with 0, 1, 2"):
        OrdinalEmbedding(loss="oddoneout").fit(SHOWN, keys)


def test_the_name_of_a_file_is_no_table():
    with pytest.raises(ValueError, match=r"read the file first, .*pandas.read_csv\('odd.csv'\)"):
        OrdinalEmbedding().fit("odd.csv")


def test_few_votes_beside_many_are_no_ratings():
    """Votes for the other options of a row are few, and against the map, as a rule."""
    shown, odd = trials_of(POINTS, 900, 0)
    votes = np.random.default_rng(0).multinomial(5, [0.1, 0.2, 0.7], size=900)
    shown = np.take_along_axis(shown, (odd[:, None] + [1, 2, 0]) % 3, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OrdinalEmbedding(loss="oddoneout", random_state=0).fit(shown, votes)
