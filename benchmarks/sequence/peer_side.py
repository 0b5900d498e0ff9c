"""The peer of `peers.py`: python-crfsuite."""

import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.support.peer_process import serve, timed


@cache
def names(count: int) -> list[str]:
    """Return the names of features."""
    return [str(i) for i in range(count)]


def items(arrays: dict, part: str) -> list:
    """Return the names of the features that are on, for each position of each sequence."""
    columns, starts = arrays[f"{part}_columns"], arrays[f"{part}_starts"]
    known = names(int(columns.max()) + 1)
    rows = [[known[i] for i in columns[a:b]] for a, b in pairwise(starts)]
    ends = np.cumsum(arrays[f"{part}_lengths"])
    return [rows[b - n : b] for n, b in zip(arrays[f"{part}_lengths"], ends, strict=True)]


def run(job: dict, arrays: dict) -> dict:
    """Learn against the clock; return seconds, labels of the test part, loss and weights."""
    import pycrfsuite

    ends = np.cumsum(arrays["train_lengths"])[:-1]
    X, y = items(arrays, "train"), np.split(arrays["train_labels"], ends)
    y = [part.tolist() for part in y]
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({
        "c1": 0.0, "c2": job["c2"], "feature.possible_transitions": True,
        "feature.possible_states": True,
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")

        def learn():
            for sequence, labels in zip(X, y, strict=True):
                trainer.append(sequence, labels)
            trainer.train(model)

        seconds = timed(job["limit"], learn)[0]
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        found = np.concatenate([tagger.tag(sequence) for sequence in items(arrays, "test")])
        info = tagger.info()
    last = trainer.logparser.last_iteration
    return {
        "seconds": seconds, "found": found, "iterations": last["num"], "loss": last["loss"],
        "states": np.array([(a, b, w) for (a, b), w in info.state_features.items()]),
        "steps": np.array([(a, b, w) for (a, b), w in info.transitions.items()]),
    }  # fmt: skip


if __name__ == "__main__":
    serve(run)
