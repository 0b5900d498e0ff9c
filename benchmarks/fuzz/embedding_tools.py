"""Fuzz targets: what is asked about an embedding: its dimension."""

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.fuzz.checks import call, expect
from benchmarks.fuzz.inputs import Inputs
from benchmarks.fuzz.others import answers
from skscreen import OrdinalEmbedding, embedding_dimension_test
from skscreen.inspection import DimensionTestDisplay

ESTIMATORS = (
    None, OrdinalEmbedding(loss="ste", max_epochs=3), OrdinalEmbedding(loss="ckl", reg=0.0),
    OrdinalEmbedding(n_objects=13, solver="lbfgs", max_epochs=2),
)  # fmt: skip


def fuzz_dimension(inputs: Inputs) -> None:
    valid = {
        "dimensions": ([1, 2], (1, 3), np.array([1, 2])), "cv": (2, 3), "alpha": (0.05, 1e-300),
        "estimator": ESTIMATORS, "n_repeats": (1, 2), "n_jobs": (None, 2),
        "random_state": (None, 0, np.random.RandomState(0)),
    }  # fmt: skip
    inputs.spoil("X", "y", "sample_weight", *valid)
    options = {"cv": 2, "dimensions": [1, 2], **inputs.options(embedding_dimension_test, valid)}
    X, y = answers(inputs, inputs.count(4, 12), n_rows := inputs.count(2, 60), 3)
    weights = inputs.weights("sample_weight", n_rows)[0]
    done = call(embedding_dimension_test, X, y=y, sample_weight=weights, **options)
    if done.error is not None:
        return
    result = done.result
    expect(result.dimension_ in result.dimensions_, "a dimension that was not tried")
    for p_values in (result.p_values_, result.corrected_p_values_):
        expect(np.all((p_values >= 0.0) & (p_values <= 1.0)), "probabilities")
    for scores in (result.scores_, result.train_scores_):
        expect(np.all((scores >= 0.0) & (scores <= 1.0)), "scores")
    call(DimensionTestDisplay.from_result, result, must_work=True)
    plt.close("all")


TARGETS = {"embedding_dimension_test": fuzz_dimension}
