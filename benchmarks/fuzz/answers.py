"""Fuzz targets: triplets from other kinds of answers."""

import numpy as np
import pandas as pd

from benchmarks.fuzz.checks import call, expect
from benchmarks.fuzz.inputs import Inputs, spoiled_matrix
from skscreen.preprocessing import (
    triplets_from_mostcentral,
    triplets_from_multiselect,
    triplets_from_oddoneout,
    triplets_from_ranking,
)


def trials(inputs: Inputs, n_trials: int, width: int):
    """Return trials of different objects to give, and the same as positions."""
    rng = inputs.rng()
    plain = np.array([rng.choice(width + 3, width, replace=False) for _ in range(n_trials)])
    names = np.array([f"object {k}" for k in range(width + 3)])
    if "X" in inputs.spoiled:
        given = spoiled_matrix(inputs, plain)
    else:
        given = inputs.pick(
            lambda: plain.copy(), plain.tolist, lambda: names[plain], lambda: names[plain].tolist(),
            lambda: pd.DataFrame(names[plain]), lambda: names[plain].astype(object),
            lambda: [[(int(k), "x") for k in row] for row in plain], lambda: plain.astype(float),
        )()  # fmt: skip
    return inputs.note("X", given), plain


def fuzz_preprocessing(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "select", "is_ranked", "ranks")
    n_trials, width = inputs.count(1, 8), inputs.count(3, 6)
    X, plain = trials(inputs, n_trials, width)
    rng = inputs.rng()
    column = rng.integers(width, size=n_trials)
    y = inputs.junk("y", inputs.pick(None, column, column.tolist()))
    if "y" in inputs.spoiled:
        y = inputs.pick(
            y, column + 1, column[1:], 0.5 * column, column.astype(str), column[:, None]
        )
    n_pairs = (width - 1) * (width - 2)
    for function in (triplets_from_oddoneout, triplets_from_mostcentral):
        done = call(function, X, y)
        if not inputs.spoiled:
            expect(done.result.shape == (n_pairs * n_trials, 3), "rows of choices")
    k = inputs.count(1, width - 1)
    select = inputs.pick(k, 1 + np.argsort(rng.random((n_trials, width - 1)), axis=1)[:, :k])
    ranked = inputs.junk("is_ranked", inputs.pick(True, False))
    done = call(triplets_from_multiselect, X, inputs.junk("select", select), ranked)
    ranks = inputs.junk("ranks", inputs.pick(None, np.round(rng.normal(size=plain[:, 1:].shape))))
    call(triplets_from_ranking, X, ranks)
    if inputs.spoiled:
        return
    n_triplets = k * (width - 1 - k) + (k * (k - 1) // 2 if ranked else 0)
    expect(done.result.shape == (n_triplets * n_trials, 3), "rows of selections")


TARGETS = {"preprocessing": fuzz_preprocessing}
