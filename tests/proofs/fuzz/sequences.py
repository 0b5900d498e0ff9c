"""Fuzz targets of sequence labellers."""

from itertools import product

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from skscreen import ChainCRF, KernelChainClassifier, MaxMarginChain, SequenceTransformer
from skscreen.datasets import load_conll
from skscreen.metrics import sequence_accuracy, span_f1, span_report
from skscreen.model_selection import cross_val_predict_sequences
from tests.proofs.fuzz.checks import call, expect, expect_certified, expect_close, expect_finite
from tests.proofs.fuzz.inputs import Inputs, dress


def fuzz_max_margin(inputs: Inputs) -> None:
    valid = {
        "C": (1.0, 1e-12, 1e3, 1e300), "fit_intercept": (True, False),
        "solver": ("auto", "frank-wolfe", "smoothing", "pragam", "bmrm"),
        "fit_start_end": (False, True), "class_weight": (None, "balanced"),
        "tol": (1e-3, 1e-12, 1e300), "max_iter": (300, 1), "verbose": (0,),
        "random_state": (None, 3),
    }  # fmt: skip
    model, _, y, plain = fitted(inputs, MaxMarginChain, valid, 300)
    if model and not inputs.spoiled and model.class_weight is None:
        risk = 0.0
        for U, truth in scores_and_truths(model, plain, y):
            best = max(
                sum(a != b for a, b in zip(path, truth, strict=True))
                + chain_score(U, model.transition_, path) for path in labellings(U)
            )  # fmt: skip
            risk += best - chain_score(U, model.transition_, truth)
        expect_objective(model, risk, plain)


def fuzz_crf(inputs: Inputs) -> None:
    valid = {
        "C": (1.0, 1e-12, 1e3, 1e300), "fit_intercept": (True, False),
        "fit_start_end": (False, True), "tol": (1e-3, 1e-12, 1e300), "max_iter": (300, 1),
    }  # fmt: skip
    model, X, y, plain = fitted(inputs, ChainCRF, valid, 300)
    if model is None:
        return
    found = call(model.predict_marginals, X)
    if found.error is None:
        expect(all(np.allclose(part.sum(axis=1), 1.0) for part in found.result), "probabilities")
    if not inputs.spoiled:
        risk = 0.0
        for U, truth in scores_and_truths(model, plain, y):
            values = np.array([chain_score(U, model.transition_, path) for path in labellings(U)])
            risk += values.max() + np.log(np.exp(values - values.max()).sum())
            risk -= chain_score(U, model.transition_, truth)
        expect_objective(model, risk, plain)


def fitted(inputs: Inputs, kind: type, valid: dict, max_iter: int) -> tuple:
    """Return a fitted and checked labeller, or None after an error, and what it was fitted to."""
    inputs.spoil("X", "y", *valid)
    options = {"max_iter": max_iter, **inputs.options(kind, valid)}
    X, y, plain = sequences(inputs)
    model = kind(**options)
    done = call(model.fit, X, y)
    if done.error is not None:
        return None, X, y, plain
    check_labels(model, X, y)
    expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
    return model, X, y, plain


def scores_and_truths(model, plain, y):
    """Iterate over the scores of labels of sequences, and the codes of their true labels."""
    for sequence, labels in zip(plain, y, strict=True):
        U = sequence @ model.coef_.T + model.intercept_
        U[0] += model.start_
        U[-1] += model.end_
        yield U, np.searchsorted(model.classes_, labels)


def expect_objective(model, risk: float, plain) -> None:
    """Check the objective of a model of which the sum of losses is known."""
    W = (model.coef_, model.intercept_, model.start_, model.end_, model.transition_)
    penalty = sum(float((part**2).sum()) for part in W)
    sizes = sum(np.abs(part).sum() for part in W)
    wanted = risk / len(plain) + 0.5 * penalty / (model.C * len(plain))
    rounding = sum(len(part) + np.abs(part).sum() for part in plain) * sizes
    expect_close(model.objective_, wanted, 1e-9 * (1.0 + rounding), "objective")


def fuzz_transformer(inputs: Inputs) -> None:
    inputs.spoil("X", "transformer")
    X, _, _ = sequences(inputs)
    transformer = inputs.junk("transformer", StandardScaler())
    model = SequenceTransformer(transformer)
    done = call(model.fit_transform, X)
    if done.error is None and not inputs.spoiled:
        expect([part.shape for part in done.result] == [part.shape for part in X], "shapes")
        rows = [sparse.csr_array(part.astype(np.float64)) for part in X]
        again = SequenceTransformer(StandardScaler(with_mean=False)).fit_transform(rows)
        expect([part.shape for part in again] == [part.shape for part in X], "sparse shapes")


def fuzz_scores(inputs: Inputs) -> None:
    inputs.spoil("y_true", "y_pred")
    _, y, _ = sequences(inputs)
    given = {name: inputs.junk(name, y) for name in ("y_true", "y_pred")}
    for function in (sequence_accuracy, span_f1):
        done = call(function, *given.values())
        if done.error is None:
            expect(0.0 <= done.result <= 1.0, "not a share")
    scheme = inputs.pick(None, "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU", "IOB")
    tags = ["O", "B-a", "I-a", "E-b", "S-", "U-b", "L-a", "B", "-", "O-a"]
    taggings = [[inputs.pick(*tags) for _ in range(4)] for _ in range(2)]
    done = call(span_report, *[[t] for t in taggings], scheme=scheme, output_dict=True)
    if done.error is None:
        expect(all(0.0 <= row["f1-score"] <= 1.0 for row in done.result.values()), "no share")


