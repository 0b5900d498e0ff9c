"""Which road a fit takes: one row for each, by what the fit is."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from skscreen import ScreenedLinearSVC, ScreenedSVC, ScreenedSVR, svc_path, svr_path
from skscreen.svm.problem import build
from skscreen.svm.roads import Fit, Road, road

# Two classes of 600 samples, and pairs of three or more.
TWO = Fit("rbf", (300, 300), "hinge")
PAIRS = replace(TWO, classes=(500, 300, 200), one_vs_one=True)
LINES = Fit("linear", (300, 300), "hinge")
REST = replace(LINES, classes=(200, 200, 200), loss="squared_hinge")
NARROW = replace(REST, free=False)
TUBE = Fit("rbf", (1900,), "epsilon_insensitive", regression=True)
GIVEN = replace(TWO, kernel="precomputed", is_definite=False)

LARGE, HUGE = {"classes": (1500, 1500)}, {"classes": (10_000, 10_000)}

MATRIX = Road("working sets", "matrix", double=True, exact=True, screens="gap")
ALONE = replace(MATRIX, exact=False)
INSIDE = replace(ALONE, solver="interior point")
TILES = Road("levels", "tiles", screens="gap")
FEW = Road("class pairs", "columns", double=True, together=True)
WHOLE = replace(FEW, values="few")
BLOCKS = Road("class pairs", "class blocks", together=True)
LINEAR = Road("rows", "rows", double=True, exact=True, screens="intersection")
TOGETHER = replace(LINEAR, solver="rows together", together=True)


def facts(**known):
    usual = {
        "largest": 1.0,
        "is_wide": True,
        "is_definite": True,
        "is_sparse": True,
        "width": np.inf,
    }
    return SimpleNamespace(**{**usual, **known})


TABLE = [
    # One compiled loop: a few samples.
    ("few", TWO, {}, {}, FEW),
    ("few of each of many classes", PAIRS, {"classes": (9,) * 40}, {}, WHOLE),
    ("more than a few", TWO, {"classes": (501, 500)}, {}, ALONE),
    ("few on a path", TWO, {"plan": "grid"}, {}, MATRIX),
    ("few without losses", TWO, {"plan": "C=inf"}, {}, replace(ALONE, exact=True)),
    ("few again", TWO, {"again": True}, {}, ALONE),
    ("few squares", TWO, {"loss": "squared_hinge"}, {}, ALONE),
    ("pairs of few", PAIRS, {}, {}, FEW),
    ("pairs of few on a path", PAIRS, {"plan": "grid"}, {}, FEW),
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
    ("tiles beyond the cache", TWO, {**HUGE, "plan": "grid"}, {}, replace(TILES, exact=True)),
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
    ("large tubes", TUBE, {"classes": (2500,), "plan": "grid"}, {}, replace(TILES, exact=True)),
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
    ("rows", LINES, LARGE, {}, LINEAR),
    ("rows on a path", LINES, {"plan": "eps"}, {}, LINEAR),
    ("rows of a store", LINES, {"stored": True}, {}, replace(LINEAR, stores=True)),
    ("rows, no screening", LINES, {**LARGE, "screening": ""}, {}, replace(LINEAR, screens="")),
    ("pairs of a few rows", LINES, {"classes": (200, 150, 90), "one_vs_one": True}, {}, FEW),
    ("pairs of more rows", LINES, {"classes": (300, 150, 90), "one_vs_one": True}, {}, LINEAR),
    ("pairs of huge rows", LINES, {"classes": (200, 150, 90), "one_vs_one": True},
     {"largest": 1e50}, LINEAR),
    ("rows by Newton", LINES, {"solver": "second-order"}, {}, LINEAR),
    ("narrow", NARROW, {}, {"width": 50}, replace(LINEAR, solver="rows at once", together=True)),
    ("narrow, free", REST, {}, {"width": 50}, TOGETHER),
    ("narrow, again", NARROW, {"again": True}, {"width": 50, "is_sparse": False}, LINEAR),
    ("narrow tube", replace(TUBE, kernel="linear", free=False, by_weights=True), {}, {"width": 50},
     replace(LINEAR, solver="rows at once", together=True)),
    ("narrow tube with dual variables", replace(TUBE, kernel="linear", free=False), {},
     {"width": 50}, LINEAR),
    ("not so narrow", NARROW, {}, {"width": 500}, TOGETHER),
    ("classes together", REST, {}, {}, TOGETHER),
    ("classes of full rows", REST, {}, {"is_sparse": False}, LINEAR),
    ("many classes of a few full rows", NARROW, {"classes": (10,) * 60},
     {"width": 128, "is_sparse": False}, TOGETHER),
    ("many classes of many full rows", NARROW, {"classes": (300,) * 10},
     {"width": 128, "is_sparse": False}, LINEAR),
    ("classes of hinges", REST, {"loss": "hinge"}, {}, LINEAR),
    ("limited steps", REST, {"limited": True}, {}, LINEAR),
    ("classes on a path", REST, {"plan": "grid"}, {}, LINEAR),
    ("joint", REST, {"joint": True}, {},
     Road("Crammer-Singer", "rows", double=True, together=True)),
    ("features", REST, {"penalty": "l1"}, {}, Road("L1", "rows", double=True, screens="gap")),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_roads(row):
    _, fit, changes, known, expected = row
    assert road(replace(fit, **changes), facts(**known)) == expected


def test_only_what_decides_is_asked_for():
    road(TWO, None)
    road(replace(TWO, plan="grid"), None)
    road(replace(LINES, free=False), None)


def drawn(n, n_classes=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % n_classes


@pytest.mark.parametrize(
    ("model", "n", "n_classes", "solver"),
    [
        (ScreenedSVC(), 60, 2, "class pairs"),
        (ScreenedSVC(), 2100, 2, "levels"),
        (ScreenedSVC(), 2100, 3, "class pairs"),
        (ScreenedSVC(C=np.inf), 60, 2, "class pairs"),
        (ScreenedSVR(), 60, 2, "class pairs"),
        (ScreenedSVR(), 1100, 2, "working sets"),
        (ScreenedLinearSVC(), 60, 2, "rows at once"),
        (ScreenedLinearSVC(loss="hinge"), 60, 2, "rows"),
        (ScreenedLinearSVC(penalty="l1"), 60, 2, "L1"),
        (ScreenedLinearSVC(multi_class="crammer_singer"), 60, 3, "Crammer-Singer"),
    ],
)
def test_roads_of_estimators(model, n, n_classes, solver):
    X, y = drawn(n, n_classes)
    assert build(model, X, y).road.solver == solver


def test_verbose_says_the_road(capsys):
    X, y = drawn(60)
    ScreenedSVC(verbose=1).fit(X, y)
    assert capsys.readouterr().err.startswith(f"{FEW}\n")
    svc_path(X, y, Cs=[1.0], verbose=1)
    assert capsys.readouterr().err.startswith(f"{MATRIX}\n")
    ScreenedSVC().fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_path_of_regressions_proves_as_much_with_more_samples():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (2400, 3))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=len(X))
    few, many = (
        svr_path(X[:n], y[:n], Cs=[0.1, 1.0, 10.0], gamma=0.3, tol=1e-6).rates for n in (1900, 2400)
    )
    assert np.all(many > few - 0.05) and few.min() > 0.3


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
