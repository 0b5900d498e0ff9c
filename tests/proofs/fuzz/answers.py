"""Fuzz targets: triplets from other kinds of answers, and made ones."""

import numpy as np
import pandas as pd

from skscreen import concat_answers, read_answers
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.preprocessing import (
    triplets_from_mostcentral,
    triplets_from_multiselect,
    triplets_from_oddoneout,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_votes,
)
from tests.proofs.fuzz.checks import call, expect
from tests.proofs.fuzz.inputs import DENSE, Inputs, spoiled_matrix

NOISE_MODELS = ("flips", "points", "distances")
FORMATS = ("list-order", "list-order", "list-boolean", "list-count", "tensor-count")


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
    inputs.spoil("X", "y", "select", "is_ranked", "ranks", "votes", "ratings", "groups", "response",
                 "columns")  # fmt: skip
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
    response = "position" if y is not None else inputs.pick("auto", "chosen")
    told = {"response": inputs.junk("response", response),
            "columns": inputs.junk("columns", inputs.pick(None, list(range(width))))}  # fmt: skip
    for function in (triplets_from_oddoneout, triplets_from_mostcentral):
        done = call(function, X, y, **told)
        if not inputs.spoiled:
            expect(done.result.shape == (n_pairs * n_trials, 3), "rows of choices")
    k = inputs.count(1, width - 1)
    select = inputs.pick(k, 1 + np.argsort(rng.random((n_trials, width - 1)), axis=1)[:, :k])
    ranked = inputs.junk("is_ranked", inputs.pick(True, False))
    select = inputs.junk("select", select)
    # Columns may be objects too.
    done = call(triplets_from_multiselect, X, select, ranked, response="position")
    ranks = inputs.junk("ranks", inputs.pick(None, np.round(4.0 * rng.random(plain[:, 1:].shape))))
    call(triplets_from_ranking, X, ranks)
    votes = inputs.junk(
        "votes", inputs.pick(rng.integers(3, size=plain.shape), np.ones(plain.shape))
    )
    found = call(triplets_from_votes, X, votes)
    if found.error is None:
        expect(len(found.result[0]) == len(found.result[1]), "a weight for each triplet")
    ratings = inputs.junk(
        "ratings", inputs.pick(rng.integers(1, 8, n_trials), rng.random(n_trials))
    )
    groups = inputs.junk("groups", inputs.pick(None, rng.integers(2, size=n_trials)))
    pairs = [list(row)[:2] for row in (plain if "X" not in inputs.spoiled else [])] or X
    call(triplets_from_ratings, pairs, ratings, groups=groups)
    if inputs.spoiled:
        return
    n_triplets = k * (width - 1 - k) + (k * (k - 1) // 2 if ranked else 0)
    expect(done.result.shape == (n_triplets * n_trials, 3), "rows of selections")


def fuzz_made(inputs: Inputs) -> None:
    inputs.spoil("X", "n_triplets", "metric", "noise", "random_state", "noise_model", "lapse",
                 "queries", "landmarks", "result_format")  # fmt: skip
    X, plain = inputs.matrix("X", inputs.count(3, 9), inputs.pick(1, 2, 5), forms=DENSE)
    rng = inputs.rng()
    queries = np.array([rng.choice(3, 3, replace=False) for _ in range(4)])
    options = {"metric": inputs.junk("metric", "euclidean"),
               "noise_model": inputs.junk("noise_model", inputs.pick(*NOISE_MODELS)),
               "lapse": inputs.junk("lapse", inputs.pick(0.0, 0.0, 0.3, 1.0)),
               "queries": inputs.junk("queries", inputs.pick(None, None, queries)),
               "landmarks": inputs.junk("landmarks", inputs.pick(None, None, 2, [0, 2])),
               "result_format": inputs.junk("result_format", inputs.pick(*FORMATS)),
               "noise": inputs.junk("noise", inputs.pick(0.0, 0.0, 1.0, 0.3)),
               "random_state": inputs.junk("random_state", inputs.pick(None, 0))}  # fmt: skip
    n = inputs.junk("n_triplets", inputs.pick("all", inputs.count(1, 50)))
    done = call(make_triplets, X, n, **options)
    if done.error is not None:
        return
    if inputs.spoiled or options["result_format"] != "list-order":
        return
    i, j, k = done.result.T
    expect(not np.any((i == j) | (i == k) | (j == k)), "an object twice")
    if options["noise"] == options["lapse"] == 0.0 and np.abs(plain).max() < 1e100:
        near, far = (((plain[i] - plain[o]) ** 2).sum(axis=1) for o in (j, k))
        expect(np.all(near <= far), "the far one is nearer")
    expect(load_eurodist().distances.shape == (21, 21), "load_eurodist")


def fuzz_reading(inputs: Inputs) -> None:
    inputs.spoil("X", "columns", "kind", "chosen", "response", "asked", "ranked", "objects",
                 "groups", "weights", "missing")  # fmt: skip
    n, width = inputs.count(1, 8), inputs.count(2, 6)
    X, _ = trials(inputs, n, width)
    kinds = {2: ("paired",), 3: ("triplets", "oddoneout", "mostcentral", "choices"),
             4: ("quadruplets", "choices")}.get(width, ("choices",))  # fmt: skip
    kind, rng = inputs.pick(*kinds), inputs.rng()
    first = 1 if kind in ("triplets", "choices") else 0
    options = [0, 2] if kind == "quadruplets" else list(range(first, width))
    place = rng.choice(options, size=n)
    chosen, response = inputs.pick(
        (place, "position"), (place, {k: k for k in options}), (rng.choice([1, -1], n), "sign"),
        (rng.integers(3, size=(n, len(options))), "count"), (place.tolist(), "object"),
        ([place, place[::-1]], "position"), (None, "object"),
    )  # fmt: skip
    valid = {
        "columns": (None, list(range(width))), "kind": (kind,), "chosen": (chosen,),
        "response": (response,), "asked": ("similar", "different"), "ranked": (False, True),
        "objects": (None, range(width + 3)), "groups": (None, rng.integers(2, size=n)),
        "weights": (None, rng.random(n)), "missing": ((), [None], [0, "x"]),
    }  # fmt: skip
    options = {name: inputs.junk(name, inputs.pick(*values)) for name, values in valid.items()}
    done = call(read_answers, X, **options)
    if done.error is not None:
        return
    answers = done.result
    expect(len(answers) + len(answers.left_out) == n, "every row is an answer or left out")
    expect(np.all(answers.rows >= 0) and answers.rows.max() < len(answers.objects), "places")
    expect(repr(answers).count("\n") == 2, "three lines")
    both = call(concat_answers, [answers, answers[::-1]], must_work=True).result
    expect(len(both) == 2 * len(answers), "trials of both")
    call(
        answers.__getitem__,
        inputs.pick([0, -1], np.ones(len(answers), dtype=bool), slice(1, None), 0, "x"),
    )


TARGETS = {
    "read_answers": fuzz_reading,
    "preprocessing": fuzz_preprocessing,
    "make_triplets": fuzz_made,
}