def fuzz_cross_val_predict(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "cv", "method")
    X, y, _ = sequences(inputs)
    method = inputs.junk("method", inputs.pick("predict", "predict_marginals", "predict_proba"))
    cv = inputs.junk("cv", 2)
    done = call(
        cross_val_predict_sequences, ChainCRF(max_iter=20), X, y, cv=cv, method=method,
    )  # fmt: skip
    if done.error is None and not inputs.spoiled:
        expect([len(part) for part in done.result] == [len(part) for part in y], "lengths")


def fuzz_kernel_chain(inputs: Inputs) -> None:
    valid = {
        "C": (1.0, 1e-12, 1e3, 1e300), "kernel": ("rbf", "linear", "poly", "sigmoid"),
        "gamma": ("scale", "auto", 1e-12, 1e12), "degree": (3, 0, 30), "coef0": (0.0, 1e6, -1.0),
        "transition_scale": (1.0, 1e-12, 1e12), "tol": (1e-4, 1e-12, 1e300), "max_iter": (300, 1),
    }  # fmt: skip
    model, X, _, _ = fitted(inputs, KernelChainClassifier, valid, 100)
    if model and not inputs.spoiled:
        at_zero = np.log(len(model.classes_)) * sum(map(len, X)) / len(X)
        expect(model.objective_ <= at_zero * (1.0 + 1e-9) + 1e-12, "worse than zero")


def sequences(inputs: Inputs) -> tuple:
    """Return sequences and labels to give, and the sequences as plain arrays."""
    lengths = [inputs.count(1, 4) for _ in range(inputs.count(2, 4))]
    total, n_classes = sum(lengths), inputs.pick(2, 2, 3)
    cuts = np.cumsum(lengths)[:-1]
    codes = inputs.rng().integers(n_classes, size=total)
    codes[:2] = 0, 1 if total > 1 else 0
    X = inputs.numbers(total, inputs.pick(1, 2, 3), codes)
    y = [part.copy() for part in np.split(inputs.pick(codes, np.array(list("abc"))[codes]), cuts)]
    X, plain = dress(inputs, X, ("array", "Fortran", "float32", "big-endian", "read-only"))
    X = [part.copy() for part in np.split(X, cuts)]
    given, labels = X, y
    if "X" in inputs.spoiled:
        given = inputs.pick(
            lambda: np.concatenate(X), lambda: X[:-1], lambda: [], lambda: None, lambda: [*X[:-1],
            X[-1][:0]], lambda: [*X[:-1], X[-1][:, :0]], lambda: [np.where(part == part, np.nan,
            part) for part in X], lambda: [part.astype(str) for part in X], lambda: "text",
            lambda: [part[:, 0] for part in X], lambda: [None] * len(X), lambda: 3, lambda: iter(X),
            lambda: np.array([*X, None], dtype=object)[:-1], lambda: {0: X[0]}, lambda: tuple(X),
            lambda: [part + 1j for part in X], lambda: [part[None] for part in X],
        )()  # fmt: skip
    if "y" in inputs.spoiled:
        labels = inputs.pick(
            lambda: y[:-1], lambda: None, lambda: [part[:-1] for part in y], lambda: codes,
            lambda: [0 * part if part.dtype.kind == "i" else part for part in y], lambda: [],
            lambda: [part.astype(float) + 0.5 if part.dtype.kind == "i" else part for part in y],
            lambda: "text", lambda: 3, lambda: [None] * len(y), lambda: [[None] * len(part) for
            part in y], lambda: [part[:, None] for part in y], lambda: [*y[:-1], np.array(["z"] *
            len(y[-1]))], lambda: {0: y[0]}, lambda: [np.full(len(part), np.nan) for part in y],
            lambda: tuple(y), lambda: iter(y),
        )()  # fmt: skip
    inputs.note("X", given), inputs.note("y", labels)
    return given, labels, np.split(plain, cuts)


def labellings(U: np.ndarray):
    """Iterate over all labellings of a short sequence."""
    return product(range(U.shape[1]), repeat=len(U))


def chain_score(U: np.ndarray, E: np.ndarray, path) -> float:
    """Return the score of a labelling."""
    path = np.asarray(path, dtype=int)
    return float(U[np.arange(len(U)), path].sum() + E[path[:-1], path[1:]].sum())


def check_labels(model, X, y) -> None:
    """Check a fitted sequence labeller."""
    expect_finite(model)
    found = call(model.predict, X)
    if found.error is None:
        expect(all(set(part.tolist()) <= set(model.classes_.tolist()) for part in found.result),
               "labels that are none")  # fmt: skip
    score = call(model.score, X, y)
    expect(score.error is not None or 0.0 <= score.result <= 1.0, "score")


def fuzz_conll(inputs: Inputs) -> None:
    inputs.spoil("source", "columns")
    parts = ["word", "O", "\t", " ", "\n", "\n\n", "#", "-DOCSTART- ", "1-2"]
    text = "a O\n" + "".join(inputs.pick(*parts) for _ in range(20))
    columns = inputs.pick(None, ("word", "label"), ("id", None, "label"), ())
    done = call(
        load_conll, inputs.junk("source", text), columns=inputs.junk("columns", columns),
    )  # fmt: skip
    if done.error is None and done.result[1] is not None:
        X, y = done.result
        expect([*map(len, X)] == [*map(len, y)], "lengths")


TARGETS = {
    "load_conll": fuzz_conll,
    "MaxMarginChain": fuzz_max_margin,
    "ChainCRF": fuzz_crf,
    "KernelChainClassifier": fuzz_kernel_chain,
    "SequenceTransformer": fuzz_transformer,
    "sequence scores": fuzz_scores,
    "cross_val_predict_sequences": fuzz_cross_val_predict,
}
