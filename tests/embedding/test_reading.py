"""The same answers in every form that tables have, and forms that are refused."""

import json
import re
import warnings
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from embedding_reference import trials_of, triplets_of
from numpy.testing import assert_array_equal
from scipy import sparse

from skscreen import DifferenceScaling, OrdinalEmbedding
from skscreen.embedding.problem.reading.table import read_table
from skscreen.metrics import noise_ceiling, triplet_error
from skscreen.preprocessing import (
    triplets_from_mostcentral,
    triplets_from_multiselect,
    triplets_from_oddoneout,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_votes,
)

N, M = 12, 400
POINTS = np.random.default_rng(0).normal(size=(N, 2))
T = triplets_of(POINTS, M, 1)
RNG = np.random.default_rng(2)
FIRST = RNG.uniform(size=M) < 0.5
SHOWN = np.where(FIRST[:, None], T, T[:, [0, 2, 1]])
NEAR = T[:, 1]
NAMES = np.array([f"i{k:02d}.png" for k in range(N)])
FRAME = pd.DataFrame(SHOWN, columns=["head", "left", "right"])
NAMED = pd.DataFrame(NAMES[SHOWN], columns=["head", "left", "right"])
TRIALS, ODD = trials_of(POINTS, M, 3)
WORKER = np.sort(RNG.integers(N, size=M))
RANKED = np.array([RNG.choice(N, 5, replace=False) for _ in range(60)])
RANKS = np.array([RNG.permutation(4) + 1 for _ in range(60)])


