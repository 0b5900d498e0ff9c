"""Fuzz targets: tools about embeddings: their dimension, the next questions, scales."""

from functools import partial

import numpy as np
from matplotlib import pyplot as plt

from skscreen import (
    DifferenceScaling,
    OrdinalEmbedding,
    embedding_dimension_test,
    next_queries,
    read_answers,
)
from skscreen.inspection import DimensionTestDisplay
from tests.proofs.fuzz.checks import call, expect, expect_finite
from tests.proofs.fuzz.inputs import Inputs
from tests.proofs.fuzz.others import answers

ESTIMATORS = (
    None, OrdinalEmbedding(loss="ste", max_iter=3), OrdinalEmbedding(loss="ckl", reg=0.0),
    OrdinalEmbedding(solver="lbfgs", max_iter=2),
)  # fmt: skip


def fuzz_dimension(inputs: Inputs) -> None:
    valid = {
        "dimensions": ([1, 2], (1, 3), np.array([1, 2])), "cv": (2, 3), "alpha": (0.05, 1e-300),
        "estimator": ESTIMATORS, "n_repeats": (1, 2), "n_jobs": (None, 2),
        "random_state": (None, 0, np.random.RandomState(0)),
    }  # fmt: skip
    inputs.spoil("X", "y", "sample_weight", *valid)
    options = {"cv": 2, "dimensions": [1, 2], **inputs.options(embedding_dimension_test, valid)}
    X, y, _ = answers(inputs, inputs.count(4, 12), n_rows := inputs.count(2, 60), 3)
    weights = inputs.weights("sample_weight", n_rows)[0]
    done = call(embedding_dimension_test, X, y=y, sample_weight=weights, **options)
    if done.error is not None:
        return
    result = done.result
    expect(result.dimension_ in (0, *result.dimensions_), "a dimension that was not tried")
    for p_values in (result.p_values_, result.corrected_p_values_):
        expect(np.all((p_values >= 0.0) & (p_values <= 1.0)), "probabilities")
    for scores in (result.scores_, result.train_scores_):
        expect(np.all((scores >= 0.0) & (scores <= 1.0)), "scores")
    call(DimensionTestDisplay.from_result, result, must_work=True)
    plt.close("all")


def fuzz_queries(inputs: Inputs) -> None:
    valid = {
        "n": (1, 3), "repeats": (False, True),
        "random_state": (None, 0, np.random.RandomState(0)),
    }  # fmt: skip
    inputs.spoil("candidates", "heads", *valid)
    n, rng = inputs.count(5, 12), inputs.rng()
    rows = np.array([rng.permutation(n)[:3] for _ in range(inputs.count(1, 40))])
    loss = inputs.pick("soe", "ste", "tste", "gnmds", "ckl", "oddoneout")
    odd = loss == "oddoneout"
    said = read_answers(rows, kind="oddoneout" if odd else "triplets", chosen=2 if odd else None,
                        objects=range(n))  # fmt: skip
    model = OrdinalEmbedding(inputs.pick(1, 2, 7), loss=loss, max_iter=5).fit(said)
    options = {"n": 2, **inputs.options(next_queries, valid)}
    candidates = inputs.junk("candidates", inputs.pick(None, rows, rows.tolist()))
    heads = inputs.junk("heads", inputs.pick(None, [0, 3], np.arange(n)))
    done = call(partial(next_queries, model), candidates=candidates, heads=heads, **options)
    if done.error is not None:
        return
    asked = done.result
    expect(asked.shape == (options["n"], 3) and asked.max() < n, "questions")
    expect(all(len(set(row)) == 3 for row in asked.tolist()), "three objects")
    count = inputs.pick(1, 3, 0, -1, None, "two")
    drawn = call(model.bootstrap, count)
    expect(drawn.error is not None or not np.isnan(drawn.result.points).any(), "points")


def fuzz_scaling(inputs: Inputs) -> None:
    valid = {
        "link": ("probit", "logit"), "reg": (1e-6, 1e-12, 1e12),
        "tol": (1e-8, 0.0, 1e300), "max_iter": (100, 1),
        "attribute": (0, 1),
        "model": ("difference", "difference", "independent", "additive", "full"), "verbose": (0,),
    }  # fmt: skip
    inputs.spoil("X", "y", "sample_weight", *valid)
    model = DifferenceScaling(**inputs.options(DifferenceScaling, valid))
    width = inputs.pick(3, 4)
    X, y, _ = answers(inputs, inputs.count(4, 12), n_rows := inputs.count(1, 60), width)
    if not inputs.spoiled and model.model != "difference":
        levels, y = inputs.rng().integers(4, size=(n_rows, 4)), None
        said = call(read_answers, levels, [(0, 1), (2, 3)], kind="paired")
        X = X if said.error is not None else said.result
        n_rows = len(X)
    weights = inputs.weights("sample_weight", n_rows)[0]
    done = call(model.fit, X, y, sample_weight=weights)
    if done.error is not None:
        return
    expect_finite(model)
    expect(model.dual_gap_ <= model.tol or done.unconverged, "gap")
    call(model.predict, X)
    score = call(model.score, X, y, sample_weight=weights)
    expect(score.error is not None or 0.0 <= score.result <= 1.0, "score")


TARGETS = {
    "embedding_dimension_test": fuzz_dimension,
    "next_queries": fuzz_queries,
    "DifferenceScaling": fuzz_scaling,
}
