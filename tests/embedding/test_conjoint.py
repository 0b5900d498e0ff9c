"""Conjoint models: against a probit model that is written down pair by pair, and its deviances."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import chi2, norm

from skscreen import DifferenceScaling

GLOSS, BUMPS = np.array([0.0, 0.2, 0.5, 0.7]), np.array([0.0, 0.8, 1.5, 1.9, 2.6])
SHAPE = (4, 5)
RNG = np.random.default_rng(0)
FIRST, SECOND = (np.stack([RNG.integers(n, size=700) for n in SHAPE], axis=1) for _ in range(2))
VALUE = GLOSS[:, None] + BUMPS
GREATER = VALUE[tuple(FIRST.T)] - VALUE[tuple(SECOND.T)] + RNG.normal(size=700) > 0.0
# Levels are counted from 1, as R does.
FRAME = pd.DataFrame(
    {"G1": FIRST[:, 0], "G2": SECOND[:, 0], "B1": FIRST[:, 1], "B2": SECOND[:, 1]}
) + 1  # fmt: skip


def values_of(model, v):
    """Values of all stimuli, from the free parameters."""
    if model == "full":
        return np.append(0.0, v).reshape(SHAPE)
    gloss = np.append(0.0, v[:3]) if model in ("additive", "gloss") else np.zeros(4)
    bumps = np.append(0.0, v[-4:]) if model in ("additive", "bumps") else np.zeros(5)
    return gloss[:, None] + bumps


N_PARAMETERS = {"gloss": 3, "bumps": 4, "additive": 7, "full": 19}


def deviance(model, v):
    value = values_of(model, v)
    z = value[tuple(FIRST.T)] - value[tuple(SECOND.T)]
    return -2.0 * norm.logcdf(np.where(GREATER, z, -z)).sum()


BEST = {name: minimize(lambda v, name=name: deviance(name, v), np.zeros(k), method="BFGS")
        for name, k in N_PARAMETERS.items()}  # fmt: skip


def fitted(name, X=FRAME, y=GREATER, **options):
    conjoint = {"gloss": {"model": "independent", "attribute": 0},
                "bumps": {"model": "independent", "attribute": 1}}  # fmt: skip
    return DifferenceScaling(**conjoint.get(name, {"model": name}), **options).fit(X, y)


@pytest.mark.filterwarnings("ignore:The answers agree")
@pytest.mark.parametrize("name", N_PARAMETERS)
def test_the_likelihood_is_maximal(name):
    model = fitted(name)
    assert_allclose(model.deviance_, BEST[name].fun, rtol=1e-6)
    assert_allclose(model.scale_, values_of(name, BEST[name].x), rtol=1e-3, atol=1e-3)
    assert model.n_parameters_ == N_PARAMETERS[name]
    assert model.dual_gap_ <= 1e-8
    assert model.scale_[0, 0] == 0.0
    if name == "full":
        assert model.scales_ is None
        assert model.standard_errors_.shape == SHAPE
    else:
        assert_allclose(sum(np.meshgrid(*model.scales_, indexing="ij")), model.scale_)
        assert [len(errors) for errors in model.standard_errors_] == list(SHAPE)
    assert [levels.tolist() for levels in model.objects_] == [[1, 2, 3, 4], [1, 2, 3, 4, 5]]


def test_nested_models_are_compared_by_their_deviances():
    bumps, additive, full = (fitted(name) for name in ("bumps", "additive", "full"))
    found = bumps.likelihood_ratio_test(additive)
    statistic = BEST["bumps"].fun - BEST["additive"].fun
    assert_allclose(found, (statistic, 3, chi2.sf(statistic, 3)), rtol=1e-3)
    assert found.p_value < 1e-3
    assert additive.likelihood_ratio_test(full).df == 12
    assert additive.likelihood_ratio_test(full).p_value > 0.01
    logit = DifferenceScaling(model="full", link="logit").fit(FRAME, GREATER)
    for smaller, larger, message in (
        (full, additive, "special case, .* got 'additive', and this one is 'full'"),
        (bumps, fitted("gloss"), "special case"),
        (additive, fitted("full", FRAME[:-1], GREATER[:-1]), "the same answers"),
        (additive, fitted("full", FRAME, ~GREATER), "the same answers"),
        (additive, logit, "must have link='probit', got 'logit'"),
    ):
        with pytest.raises(ValueError, match=message):
            smaller.likelihood_ratio_test(larger)


@pytest.mark.slow
def test_the_test_has_its_level():
    """Where the second attribute has no effect, p-values are uniform."""
    rng, p_values = np.random.default_rng(1), []
    for _ in range(60):
        X = rng.integers(3, size=(200, 4))
        first = X[:, 0] - X[:, 1] + rng.normal(size=200) > 0.0
        one, both = (DifferenceScaling(model=name).fit(X, first)
                     for name in ("independent", "additive"))  # fmt: skip
        p_values.append(one.likelihood_ratio_test(both).p_value)
    assert 0.35 < np.mean(p_values) < 0.65


@pytest.mark.slow
@pytest.mark.parametrize("name", ["additive", "full"])
def test_answers_in_any_form_are_the_same(name):
    expected = fitted(name)
    signs = np.where(GREATER, 1, -1)
    turned = FRAME[["G2", "G1", "B2", "B1"]].to_numpy()
    rows = np.where(GREATER[:, None], FRAME, turned)
    forms = ((FRAME, signs), (FRAME, GREATER.astype(int)), (FRAME.to_numpy() * 0.1, GREATER),
             (turned, ~GREATER), (rows, None))  # fmt: skip
    for X, y in forms:
        assert_allclose(fitted(name, X, y).scale_, expected.scale_, atol=1e-6)
    words = [[f"gloss {k}" for k in range(4)], [f"bump {k}" for k in range(5)]]
    named = FRAME.copy().astype(object)
    for columns, names in ((["G1", "G2"], words[0]), (["B1", "B2"], words[1])):
        named[columns] = np.array(names, dtype=object)[FRAME[columns].to_numpy() - 1]
    extra = named.assign(observer="O1")
    by_name = fitted(name, extra, GREATER, objects=words, columns=["G1", "G2", "B1", "B2"])
    assert_allclose(by_name.scale_, expected.scale_)
    repeated = fitted(name, np.repeat(FRAME.to_numpy(), 3, axis=0), np.repeat(GREATER, 3))
    assert_allclose(fitted(name, FRAME, 3 * signs, response="count").deviance_, repeated.deviance_)


def test_agreement():
    model = fitted("additive")
    z = model.scale_[tuple(FIRST.T)] - model.scale_[tuple(SECOND.T)]
    assert_array_equal(model.predict(FRAME), np.sign(z))
    assert_allclose(model.score(FRAME, GREATER), np.mean(np.where(GREATER, z, -z) > 0.0))
    weights = np.arange(700) % 2
    assert_allclose(model.score(FRAME, GREATER, weights),
                    np.mean(np.where(GREATER, z, -z)[1::2] > 0.0))  # fmt: skip
    with pytest.raises(ValueError, match="X names 1 objects that are not known, 9"):
        model.predict([[9, 1, 1, 2]])


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"model": "additive"}, [[0, 1, 2]], "X must have two columns for each of two or more"),
        ({"model": "independent", "attribute": 2}, [[0, 1, 0, 1]], "attribute must be one of 2"),
        (
            {"model": "additive"},
            [["a", "b", "c", "d"]],
            r"for attribute 0: a list of all names in their order for each attribute.*objects=\[\[",
        ),
        (
            {"model": "additive", "objects": [["a", "b"], None]},
            [["a", "b", "c", "d"]],
            "for attribute 1",
        ),
        ({"model": "additive", "objects": [0, 1, 2]}, [[0, 1, 0, 1]], "objects must be a list"),
        ({"model": "additive", "objects": 5}, [[0, 1, 0, 1]], "objects must be a list"),
        ({"model": "additive"}, [[0, 1, 0, np.nan]], "X has a missing answer, NaN, in row 0"),
        ({"model": "sum"}, [[0, 1, 0, 1]], "'model' parameter"),
    ],
)
def test_wrong_trials_are_named(options, X, message):
    with pytest.raises(ValueError, match=message):
        DifferenceScaling(**options).fit(X)


@pytest.mark.parametrize(
    "labels",
    [
        "gloss_left bump_left gloss_right bump_right".split(),
        "S1Gloss S1Bump S2Gloss S2Bump".split(),
        "top_gloss top_bump bottom_gloss bottom_bump".split(),
        "gloss_ref bump_ref gloss_test bump_test".split(),
        "gloss0 bump0 gloss1 bump1".split(),
        [(side, name) for side in ("first", "second") for name in ("gloss", "bump")],
    ],
)
def test_stimuli_side_by_side_are_told_by_their_labels(labels):
    frame = pd.DataFrame([[1, 2, 2, 1], [1, 1, 2, 2]], columns=labels)
    order = [frame.columns[k] for k in (0, 2, 1, 3)]
    with pytest.raises(ValueError, match=re.escape(f"Pass columns={order}; or")):
        DifferenceScaling(model="additive").fit(frame)
    DifferenceScaling(model="additive", columns=order).fit(frame)


def test_conjoint_trials_are_no_quadruplets():
    with pytest.raises(ValueError, match=r"name an object twice.* pass model='additive'"):
        DifferenceScaling().fit(FRAME, GREATER)


def test_levels_in_strings_are_told():
    with pytest.raises(ValueError, match=r"attribute 0: .* These are numbers: pass X"):
        DifferenceScaling(model="additive").fit(FRAME.astype(str), GREATER)
