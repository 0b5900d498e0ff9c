"""One declaration: each kind, response and option reads what it says, and nothing else."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skscreen import read_answers

TABLE = pd.DataFrame({
    "head": ["cup", "mug", "jar"], "left": ["mug", "jar", "cup"], "right": ["jar", "cup", "mug"],
    "winner": ["jar", "jar", "cup"], "key": ["j", "f", "f"], "worker": ["P1", "P2", "P1"],
    "place": [2, 1, 1], "sign": [-1, 1, 1], "n_left": [0, 3, 2], "n_right": [4, 1, 0],
})  # fmt: skip
COLUMNS = ["head", "left", "right"]
READ = [["cup", "jar", "mug"], ["mug", "jar", "cup"], ["jar", "cup", "mug"]]


def names(answers):
    return answers.objects[answers.rows].tolist()


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pl.from_pandas(frame).to_arrow(),
    "strings of pandas": lambda frame: frame.astype({"head": "string", "left": "category"}),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(
    ("chosen", "response"),
    [
        ("winner", "object"),
        ("key", {"f": "left", "j": "right"}),
        ("key", {"f": True, "j": False}),
        ("place", "position"),
        ("place", {1: "left", 2: "right"}),
        ("sign", "sign"),
        (np.array([False, True, True]), "sign"),
        (["jar", "jar", "cup"], "object"),
        (pd.Series(["jar", "jar", "cup"], index=[7, 8, 9]), "object"),
    ],
)
def test_triplets_are_read_as_declared(make, chosen, response):
    answers = read_answers(make(TABLE), COLUMNS, chosen=chosen, response=response)
    assert names(answers) == READ
    assert answers.objects.tolist() == ["cup", "jar", "mug"]
    assert answers.kind == "triplets" and answers.weights is None and answers.groups is None
    assert answers.trials.tolist() == [0, 1, 2] and answers.rows.dtype == np.int32


def test_without_chosen_the_first_option_is_the_closer_one():
    assert names(read_answers(TABLE, COLUMNS)) == TABLE[COLUMNS].to_numpy().tolist()


def test_asked_for_the_less_similar_one_answers_are_reversed():
    answers = read_answers(TABLE, COLUMNS, chosen="winner", asked="different")
    assert names(answers.reversed()) == READ


def test_votes_are_weighted_rows_of_one_trial():
    answers = read_answers(TABLE, COLUMNS, chosen=["n_left", "n_right"], response="count")
    assert names(answers) == [READ[0], READ[1], ["mug", "cup", "jar"], READ[2]]
    assert answers.weights.tolist() == [4, 3, 1, 2] and answers.trials.tolist() == [0, 1, 1, 2]
    assert len(answers) == 3
    array = read_answers(TABLE, COLUMNS, chosen=TABLE[["n_left", "n_right"]].to_numpy(),
                         response="count")  # fmt: skip
    assert np.array_equal(array.rows, answers.rows)


@pytest.mark.parametrize(
    ("response", "codes"),
    [("object", ["c", "a", "b"]), ("position", [2, 0, 1]), ({"x": 2, "y": 0, "z": 1}, list("xyz"))],
)
def test_the_odd_one_is_last_and_the_central_one_is_closer_to_both(response, codes):
    table = np.array([list("abc")] * 3)
    odd = read_answers(table, kind="oddoneout", chosen=codes, response=response)
    assert names(odd) == [list("abc"), list("bca"), list("acb")]
    central = read_answers(table, kind="mostcentral", chosen=codes, response=response)
    assert central.kind == "triplets" and central.trials.tolist() == [0, 0, 1, 1, 2, 2]
    assert names(central)[:2] == [["a", "c", "b"], ["b", "c", "a"]]


def test_a_file_whose_last_column_is_the_odd_one():
    answers = read_answers([[7, 1, 4], [4, 7, 9]], kind="oddoneout", chosen=2)
    assert names(answers) == [[7, 1, 4], [4, 7, 9]] and answers.objects.dtype.kind == "i"


@pytest.mark.parametrize(
    ("chosen", "response"), [([1, 0], {1: "S1", 0: "S3"}), ([1, -1], "sign"), ([0, 2], "position")]
)
def test_quadruplets_are_called_by_the_first_column_of_a_pair(chosen, response):
    table = pd.DataFrame({"S1": [1, 2], "S2": [2, 3], "S3": [4, 5], "S4": [8, 9]})
    answers = read_answers(table, list(table), kind="quadruplets", chosen=chosen, response=response)
    assert names(answers) == [[1, 2, 4, 8], [5, 9, 2, 3]]


def test_choices_among_many():
    table = [["q", "a", "b", "c", None], ["r", "a", "b", "c", "d"]]
    two = read_answers(table, kind="choices", chosen=[["b", "d"], ["a", "a"]])
    assert names(two) == [
        ["q", "b", "c"], ["q", "a", "c"], ["r", "d", "b"], ["r", "d", "c"], ["r", "a", "b"],
        ["r", "a", "c"],
    ]  # fmt: skip
    assert two.trials.tolist() == [0, 0, 1, 1, 1, 1] and two.kind == "triplets"
    ranked = read_answers(table, kind="choices", chosen=[["b", "d"], ["a", "a"]], ranked=True)
    assert [row for row in names(ranked) if row not in names(two)] == [
        ["q", "b", "a"], ["r", "d", "a"],
    ]  # fmt: skip
    one = read_answers(table, kind="choices", chosen=np.array(["b", "d"]), asked="different")
    assert names(one) == [
        ["q", "a", "b"], ["q", "c", "b"], ["r", "a", "d"], ["r", "b", "d"], ["r", "c", "d"],
    ]  # fmt: skip


def test_a_tuple_of_columns_is_one_object():
    table = pd.DataFrame({"l1": [1, 2], "c1": ["x", "y"], "l2": [2, 2], "c2": ["y", "x"],
                          "side": ["left", "right"]})  # fmt: skip
    one, two = ("l1", "c1"), ("l2", "c2")
    answers = read_answers(
        table, [one, two], kind="paired", chosen="side", response={"left": one, "right": two}
    )
    assert names(answers) == [[(1, "x"), (2, "y")], [(2, "x"), (2, "y")]]
    assert answers.objects.tolist() == [(1, "x"), (2, "x"), (2, "y")]


def test_missing_answers_are_left_out_and_counted():
    table = TABLE.assign(key=["j", "timeout", None])
    options = {"chosen": "key", "response": {"f": "left", "j": "right"}}
    answers = read_answers(table, COLUMNS, missing=["timeout", None], groups="worker", **options)
    assert names(answers) == READ[:1] and answers.left_out.tolist() == [1, 2]
    assert answers.groups.tolist() == ["P1"]
    with pytest.raises(ValueError, match=r"^chosen\b.*row 2"):
        read_answers(table, COLUMNS, missing=["timeout"], **options)
    with pytest.raises(ValueError, match=r"^chosen\b.*row 1"):
        read_answers(table, COLUMNS, missing=[None], **options)


def test_a_chosen_head_comes_with_the_kinds_that_accept_it():
    rows = [["a", "b", "c", "b"], ["d", "e", "f", "d"]]
    more = r"row 1, .*\['e', 'f'\].*; it is in the first column, 0, which kind='oddoneout' and"
    with pytest.raises(ValueError, match=more):
        read_answers(rows, [0, 1, 2], chosen=3)
    for kind in ("oddoneout", "mostcentral"):
        assert len(read_answers(rows, [0, 1, 2], chosen=3, kind=kind)) == 2
    for shown, kind in ((["d", "e", "f", "a"], "triplets"), (["d", "e", "f", "d"], "choices")):
        with pytest.raises(ValueError, match=r"\(columns \[1, 2\]\)\.$"):
            read_answers([rows[0], shown], [0, 1, 2], chosen=3, kind=kind)


VARYING = pd.DataFrame({
    "query": ["q", "r"], "a": ["x", "x"], "b": ["y", "y"], "c": ["z", None],
    "n_a": [2, 3], "n_b": [0, 1], "n_c": [1.0, np.nan],
})  # fmt: skip
VOTES = {"kind": "choices", "chosen": ["n_a", "n_b", "n_c"], "response": "count"}


@pytest.mark.parametrize("none", [np.nan, 0.0])
def test_options_that_are_not_shown_have_no_votes(none):
    table = VARYING.assign(n_c=[1.0, none])
    answers = read_answers(table, ["query", "a", "b", "c"], **VOTES)
    assert names(answers) == [
        ["q", "x", "y"], ["q", "x", "z"], ["q", "z", "x"], ["q", "z", "y"], ["r", "x", "y"],
        ["r", "y", "x"],
    ]  # fmt: skip
    assert answers.weights.tolist() == [2, 2, 1, 1, 3, 1]
    with pytest.raises(ValueError, match=r"^chosen\b.*got 4 for 'c' in row 1"):
        read_answers(table.assign(n_c=[1, 4]), ["query", "a", "b", "c"], **VOTES)
    with pytest.raises(ValueError, match=r"^chosen\b.*row 0"):
        read_answers(table.assign(n_c=[np.nan, 0]), ["query", "a", "b", "c"], **VOTES)
    with pytest.raises(ValueError, match=r"^ranked\b"):
        read_answers(table, ["query", "a", "b", "c"], ranked=True, **VOTES)


def test_rows_left_out_need_no_numbers():
    table = TABLE.assign(n_left=pd.Series([0, "n/a", 2], dtype=object))
    answers = read_answers(
        table, COLUMNS, chosen=["n_left", "n_right"], response="count", missing=["n/a"]
    )
    assert names(answers) == [READ[0], READ[2]] and answers.left_out.tolist() == [1]
    table = TABLE.assign(winner=["jar", None, "cup"])
    weighted = read_answers(table, COLUMNS, chosen="winner", weights=[2, "n/a", 1], missing=[None])
    assert names(weighted) == [READ[0], READ[2]] and weighted.weights.tolist() == [2, 1]


@pytest.mark.parametrize("make", [FRAMES["pandas"], FRAMES["polars"]])
def test_decimals_are_numbers(make):
    table = make(TABLE.assign(sure=[Decimal("1.5"), Decimal(2), Decimal(1)]))
    assert read_answers(table, COLUMNS, weights="sure").weights.tolist() == [1.5, 2, 1]


def test_labels_of_columns_may_be_tuples_or_of_any_other_kind():
    table = TABLE[[*COLUMNS, "winner"]]
    levels = pd.MultiIndex.from_product([["trial"], table.columns])
    shown = [("trial", label) for label in COLUMNS]
    nested = table.set_axis(levels, axis=1)
    assert names(read_answers(nested, shown, chosen=("trial", "winner"))) == READ
    codes = {"f": shown[1], "j": shown[2]}
    assert names(read_answers(nested, shown, chosen=TABLE["key"], response=codes)) == READ
    numbered = table.set_axis([0.5, 1.5, 2.5, 3.5], axis=1)
    assert names(read_answers(numbered, [0.5, 1.5, 2.5], chosen=3.5)) == READ
    people = read_answers(TABLE, COLUMNS, groups=("worker", "place")).groups.tolist()
    assert people == [("P1", 2), ("P2", 1), ("P1", 1)]
    with pytest.raises(ValueError, match=r"(?s)^table must.*'right'"):
        read_answers(TABLE.rename(columns={"key": "right"}), COLUMNS)


def test_objects_may_be_of_any_library():
    known = ["mug", "jar", "cup", "pan"]
    for objects in (pl.Series(known), pl.Series(known).to_arrow(), pd.array(known),
                    pl.DataFrame({"name": known}).to_arrow().column("name")):  # fmt: skip
        assert read_answers(TABLE, COLUMNS, objects=objects).objects.tolist() == known


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, pd.NaT])
def test_every_empty_cell_is_one(empty):
    table = pd.DataFrame([["a", "b", "c"], ["a", empty, "c"]], dtype=object)
    answers = read_answers(table, [0, 1, 2], missing=[empty])
    assert answers.left_out.tolist() == [1]
    with pytest.raises(ValueError, match=r"^columns\b.*row 1"):
        read_answers(table, [0, 1, 2])
    with pytest.raises(ValueError, match=r"^columns\b.*row 1"):
        read_answers(table, [0, 1, 2], chosen=2, missing=[None])


def test_trials_that_show_an_object_twice_are_left_out():
    answers = read_answers([["a", "b", "b"], ["a", "b", "c"], ["d", "d", "a"]])
    assert answers.left_out.tolist() == [0, 2] and answers.objects.tolist() == ["a", "b", "c"]
    pairs = [[0, 1, 1, 0], [0, 0, 1, 2], [0, 1, 0, 2]]
    assert read_answers(pairs, kind="quadruplets").left_out.tolist() == [0, 1]


def test_objects_are_the_check():
    rows = [["target", "near", "far"], ["a", "b", "c"]]
    with pytest.raises(ValueError, match=r"^objects\b.*row 0"):
        read_answers(rows, objects=["c", "b", "a"])
    answers = read_answers(rows[1:], objects=["z", "c", "b", "a"])
    assert answers.objects.tolist() == ["z", "c", "b", "a"] and answers.rows.tolist() == [[3, 2, 1]]
    assert read_answers([[2, 5, 3]], objects=range(6)).rows.tolist() == [[2, 5, 3]]
    assert read_answers([[2, 5, 3]]).rows.tolist() == [[0, 2, 1]]
    for wrong, error in (("abc", TypeError), (3, TypeError), (["a", "a"], ValueError)):
        with pytest.raises(error, match=r"^objects\b"):
            read_answers(rows, objects=wrong)


def test_weights_and_groups_are_columns_or_arrays():
    table = TABLE.assign(w=[2.0, 0.0, 1.0])
    answers = read_answers(table, COLUMNS, weights="w", groups="worker")
    assert answers.weights.tolist() == [2, 1] and answers.left_out.tolist() == [1]
    assert answers.groups.tolist() == ["P1", "P1"] and answers.trials.tolist() == [0, 1]
    same = read_answers(table, COLUMNS, weights=np.array([2.0, 0, 1]), groups=list(table.worker))
    assert np.array_equal(same.weights, answers.weights)
    votes = read_answers(table, COLUMNS, chosen=["n_left", "n_right"], response="count",
                         weights=[2, 1, 0.5])  # fmt: skip
    assert votes.weights.tolist() == [8, 3, 1, 1]


def test_levels_and_names_of_all_kinds_are_objects():
    assert read_answers([[0.5, 1, 2], [2, 4, 0.5]]).objects.tolist() == [0.5, 1, 2, 4]
    assert read_answers([[-1, 0, 1]]).objects.tolist() == [-1, 0, 1]
    assert read_answers([["NA", "EU", "AS"]]).objects.tolist() == ["AS", "EU", "NA"]
    mixed = read_answers([[1, "a", 2]], objects=["a", 2, 1])
    assert mixed.objects.tolist() == ["a", 2, 1]
    with pytest.raises(ValueError, match=r"^columns\b"):
        read_answers([[1, "a", 2]])


@pytest.mark.parametrize("dtype", [np.uint8, ">i8", float, object, "U5", np.int64])
def test_integers_of_any_type_are_names(dtype):
    rows = np.array([[0, 10**4, 7], [7, 0, 10**4]]).astype(dtype)
    assert names(read_answers(rows)) == rows.tolist()


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (ValueError, "^kind must", {"kind": "pairs"}),
        (ValueError, "^kind must", {"kind": ["triplets"]}),
        (ValueError, r"^columns\b", {"kind": "quadruplets"}),
        (ValueError, r"^columns\b", {"columns": ["head", "left", "Right"]}),
        (ValueError, r"^columns\b", {"columns": ["head", "left", "left"]}),
        (TypeError, r"^columns\b", {"columns": "head"}),
        (TypeError, r"^table\b", {"columns": None}),
        (TypeError, "^chosen must", {"kind": "oddoneout"}),
        (TypeError, "^chosen must", {"kind": "mostcentral"}),
        (TypeError, "^chosen must", {"kind": "choices"}),
        (ValueError, r"^chosen\b", {"chosen": "loser"}),
        (ValueError, r"^chosen\b", {"chosen": np.array([1, 2])}),
        (ValueError, r"^chosen\b.*row 0", {"chosen": "key"}),
        (ValueError, r"^chosen\b.*row 0", {"chosen": [0, 1, 1], "response": "position"}),
        (ValueError, r"^chosen\b.*row 1", {"chosen": [1, 0, 1], "response": "sign"}),
        (ValueError, r"^chosen\b.*row 0", {"chosen": [True] * 3, "response": "position"}),
        (ValueError, r"^chosen\b.*row 1", {"chosen": "key", "response": {"j": 0, "k": 1}}),
        (ValueError, r"^response\b", {"chosen": "key", "response": {"f": "head"}}),
        (ValueError, r"^response\b", {"chosen": "key", "response": {"f": "left"}}),
        (ValueError, r"^response\b", {"chosen": "key", "response": "auto"}),
        (ValueError, r"^chosen\b", {"chosen": "n_left", "response": "count"}),
        (ValueError, r"^chosen\b", {"chosen": ["sign", "sign"],
                                                  "response": "count"}),
        (ValueError, r"^chosen\b", {"chosen": ["key", "sign"],
                                                   "response": "count"}),
        (ValueError, "^asked must", {"asked": "farther"}),
        (ValueError, "^asked must", {"kind": "oddoneout", "chosen": "head", "asked": "different"}),
        (ValueError, "^ranked must", {"ranked": True}),
        (ValueError, "^ranked must", {"ranked": 1}),
        (ValueError, r"^weights\b", {"weights": "sign"}),
        (ValueError, r"^weights\b", {"weights": "key"}),
        (ValueError, "^groups must", {"groups": [1, None, 2]}),
        (TypeError, "^missing must", {"missing": "timeout"}),
        (TypeError, "^groups must", {"groups": [[1], [2], [3]]}),
        (ValueError, "^groups must", {"groups": ()}),
        (TypeError, r"^chosen\b", {"response": {"f": "left", "j": "right"}}),
        (TypeError, r"^chosen\b", {"response": "position"}),
        (ValueError, r"^chosen\b", {"kind": "choices", "chosen": []}),
        (ValueError, r"^chosen\b", {"chosen": {"jar", "mug", "cup"}}),
        (ValueError, r"^response\b", {"chosen": "key",
                                      "response": {"f": np.array(["left", "right"])}}),
        (TypeError, r"^columns\b", {"columns": set(COLUMNS)}),
        (TypeError, r"^columns\b", {"columns": dict.fromkeys(COLUMNS)}),
        (TypeError, r"^columns\b", {"columns": np.array([COLUMNS] * 3)}),
        (TypeError, r"^missing\b", {"missing": [["timeout"]]}),
        (TypeError, r"^objects\b", {"objects": {"cup", "jar", "mug"}}),
        (TypeError, r"^objects\b.*None in place 3", {"objects": ["cup", "jar", "mug", None]}),
        (TypeError, r"^objects\b.*place 0", {"objects": [{"name": "cup"}, {"name": "jar"}]}),
        (ValueError, r"^weights\b.*row 1", {"weights": [1, 10**400, 1]}),
        (ValueError, r"^weights\b.*None in row 1", {"weights": [1, None, 1]}),
    ],
)  # fmt: skip
def test_a_wrong_declaration_names_the_argument(error, match, options):
    if options.get("response") == {"j": 0, "k": 1}:
        options = {**options, "response": {"j": "left", "k": "right"}}
    with pytest.raises(error, match=match):
        read_answers(TABLE, **{"columns": COLUMNS, **options})


@pytest.mark.parametrize(
    "table", [None, "file.csv", 3, [1, 2], {"a": [1]}, [], np.zeros((2, 3, 4)), [[1, 2, 3], [1]]]
)
def test_a_table_has_rows_and_columns(table):
    with pytest.raises(ValueError, match=r"^table must"):
        read_answers(table)


def test_pairs_are_not_called_by_an_object():
    with pytest.raises(ValueError, match=r"^response\b"):
        read_answers([[1, 2, 3, 4]], kind="quadruplets", chosen=[1])
    with pytest.raises(ValueError, match=r"^chosen\b"):
        read_answers([list("qabc")], kind="choices", chosen=[["a"], ["a"]])
    with pytest.raises(ValueError, match=r"^chosen\b.*'b' twice in row 1"):
        read_answers([list("qabc")] * 2, kind="choices", chosen=[["a", "b"], ["b", "b"]])
    with pytest.raises(ValueError, match=r"^response\b"):
        read_answers([list("abc")], kind="oddoneout", chosen=[1], response="sign")
    with pytest.raises(ValueError, match=r"no answer"):
        read_answers([["a", "a", "b"]])
    with pytest.raises(ValueError, match=r"no answer"):
        read_answers([["a", "b", "c"]], weights=[0.0])


def test_labels_of_columns_may_be_numbers():
    frame = pd.DataFrame([[9, 8, 7, 6]], columns=[3, 2, 1, 0])
    assert names(read_answers(frame, [3, 2, 1])) == [[9, 8, 7]]
    with pytest.raises(ValueError, match=r"^columns\b"):
        read_answers(np.zeros((1, 3)), [0, 1, -1])


def test_masked_cells_are_empty():
    table = np.ma.MaskedArray([[1, 2, 3], [1, 2, 4]], mask=[[0, 0, 0], [0, 1, 0]])
    assert read_answers(table, missing=[None]).left_out.tolist() == [1]


@pytest.mark.slow
def test_a_million_rows_take_a_second_or_two():
    from time import process_time

    rows = np.random.default_rng(0).integers(1854, size=(1_000_000, 3))
    start = process_time()
    answers = read_answers(rows, kind="oddoneout", chosen=2)
    assert process_time() - start < 5.0
    assert len(answers) + len(answers.left_out) == 1_000_000
