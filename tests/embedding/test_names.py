"""Objects by name: the same points, whatever the objects are called."""

import warnings

import numpy as np
import pandas as pd
import pytest
from embedding_reference import triplets_of
from numpy.testing import assert_array_equal
from scipy import sparse

from skscreen import DifferenceScaling, OrdinalEmbedding, next_queries
from skscreen.embedding.problem.reading.objects import find, learn_objects
from skscreen.embedding.problem.reading.table import read_table
from skscreen.preprocessing import triplets_from_oddoneout

POINTS = np.random.default_rng(0).normal(size=(20, 2))
T = triplets_of(POINTS, 800, 1)
# In an order that is not that of the positions.
WORDS = np.array([f"{(7 * k) % 20:02d} sort" for k in range(20)])
PLACE = np.argsort(WORDS)
FRAME = pd.DataFrame(WORDS[T], columns=["head", "near", "far"])


def model(**options):
    return OrdinalEmbedding(**{"random_state": 0, **options})


def tensor():
    return sparse.csr_array(([1], ([0], [5])), shape=(3, 9))


class Polars:
    """A frame of another library: columns, and what NumPy makes of it."""

    def __init__(self, frame):
        self.columns, self.shape, self._values = list(frame), frame.shape, frame.to_numpy(object)

    def __array__(self, dtype=None, copy=None):
        return self._values


@pytest.mark.slow
@pytest.mark.parametrize(
    "named",
    [
        WORDS[T],
        WORDS[T].tolist(),
        WORDS[T].astype(object),
        FRAME,
        FRAME.astype("category"),
        Polars(FRAME),
        [[(word, 1) for word in row] for row in WORDS[T].tolist()],
    ],
    ids=["array", "list", "objects", "pandas", "categories", "polars", "tuples"],
)
def test_points_of_names_are_those_of_positions(named):
    plain = model(objects=PLACE).fit(T)
    fitted = model().fit(named)
    assert_array_equal(fitted.embedding_, plain.embedding_)
    words = [name[0] if isinstance(name, tuple) else name for name in fitted.objects_.tolist()]
    assert words == WORDS[PLACE].tolist()
    assert fitted.score(named) == plain.score(T) > 0.95
    assert_array_equal(fitted.predict(named), plain.predict(T))
    assert_array_equal(fitted.transform(named), fitted.embedding_)


def test_positions_are_names_too():
    fitted = model().fit(T)
    assert_array_equal(fitted.objects_, np.arange(20))
    assert_array_equal(model(objects=range(20)).fit(T).embedding_, fitted.embedding_)


