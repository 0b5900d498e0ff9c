"""Fuzz targets: dimensions from trials, and their measures and figure."""

import pickle

import numpy as np
from matplotlib import pyplot as plt

from skscreen import ConceptEmbedding, ConceptEmbeddingCV, read_answers
from skscreen.inspection import ConceptDisplay
from skscreen.metrics import match_dimensions
from tests.proofs.fuzz.checks import call, expect
from tests.proofs.fuzz.inputs import DENSE, Inputs

COMMON = {
    "n_components": (5, 1, 20),
    "l2": ("auto", 0.0, 1e-12, 1e300),
    "n_init": (2, 1),
    "min_support": (0.5, 0.0, 1.0),
    "max_iter": (50, 1, 3),
    "tol": (2e-6, 0.0, 1e300),
    "n_jobs": (None, 1, 2),
    "verbose": (0, False),
    "random_state": (None, 0, np.random.RandomState(0)),
}
L1 = {"l1": ("auto", 0.0, 1e-12, 0.05, 1e6, 1e300)}
SEARCH = {"l1s": (2, 1, [0.01, 0.1], [1e-300, 1e300]), "cv": (None, 2)}


def trials(inputs: Inputs):
    """Return trials and the places of the odd ones to give."""
    n, n_rows, rng = inputs.count(3, 12), inputs.count(4, 60), inputs.rng()
    rows = np.array([rng.choice(n, 3, replace=False) for _ in range(n_rows)])
    odd = rng.integers(3, size=n_rows)
    kind = inputs.pick("oddoneout", "oddoneout", "triplets")
    if inputs.pick(True, False):
        chosen = 2 if kind == "oddoneout" else None
        return inputs.junk("answers", read_answers(rows, kind=kind, chosen=chosen)), None
    given = inputs.pick(rows, rows.tolist(), rows.astype(float), np.asfortranarray(rows))
    return inputs.junk("answers", given), inputs.junk("y", inputs.pick(odd, odd.tolist()))


def check_fit(model, answers, y) -> None:
    """Ask a fitted model for all that it tells."""
    X, d = model.embedding_, model.embedding_.shape[1]
    expect(np.isfinite(X).all() and X.min(initial=0.0) >= 0.0, "entries")
    expect(bool((np.diff(X.sum(axis=0)) <= 1e-9 * X.sum()).all()), "dimensions by mass")
    expect(((model.support_ >= 0.0) & (model.support_ <= 1.0)).all(), "support")
    expect(np.isfinite([model.objective_, model.log_likelihood_]).all(), "objective")
    expect(model.log_likelihood_ <= 1e-9, "likelihood")
    p = call(model.predict_proba, answers, must_work=True).result
    expect(bool(np.allclose(p.sum(axis=1), 1.0)), "probabilities")
    score = call(model.score, answers, y, must_work=True).result
    expect(0.0 <= score <= 1.0, "score")
    S = call(model.similarity, must_work=True).result
    known = S[np.isfinite(S)]
    expect(bool(((known >= 0.0) & (known <= 1.0)).all()), "similarity")
    expect(model.top_objects(2).shape == (2, d), "objects")
    pickle.loads(pickle.dumps(model))
    if d:
        call(ConceptDisplay.from_estimator, model, must_work=True)
        plt.close("all")


def fuzz_concepts(inputs: Inputs) -> None:
    valid = COMMON | L1
    inputs.spoil("answers", "y", "sample_weight", "n_samples", "groups", *valid)
    model = ConceptEmbedding(**{"max_iter": 50, **inputs.options(ConceptEmbedding, valid)})
    answers, y = trials(inputs)
    n_rows = len(answers) if hasattr(answers, "__len__") and getattr(answers, "ndim", 1) else 1
    weights = inputs.weights("sample_weight", n_rows)[0]
    done = call(model.fit, answers, y, sample_weight=weights)
    if done.error is not None:
        return
    check_fit(model, answers, y)
    groups = inputs.junk("groups", inputs.pick(None, np.arange(n_rows) % 3))
    found = call(model.bootstrap, inputs.junk("n_samples", inputs.pick(1, 3)), groups=groups)
    expect(found.error is not None or (np.abs(found.result.correlations) <= 1.0).all(), "r")


def fuzz_search(inputs: Inputs) -> None:
    valid = COMMON | SEARCH
    inputs.spoil("answers", "y", "sample_weight", "groups", *valid)
    options = {"max_iter": 50, "l1s": 2, **inputs.options(ConceptEmbeddingCV, valid)}
    model = ConceptEmbeddingCV(**options)
    answers, y = trials(inputs)
    n_rows = len(answers) if hasattr(answers, "__len__") and getattr(answers, "ndim", 1) else 1
    weights = inputs.weights("sample_weight", n_rows)[0]
    groups = inputs.junk("groups", inputs.pick(None, np.arange(n_rows) % 3))
    done = call(model.fit, answers, y, sample_weight=weights, groups=groups)
    if done.error is not None:
        return
    check_fit(model, answers, y)
    expect(model.l1_ in model.l1s_ and model.as_good_[model.best_index_], "the best penalty")
    low, high = model.dimension_range_
    expect(0 <= low <= high <= model.n_components, "dimensions")


def fuzz_match(inputs: Inputs) -> None:
    inputs.spoil("A", "B")
    n = inputs.count(2, 9)
    A, B = (inputs.matrix(name, n, inputs.pick(1, 2, 5), forms=DENSE)[0] for name in ("A", "B"))
    done = call(match_dimensions, A, B)
    if done.error is None:
        r = done.result.correlations
        expect((np.abs(r[np.isfinite(r)]) <= 1.0).all(), "correlations")


TARGETS = {
    "ConceptEmbedding": fuzz_concepts,
    "ConceptEmbeddingCV": fuzz_search,
    "match_dimensions": fuzz_match,
}
