"""Calls of compiled loops with wrong arguments: they raise, or stay inside of their arrays.

Right arguments are those that small fits pass. `make sanitize` runs this with every access checked:
there a wrong call that returns has read and written nothing else.
"""

import copy
import os
import sys
import warnings
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

import skscreen
from skscreen import _compiled
from skscreen._compiled import (
    concepts,
    core,
    embedding,
    metric_learning,
    pragam,
    samples,
    sequence,
    svm,
)
from skscreen.distributed.linear_passes import PassRequest, linear_pass, linear_product
from skscreen.distributed.rows import Block
from skscreen.samples.kernels.kernel_blocks import RBFBlocks, RBFRows
from skscreen.samples.rows import flat_rows

LOOPS = _compiled.LEVELS[_compiled.level]
ROOMS = [name for name, room in vars(LOOPS).items() if isinstance(room, ModuleType)]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
NOISY = X[:, 0] + 0.5 * RNG.standard_normal(60)
TWO, THREE = np.where(NOISY > 0.0, 1, 0), np.digitize(NOISY, [-0.5, 0.5])
TEXT = sparse.csr_array(np.where(RNG.random((60, 30)) < 0.2, RNG.random((60, 30)), 0.0))
WIDE = np.c_[RNG.standard_normal((2100, 3)), 0.1 * RNG.standard_normal((2100, 30))]
WIDE_Y = np.digitize(WIDE[:, 0] + 0.2 * RNG.standard_normal(2100), [-0.5, 0.5])
ONES, HALVES = np.ones(60), np.full(60, 0.5)


