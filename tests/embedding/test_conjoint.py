"""Conjoint models: against a probit model that is written down pair by pair, and its deviances."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import chi2, norm

from skscreen import DifferenceScaling, read_answers

GLOSS, BUMPS = np.array([0.0, 0.2, 0.5, 0.7]), np.array([0.0, 0.8, 1.5, 1.9, 2.6])
SHAPE = (4, 5)
RNG = np.random.default_rng(0)
FIRST, SECOND = (np.stack([RNG.integers(n, size=700) for n in SHAPE], axis=1) for _ in range(2))
VALUE = GLOSS[:, None] + BUMPS
GREATER = VALUE[tuple(FIRST.T)] - VALUE[tuple(SECOND.T)] + RNG.normal(size=700) > 0.0
# Two equal stimuli say nothing.
TOLD = (FIRST != SECOND).any(axis=1)
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
    z = (value[tuple(FIRST.T)] - value[tuple(SECOND.T)])[TOLD]
    return -2.0 * norm.logcdf(np.where(GREATER[TOLD], z, -z)).sum()


BEST = {name: minimize(lambda v, name=name: deviance(name, v), np.zeros(k), method="BFGS")
        for name, k in N_PARAMETERS.items()}  # fmt: skip


def said(X=FRAME, chosen=GREATER, response="sign", **options):
    columns = [("G1", "B1"), ("G2", "B2")]
    return read_answers(X, columns, kind="paired", chosen=chosen, response=response, **options)


def fitted(name, X=FRAME, y=GREATER, **options):
    conjoint = {"gloss": {"model": "independent", "attribute": 0},
                "bumps": {"model": "independent", "attribute": 1}}  # fmt: skip
    return DifferenceScaling(**conjoint.get(name, {"model": name}), **options).fit(said(X, y))


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
    logit = DifferenceScaling(model="full", link="logit").fit(said())
    for smaller, larger, message in (
        (full, additive, r"^larger\b"),
        (bumps, fitted("gloss"), "special case"),
        (additive, fitted("full", FRAME[:-1], GREATER[:-1]), r"^larger\b"),
        (additive, fitted("full", FRAME, ~GREATER), r"^larger\b"),
        (additive, logit, r"^larger\b"),
    ):
        with pytest.raises(ValueError, match=message):
            smaller.likelihood_ratio_test(larger)


@pytest.mark.slow
def test_the_test_has_its_level():
    """Where the second attribute has no effect, p-values are uniform."""
    rng, p_values = np.random.default_rng(1), []
    for _ in range(60):
        X = rng.integers(3, size=(200, 4))
        first = X[:, 0] - X[:, 2] + rng.normal(size=200) > 0.0
        answers = read_answers(X, [(0, 1), (2, 3)], kind="paired", chosen=first, response="sign")
        one, both = (DifferenceScaling(model=name).fit(answers)
                     for name in ("independent", "additive"))  # fmt: skip
        p_values.append(one.likelihood_ratio_test(both).p_value)
    assert 0.35 < np.mean(p_values) < 0.65


def test_answers_in_any_form_are_the_same():
    expected = fitted("additive")
    signs = np.where(GREATER, 1, -1)
    side = np.where(GREATER, "left", "right")
    codes = {"left": ("G1", "B1"), "right": ("G2", "B2")}
    for answers in (said(FRAME, chosen=signs), said(FRAME, chosen=side, response=codes)):
        found = DifferenceScaling(model="additive").fit(answers)
        assert_allclose(found.scale_, expected.scale_, atol=1e-6)
    words = [[f"gloss {k}" for k in range(4)], [f"bump {k}" for k in range(5)]]
    named = FRAME.astype(object)
    for columns, names in ((["G1", "G2"], words[0]), (["B1", "B2"], words[1])):
        named[columns] = np.array(names, dtype=object)[FRAME[columns].to_numpy() - 1]
    by_name = DifferenceScaling(model="additive").fit(said(named, objects=product(*words)))
    assert_allclose(by_name.scale_, expected.scale_)
    assert [levels.tolist() for levels in by_name.objects_] == words
    assert by_name.score(said(named)) == expected.score(said(FRAME))
    votes = DifferenceScaling(model="additive").fit(said(FRAME, weights=np.full(700, 3.0)))
    repeated = said(pd.concat([FRAME] * 3), chosen=np.tile(GREATER, 3))
    assert_allclose(votes.deviance_, DifferenceScaling(model="additive").fit(repeated).deviance_)


def test_agreement():
    model = fitted("additive")
    z = model.scale_[tuple(FIRST.T)] - model.scale_[tuple(SECOND.T)]
    right = np.where(GREATER, z, -z)
    assert_array_equal(model.predict(said(FRAME)), np.sign(right)[TOLD])
    assert_allclose(model.score(said(FRAME)), np.mean(right[TOLD] > 0.0))
    weights = np.arange(700) % 2
    assert_allclose(
        model.score(said(FRAME), sample_weight=weights[TOLD]),
        np.average(right[TOLD] > 0.0, weights=weights[TOLD]),
    )
    other = read_answers([[9, 1, 1, 2]], [(0, 1), (2, 3)], kind="paired")
    with pytest.raises(ValueError, match=r"^X\b"):
        model.predict(other)


def test_levels_that_no_answer_connects():
    apart = read_answers([[1, 1, 1, 2], [2, 1, 2, 2]] * 9, [(0, 1), (2, 3)], kind="paired")
    for name, pieces in (("additive", 2), ("full", 2), ("independent", 2)):
        with pytest.warns(UserWarning, match="pieces"):
            assert DifferenceScaling(model=name).fit(apart).n_pieces_ == pieces


def test_wrong_trials_are_named():
    pairs = read_answers([["a", "b"], ["b", "c"]], kind="paired")
    tuples = said(FRAME)
    for options, X, match in (
        ({"model": "additive"}, pairs, r"^X\b"),
        ({"model": "independent", "attribute": 2}, tuples, r"^attribute\b"),
        ({"model": "sum"}, tuples, "'model' parameter"),
        ({"model": "additive"}, [[0, 1, 0, 1]], "^X must"),
        ({}, tuples, r"^X\b"),
    ):
        with pytest.raises(ValueError, match=match):
            DifferenceScaling(**options).fit(X)
