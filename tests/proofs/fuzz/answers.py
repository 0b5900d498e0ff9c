"""Fuzz targets: triplets from other kinds of answers, and made ones."""

import numpy as np
import pandas as pd

from skscreen import concat_answers, read_answers
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.preprocessing import (
    paired_from_levels,
    triplets_from_matrix,
    triplets_from_oddoneout,
    triplets_from_piles,
    triplets_from_ranking,
    triplets_from_ratings,
    triplets_from_tensor,
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
    inputs.spoil("X", "columns", "kind", "values", "objects", "groups", "weights", "missing",
                 "ranks", "matrix", "tensor", "dissimilarity")  # fmt: skip
    n, width = inputs.count(2, 12), inputs.count(3, 6)
    X, plain = trials(inputs, n, width)
    rng = inputs.rng()
    values = inputs.junk("values", inputs.pick(rng.integers(1, 8, n), rng.random(n)))
    said = {
        "objects": inputs.junk("objects", inputs.pick(None, range(width + 3))),
        "groups": inputs.junk("groups", inputs.pick(None, rng.integers(2, size=n))),
        "missing": inputs.junk("missing", inputs.pick((), [None], [3])),
    }  # fmt: skip
    weights = {"weights": inputs.junk("weights", inputs.pick(None, rng.random(n)))}
    kind = {"kind": inputs.junk("kind", inputs.pick("triplets", "quadruplets"))}
    made = [
        call(triplets_from_ratings, X, inputs.junk("columns", [0, 1]), values, **said, **weights,
             **kind, dissimilarity=inputs.junk("dissimilarity", False)),
        call(triplets_from_piles, X, [0], values, **said, **kind),
        call(paired_from_levels, X, [0], values, **said, **weights),
    ]  # fmt: skip
    ranks = inputs.junk("ranks", inputs.pick(None, [*rng.integers(4, size=(width - 1, n))]))
    made.append(call(triplets_from_ranking, X, None, ranks, **said, **weights))
    matrix, _ = inputs.matrix("matrix", width, width, forms=DENSE)
    made.append(call(triplets_from_matrix, matrix))
    tensor = make_triplets(rng.normal(size=(5, 2)), 20, result_format="tensor-count")
    made.append(call(triplets_from_tensor, inputs.junk("tensor", inputs.pick(tensor, tensor.T))))
    odd = call(read_answers, plain[:, :3], kind="oddoneout", chosen=0, must_work=True).result
    made.append(call(triplets_from_oddoneout, odd, must_work=True))
    for done in made:
        if done.error is None:
            answers = done.result
            expect(np.all((answers.rows >= 0) & (answers.rows < len(answers.objects))), "places")
            expect(np.all(np.diff(answers.trials) >= 0), "trials in order")
            expect(answers.groups is None or len(answers.groups) == len(answers), "groups")


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
    expect(len(answers) + len(answers.left_out) == len(X), "every row is an answer or left out")
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