def kernel_machines():
    for loss in ("hinge", "squared_hinge"):
        for intercept in ("free", "penalised"):
            for y in (TWO, THREE):
                model = skscreen.ScreenedSVC(1e3, loss=loss, intercept=intercept).fit(X, y)
                model.set_params(decision_function_shape="ovo").decision_function(X)
                model.predict(X)
        skscreen.svc_path(X, TWO, Cs=[0.1, 1.0, 10.0], loss=loss)
        skscreen.svc_path(X, TWO, Cs=[0.1, 1.0, 10.0], loss=loss, kernel="linear")
        found = X, TWO, X, TWO
        skscreen.svc_certified_C(*found, C_range=(0.1, 10.0), kernel="linear", loss=loss, eps=0.1)
    skscreen.ScreenedSVC().fit(X, np.arange(60) // 6)
    for y in (TWO, THREE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            skscreen.ScreenedSVC(probability=True).fit(X, y).predict_proba(X)
    skscreen.one_class_path(X, nus=[0.2, 0.4])
    words = sparse.csr_array(np.where(RNG.random((300, 300)) < 0.05, 1.0, 0.0))
    skscreen.ScreenedLinearSVC().fit(words, np.arange(300) % 3)
    skscreen.svc_path(X, X[:, 0] > 0.0, Cs=[1e8, 1e10], kernel="linear", tol=1e-10)
    skscreen.ScreenedSVR().fit(X, NOISY).predict(X)
    skscreen.ScreenedLinearSVR().fit(X, NOISY)
    for kernel in ("linear", "poly", "sigmoid"):
        for rows in (X, TEXT):
            model = skscreen.ScreenedSVC(kernel=kernel, break_ties=True).fit(rows, THREE)
            model.predict(rows)
            model.decision_function(rows[:1])


def many_rows():
    skscreen.ScreenedSVC().fit(WIDE[:, :3], WIDE_Y)
    skscreen.ScreenedSVC().fit(WIDE[:300, :3], WIDE_Y[:300])
    for rows in (WIDE, WIDE[:, :3]):
        skscreen.ScreenedSVC(cache_size=1, tol=1e-2).fit(rows, WIDE_Y > 0)
        blocks = RBFBlocks(*(2 * [RBFRows(rows[:50], 0.2)]))
        index = np.arange(50)
        blocks.dot(index, RNG.standard_normal(50), index, double=True)
        for dtype in (np.float32, np.float64):
            blocks.block(index, index, np.empty((50, 50), dtype))


def linear_machines():
    for y in (TWO, THREE):
        for rows in (X, TEXT, X.astype(np.float32), TEXT.astype(np.float32)):
            for C in (0.1, 100.0):
                for loss in ("hinge", "squared_hinge"):
                    skscreen.ScreenedLinearSVC(C, loss=loss).fit(rows, y)
                skscreen.ScreenedLinearSVC(C, penalty="l1").fit(rows, y)
    for rows in (X, TEXT):
        skscreen.ScreenedLinearSVC(multi_class="crammer_singer").fit(rows, THREE)
        for solver in ("pragam", "bmrm"):
            skscreen.PragamSVC(solver=solver, tol=0.1).fit(rows, TWO)


def rows_of_machines():
    codes = TWO.astype(np.int32)
    for rows in (X, TEXT):
        for widths in (np.empty((1, 0)), np.full((1, 2), 0.5)):
            for matrix in (False, True):
                no = np.zeros(1, np.bool_)
                task = PassRequest(
                    np.zeros(1, np.int64), np.ones(1, int), no, no, widths, 1.0, matrix
                )
                W = RNG.standard_normal((1, rows.shape[1] + 1))
                block = Block(rows, codes, ONES)
                passed = linear_pass(block, W, task, None)
                if not matrix:
                    linear_product(block, W, np.zeros(1, np.int64), 1.0, passed)


def metrics():
    points = X[:30], THREE[:30]
    for diagonal in (False, True):
        for rule in ("sphere", "linear", "semidefinite"):
            skscreen.ScreenedRTLM(
                n_neighbors=2, bound=("rrpb",), rule=rule, diagonal=diagonal
            ).fit(*points)  # fmt: skip
        skscreen.rtlm_path(*points, n_neighbors=2, diagonal=diagonal, ranges=True, n_lams=5)
    skscreen.rtlm_path(*points, n_neighbors=2, loss="hinge", n_lams=5)
    pairs = RNG.integers(0, 60, (40, 2))
    skscreen.RTLMPairsClassifier().fit(X[pairs], RNG.choice([-1, 1], 40))


def embeddings():
    answers = np.array([RNG.permutation(8)[:3] for _ in range(60)])
    for dimensions in (1, 2, 4):
        for solver in ("auto", "lbfgs", "sgd", "svrg"):
            skscreen.OrdinalEmbedding(
                dimensions, solver=solver, n_init=1, max_iter=3, random_state=0
            ).fit(answers)  # fmt: skip
    for loss in ("ste", "tste", "ckl"):
        skscreen.OrdinalEmbedding(loss=loss, n_init=1, random_state=0).fit(answers)
    skscreen.OrdinalEmbedding(loss="ste", formulation="convex").fit(answers)
    skscreen.ConceptEmbedding(3, n_init=1, max_iter=5).fit(answers, answers[:, 2] % 3).similarity()
    points, pairs = np.abs(X[:8]), answers[:, :2].astype(np.int32)
    concepts.pair_gradient(points, pairs, ONES, np.zeros((8, 4)))
    concepts.pair_similarities(points, pairs, np.empty(60))


def chains():
    cuts = [5, 20, 21]
    y = np.split(THREE, cuts)
    dense, text = np.split(X, cuts), [TEXT[:5], TEXT[5:20], TEXT[20:21], TEXT[21:]]
    for rows in (dense, text):
        skscreen.ChainCRF().fit(rows, y)
        skscreen.ChainCRF(class_weight="balanced").fit(rows, y)
        for solver in ("frank-wolfe", "smoothing", "pragam"):
            skscreen.MaxMarginChain(1e3, solver=solver, random_state=0, max_iter=50).fit(rows, y)


def loops_alone():
    """Those that small fits do not reach."""
    numbers, more = X[:, 0].copy(), X[:, 1].copy()
    skscreen.project_box_equality(numbers, 1.0, lower=-1.0, upper=1.0)
    core.project(numbers, ONES, ONES, -ONES, ONES, 1.0, 0.0, more.copy())
    core.search_kinks(numbers, ONES, ONES, -ONES, ONES, 1.0, -9.0, 9.0)
    core.total_range(ONES, -ONES, ONES)
    core.hinge_slackness(1.0, 0.5, 1.0, 0.0)
    samples.weighted_quantile(numbers, ONES, 3.0)
    for rows in (X, TEXT):
        drawn, w, a = RNG.integers(0, 60, (3, 2)), np.zeros(rows.shape[1]), np.zeros(60)
        pragam.pegasos_steps(flat_rows(rows), ONES, drawn, 0.1, 0, True, w, a)
    samples.rbf_values(X, X[:9].copy(), 0.5, np.empty((60, 9)))
    samples.differences(X, X[:9].copy(), -1.0, np.empty((60, 9)))
    svm.pencil_radius((1.0, 0.5, 0.25, 0.0), 0.5)
    embedding.answer_loss(0, 0.1, np.ones(2), np.ones(2))
    triplets = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
    no_pairs = np.empty((0, 2), np.int32)
    terms = triplets, np.empty(0), no_pairs, no_pairs, 2.0, 0, 0.1, 0.0
    embedding.by_gram(np.eye(3), terms, np.zeros((3, 3)))
    cache = [
        np.full(2, 2), np.ones(2, np.int64), np.array([0, 2, 4]), np.array([0, 6, 10]),
        np.array([0, 4, 8]), np.zeros(10, np.int32), np.ones(4), np.ones(4), np.ones(8),
        np.zeros(2, np.bool_),
    ]  # fmt: skip
    sequence.copy_cache(tuple(cache), tuple(copy.deepcopy(cache)), np.array([3, 2]))
    pairs = RNG.integers(0, 60, (7, 2), dtype=np.int32)
    metric_learning.add_laplacian(X, pairs, np.ones(7), 1.0, np.zeros_like(X))
    metric_learning.orthant_decides(ONES, 0.1, -9.0, HALVES, 0.2 * ONES)
    metric_learning.cone_decides(ONES, 0.1, 9.0, 0.0, 30.0, HALVES, numbers, 0.0, 0.0, ONES.copy())
    metric_learning.half_space_lower(1.0, 1.0, 1.0, 0.5, 0.1)
    metric_learning.zero_range(1.0, 1.0, 0.5, 1.0, 1.0, 0.0)
    start, stop = np.array([0, 2, 0]), np.array([2, 5, 5])
    rows, places = np.ones(3), np.ones(5)
    passed = rows, 0.5 * places, rows, 0.05, 1.0, rows, np.zeros(3), np.zeros(5)
    metric_learning.loss_pass(start, stop, *passed)
    metric_learning.sorted_loss_pass(start, stop, *passed, (1, 1))
    items = np.array([0, 2, 5]), np.array([0, 1, 0, 1, 2])
    near, far = pairs[:3].copy(), pairs[:5].copy()
    four = np.zeros(3), rows, np.zeros(5), places
    reference = (start, stop, *items, near, far, X, False, rows, places, four, rows, 0.1, 1.0,
                 1.0, 0.0)  # fmt: skip
    metric_learning.list_ranges(*reference, np.zeros((10, 2)))
    metric_learning.count_ranges(*reference, np.array([0.1, 1.0]), np.zeros(3, np.int64))
    lanes = svm.SMO_LANES
    K, flat = np.zeros((60, lanes)), lambda value: np.full(lanes, value)
    K[:, :60] = X @ X.T
    low, high = flat(0.0), flat(0.0)
    high[:60] = 1.0
    group = (np.arange(lanes) % 2).astype(np.int8)
    moving = flat(1.0), low, high, flat(0.0), RNG.standard_normal(lanes)
    noise = ONES, 1.0, np.ones(1), np.ones(1)
    svm.settle(X[:, :1].copy(), noise)
    svm.pairs_in_groups(K, *moving, group, 1e-3, 100)
    svm.bounded_scores(ONES, HALVES, 1.0, numbers, ONES, ONES, np.empty(60), np.empty(60))


JOBS = [
    kernel_machines, many_rows, linear_machines, rows_of_machines, metrics, embeddings, chains,
    loops_alone,
]  # fmt: skip


def all_bindings():
    """Return the compiled functions by room and name."""
    return {
        f"{room}.{name}": found
        for room in ROOMS
        for name, found in vars(getattr(_compiled, room)).items()
        if type(found).__name__ == "nb_func"
    }


def kind_of(value):
    """What tells the overloads of a function apart, and the sizes that matter."""
    if isinstance(value, tuple):
        return tuple(kind_of(part) for part in value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.size > 0
    return type(value)


def size_of(value):
    if isinstance(value, tuple):
        return sum(map(size_of, value))
    return value.size if isinstance(value, np.ndarray) else 0


def copied(value):
    if isinstance(value, tuple):
        return tuple(copied(part) for part in value)
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.fixture(scope="module")
def calls():
    """Functions and arguments by name, the smallest ones for each kind of arguments."""
    found = {}

    def recording(name, function):
        def call(*arguments):
            kind, size = (name, kind_of(arguments)), size_of(arguments)
            if kind not in found or size < size_of(found[kind][1]):
                found[kind] = function, copied(arguments)
            return function(*arguments)

        return call

    wrapped = {id(f): recording(name, f) for name, f in all_bindings().items()}
    with pytest.MonkeyPatch.context() as patch:
        rooms = [getattr(_compiled, room) for room in ROOMS]
        ours = [module for name, module in sys.modules.items() if name.startswith("skscreen")]
        for module in [*rooms, *ours]:
            for name, value in list(vars(module).items()):
                if id(value) in wrapped:
                    patch.setattr(module, name, wrapped[id(value)])
        for job in JOBS:
            job()
    return found


def leaves(value, path=()):
    """Yield the places of numbers and arrays in nested tuples."""
    for k, part in enumerate(value):
        if isinstance(part, tuple):
            yield from leaves(part, (*path, k))
        else:
            yield (*path, k), part


def replaced(value, path, part):
    """Return copies of arguments with another part."""
    first, *rest = path
    inner = replaced(value[first], rest, part) if rest else part
    return (*map(copied, value[:first]), inner, *map(copied, value[first + 1 :]))


def longer(array, axis, by):
    shape = list(array.shape)
    shape[axis] = max(shape[axis] + by, 0)
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def wrong_sizes(array):
    for axis in range(array.ndim):
        for by in (-1, 1, 7):
            yield longer(array, axis, by)
    yield np.empty((0,) * array.ndim, array.dtype)


def wrong_places(array):
    """Places before the first and behind the last, in one entry and in all."""
    if array.dtype.kind not in "iu" or not array.size:
        return
    limits = np.iinfo(array.dtype)
    for value in {-1, limits.min, limits.max, min(10**9, limits.max)}:
        if limits.min <= value:
            spoiled = array.copy()
            spoiled.flat[array.size // 2] = value
            yield spoiled
            yield np.full_like(array, value)


def not_finite(array):
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)
        yield np.full_like(array, np.inf)


def wrong_types(array):
    yield array.astype(np.float16)
    yield array.astype(np.complex128)
    yield array[None]
    yield array.tolist()
    yield None


def refused(function, arguments):
    """Whether a call raises what wrong arguments raise, with a text."""
    try:
        function(*arguments)
    except (ValueError, TypeError) as error:
        assert str(error)
        return True
    return False


@pytest.mark.slow
def test_every_loop_is_called_here(calls):
    missing = set(all_bindings()) - {name for name, _ in calls}
    assert not missing


@pytest.mark.slow
def test_wrong_types_are_refused(calls):
    for (name, _), (function, arguments) in calls.items():
        for path, part in leaves(arguments):
            if isinstance(part, np.ndarray):
                for wrong in wrong_types(part):
                    optional = wrong is None and name in OPTIONAL
                    assert optional or refused(function, replaced(arguments, path, wrong)), name
        assert refused(function, arguments[:-1]), name


# Loops that know of arrays that are not given.
OPTIONAL = {
    "metric_learning.proximal_pass", "metric_learning.shrink_pass", "metric_learning.split_rows",
}  # fmt: skip


@pytest.mark.slow
def test_wrong_sizes_and_places_stay_inside(calls):
    refusing = set()
    for (name, _), (function, arguments) in calls.items():
        for path, part in leaves(arguments):
            if isinstance(part, np.ndarray):
                for wrong in [*wrong_sizes(part), *wrong_places(part), *not_finite(part)]:
                    if refused(function, replaced(arguments, path, wrong)):
                        refusing.add(name)
    # All that read more than one array refuse some of them.
    several = {
        name
        for (name, _), (_, arguments) in calls.items()
        if sum(isinstance(part, np.ndarray) for _, part in leaves(arguments)) > 1
    }
    assert not several - refusing


def test_wrong_numbers_stay_inside(calls):
    for function, arguments in calls.values():
        for path, part in leaves(arguments):
            if isinstance(part, int) and not isinstance(part, bool):
                for wrong in (-(2**62), -1, 0, 1):
                    refused(function, replaced(arguments, path, wrong))
            if isinstance(part, float):
                for wrong in (np.nan, np.inf, -np.inf, -1.0, 0.0):
                    refused(function, replaced(arguments, path, wrong))


def test_arguments_are_named():
    with pytest.raises(ValueError, match=r"^index must"):
        svm.products_of_rows(np.ones((3, 3)), np.array([10**9]), np.ones(3), np.ones(1))
    few = np.ones(3), np.zeros(3), np.ones(3), np.zeros(3), np.ones(3)
    for loop in (svm.pairs_with_offset, svm.pairs_without_offset):
        with pytest.raises(ValueError, match=r"^beta must"):
            loop(np.ones((3, 3)), *few, 1e-3, 10)
    with pytest.raises(ValueError, match=r"^columns must"):
        samples.rows(np.ones(2), np.array([0, 5], np.uint32), np.array([0, 2], np.int32), 5)
    with pytest.raises(ValueError, match=r"^d must"):
        sequence.rows(np.ones(2), np.empty(0, np.uint32), np.empty(0, np.int64), -1)


# The checks of addresses end a process that asks for so much memory.
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="allocations end it")
@pytest.mark.parametrize("size", [2**40, 2**62])
def test_sizes_whose_products_overflow(size):
    no_places, numbers = np.empty((0, 2), np.int32), np.empty(0, np.int64)
    answers = np.zeros((1, 3), np.int32)
    point = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"^n_objects must"):
        embedding.list_pairs(answers, size, no_places, np.zeros((1, 2), np.int32))
    with pytest.raises((ValueError, MemoryError)):
        embedding.svrg_epoch(point, point, point, answers, 0, 1, size, 0.1, 0, 0.1, 0.0)
    with pytest.raises((ValueError, MemoryError)):
        metric_learning.renumber_points(numbers, size, no_places, no_places)
    rows = np.array([0, 4]), numbers, np.ones(4), np.ones(1), np.ones(1)
    place = np.zeros(1, np.int64)
    for width, d in ((size, 4), (4, 4 * (size // 4))):
        with pytest.raises((ValueError, MemoryError)):
            samples.write_tiles(rows, rows, width, d, place, place, np.empty((1, 1)))