@pytest.mark.parametrize("kind", [int, float, "Int64"])
def test_numbers_far_from_0_are_names(kind):
    first = 10_001
    numbers = pd.DataFrame(T + first).astype(kind)
    with pytest.warns(UserWarning, match=f"smallest object in X is {first}, .*objects_") as caught:
        fitted = model().fit(numbers)
    assert caught[0].filename == __file__
    assert_array_equal(fitted.objects_, np.arange(first, first + 20))
    assert_array_equal(fitted.embedding_, model().fit(T).embedding_)
    assert fitted.score(numbers) > 0.95
    named = model(objects=np.unique(numbers)).fit(numbers)
    assert_array_equal(named.embedding_, fitted.embedding_)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_whole_numbers_are_positions_whichever_occur(first):
    """A number is the row of its point, also where the first ones are in no answer."""
    rows = T[(T >= first).all(axis=1)]
    told = model(objects=20).fit(rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = model().fit(rows)
    assert_array_equal(fitted.objects_, np.arange(20))
    assert_array_equal(fitted.embedding_, told.embedding_)
    assert_array_equal(np.flatnonzero(~fitted.compared_), np.arange(first))
    # Numbers that begin at 1 are as usual as those that begin at 0.
    assert len(caught) == (first > 1)


def test_objects_that_are_never_compared_cost_nothing():
    few, many = (model(objects=n).fit(T) for n in (20, 1_000_000))
    assert many.embedding_.shape == (1_000_000, 2)
    assert_array_equal(many.embedding_[:20], few.embedding_)
    assert not many.embedding_[20:].any()
    assert many.n_iter_ == few.n_iter_


def test_objects_that_nobody_compared_are_a_warning():
    rows = T[~np.isin(T, [3, 7]).any(axis=1)]
    with pytest.warns(UserWarning, match="2 of 20 objects are in no answer .* the first is 3"):
        fitted = model().fit(rows)
    assert_array_equal(np.flatnonzero(~fitted.compared_), [3, 7])
    zero = np.where(np.isin(T, 7).any(axis=1), 0.0, 1.0)
    word = WORDS[7]
    with pytest.warns(UserWarning, match=f"1 of 20 objects are .* the first is {word}"):
        model().fit(WORDS[T], sample_weight=zero)
    for said in ({"objects": 20}, {"objects": range(20)}):
        assert model(**said).fit(rows).embedding_.shape == (20, 2)


def test_the_order_of_objects_is_the_given_one():
    fitted = model(objects=WORDS.tolist()).fit(WORDS[T])
    assert_array_equal(fitted.objects_, WORDS)
    assert_array_equal(fitted.embedding_, model().fit(T).embedding_)


def test_strangers_tie():
    fitted = model().fit(FRAME)
    a, b = WORDS[:2]
    assert fitted.predict([[a, b, "stranger"]]) == 0
    assert fitted.score([[a, b, "stranger"]]) == 0.0
    with pytest.raises(ValueError, match="X names 1 objects that are not known, 'stranger'"):
        fitted.transform([[a, b, "stranger"]])


def test_tables_of_points_have_names():
    frame = model().set_output(transform="pandas").fit_transform(FRAME)
    assert frame.index.tolist() == WORDS[PLACE].tolist()


@pytest.mark.parametrize(
    ("options", "X", "error", "message"),
    [
        ({}, [["a", None, "b"]], ValueError, "X has a missing answer, None, in row 0 in column 1"),
        ({}, pd.DataFrame([["a", "b", "c"], ["a", pd.NA, "b"]]), ValueError, "missing .* row 1"),
        ({}, pd.DataFrame([["a", "b", ""]], columns=list("xyz")), ValueError, "in column 'z'"),
        ({}, np.array([["a", "b", np.nan]]), ValueError, "X has a missing answer, 'nan'"),
        ({}, [["a", "b"]], ValueError, "X must have 3 columns"),
        ({}, [["a", "b", "c"], ["a"]], ValueError, "rows of one length: row 1 has 1 cells"),
        ({}, [[{}, "a", "b"]], TypeError, "X must hold names .* hashed"),
        ({}, [[0.5, 1.0, 2.0]], ValueError, r"objects=numpy.unique\(X\)"),
        ({"objects": ["a", "b"]}, [["a", "b", "c"]], ValueError, "not known, 'c'"),
        ({"objects": ["a", "b", "a"]}, [["a", "b", "a"]], ValueError, "'a' several times"),
        ({"objects": ["a"]}, [["a", "a", "a"]], ValueError, "objects must have at least 2"),
        ({"objects": ["a", "b", "c"]}, [[0, 1, 2]], ValueError, "X must name objects as the fit"),
        ({"objects": "ab"}, [["a"]], ValueError, "'objects' parameter"),
        ({"objects": list("abc")}, tensor(), ValueError, "X must name objects as the fit did"),
    ],
)
def test_wrong_names_are_refused(options, X, error, message):
    with pytest.raises(error, match=message):
        model(**options).fit(X)


def test_names_and_positions_are_not_mixed_up():
    by_name, by_place = model().fit(FRAME), model().fit(T)
    with pytest.raises(ValueError, match="X must name objects as the fit did, such as '00 sort'"):
        by_name.predict(T)
    with pytest.raises(ValueError, match="as the fit did, such as 0, 1, 2, "):
        by_place.score(FRAME)
    with pytest.raises(ValueError, match="X must name objects as the fit did"):
        by_name.predict(tensor())


def test_new_names_that_differ_in_capitals_are_told():
    fit = OrdinalEmbedding(random_state=0).fit([["cat", "dog", "cow"], ["dog", "cow", "cat"]])
    with pytest.warns(UserWarning, match="objects 'cow' and 'Cow' differ in spaces or capitals"):
        fit.place([["Cow", "dog", "cat"]])


def test_names_of_several_kinds_keep_the_order_in_which_they_occur():
    rows = [["b", 1, ("x", 2)], [1, "b", ("x", 2)]]
    table = read_table(rows)
    objects = learn_objects(table)
    assert objects.tolist() == ["b", 1, ("x", 2)]
    assert_array_equal(find(table.names, objects)[table.codes], [[0, 1, 2], [1, 0, 2]])
    again = read_table([[1, "1", "a"]])
    assert again.names[again.codes].tolist() == [[1, "1", "a"]]


@pytest.mark.parametrize("kind", [OrdinalEmbedding, DifferenceScaling])
def test_numbers_beyond_the_given_objects_are_refused(kind):
    rows = np.array([[0, 1, 2], [1, 2, 3], [3, 1, 0]])
    with pytest.raises(ValueError, match="X names 1 objects that are not known, 3"):
        kind(objects=range(3)).fit(rows)


def test_names_and_their_number_do_not_go_together():
    with pytest.raises(ValueError, match="objects must be all names in their order"):
        model(objects=20).fit(WORDS[T])


def test_names_of_several_types_stay_what_they_are():
    trials = [["a", 3, "b"], ["b", "a", 3], ["a", "b", 3]]
    triplets = triplets_from_oddoneout(trials, ["a", 3, "b"])
    assert set(triplets.ravel().tolist()) == {"a", 3, "b"}
    odd = OrdinalEmbedding(loss="oddoneout", random_state=0).fit(trials, ["a", 3, "b"])
    assert set(odd.objects_.tolist()) == {"a", 3, "b"}
    pairs = [(("x", 1), ("x", 2), ("y", 1)), (("y", 1), ("x", 2), ("x", 1))]
    assert triplets_from_oddoneout(pairs, [("x", 2), ("x", 1)]).shape == (4, 3)
    asked = next_queries(odd, 2, objects=[3, "a"], random_state=0)
    assert {row[0] for row in asked.tolist()} <= {3, "a"}
