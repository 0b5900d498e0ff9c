"""Which road a fit takes: one row for each, by what the fit is."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from skscreen import (
    ScreenedLinearSVC,
    ScreenedLinearSVR,
    ScreenedNuSVC,
    ScreenedNuSVR,
    ScreenedOneClassSVM,
    ScreenedSVC,
    ScreenedSVR,
    nu_svc_path,
    nu_svr_path,
    one_class_path,
    svc_certified_C,
    svc_path,
    svr_path,
)
from skscreen.svm.nu.labelled import NuProblems
from skscreen.svm.problem import build
from skscreen.svm.roads import Fit, Road, Rows, begins_with_newton, newton_work, road
from skscreen.svm.solvers.linear.solve import is_late

# Two classes of 600 samples, and pairs of three or more.
TWO = Fit("rbf", (300, 300), "hinge")
PAIRS = replace(TWO, classes=(500, 300, 200), one_vs_one=True)
LINES = Fit("linear", (300, 300), "hinge")
REST = replace(LINES, classes=(200, 200, 200), loss="squared_hinge")
NARROW = replace(REST, free=False)
TUBE = Fit("rbf", (1900,), "epsilon_insensitive", regression=True)
GIVEN = replace(TWO, kernel="precomputed", is_definite=False)
AT_NU = replace(TWO, plan="nu", indefinite="warn")
ONE_CLASS = replace(AT_NU, classes=(600,), one_class=True)
FEATURES = replace(REST, penalty="l1")

FEW_AT_NU = Road("class pairs", "columns", double=True, polished=0.0, most_steps=4000)
MATRIX_AT_NU = Road("working sets", "matrix", double=True, polished=1e-4)
TILES_AT_NU = Road("levels", "tiles")
FULL = Road("L1", "full features", double=True, screens="gap", polished=0.0)
SPARSE = replace(FULL, values="sparse features")

LARGE, HUGE = {"classes": (1500, 1500)}, {"classes": (10_000, 10_000)}

MATRIX = Road("working sets", "matrix", double=True, exact="all", screens="gap")
ALONE = replace(MATRIX, exact="")
INSIDE = replace(ALONE, solver="interior point")
TILES = Road("working sets", "tiles", screens="gap")
LEVELS = replace(TILES, solver="levels")
FEW = Road("class pairs", "columns", double=True, together=True)
WHOLE = replace(FEW, values="few")
BLOCKS = Road("class pairs", "class blocks", together=True)
LINEAR = Road(
    "rows", "rows", double=True, exact="all", screens="intersection", polished=np.inf
)  # fmt: skip
TOGETHER = replace(LINEAR, solver="rows together", together=True)


def facts(**known):
    usual = {
        "largest": 1.0,
        "is_wide": True,
        "is_definite": True,
        "is_sparse": True,
        "is_filled": False,
        "n_weights": 50,
        "width": np.inf,
    }
    return SimpleNamespace(**{**usual, **known})


TABLE = [
    # One compiled loop: a few samples.
    ("few", TWO, {}, {}, FEW),
    ("few of each of many classes", PAIRS, {"classes": (9,) * 40}, {}, WHOLE),
    ("few of each of hundreds of classes", PAIRS, {"classes": (40,) * 200}, {"width": 20}, WHOLE),
    ("the same of sparse rows", PAIRS, {"classes": (40,) * 200}, {}, WHOLE),
    ("the same without memory", PAIRS, {"classes": (40,) * 200, "cache_size": 1}, {"width": 20},
     FEW),
    ("more of each of many classes", PAIRS, {"classes": (60,) * 100}, {"width": 20}, FEW),
    ("the same, wide", PAIRS, {"classes": (60,) * 100}, {"width": 200}, WHOLE),
    ("hundreds of sparse classes", PAIRS, {"classes": (40,) * 400}, {}, BLOCKS),
    ("more than a few", TWO, {"classes": (501, 500)}, {"width": 50}, replace(FEW, most_steps=4000)),
    ("the same again", TWO, {"classes": (501, 500), "again": True}, {"width": 50}, ALONE),
    ("the same, sparse", TWO, {"classes": (501, 500)}, {}, ALONE),
    ("the same, wide", TWO, {"classes": (501, 500)}, {"width": 300}, ALONE),
    ("the same, from a store", TWO, {"classes": (501, 500), "stored": True}, {"width": 50},
     replace(MATRIX, stores=True)),
    ("more", TWO, {"classes": (1001, 1000)}, {"width": 50}, TILES),
    ("few on a path", TWO, {"plan": "grid"}, {}, MATRIX),
    ("few without losses", TWO, {"plan": "C=inf"}, {}, replace(ALONE, exact="all")),
    ("few again", TWO, {"again": True}, {}, ALONE),
    ("few squares", TWO, {"loss": "squared_hinge"}, {}, ALONE),
    ("pairs of few", PAIRS, {}, {}, FEW),
    ("pairs of few on a path", PAIRS, {"plan": "grid"}, {}, WHOLE),
    ("pairs of few, within eps", PAIRS, {"plan": "eps"}, {}, MATRIX),
    ("pairs of few, from a store", PAIRS, {"stored": True}, {}, FEW),
    ("pairs of few, definite", PAIRS, {"is_definite": False}, {}, WHOLE),
    ("pairs of few, indefinite", PAIRS, {"is_definite": False, "indefinite": "warn"},
     {"is_definite": False}, Road("LIBSVM", "matrix", double=True, together=True)),
    # Pairs of classes.
    ("pairs", PAIRS, {"classes": (2000, 500, 400)}, {}, BLOCKS),
    ("pairs from a store", PAIRS, {"classes": (2000, 500, 400), "stored": True}, {},
     replace(BLOCKS, stores=True)),
    ("pairs of large classes", PAIRS, {"classes": (9000, 5000, 400)}, {}, BLOCKS),
    ("pairs on a path", PAIRS, {"classes": (2000, 500, 400), "plan": "grid"}, {}, BLOCKS),
    ("pairs, again", PAIRS, {"classes": (600, 800), "again": True}, {}, ALONE),
    ("pairs, huge values", PAIRS, {"classes": (2000, 500, 400)}, {"largest": 1e38}, MATRIX),
    ("pairs, squares", PAIRS, {"loss": "squared_hinge"}, {}, MATRIX),
    # Working sets.
    ("tiles", TWO, LARGE, {}, TILES),
    ("tiles of squares", TWO, {**LARGE, "loss": "squared_hinge"}, {}, LEVELS),
    ("tiles of many", TWO, {"classes": (6001, 6000)}, {}, LEVELS),
    ("tiles beyond the cache", TWO, {**HUGE, "plan": "grid"}, {},
     replace(LEVELS, exact="some")),
    ("tiles within eps", TWO, {**HUGE, "plan": "eps"}, {}, replace(LEVELS, exact="all")),
    ("tiles from a store", TWO, {**HUGE, "stored": True}, {},
     replace(LEVELS, exact="all", stores=True)),
    ("tiles and another test", TWO, {**HUGE, "plan": "grid", "screening": "ball1"}, {},
     replace(LEVELS, exact="all", screens="ball1")),
    ("next to a unit matrix", TWO, LARGE, {"is_wide": False}, ALONE),
    ("path", TWO, {**LARGE, "plan": "grid"}, {}, MATRIX),
    ("path within eps", TWO, {**LARGE, "plan": "eps"}, {}, MATRIX),
    ("bounds", TWO, {**LARGE, "plan": "bounds"}, {}, MATRIX),
    ("store", TWO, {**LARGE, "stored": True}, {}, replace(MATRIX, stores=True)),
    ("small cache", TWO, {**LARGE, "cache_size": 1.0}, {"is_wide": False}, TILES),
    ("huge values", TWO, HUGE, {"largest": 1e38, "is_wide": False},
     replace(ALONE, values="tiles")),
    ("no screening", TWO, {**LARGE, "screening": ""}, {}, replace(TILES, screens="")),
    ("another test", TWO, {**LARGE, "screening": "ball1"}, {}, replace(TILES, screens="ball1")),
    ("classes against the rest", replace(PAIRS, one_vs_one=False), {"classes": (2000, 900, 800)},
     {}, MATRIX),
    # Regressions: two of one matrix in a search, none on a path of many samples.
    ("small tube", TUBE, {"classes": (1000,)}, {}, FEW),
    ("small tube on a path", TUBE, {"classes": (1000,), "plan": "grid"}, {}, MATRIX),
    ("small tube without width", TUBE, {"classes": (1000,), "tube": False}, {}, INSIDE),
    ("tube", TUBE, {}, {}, ALONE),
    ("large tube", TUBE, {"classes": (2500,)}, {}, TILES),
    ("tubes", TUBE, {"plan": "grid"}, {}, MATRIX),
    ("large tubes", TUBE, {"classes": (2500,), "plan": "grid"}, {}, replace(TILES, exact="some")),
    ("large tubes of a polynomial", replace(TUBE, kernel="poly"),
     {"classes": (2500,), "plan": "grid"}, {}, MATRIX),
    ("tubes of a search", TUBE, {"classes": (2500,), "plan": "grid", "shared": True}, {}, MATRIX),
    ("no tube", TUBE, {"tube": False}, {}, INSIDE),
    ("no tube, many", TUBE, {"tube": False, "classes": (3000,)}, {}, INSIDE),
    ("no tube, too many", TUBE, {"tube": False, "classes": (5000,)}, {}, TILES),
    ("no tube, squares", TUBE, {"tube": False, "loss": "squared_epsilon_insensitive"}, {}, ALONE),
    # Kernels that may be indefinite.
    ("given", GIVEN, {}, {}, replace(ALONE, otherwise="centre")),
    ("given, penalised", GIVEN, {"free": False}, {}, replace(ALONE, otherwise="refuse")),
    ("given, large", GIVEN, LARGE, {}, replace(ALONE, otherwise="centre")),
    ("LIBSVM", GIVEN, {"indefinite": "warn"}, {}, replace(ALONE, otherwise="LIBSVM")),
    ("warned, squares", GIVEN, {"indefinite": "warn", "loss": "squared_hinge"}, {},
     replace(ALONE, otherwise="shift")),
    ("shift", GIVEN, {"indefinite": "shift"}, {}, replace(ALONE, otherwise="shift")),
    ("indefinite pairs", replace(PAIRS, kernel="precomputed", is_definite=False), {},
     {"is_definite": False}, replace(MATRIX, otherwise="centre")),
    # Rows.
    ("few rows", LINES, {}, {}, FEW),
    ("few rows, penalised", LINES, {"free": False}, {}, LINEAR),
    ("few rows, a test asked for", LINES, {"screening": "gap"}, {}, replace(LINEAR, screens="gap")),
    ("few rows, huge", LINES, {}, {"largest": 1e50}, LINEAR),
    ("rows of a small tube", replace(TUBE, kernel="linear"), {"classes": (200,)}, {}, FEW),
    ("rows of a tube", replace(TUBE, kernel="linear"), {"classes": (300,)}, {}, LINEAR),
    ("rows", LINES, LARGE, {}, replace(LINEAR, polished=1e-8)),
    ("rows of a larger tube", replace(TUBE, kernel="linear"), {"classes": (501,)}, {},
     replace(LINEAR, polished=1e-8)),
    ("rows on a path", LINES, {"plan": "eps"}, {}, LINEAR),
    ("rows of a store", LINES, {"stored": True}, {}, replace(LINEAR, stores=True)),
    ("rows, no screening", LINES, {**LARGE, "screening": ""}, {},
     replace(LINEAR, screens="", polished=1e-8)),
    ("pairs of a few rows", LINES, {"classes": (200, 150, 90), "one_vs_one": True}, {}, FEW),
    ("pairs of more rows", LINES, {"classes": (300, 150, 90), "one_vs_one": True}, {}, LINEAR),
    ("pairs of huge rows", LINES, {"classes": (200, 150, 90), "one_vs_one": True},
     {"largest": 1e50}, LINEAR),
    ("rows by Newton", LINES, {"solver": "second-order"}, {}, LINEAR),
    ("narrow", NARROW, {}, {"width": 50}, replace(LINEAR, solver="rows at once", together=True)),
    ("narrow, free", REST, {}, {"width": 50}, TOGETHER),
    ("narrow, again", NARROW, {"again": True}, {"width": 50, "is_sparse": False}, LINEAR),
    ("narrow tube", replace(TUBE, kernel="linear", free=False, by_weights=True), {}, {"width": 50},
     replace(LINEAR, solver="rows at once", together=True, polished=1e-8)),
    ("narrow tube with dual variables", replace(TUBE, kernel="linear", free=False), {},
     {"width": 50}, replace(LINEAR, polished=1e-8)),
    ("narrow tube, squared",
     replace(TUBE, kernel="linear", free=False, loss="squared_epsilon_insensitive"), {},
     {"width": 50}, replace(LINEAR, solver="rows at once", together=True, polished=1e-8)),
    ("not so narrow", NARROW, {}, {"width": 500}, TOGETHER),
    ("classes together", REST, {}, {}, TOGETHER),
    ("classes of full rows", REST, {}, {"is_sparse": False}, LINEAR),
    ("many classes of a few full rows", NARROW, {"classes": (10,) * 60},
     {"width": 128, "is_sparse": False}, TOGETHER),
    ("many classes of many full rows", NARROW, {"classes": (300,) * 10},
     {"width": 128, "is_sparse": False}, replace(LINEAR, polished=1e-8)),
    ("classes of hinges", REST, {"loss": "hinge"}, {}, LINEAR),
    ("limited steps", REST, {"limited": True}, {}, LINEAR),
    ("classes on a path", REST, {"plan": "grid"}, {}, LINEAR),
    ("joint", REST, {"joint": True}, {},
     Road("classes by Newton", "rows", double=True, together=True, polished=0.0)),
    ("joint, many weights", REST, {"joint": True}, {"n_weights": 200},
     Road("classes on faces", "rows", double=True, together=True, polished=0.0)),
    # Features.
    ("full features", FEATURES, {}, {"is_filled": True}, FULL),
    ("sparse features", FEATURES, {}, {"n_weights": 700}, SPARSE),
    ("few sparse features", FEATURES, {}, {}, replace(SPARSE, otherwise="fill")),
    ("few sparse features of many samples", FEATURES, {"classes": (50_000, 50_000)}, {}, SPARSE),
    # Problems at a nu.
    ("few at a nu", AT_NU, {}, {"width": 20}, FEW_AT_NU),
    ("few rows at a nu", replace(AT_NU, kernel="linear"), {}, {"width": 20}, FEW_AT_NU),
    ("few sparse ones at a nu", AT_NU, {}, {}, MATRIX_AT_NU),
    ("few at a nu, again", AT_NU, {"again": True}, {"width": 20}, MATRIX_AT_NU),
    ("more at a nu", AT_NU, {"classes": (2001,)}, {"width": 20}, TILES_AT_NU),
    ("sparse ones at a nu", AT_NU, {"classes": (1001,)}, {}, TILES_AT_NU),
    ("of a polynomial", replace(AT_NU, kernel="poly"), {"classes": (1001,)}, {},
     replace(MATRIX_AT_NU, polished=1e-8)),
    ("more of a polynomial", replace(AT_NU, kernel="poly"), {"classes": (2001,)}, {}, TILES_AT_NU),
    ("at a nu, next to a unit matrix", AT_NU, {"classes": (2001,)}, {"is_wide": False},
     replace(MATRIX_AT_NU, polished=1e-8)),
    ("at a nu, small cache", AT_NU, {"classes": (900,), "cache_size": 1.0}, {"is_wide": False},
     replace(TILES_AT_NU, polished=1e-4)),
    ("at a nu, huge values", AT_NU, {"classes": (2001,)}, {"largest": 1e38},
     replace(MATRIX_AT_NU, values="tiles", polished=1e-8)),
    ("tube at a nu", AT_NU, {"classes": (600,), "regression": True, "again": True}, {},
     replace(MATRIX_AT_NU, polished=1e-8)),
    ("few tubes at a nu", AT_NU, {"classes": (1600,), "regression": True}, {"width": 20},
     replace(FEW_AT_NU, most_steps=8000)),
    ("more tubes at a nu", AT_NU, {"classes": (1601,), "regression": True}, {"width": 20},
     TILES_AT_NU),
    ("linear tubes at a nu", replace(AT_NU, kernel="linear"),
     {"classes": (1001,), "regression": True}, {"width": 20},
     replace(MATRIX_AT_NU, polished=1e-8)),
    ("given, at a nu", AT_NU, {"kernel": "precomputed", "is_definite": False}, {"width": 20},
     replace(MATRIX_AT_NU, otherwise="LIBSVM")),
    ("given, of a sphere", ONE_CLASS, {"is_definite": False, "indefinite": "error"}, {},
     replace(MATRIX_AT_NU, otherwise="refuse")),
    ("few of one class", ONE_CLASS, {}, {"width": 20}, FEW_AT_NU),
    ("rows of one class", replace(ONE_CLASS, kernel="linear"), {}, {"width": 20},
     Road("rows", "rows", double=True, polished=0.0)),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_roads(row):
    _, fit, changes, known, expected = row
    assert road(replace(fit, **changes), facts(**known)) == expected


def test_only_what_decides_is_asked_for():
    road(TWO, None)
    road(replace(TWO, plan="grid"), None)
    road(replace(LINES, free=False), None)


NARROW_ROWS = Rows(10_000, 10_000, 20, 2e5, smooth=True)
TEXT = Rows(10_000, 10_000, 30_000, 8e5, smooth=True, meetings=lambda: 1.0)


@pytest.mark.parametrize(
    ("rows", "newton"),
    [
        (NARROW_ROWS, True),
        (replace(NARROW_ROWS, smooth=False), False),
        (replace(NARROW_ROWS, smooth=False, n_inside=100, is_zero=False), True),
        (replace(NARROW_ROWS, n_features=2000, entries=2e7), True),
        (replace(NARROW_ROWS, n_features=2000, entries=2e7, smooth=False), False),
        (TEXT, False),
        (replace(TEXT, n=300, n_undecided=300, entries=24_000.0), True),
        (replace(TEXT, n_features=500, by_entries=True), True),
    ],
    ids=[
        "narrow",
        "hinges",
        "hinges from another C",
        "wide",
        "wide, hinges",
        "text",
        "few texts",
        "categories",
    ],
)
def test_solvers_of_rows(rows, newton):
    assert begins_with_newton(rows) == newton


def test_systems_that_take_much_memory_are_not_solved():
    assert np.isinf(newton_work(replace(NARROW_ROWS, n_features=4001, entries=4e7)))
    # Decided samples have no part in them.
    assert np.isfinite(newton_work(replace(TEXT, n_undecided=3000)))


def drawn(n, n_classes=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % n_classes


@pytest.mark.parametrize(
    ("model", "n", "n_classes", "solver"),
    [
        (ScreenedSVC(), 60, 2, "class pairs"),
        (ScreenedSVC(), 2100, 2, "working sets"),
        (ScreenedSVC(loss="squared_hinge"), 2100, 2, "levels"),
        (ScreenedSVC(), 2100, 3, "class pairs"),
        (ScreenedSVC(C=np.inf), 60, 2, "class pairs"),
        (ScreenedSVR(), 60, 2, "class pairs"),
        (ScreenedSVR(), 1100, 2, "working sets"),
        (ScreenedLinearSVC(), 60, 2, "rows at once"),
        (ScreenedLinearSVC(loss="hinge"), 60, 2, "rows"),
        (ScreenedLinearSVC(penalty="l1"), 60, 2, "L1"),
        (ScreenedLinearSVC(multi_class="crammer_singer"), 60, 3, "classes by Newton"),
    ],
)
def test_roads_of_estimators(model, n, n_classes, solver):
    X, y = drawn(n, n_classes)
    assert build(model, X, y).road.solver == solver


SAYS = {
    "SVC": (lambda X, y, t, say: ScreenedSVC(verbose=say).fit(X, y), FEW),
    "SVR": (lambda X, y, t, say: ScreenedSVR(verbose=say).fit(X, t), FEW),
    "path": (lambda X, y, t, say: svc_path(X, y, Cs=[1.0], verbose=say), MATRIX),
    "path of regressions": (lambda X, y, t, say: svr_path(X, t, Cs=[1.0], verbose=say), MATRIX),
    "hinge": (
        lambda X, y, t, say: ScreenedLinearSVC(loss="hinge", verbose=say).fit(X, y), LINEAR
    ),
    "linear regression": (
        lambda X, y, t, say: ScreenedLinearSVR(verbose=say).fit(X, t),
        replace(LINEAR, solver="rows at once", together=True),
    ),
    "features": (lambda X, y, t, say: ScreenedLinearSVC(penalty="l1", verbose=say).fit(X, y), FULL),
    "path of features": (
        lambda X, y, t, say: svc_path(
            X, y, Cs=[1.0], penalty="l1", kernel="linear", verbose=say
        ),
        FULL,
    ),
    "joint": (
        lambda X, y, t, say: ScreenedLinearSVC(multi_class="crammer_singer", verbose=say).fit(X, y),
        Road("classes by Newton", "rows", double=True, together=True),
    ),
    "nu": (lambda X, y, t, say: ScreenedNuSVC(verbose=say).fit(X, y), FEW_AT_NU),
    "regression at a nu": (lambda X, y, t, say: ScreenedNuSVR(verbose=say).fit(X, t), FEW_AT_NU),
    "one class": (lambda X, y, t, say: ScreenedOneClassSVM(verbose=say).fit(X), FEW_AT_NU),
    "path over nu": (lambda X, y, t, say: nu_svc_path(X, y, [0.5], verbose=say), FEW_AT_NU),
    "regressions over nu": (lambda X, y, t, say: nu_svr_path(X, t, [0.5], verbose=say), FEW_AT_NU),
    "certified C": (
        lambda X, y, t, say: svc_certified_C(X, y, X, y, (0.1, 1.0), eps=0.2, verbose=say), MATRIX
    ),
    "one class over nu": (lambda X, y, t, say: one_class_path(X, [0.5], verbose=say), FEW_AT_NU),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAYS)
def test_verbose_says_the_road(kind, capsys):
    (X, y), (solve, expected) = drawn(60), SAYS[kind]
    solve(X, y, X[:, 0], 1)
    said = capsys.readouterr().err
    assert said.startswith(f"{expected}\n")
    assert said.count(str(expected)) == 1
    solve(X, y, X[:, 0], 0)
    assert capsys.readouterr().err == ""


def test_pairs_of_different_sizes_say_all_their_roads():
    X, y = drawn(2600)[0], np.repeat([0, 1, 2], [1500, 1000, 100])
    problems = NuProblems(ScreenedNuSVC(nu=0.01), X, y, None)
    assert problems.road == f"{TILES_AT_NU} | {FEW_AT_NU}"


@pytest.mark.slow
def test_a_path_of_regressions_proves_as_much_with_more_samples():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (2400, 3))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=len(X))
    few, many = (
        svr_path(X[:n], y[:n], Cs=[0.1, 1.0, 10.0], gamma=0.3, tol=1e-6).rates for n in (1900, 2400)
    )
    # Gaps end anywhere below the tolerance.
    assert np.all(many > few - 0.1) and few.min() > 0.3


@pytest.mark.parametrize("options", [{}, {"intercept": "penalised"}, {"loss": "squared_hinge"}])
def test_what_could_have_been_decided_ahead_is_told_when_asked_for(options):
    X, y = drawn(300)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    Cs = np.geomspace(1.0, 1.5, 4)
    path = svc_path(X, y, Cs=Cs, **options)
    asked = svc_path(X, y, Cs=Cs, screening="intersection", **options)
    np.testing.assert_allclose(path.path_rates, asked.path_rates, atol=0.03)
    assert path.path_rates[0] == 0.0 and path.path_rates[1:].min() > 0.1
    assert "path" not in path.screening_history["where"]
    np.testing.assert_allclose(path.rates, asked.rates, atol=0.03)
    assert not svc_path(X, y, Cs=Cs, screening="gap", **options).path_rates.any()
    # What cannot be less than is asked about needs no count of products.
    assert np.isinf(newton_work(replace(TEXT, n_undecided=3000, meetings=pytest.fail), 1e6))


def test_sweeps_end_where_they_take_longer_than_said():
    """The less is left the longer; what is done counts more once Newton's method costs less."""
    rows = replace(NARROW_ROWS, smooth=False, n_inside=100, is_zero=False)
    work = newton_work(rows)
    assert is_late(rows, 1.1 * work, 0.0) and not is_late(rows, 0.9 * work, 0.0)
    assert is_late(rows, 0.5 * work, 0.9 * work) and not is_late(rows, 0.25 * work, 0.9 * work)
    assert is_late(rows, 0.25 * work, 1.1 * work) and not is_late(rows, 0.1 * work, 1.1 * work)