def answers_of(X, y=None, **options):
    """Answers of a fit by the names of their objects, and how often each was given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = OrdinalEmbedding(max_iter=2, random_state=0, **options).fit(X, y)
    weights = np.ones(len(fit.answers_.rows)) if fit.answers_.weights is None else None
    weights = fit.answers_.weights if weights is None else weights
    count = Counter()
    for row, weight in zip(fit.objects_[fit.answers_.rows].tolist(), weights, strict=True):
        count[tuple(map(str, row))] += float(weight)
    return count


def expected(rows, first=0):
    return Counter(tuple(str(first + value) for value in row) for row in rows.tolist())


BY_ID, BY_NAME = expected(T), Counter(map(tuple, NAMES[T].tolist()))


@pytest.mark.parametrize(
    ("X", "y", "result"),
    [
        (FRAME.astype("Int64"), pd.Series(NEAR).astype("Int64"), BY_ID),
        (FRAME.astype(str), NEAR, BY_ID),
        (FRAME, NEAR.astype(str), BY_ID),
        (FRAME.astype({"head": str}), NEAR, BY_ID),
        (FRAME + 1, NEAR + 1, expected(T, 1)),
        ((FRAME + 1).astype(str), NEAR + 1, expected(T, 1)),
        (FRAME + 101, NEAR + 101.0, expected(T, 101)),
        (NAMED, NAMES[NEAR], BY_NAME),
        (NAMED.astype("category"), pd.Series(NAMES[NEAR]).astype("category"), BY_NAME),
        (pl.DataFrame(NAMED.to_dict("list")), pl.Series(np.where(FIRST, "left", "right")), BY_NAME),
        (NAMED, pd.DataFrame({"right": ~FIRST * 1, "left": FIRST * 1}), BY_NAME),
        (NAMED, np.ma.masked_array(np.where(FIRST, 1, -1), False), BY_NAME),
    ],
)
def test_the_same_answers_in_other_forms(X, y, result):
    assert answers_of(X, y) == result


def test_scores_read_numbers_and_the_same_numbers_in_strings():
    fit = OrdinalEmbedding(random_state=0).fit(T)
    as_strings = OrdinalEmbedding(random_state=0).fit(T.astype(str))
    assert fit.score(T.astype(str)) == fit.score(T)
    assert as_strings.score(T) == as_strings.score(T.astype(str))
    with pytest.raises(ValueError, match=r"such as '0', '1', '10', ...; got 1, 2, 3, ..."):
        as_strings.score(T + 1)
    # "1" and "01" are two objects of one number.
    twins = OrdinalEmbedding(max_iter=1).fit([["1", "01", "2"], ["2", "01", "1"]])
    with pytest.raises(ValueError, match="must name objects as the fit did"):
        twins.score([[1, 1, 2]])


QUADRUPLETS = np.array([RNG.choice(N, 4, replace=False) for _ in range(300)])


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (QUADRUPLETS, np.arange(300) % 2 + 1),
        (QUADRUPLETS, np.arange(300) % 2 + 1.0),
        (SHOWN[:, [1, 2, 0]], np.where(FIRST, "1", "2")),
        (SHOWN, np.where(np.arange(M) == 7, -1, np.where(FIRST, 1, 2))),
        (SHOWN, np.where(np.arange(M) == 7, 99, np.where(FIRST, 1, 2))),
    ],
)
def test_1_and_2_are_no_counts(X, y):
    pivot = -1 if len(X) == M and X is not SHOWN else None
    with pytest.raises(ValueError, match="codes of two options, 1 and 2"):
        OrdinalEmbedding(pivot=pivot).fit(X, y)


def test_levels_of_the_first_stimulus_are_not_those_of_the_first_attribute():
    levels = RNG.integers(4, size=(300, 4))
    greater = levels[:, 0] + 2 * levels[:, 2] > levels[:, 1] + 2 * levels[:, 3]
    frame = pd.DataFrame(levels, columns=["G1", "G2", "B1", "B2"])
    fit = DifferenceScaling(model="additive", reg=1e-3).fit(frame, greater)
    with pytest.raises(ValueError, match=r"Pass columns=\['G1', 'G2', 'B1', 'B2'\]"):
        DifferenceScaling(model="additive").fit(frame[["G1", "B1", "G2", "B2"]], greater)
    for one, two in (("{}_x", "{}_y"), ("{}_links", "{}_rechts"), ("L{}", "R{}")):
        labels = [side.format(name) for side in (one, two) for name in ("gloss", "rough")]
        other = pd.DataFrame(frame[["G1", "B1", "G2", "B2"]].to_numpy(), columns=labels)
        with pytest.raises(ValueError, match="the columns of each attribute side by side"):
            DifferenceScaling(model="additive").fit(other, greater)
        DifferenceScaling(model="additive").fit(other[[labels[k] for k in (0, 2, 1, 3)]], greater)
    mixed = DifferenceScaling(model="additive", reg=1e-3, columns=["G1", "G2", "B1", "B2"])
    assert mixed.fit(frame[["G1", "B1", "G2", "B2"]], greater).deviance_ == fit.deviance_
    with pytest.raises(ValueError, match=r"pass y == 1 if 1 says .*, y == 2 if 2 does"):
        DifferenceScaling(model="additive").fit(frame, 2 - greater)


@pytest.mark.parametrize("X", [SHOWN, NAMED, QUADRUPLETS], ids=["ids", "names", "quadruplets"])
@pytest.mark.parametrize("kind", [int, float, str])
def test_0_and_1_are_no_or_the_first_of_two(X, kind):
    first = FIRST if len(X) == M else np.arange(len(X)) % 3 > 0
    y = first.astype(int).astype(kind)
    assert answers_of(X, y) == answers_of(X, y, response="sign") == answers_of(X, first)
    text = "1 is taken to say .* Pass y == 0 if 0 says so"
    with pytest.warns(UserWarning, match=text):
        OrdinalEmbedding().fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", text)
        OrdinalEmbedding(response="sign").fit(X, y)
    if len(X) == M:
        # Both are the same answers to MLDS, and agree equally often.
        twice, again = np.vstack([X, X]), np.append(y, y)
        assert noise_ceiling(twice, again).lower == 1.0


@pytest.mark.parametrize("code", [99, -99, 9])
def test_codes_of_missing_answers_are_no_counts(code):
    y = np.where(FIRST, 1, -1)
    y[[3, 8]] = code
    with pytest.raises(ValueError, match=f"seems to hold 1 and -1, and {code} where the answer"):
        OrdinalEmbedding().fit(SHOWN, y)
    counts = answers_of(SHOWN, y, response="count")
    assert sum(counts.values()) == M - 2 + 2 * abs(code)


def test_numbers_of_columns_that_are_labels_of_others():
    frame = pd.DataFrame(NAMES[TRIALS], columns=[2, 0, 1])
    with pytest.raises(ValueError, match="may be either: pass the chosen objects, or give"):
        OrdinalEmbedding(loss="oddoneout").fit(frame, ODD)
    expected = answers_of(NAMES[TRIALS], ODD, loss="oddoneout")
    assert answers_of(frame, NAMES[TRIALS[np.arange(M), ODD]], loss="oddoneout") == expected
    # Labels that can be nothing else, and columns of an array.
    frame.columns = [1, 2, 3]
    assert answers_of(frame, ODD + 1, loss="oddoneout") == expected
    table = np.column_stack([WORKER, TRIALS])
    told = answers_of(table, ODD + 1, loss="oddoneout", columns=[1, 2, 3])
    assert told == answers_of(table, ODD, loss="oddoneout", columns=[1, 2, 3])
    with pytest.raises(ValueError, match="y must hold columns of X"):
        OrdinalEmbedding(loss="oddoneout").fit(NAMES[TRIALS], ODD == 0)


HOLES = [None, np.nan, pd.NA, pd.NaT, "", " ", "nan", "NA", "N/A", "None", "null", -1, -99]


@pytest.mark.parametrize("hole", [*HOLES, "undefined", "-1", "-99"])
def test_no_code_of_a_missing_answer_is_an_object(hole):
    X = NAMED.astype(object)
    X.iloc[7, 2] = hole
    for read in (OrdinalEmbedding().fit, triplets_from_oddoneout, noise_ceiling):
        with pytest.raises(ValueError, match=r"row 7.* column 'right'"):
            read(X)
    fit = OrdinalEmbedding(random_state=0, max_iter=1).fit(NAMED)
    new = [["new", "i01.png", "i02.png"], ["i03.png", hole, "i01.png"]]
    with pytest.raises(ValueError, match="row 1"):
        fit.place(new)


def test_a_word_for_nothing_may_be_an_object_that_is_declared():
    X = np.where(SHOWN == 0, "None", SHOWN.astype(str))
    objects = ["None", *map(str, range(1, N))]
    assert OrdinalEmbedding(objects=objects, max_iter=1).fit(X, FIRST).objects_.tolist() == objects


def test_masked_cells_are_missing():
    mask = np.zeros(SHOWN.shape, dtype=bool)
    mask[7, 2] = True
    with pytest.raises(ValueError, match="None, in row 7 in column 2"):
        OrdinalEmbedding().fit(np.ma.masked_array(SHOWN, mask))
    with pytest.raises(ValueError, match="y has a missing answer, None, in row 7"):
        OrdinalEmbedding().fit(SHOWN, np.ma.masked_array(FIRST, mask[:, 2]))
    with pytest.raises(ValueError, match="row 1 has 2 cells, row 0 has 3"):
        OrdinalEmbedding().fit(np.array([[0, 1, 2], [1, 2]], dtype=object))


def test_columns_and_weights_in_the_forms_of_pandas():
    X = FRAME.assign(worker=WORKER)
    for columns in (X.columns[:3], ("head", "left", "right"), [0, 1, 2]):
        assert answers_of(X, NEAR, columns=columns) == BY_ID
    fit, twice = OrdinalEmbedding(max_iter=1, random_state=0), pd.array([2] * M, dtype="Int64")
    assert fit.fit(T, sample_weight=twice).answers_.weights is None
    masked = np.ma.masked_array(np.ones(M), WORKER == 3)
    with pytest.raises(ValueError, match="sample_weight must be finite numbers"):
        fit.fit(T, sample_weight=masked)


OTHERS = {
    "participant": WORKER,
    "few participants": WORKER % 3 + 1,
    "names of participants": np.char.add("p", WORKER.astype(str)),
    "trial": np.arange(M),
    "trial of a participant": np.arange(M) % 34,
    "block": np.ones(M, dtype=int),
    "milliseconds": RNG.integers(300, 3000, size=M),
    "rating": RNG.integers(1, 8, size=M),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("place", [0, 3])
def test_columns_of_something_else_are_named_with_those_of_objects(what, place):
    objects = ["head", "left", "right"]
    for frame in (FRAME, NAMED):
        X = frame.copy()
        X.insert(place, "other", OTHERS[what])
        for read in (OrdinalEmbedding().fit, triplets_from_oddoneout, noise_ceiling):
            # Questions are asked again, as for a ceiling.
            rows = np.r_[0:M, 0:M] if read is noise_ceiling else np.arange(M)
            with pytest.raises(ValueError, match="columns=") as error:
                read(X.iloc[rows])
            if "Pass columns" in str(error.value):
                assert f"Pass columns={objects}" in str(error.value)


def test_two_columns_of_something_else():
    for names in (["participant", "trial"], ["few participants", "rating"], ["rating", "block"]):
        X = FRAME.assign(**{name: OTHERS[name] for name in names})
        with pytest.raises(ValueError, match=r"Pass columns=\['head', 'left', 'right'\]"):
            OrdinalEmbedding().fit(X)


def test_a_third_column_that_is_no_object():
    rating = OTHERS["rating"]
    with pytest.raises(ValueError, match=r"column 2 names objects .*triplets_from_ratings"):
        OrdinalEmbedding().fit(np.column_stack([T[:, :2], rating]))
    with pytest.raises(ValueError, match="column 0 names objects of its own row"):
        OrdinalEmbedding().fit(np.column_stack([WORKER, T[:, 1:]]))
    drawn = RNG.integers(N, size=(M, 3))
    assert len(answers_of(drawn))


def test_answers_to_be_judged_have_no_other_columns():
    fit = OrdinalEmbedding(random_state=0).fit(T)
    X = np.column_stack([T, WORKER])
    for judge in (fit.score, fit.predict, lambda X: triplet_error(POINTS, X)):
        with pytest.raises(ValueError, match=r"Pass columns=\[0, 1, 2\]"):
            judge(X)
    assert triplet_error(POINTS, X, columns=[0, 1, 2]) == triplet_error(POINTS, T) == 0.0
    assert triplet_error(POINTS, T[:, [1, 0, 2]], pivot=1) == 0.0
    twice = np.r_[0:M, 0:M]
    by_head = noise_ceiling(SHOWN[twice], NEAR[twice])
    assert noise_ceiling(SHOWN[twice][:, [1, 0, 2]], NEAR[twice], pivot=1) == by_head
    by_odd = noise_ceiling(TRIALS[twice], oddoneout=True)
    assert noise_ceiling(TRIALS[twice][:, [1, 2, 0]], oddoneout=True, odd=-1) == by_odd


def test_a_choice_is_named_with_what_was_shown():
    chosen = TRIALS[np.arange(M), ODD]
    X = pd.DataFrame(TRIALS, columns=list("abc")).assign(chosen=chosen)
    X.insert(0, "round", np.arange(M) // 200 + 1)
    with pytest.raises(ValueError, match=r"columns=\['a', 'b', 'c'\].*triplets_from_mostcentral"):
        triplets_from_mostcentral(X)
    with pytest.raises(ValueError, match=r"'round'.* columns=\['a', 'b', 'c'\]"):
        triplets_from_oddoneout(X.drop(columns="chosen"), chosen)
    with pytest.raises(ValueError, match="pass it as odd or pivot"):
        OrdinalEmbedding(loss="oddoneout").fit(TRIALS, 2)


def test_votes_and_ranks_go_by_the_labels_of_their_objects():
    X = pd.DataFrame([["x", "y", "z"], ["z", "x", "w"]], columns=["a", "b", "c"])
    votes = pd.DataFrame([[5, 0, 1], [0, 2, 0]], columns=["a", "b", "c"])
    rows, weights = triplets_from_votes(X, votes)
    for other in (votes[["c", "a", "b"]], votes.astype("Int64"), votes.astype(object)):
        again = triplets_from_votes(X, other)
        assert again[0].tolist() == rows.tolist()
        assert again[1].tolist() == weights.tolist()
    table = pd.DataFrame(RANKED, columns=list("qabcd"))
    ranks = pd.DataFrame(RANKS, columns=list("abcd"))
    ordered = triplets_from_ranking(table, ranks).tolist()
    assert triplets_from_ranking(table, ranks[list("dbca")]).tolist() == ordered
    holes = np.where(RANKS == 4, np.nan, RANKS)
    without = triplets_from_ranking(table, holes).tolist()
    assert len(without) == 60 * 3
    assert triplets_from_ranking(table, pd.DataFrame(holes).astype("Int64")).tolist() == without
    assert triplets_from_ranking(table, np.ma.masked_array(RANKS, RANKS == 4)).tolist() == without
    with pytest.raises(ValueError, match="votes must hold numbers, 0 where there is none"):
        triplets_from_votes(X, [[1, np.nan, 0], [1, 0, 0]])


@pytest.mark.parametrize("word", ["c{}_rank", "rank{}", "r_{}"])
def test_ranks_whose_labels_say_another_order_are_refused(word):
    table = pd.DataFrame(RANKED, columns=["ref", "c1", "c2", "c3", "c4"])
    ranks = pd.DataFrame(RANKS, columns=[word.format(k) for k in (1, 2, 3, 4)])
    expected = triplets_from_ranking(table, RANKS).tolist()
    assert triplets_from_ranking(table, ranks).tolist() == expected
    moved = ranks[[word.format(k) for k in (3, 1, 2, 4)]]
    with pytest.raises(ValueError, match="ranks must have its columns in the order") as refused:
        triplets_from_ranking(table, moved)
    assert f"Pass ranks[{list(ranks)}]" in str(refused.value)


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        (["option_a", "option_b", "option_c"], ["rank_a", "rank_b", "rank_c"]),
        (["imgA", "imgB", "imgC"], ["rankA", "rankB", "rankC"]),
        (["Q1_1", "Q1_2", "Q1_3"], ["Q2_1", "Q2_2", "Q2_3"]),
        (["bild_links", "bild_mitte", "bild_rechts"], ["rang_links", "rang_mitte", "rang_rechts"]),
    ],
)
def test_labels_that_differ_in_what_all_begin_with(labels, others):
    table = pd.DataFrame([["r", "x", "y", "z"]], columns=["ref", *labels])
    right = triplets_from_ranking(table, pd.DataFrame([[1, 2, 3]], columns=others))
    assert right.tolist() == [["r", "x", "y"], ["r", "x", "z"], ["r", "y", "z"]]
    with pytest.raises(ValueError, match=re.escape(f"Pass ranks[{others}]")):
        triplets_from_ranking(table, pd.DataFrame([[3, 2, 1]], columns=others[::-1]))
    with pytest.raises(ValueError, match=re.escape(f"Pass y[{others}]")):
        triplets_from_votes(table[labels], pd.DataFrame([[3, 2, 1]], columns=others[::-1]))


def test_what_was_chosen_is_no_rank():
    for ranks in ([[1, 0, 0]], [[0, 1, 1]]):
        with pytest.raises(ValueError, match=r"ranks must be the order .* pass ranks \+ 1 if 0"):
            triplets_from_ranking([["r", "a", "b", "c"]], ranks)
    assert triplets_from_ranking([["r", "a", "b"]], [[1, 0]]).tolist() == [["r", "b", "a"]]


def test_rows_of_a_frame_and_its_answers_in_other_orders():
    frame = NAMED.assign(first=FIRST)
    moved, objects = frame.sample(frac=1.0, random_state=0), ["head", "left", "right"]
    text = r"has the index of X in another order: pass {0}.loc\[X.index\] if .*, {0}.to_numpy\(\)"
    refused(text.format("y"), moved[objects], frame["first"])
    assert answers_of(moved[objects], moved["first"]) == answers_of(NAMED, FIRST)
    by_place = moved["first"].to_numpy()
    assert answers_of(moved[objects], pd.Series(by_place, index=range(1, M + 1))) == answers_of(
        NAMED, FIRST
    )
    with pytest.raises(ValueError, match=text.format("ratings")):
        triplets_from_ratings(moved[objects[:2]], pd.Series(RNG.random(M)))
    levels = pd.DataFrame(RNG.integers(4, size=(M, 4))).sample(frac=1.0, random_state=0)
    with pytest.raises(ValueError, match=text.format("y")):
        DifferenceScaling(model="additive").fit(levels, pd.Series(FIRST))


def test_levels_over_many_decades_are_told_apart():
    rng = np.random.default_rng(0)
    levels = 10.0 ** np.arange(-6, 5)
    X = np.sort([rng.choice(11, 4, replace=False) for _ in range(200)], axis=1)
    y = X[:, 3] - X[:, 2] > X[:, 1] - X[:, 0]
    for objects in (None, levels):
        assert_array_equal(DifferenceScaling(objects=objects).fit(levels[X], y).objects_, levels)
    # What sums leave of 0 is 0.
    sums = np.array([-0.3, 0.0, 0.3, 0.1 + 0.2, 0.1 + 0.2 - 0.3])
    assert len(np.unique(read_table(sums[:, None]).codes)) == 3


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ("1", "1.0", "the way a number is written"), ("cat", "\ufeffcat", "cannot be seen"),
        ("a/x.png", "a\\x.png", "the kind of slashes"), ("x.png", "a/x.png", "the folder"),
        ("Cat", "cat ", "spaces or capitals"), ("\xe9", "e\u0301", "Unicode form"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_told(one, other, what):
    rows = np.array([[one, "b", "c"], ["b", "c", one], ["c", one, "b"]])
    with pytest.warns(UserWarning, match=f"differ in .*{what}.* only"):
        OrdinalEmbedding(max_iter=5).fit(np.vstack([rows, np.where(rows == one, other, rows)]))
    model = OrdinalEmbedding(max_iter=5, random_state=0).fit(rows)
    if what != "the folder":
        with pytest.warns(UserWarning, match=f"is no object of the fit: .*{what}.* only"):
            model.score(np.where(rows == one, other, rows))


def test_blank_cells_of_strings_are_missing():
    for blank in ("", "  ", "\t"):
        refused("missing answer, .* in row 1", np.array([["a", "b", "c"], ["b", "a", blank]]))


def test_strings_do_not_name_rows_of_an_array():
    model = OrdinalEmbedding(max_iter=5, random_state=0).fit(T.astype(str))
    with pytest.raises(ValueError, match=r"names objects by strings, .* index=names"):
        triplet_error(model.embedding_, T.astype(str))
    frame = pd.DataFrame(model.embedding_, index=model.objects_)
    assert triplet_error(frame, T.astype(str)) == 1.0 - model.score(T.astype(str))
    with pytest.raises(ValueError, match=r"its column 'name' does not.*set_index"):
        triplet_error(frame.rename_axis("name").reset_index(), T.astype(str))


def test_selections_and_central_objects_by_ids_from_1():
    nearest = RANKED[:, 1:3]
    rows = triplets_from_multiselect(RANKED, nearest)
    assert triplets_from_multiselect(RANKED + 1, nearest + 1).tolist() == (rows + 1).tolist()
    central = TRIALS[:, 1]
    rows = triplets_from_mostcentral(TRIALS, central)
    assert triplets_from_mostcentral(TRIALS + 1, central + 1).tolist() == (rows + 1).tolist()


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series(WORKER, dtype="Int64"),
        pd.DataFrame({"worker": WORKER}),
        pd.Series(WORKER).astype("category"),
        pl.Series(WORKER),
        WORKER[:, None].astype(float),
        WORKER.tolist(),
    ],
)
def test_participants_in_other_forms(groups):
    fit = OrdinalEmbedding(random_state=0, max_iter=3).fit(T)
    points = fit.bootstrap(5, groups=WORKER, random_state=0).points
    assert np.array_equal(fit.bootstrap(5, groups=groups, random_state=0).points, points)


@pytest.mark.parametrize("groups", ["worker", 3, WORKER[1:], np.column_stack([WORKER, WORKER])])
def test_wrong_participants_are_named(groups):
    fit = OrdinalEmbedding(random_state=0, max_iter=3).fit(T)
    with pytest.raises(ValueError, match=f"groups must have one participant for each of the {M}"):
        fit.bootstrap(5, groups=groups)


@pytest.mark.parametrize("ragged", [[[1], [1, 2], [1]], [[1], [1, 2], 3]])
def test_rows_of_different_lengths_are_named(ragged):
    X = [[0, 1, 2], [2, 1, 0], [1, 0, 2]]
    with pytest.raises(ValueError, match="y must"):
        OrdinalEmbedding().fit(X, ragged)
    with pytest.raises(ValueError, match="sample_weight must"):
        OrdinalEmbedding().fit(X, sample_weight=ragged)
    with pytest.raises(ValueError, match="ranks must hold numbers"):
        triplets_from_ranking(X, ragged)
    with pytest.raises(ValueError, match="votes must hold numbers"):
        triplets_from_votes(X, ragged)
    with pytest.raises(TypeError, match="groups must hold"):
        noise_ceiling(X, groups=ragged)


def test_a_single_column_is_refused_by_its_shape():
    column = np.arange(30)[:, None]
    for model in (OrdinalEmbedding(), DifferenceScaling()):
        with pytest.raises(ValueError, match=r"X must have 3 columns .* got 1 feature"):
            model.fit(column)
    with pytest.raises(ValueError, match=r"at least 3 objects, got shape \(30, 1\)"):
        triplets_from_oddoneout(column)


def test_an_array_of_lists_is_a_table():
    rows = np.empty(20, dtype=object)
    for place in range(20):
        rows[place] = np.random.default_rng(place).permutation(5)[:3].tolist()
    fitted = OrdinalEmbedding(random_state=0).fit(rows)
    assert fitted.n_features_in_ == 3
    listed = OrdinalEmbedding(random_state=0).fit(rows.tolist())
    np.testing.assert_array_equal(fitted.embedding_, listed.embedding_)


@pytest.mark.parametrize("y", [2, "last", np.int64(1), np.array(2)])
def test_what_holds_for_all_rows_is_no_y(y):
    with pytest.raises(ValueError, match="in all rows, pass it as odd or pivot"):
        OrdinalEmbedding(loss="oddoneout").fit(T, y)


def test_columns_in_another_order_are_refused_unless_named():
    named = ["head", "near", "far"]
    frame = pd.DataFrame(np.sort(T, axis=1)[:, [1, 0, 2]], columns=named)
    other = frame[named[::-1]]
    scale = DifferenceScaling().fit(frame)
    assert scale.feature_names_in_.tolist() == named
    for call in (scale.predict, scale.score):
        with pytest.raises(ValueError, match="same order"):
            call(other)
    space = OrdinalEmbedding(random_state=0).fit(frame)
    with pytest.raises(ValueError, match="same order"):
        space.place(other)
    for model in (DifferenceScaling(columns=named), OrdinalEmbedding(columns=named)):
        model.fit(frame)
        assert model.score(other) == model.score(frame)
    pairs = pd.DataFrame(np.random.default_rng(0).integers(4, size=(200, 4)), columns=list("abcd"))
    joint = DifferenceScaling(model="additive").fit(pairs, pairs["a"] > pairs["b"])
    with pytest.raises(ValueError, match="same order"):
        joint.predict(pairs[list("badc")])


def test_score_says_which_reading_of_y_the_fit_found():
    trials = pd.DataFrame(T, columns=["one", "two", "three"])
    by_object = trials["one"].map("object {}".format)
    trials = trials.map("object {}".format)
    model = OrdinalEmbedding(loss="oddoneout", random_state=0).fit(trials, by_object)
    with pytest.raises(
        ValueError, match=r"response='chosen'.* can be with response='position'"
    ) as e:
        model.score(trials, ["one"] * len(T))
    assert type(e.value) is ValueError
    with pytest.raises(ValueError, match="differ in spaces or capitals only") as refused:
        OrdinalEmbedding(loss="oddoneout").fit(trials, by_object.str.title())
    assert "response='sign'" not in str(refused.value)
    told = OrdinalEmbedding(loss="oddoneout", response="position")
    with pytest.raises(ValueError, match=r"0, 1, 2, or their labels 'one', .* response='chosen'"):
        told.fit(trials, by_object)


@pytest.mark.parametrize("shuffled", [False, True])
def test_arrays_have_the_columns_of_the_frame_of_the_fit(shuffled):
    order = ["third", "who", "second", "first"] if shuffled else ["first", "second", "third", "who"]
    names = np.array([f"object {k}" for k in range(N)])[T]
    columns = ["first", "second", "third"]
    frame = pd.DataFrame(names, columns=columns).assign(who="a")[order]
    model = OrdinalEmbedding(columns=columns, random_state=0).fit(frame)
    expected = model.predict(frame)
    for answers in (names, names.tolist(), frame.to_numpy()):
        np.testing.assert_array_equal(model.predict(answers), expected)
    chosen = ["third"] * len(names)
    assert model.score(names, chosen) == model.score(frame, chosen)
    reverse = model.predict(names[:, [0, 2, 1]], result_format="list-order")
    np.testing.assert_array_equal(reverse, model.predict(names, result_format="list-order"))
    new = [["new", *names[0, 1:]], ["new", *names[1, 1:]]]
    placed = model.place(pd.DataFrame(new, columns=columns))
    np.testing.assert_array_equal(model.place(new), placed)


def test_arrays_whose_columns_may_have_either_of_two_orders_are_refused():
    frame = pd.DataFrame(T, columns=["third", "first", "second"])
    model = OrdinalEmbedding(columns=["first", "second", "third"], random_state=0).fit(frame)
    with pytest.raises(ValueError, match=r"frame, \['third'.* or of columns, .*DataFrame\(X, col"):
        model.predict(T)
    wider = np.column_stack([T, T[:, 0]])
    with pytest.raises(
        ValueError, match=r"3 columns; got an array of 4 columns: pass pandas\.Data"
    ):
        model.predict(wider)
    wide = OrdinalEmbedding(columns=list("bcd"), random_state=0)
    wide.fit(pd.DataFrame(np.column_stack([WORKER, T]), columns=list("abcd")))
    with pytest.raises(ValueError, match="3 columns or of all 4 of the fit; got an array of 2"):
        wide.predict(T[:, :2])
    with pytest.raises(ValueError, match="columns of arrays have numbers only"):
        OrdinalEmbedding(columns=list("abc")).fit(T)


def test_columns_called_by_numbers_are_those_of_the_fit():
    # As of a file without a header, of which some columns are left.
    frame = pd.DataFrame(np.column_stack([T, WORKER, WORKER + 50]), columns=[3, 2, 1, 0, 7])
    model = OrdinalEmbedding(columns=[3, 2, 1], random_state=0).fit(frame)
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.to_numpy()), expected)
    np.testing.assert_array_equal(model.predict(T), expected)
    places = OrdinalEmbedding(columns=[2, 1, 0], random_state=0).fit(pd.DataFrame(T[:, ::-1]))
    np.testing.assert_array_equal(
        places.predict(T[:, ::-1]), places.predict(pd.DataFrame(T[:, ::-1]))
    )


@pytest.mark.parametrize("first", [10**12, 2**60, np.uint64(2**63)])
def test_identifiers_of_many_digits_are_exact(first):
    expected = OrdinalEmbedding(random_state=0, objects=np.arange(N)).fit(T)
    objects = np.arange(N).astype(np.asarray(first).dtype) + first
    model = OrdinalEmbedding(random_state=0, objects=objects).fit(objects[T])
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    assert model.objects_.tolist() == objects.tolist()
    # One beyond the last was taken for the last.
    strange = [[int(objects[0]), int(objects[1]), int(objects[-1]) + 1]]
    assert model.predict(strange).tolist() == [0]
    with pytest.raises(ValueError, match="1 objects that are not known"):
        triplet_error(pd.DataFrame(model.embedding_, index=objects), strange)


def test_only_columns_with_values_in_common_are_those_of_objects():
    table = NAMED.assign(
        answer=np.where(FIRST, "left", "right"), worker=WORKER, trial=np.arange(M) % N
    )
    with pytest.raises(ValueError, match=r"Pass columns=\['head', 'left', 'right'\], those of"):
        OrdinalEmbedding().fit(table)


class Arrow:
    """An array as Arrow, which needs a package of its own, has it: its cells are scalars."""

    def __init__(self, cells):
        self.cells = cells

    def __len__(self):
        return len(self.cells)

    def __iter__(self):
        return iter([object() for _ in self.cells])

    def to_pylist(self):
        return self.cells


def test_rows_in_series_of_lists():
    expected = OrdinalEmbedding(random_state=0).fit(NAMES[T]).embedding_
    rows = NAMES[T].tolist()
    for table in (pl.Series(rows), Arrow(rows), pd.Series(rows)):
        model = OrdinalEmbedding(random_state=0, objects=Arrow(NAMES.tolist())).fit(table)
        np.testing.assert_array_equal(model.embedding_, expected)


@pytest.mark.parametrize("mark, message", [(None, "each cell is a list"), (";", "';' divides")])
def test_series_whose_cells_hold_rows_as_text_are_told(mark, message):
    cells = [json.dumps(row) if mark is None else mark.join(row) for row in NAMES[T].tolist()]
    for table in (pd.Series(cells), pl.Series(cells), pd.DataFrame({"stimuli": cells})):
        with pytest.raises(ValueError, match=message):
            OrdinalEmbedding().fit(table)


def test_a_header_that_was_read_as_a_trial_is_told():
    rows = NAMES[T].tolist()
    with pytest.raises(ValueError, match=r"header in row 0, \['head', 'near', 'far'\]: leave it"):
        OrdinalEmbedding().fit([["head", "near", "far"], *rows])
    # Where other names are in one row only, these may be those of objects, and where all are given.
    single = [["head", "near", "far"], *rows, ["one", *rows[0][:2]]]
    assert len(OrdinalEmbedding(max_iter=1).fit(single).objects_) == N + 4
    table = np.array(single[:-1])
    model = OrdinalEmbedding(max_iter=1, objects=np.unique(table)).fit(table)
    assert len(model.objects_) == N + 3


def test_other_things_than_responses_are_named_with_the_call():
    choices = NAMES[NEAR].tolist()
    for y, call in (
        (iter(choices), r"iterator: pass list\(y\)"),
        (dict(enumerate(choices)), r"dict: pass list\(y.values\(\)\)"),
        ("winner", r"pass X\['winner'\]"),
        (sparse.csr_array(np.eye(3)), r"csr_array: pass y.toarray\(\)"),
        ([name[:-4] for name in choices], r"ending of a file only: .*PurePath\(name\).stem"),
        ([f"stimuli/{name}" for name in choices], "the folder or the ending of a file only"),
    ):
        with pytest.raises(ValueError, match=call):
            OrdinalEmbedding().fit(NAMED, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": []}, r"columns must be a list of columns of X, got \[\]"),
        ({"columns": np.array([])}, "columns must be a list of columns of X"),
        ({"pivot": pd.NA}, "pivot must name columns of X"),
    ],
)
def test_no_columns_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        OrdinalEmbedding(**options).fit(SHOWN)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (37, 39, "codes of two options, 37 and 39 .pass y == 37 if 37 says"),
        ("f", "j", "pass y == 'f' if 'f' says that an answer is as its row"),
        ("FALSE", "TRUE", "y == 'TRUE' if 'TRUE' does"),
    ],
)
def test_codes_of_two_options_are_no_counts(first, second, message):
    with pytest.raises(ValueError, match=message):
        OrdinalEmbedding().fit(FRAME, np.where(FIRST, first, second))


def test_codes_of_three_columns_are_told_with_the_call():
    with pytest.raises(ValueError, match=r"pandas.Series\(y\).map\({49: \?, 50: \?, 51: \?}\)"):
        OrdinalEmbedding(loss="oddoneout").fit(TRIALS, ODD + 49)


@pytest.mark.parametrize(
    ("y", "hole"),
    [
        (NAMES[NEAR], "skip"),
        (np.where(FIRST, "left", "right"), "timeout"),
        (np.where(FIRST, 1, -1), 0),
        (np.where(FIRST, 1, 0), 2),
    ],
)
def test_rows_without_an_answer_are_told_from_the_others(y, hole):
    y = y.astype(object)
    y[7::50] = hole
    with pytest.raises(ValueError, match=f"y is {hole!r} in row 7, and 8 of {M} rows in all"):
        OrdinalEmbedding().fit(NAMED, y)


@pytest.mark.parametrize("codes", [(1, 2, 3), (1, 3, 2), (1, 2, 4), (1, 2, 9), (1, 3, 3)])
@pytest.mark.parametrize("every", [50, 20, 5])
def test_codes_with_a_third_one_are_no_counts(codes, every):
    y = np.where(FIRST, *codes[:2])
    y[::every] = codes[2]
    refused("y can be read as counts, but seems to hold codes", FRAME, y)
    with pytest.raises(ValueError, match="seems to hold codes"):
        noise_ceiling(np.vstack([FRAME, FRAME]), np.append(y, y))
    assert sum(answers_of(FRAME, y, response="count").values()) == y.sum()


def test_votes_with_other_words_for_their_objects_keep_the_order():
    votes = pd.DataFrame({"n_right": ~FIRST, "n_left": FIRST}).astype(int)
    with pytest.raises(ValueError, match=r"Pass y\[\['n_left', 'n_right'\]\]"):
        OrdinalEmbedding().fit(FRAME, votes)
    right = answers_of(FRAME, votes[["n_left", "n_right"]])
    assert right == answers_of(FRAME, FIRST)


@pytest.mark.parametrize("rows", [pd.Series(T.tolist()), pd.MultiIndex.from_arrays(T.T)])
def test_rows_of_a_series_are_a_table(rows):
    assert answers_of(rows) == answers_of(T)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (iter(T.tolist()), r"got list_iterator: pass list\(X\)"),
        (set(map(tuple, T.tolist())), "rows in order, got set"),
        (FRAME.to_dict("records"), r"pass pandas.DataFrame\(X\)"),
        (FRAME.to_dict("list"), r"pass pandas.DataFrame\(X\)"),
        (FRAME.to_records(index=False), r"pass pandas.DataFrame\(X\)"),
        (pl.DataFrame(T, schema=["a", "b", "c"]).lazy(), r"pass X.collect\(\)"),
    ],
)
def test_what_has_no_rows_in_order_is_named_with_the_call(X, message):
    with pytest.raises(ValueError, match=message):
        OrdinalEmbedding().fit(X)


@pytest.mark.parametrize("objects", [set(NAMES.tolist()), pd.DataFrame({"name": NAMES})])
def test_objects_have_an_order(objects):
    with pytest.raises(ValueError, match="objects must be their number or a list"):
        OrdinalEmbedding(objects=objects).fit(NAMED)


def test_two_ways_to_write_an_accent_are_told():
    names = np.array(["\u00e9t\u00e9", "e\u0301te\u0301", *NAMES[2:]])
    with pytest.warns(UserWarning, match=r"Unicode form of accents only .*normalize\('NFC'"):
        OrdinalEmbedding(random_state=0).fit(names[T])
    answers = np.where(T[:, 1] == 0, names[1], NAMES[T[:, 1]])
    with pytest.raises(ValueError, match="They differ in the Unicode form of accents only"):
        OrdinalEmbedding().fit(NAMED.replace(NAMES[0], names[0]), answers)


def test_errors_of_a_frame_of_points_are_by_name():
    fit = OrdinalEmbedding(random_state=0).fit(NAMES[T])
    points = pd.DataFrame(fit.embedding_, index=fit.objects_)
    for table in (points, points[::-1]):
        assert triplet_error(table, NAMES[T]) == pytest.approx(1.0 - fit.score(NAMES[T]))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_files_with_other_marks_between_cells_are_told(mark):
    rows = [mark.join(row) for row in NAMES[T].tolist()]
    with pytest.raises(ValueError, match=r"pandas.read_csv.file, sep="):
        OrdinalEmbedding().fit(pd.DataFrame({mark.join("abc"): rows}))


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 0, 2, 1]])
def test_winner_and_loser_beside_what_was_shown_are_told(order):
    table = NAMED.assign(winner=NAMES[T[:, 1]], loser=NAMES[T[:, 2]]).iloc[:, order]
    with pytest.raises(ValueError, match=r"hold those of .*Pass columns=\['head', '") as raised:
        OrdinalEmbedding().fit(table)
    named = str(raised.value)
    assert "['head', 'left', 'right']" in named or "['head', 'right', 'left']" in named
    assert "['head', 'winner', 'loser']" in named or "['head', 'loser', 'winner']" in named


def test_a_choice_beside_participants_and_numbers_of_trials_is_named_with_what_was_shown():
    table = NAMED.assign(winner=NAMES[NEAR], who=WORKER, trial=np.arange(M) % 40)
    with pytest.raises(ValueError, match=r"columns=\['head', 'left', 'right'\]\).fit\(X, X\['win"):
        OrdinalEmbedding().fit(table[["who", "trial", "head", "left", "right", "winner"]])


def refused(message, X=NAMED, y=None, error=ValueError, sample_weight=None, **options):
    with pytest.raises(error, match=message):
        OrdinalEmbedding(**options).fit(X, y, sample_weight=sample_weight)


class ArrowTable:
    """As tables of Arrow, which need a package of their own, have it."""

    column_names, columns, shape = ["a", "b", "c"], [[0], [1], [2]], (1, 3)

    def to_pandas(self):
        return pd.DataFrame([[0, 1, 2]], columns=self.column_names)


def test_tables_of_other_packages_and_labels_of_several_columns_are_told():
    refused(r"got ArrowTable: pass X\.to_pandas", ArrowTable())
    refused("'s' 2 times: rename", NAMED.set_axis(["s", "s", "t"], axis=1))
    refused("'s' 2 times: rename", NAMED.set_axis(["s", "s", "t"], axis=1), columns=["s", "t"])


@pytest.mark.parametrize("label", ["Head", "head ", "\ufeffhead"])
def test_labels_that_look_the_same_are_told(label):
    table = NAMED.rename(columns={"head": label})
    refused(re.escape(f"got 'head'. {label!r} differs in"), table, columns=list(NAMED))


def test_lines_of_headers_among_the_answers_are_told():
    again = pd.concat([NAMED[:5], pd.DataFrame([list(NAMED)], columns=NAMED.columns), NAMED[5:]])
    refused(r"labels of its columns, .* in row 5: leave", again)
    refused(r"labels of its columns, .* in row 5: leave", again, np.zeros(M + 1), loss="oddoneout")
    qualtrics = NAMED.copy()
    qualtrics.iloc[1, 1] = '{"ImportId":"QID2"}'
    refused(r"row 1, column 'left': files of Qualtrics .*skiprows=\[1, 2\]", qualtrics)


def test_rows_in_one_cell_are_told():
    rows = NAMES[T].tolist()
    for loss in ("soe", "oddoneout"):
        joined = pd.DataFrame({"a": [";".join(row) for row in rows]})
        refused("sep=';'", joined, loss=loss)
        refused(r"json\.loads", pd.DataFrame({"a": [str(row) for row in rows]}), loss=loss)
    refused(r"X\[column\]\.tolist\(\)", pd.DataFrame({"a": rows}), error=TypeError)


def test_numbers_of_half_precision_are_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        half = OrdinalEmbedding(random_state=0).fit(T.astype(np.float16)).embedding_
    np.testing.assert_array_equal(half, OrdinalEmbedding(random_state=0).fit(T).embedding_)


def test_what_is_no_weight_is_told_with_its_row():
    weights = np.ones(M)
    weights[7] = np.nan
    refused("got nan in row 7: leave", sample_weight=weights)
    refused(r"got '1\.5': convert strings, as", sample_weight=["1.5"] * M)


def test_keys_or_values_of_a_dict_of_objects_are_named():
    refused(r"Pass list\(objects\) if X", FRAME, objects=dict(enumerate(NAMES.tolist())))


def test_codes_of_two_options_are_named_for_a_sign_too():
    refused("pass y == 'no' if", FRAME, np.where(FIRST, "yes", "no"), response="sign")


@pytest.mark.parametrize("scale", [[1, 10, 40, 60, 90, 99], [0.9, 0.8, 0.6, 0.4, 0.3, 0.1]])
def test_ratings_between_two_options_are_no_counts(scale):
    places = RNG.integers(3, size=M)
    y = np.array(scale)[np.where(FIRST, 3 + places, places)]
    middle = f"{0.5 * (scale[0] + scale[-1]):g}"
    refused(f"Of ratings pass y - {middle} if high ones say", FRAME, y)
    centred = answers_of(FRAME, y - float(middle))
    assert set(centred) == set(answers_of(FRAME, FIRST if scale[0] == 1 else ~FIRST))


def test_levels_in_strings_are_told():
    levels = pd.DataFrame(np.sort([RNG.choice(9, 4, replace=False) for _ in range(50)], axis=1))
    y = RNG.integers(2, size=50)
    for table, message in (
        (levels.astype(str) + ".5", r"pass X\.astype\(float\)"),
        (levels.map(lambda level: Decimal(int(level)) / 8), r"pass X\.astype\(float\)"),
        (levels.astype(str) + ",5", "decimal=','"),
    ):
        with pytest.raises(ValueError, match=message):
            DifferenceScaling().fit(table, y)


def test_ratings_that_compare_nothing_are_told():
    with pytest.raises(ValueError, match="ratings must differ between two pairs"):
        triplets_from_ratings([["a", "b"], ["a", "c"]], [3, 3])
