"""Formats of answers, and what is wrong with them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from skscreen import (
    DifferenceScaling,
    OrdinalEmbedding,
    embedding_dimension_test,
    next_queries,
)
from skscreen.embedding.problem.answers import Layout, learn_answers, usable_answers
from skscreen.metrics import noise_ceiling

T = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]])
Q = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
FLIPPED = T[:, [0, 2, 1]]


def read_answers(X, y=None, sample_weight=None, **layout):
    """As a fit does that is told no objects."""
    return learn_answers(X, y, sample_weight, Layout(**layout))[0]


@pytest.mark.parametrize(
    "rows",
    [T, T.tolist(), T.astype(np.uint32), T.astype(np.uint8), T.astype(np.int64), T.astype(float)],
    ids=["array", "list", "uint32", "uint8", "int64", "float"],
)
def test_rows_of_any_kind_of_numbers(rows):
    answers = read_answers(rows)
    assert_array_equal(answers.rows, T)
    assert answers.rows.dtype == np.int32
    assert answers.weights is None


@pytest.mark.parametrize(
    "y",
    [
        [True, False, True, False],
        np.array([True, False, True, False], dtype=object),
        np.array([1, -1, 1, -1], dtype=object),
        [1, -1, 1, -1],
        [1.0, -1.0, 1.0, -1.0],
    ],
    ids=["bool", "object-bool", "object-int", "int", "float"],
)
def test_responses_turn_answers_round(y):
    expected = np.where(np.array([1, 0, 1, 0], dtype=bool)[:, None], T, FLIPPED)
    assert_array_equal(read_answers(T, y).rows, expected)
    assert read_answers(T, y).weights is None


def test_quadruplets_are_turned_round_by_pairs():
    assert_array_equal(read_answers(Q, [1, -1]).rows, [[0, 1, 2, 3], [3, 0, 1, 2]])


def test_counts_are_signs_and_weights():
    answers = read_answers(T, [3, -1, 1, -2])
    assert_array_equal(answers.rows, [T[0], FLIPPED[1], T[2], FLIPPED[3]])
    assert_array_equal(answers.weights, [3.0, 1.0, 1.0, 2.0])
    both = read_answers(T, [3, -1, 1, -2], sample_weight=[1.0, 0.5, 0.0, 2.0])
    assert_array_equal(both.weights, [3.0, 0.5, 0.0, 4.0])


def tensor():
    counts = np.zeros((3, 3, 3))
    counts[0, 1, 2], counts[1, 0, 2], counts[2, 0, 1] = 2.0, -1.0, 1.0
    return counts


class COO:
    """As the package `sparse` has it."""

    def __init__(self, dense):
        self.coords, self.shape = np.array(np.nonzero(dense)), dense.shape
        self.data, self.ndim = dense[np.nonzero(dense)], dense.ndim


@pytest.mark.parametrize(
    "make",
    [
        COO,
        lambda dense: sparse.csr_array(dense.reshape(3, 9)),
        lambda dense: sparse.csc_matrix(dense.reshape(9, 3)),
    ],
)
def test_tensors_of_counts(make):
    answers = read_answers(make(tensor()))
    assert_array_equal(answers.rows, [[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    assert_array_equal(answers.weights, [2.0, 1.0, 1.0])


def test_a_part_of_a_tensor_is_refused():
    """Cross-validation cuts along the first axis: these are objects, not answers."""
    with pytest.raises(
        ValueError, match=r"X, if sparse, must be .* got shape \(2, 9\).*list of trip"
    ):
        read_answers(sparse.csr_array(tensor().reshape(3, 9))[:2])
    with pytest.raises(ValueError, match="X, if sparse, must be"):
        read_answers(COO(tensor()[:2]))
    with pytest.raises(ValueError, match="at least one answer"):
        read_answers(COO(np.zeros((3, 3, 3))))
    with pytest.raises(ValueError, match="y must be None with a tensor"):
        read_answers(COO(tensor()), [1, 1, 1])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0, 1]], "3 columns .* or 4"),
        ([[0, 1, 2, 3, 4]], "3 columns .* or 4"),
        ([[0, 1, -1]], "X must hold indices of objects.* got -1 in row 0, column 2.* missing"),
        ([[0, 1, -2]], r"got -2 in row 0, column 2.*objects=numpy.unique\(X\)"),
        ([[0, 1, 2.5]], r"X must hold objects, .*make_triplets\(X\)\); if the numbers are names"),
        ([[0, 1, 2], [0, 1, np.nan]], "missing answer, NaN, in row 1 in column 2, .* 1 of 2 rows"),
        ([[0, 1, 2**40]], "X names an object 1099511627776, but has only 1 answers"),
        ([[0, 1, np.inf]], "infinity"),
        ([0, 1, 2], "2D array"),
        (np.empty((0, 3), dtype=int), "0 sample"),
    ],
)
def test_wrong_rows_are_named(X, message):
    with pytest.raises(ValueError, match=message):
        read_answers(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2, 1, 2], "in 3 ways: pass response='position' if .*, or response='count' if"),
        ([1, 0, -1, 1], "y must not hold 0, as in row 1"),
        ([3, 0, 1, 1], "y must not hold 0, as in row 1"),
        ([1, 1, 1], "one response or choice for each of the 4 rows of X, got 3"),
        (["yes", "no", "yes", "no"], r"row 0 has \[1, 2\] and y 'yes', as 3 rows more"),
        (
            np.array([True, None, True, True], dtype=object),
            "y has a missing answer, None, in row 1",
        ),
        ([1, np.inf, 1, 1], "Input y contains infinity"),
    ],
)
def test_wrong_responses_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        read_answers(T, y)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1, -1, 1, 1], [1, np.nan, 1, 1], ["a"] * 4])
def test_wrong_weights_are_named(weights):
    with pytest.raises(ValueError, match="sample_weight must be"):
        read_answers(T, sample_weight=weights)


def test_counts_times_weights_must_be_finite():
    with pytest.raises(ValueError, match="finite sum"):
        read_answers(T, [1e200, -1.0, 1.0, 1.0], sample_weight=[1e200, 1.0, 1.0, 1.0])


def test_impossible_answers_are_left_out_with_a_warning():
    rows = [[0, 1, 2], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
    with pytest.warns(UserWarning, match=r"3 of 4 answers in X .* as row 1 does"):
        usable = usable_answers(read_answers(rows, sample_weight=[2, 1, 1, 1]))
    assert_array_equal(usable.rows, rows[:1])
    assert usable.weights is None
    quadruplets = [[0, 1, 2, 3], [0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 2], [0, 1, 2, 2]]
    with pytest.warns(UserWarning, match=r"4 of 5 answers"):
        assert_array_equal(usable_answers(read_answers(quadruplets)).rows, quadruplets[:1])


def test_nothing_usable_is_an_error():
    with pytest.raises(ValueError, match="none of its 1 rows does"):
        usable_answers(read_answers([[0, 0, 1]]))
    with pytest.raises(ValueError, match="sample_weight must not be zero for all"):
        usable_answers(read_answers(T, sample_weight=[0, 0, 0, 0]))


def test_answers_of_weight_zero_are_left_out():
    usable = usable_answers(read_answers(T, sample_weight=[0.0, 2.0, 2.0, 0.0]))
    assert_array_equal(usable.rows, T[1:3])
    assert usable.weights is None


def test_the_input_is_not_changed():
    rows = T.copy()
    rows.setflags(write=False)
    read_answers(rows, [1, -1, 1, 1])
    assert_array_equal(rows, T)


def test_entries_of_a_tensor_at_one_place_are_summed():
    matrix = sparse.coo_array(([2.0, -1.0, 3.0], ([0, 0, 1], [5, 5, 2])), shape=(3, 9))
    for form in (matrix, matrix.tocsr()):
        answers = read_answers(form)
        assert_array_equal(answers.rows, [[0, 1, 2], [1, 0, 2]])
        assert_array_equal(answers.weights, [1.0, 3.0])


@pytest.mark.parametrize("width", [3, 4])
def test_features_are_no_comparisons(width):
    rng = np.random.default_rng(0)
    # Grades from 0 to 4.
    grades = rng.integers(0, 5, size=(60, width))[:, [0, 0, 1, 2][:width]]
    with pytest.raises(ValueError, match=r"seems to be 60 samples with . features.*ScreenedRTLM"):
        OrdinalEmbedding(objects=600).fit(grades)
    # Measures of different size.
    sizes = 100 * np.arange(width) + rng.integers(0, 30, size=(200, width))
    for X in (sizes, sizes[:, ::-1].astype(float)):
        with pytest.raises(ValueError, match=r"No two columns of X .* of . features of samples"):
            read_answers(X)


def test_groups_of_objects_are_no_features():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(low, low + 10, size=200) for low in (0, 10, 20)], axis=1)
    with pytest.raises(ValueError, match=r"in common, .* pass columns=\[0, 1, 2\]"):
        OrdinalEmbedding(random_state=0).fit(rows)
    expected = OrdinalEmbedding(random_state=0, columns=[0, 1, 2]).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({"objects": 30}, {"objects": range(30)}):
            model = OrdinalEmbedding(random_state=0, **options).fit(rows)
            assert_array_equal(model.embedding_, expected.embedding_)
            DifferenceScaling(pivot=0, **options).fit(rows)
            rough = OrdinalEmbedding(tol=0.1, n_init=1, **options)
            embedding_dimension_test(rows, [1, 2], 2, estimator=rough, random_state=0)
        noise_ceiling(np.tile(rows, (2, 1)))
        # New objects against two groups of known ones.
        new = np.where(rows < 10, rows + 30, rows)
        assert model.set_params(objects=None).place(new).shape == (10, 2)


def test_a_question_asked_again_and_again_is_no_feature():
    rows = [[1, 0, 2]] * 25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert noise_ceiling(rows).agreement == 1.0
        assert DifferenceScaling().fit(rows).predict(rows[:1]) == 1
        assert OrdinalEmbedding(random_state=0).fit(rows).score(rows) == 1.0


def test_choices_of_the_odd_one_are_no_comparisons():
    rng = np.random.default_rng(0)
    shown = rng.permuted(np.tile(np.arange(9), (60, 1)), axis=1)[:, :3]
    chosen = shown[np.arange(60), rng.integers(3, size=60)]
    call = r"OrdinalEmbedding\(loss='oddoneout', columns=\[0, 1, 2\]\).fit\(X, X\[:, 3\]\)"
    with pytest.raises(ValueError, match=call):
        OrdinalEmbedding().fit(np.column_stack([shown, chosen]))
    # Triplets as quadruplets: d(i, j) < d(l, i).
    assert OrdinalEmbedding().fit(shown[:, [0, 1, 2, 0]]).n_features_in_ == 4


def test_unusual_answers_are_no_features():
    rng = np.random.default_rng(0)
    # Persons and items: two of three columns have objects in common.
    rows = np.stack([rng.integers(0, 10, 50), *rng.permuted(
        np.tile(np.arange(10, 20), (50, 1)), axis=1)[:, :2].T], axis=1)  # fmt: skip
    with pytest.raises(ValueError, match=r"column 0 has hardly any value .* columns=\[0, 1, 2\]"):
        read_answers(rows)
    assert len(usable_answers(read_answers(rows, columns=[0, 1, 2])).rows) == 50
    # Each object once.
    once = np.arange(240).reshape(4, 60).T
    assert len(usable_answers(read_answers(once)).rows) == 60


def test_numbers_of_objects_end_before_they_wrap_around():
    rows = np.array([[0, 1, 2], [2**31, 3, 4]], np.float32)
    with pytest.raises(ValueError, match=r"greater than every object in X, got 5 .* 2147483648"):
        OrdinalEmbedding(objects=5).fit(rows)


@pytest.mark.slow
def test_more_objects_than_memory_are_refused_before_they_are_made():
    rows = [[0, 1, 2], [0, 2, 3]]
    with pytest.raises(MemoryError, match="objects"):
        OrdinalEmbedding(objects=10**13).fit(rows)
    with pytest.raises(MemoryError, match="A Hessian of 10,000,000 objects"):
        DifferenceScaling(objects=10**7).fit(rows)
    with pytest.raises(MemoryError, match="questions"):
        next_queries(OrdinalEmbedding(random_state=0).fit(rows), 10**12)
