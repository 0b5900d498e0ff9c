"""Metric learning: 5-NN error and verification after a fit, and what the fit costs.

*Defaults.* What one gets without choosing anything: error of five nearest neighbours with the
Euclidean distance and after ScreenedRTLM(), ScreenedRTLMCV(), NCA of scikit-learn and LMNN of
metric-learn, on twelve tables, two splits each. On the 500 features of madelon ScreenedRTLMCV()
takes more than ten minutes and is left out. In all jobs 25 % of the samples are for testing; the
others are for training, also as neighbours, and features are standardised by them.
*Classes.* ScreenedRTLM at its defaults, and with lambda chosen on 25 % of the training samples
along a path of 30 values; its seconds include path, choice and last fit. *Verification.* 60 % of
the classes are for training, as pairs, 50 % of them of one class. The area under the ROC curve is
that of 10,000 pairs of the other classes. Peers at their defaults, and with five target neighbours
where theirs are fewer. Means over splits; a fit that misses the limit is not tried on other splits.
SDML fails with scikit-learn 1.5 or newer.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks.support.comparison import Bench, Row, Side, answered, size
from skscreen import RTLMPairsClassifier, ScreenedRTLM, ScreenedRTLMCV, rtlm_path

PEER = "benchmarks.metric_learning.peer_side"
# Samples at most, the first of a shuffled order; splits, more where few samples are held out.
CLASSES = {
    "wine": (None, 10), "breast_cancer": (None, 10), "segment": (None, 2), "satimage": (2000, 2),
    "dna": (None, 2), "letter": (3000, 2),
}  # fmt: skip
# Tables of the comparison of defaults, and samples at most.
DEFAULTS = {
    "iris": None, "wine": None, "breast_cancer": None, "digits": None, "segment": None,
    "satimage": None, "spambase": None, "dna": None, "usps": None, "letter": 6000,
    "madelon": None, "phishing": 4000,
}  # fmt: skip
# Features from which on ScreenedRTLMCV() takes more than ten minutes.
WIDE = 300
AT_DEFAULTS = {
    "NeighborhoodComponentsAnalysis": ("nca", {}), "metric-learn LMNN": ("metric-learn", {}),
}  # fmt: skip
# Method, options; that of scikit-learn runs in our environment.
OF_CLASSES = {
    "NeighborhoodComponentsAnalysis": ("nca", {}),
    "metric-learn LMNN, k=5": ("metric-learn", {"n_neighbors": 5}),
    "mlpack LMNN, k=5": ("mlpack", {"k": 5}),
    "mlpack LMNN, k=5, L-BFGS": ("mlpack", {"k": 5, "optimizer": "lbfgs"}),
}
# Pairs learned from.
PAIRS = {"letter": 2000, "usps": 1000, "ocr_letters": 2000}
OF_PAIRS = {
    "metric-learn ITML": ("ITML", {}), "metric-learn MMC": ("MMC", {}),
    "metric-learn SDML, balance 1e-4": ("SDML", {"balance_param": 1e-4}),
}  # fmt: skip
LAMS = [0.3, 0.1, 0.03, 0.01, 0.003]


def defaults(bench: Bench) -> Iterator[Row]:
    """Error of five nearest neighbours on held-out samples, everything at its defaults."""
    public = {"breast_cancer": load_breast_cancer, "digits": load_digits}
    for name, most in DEFAULTS.items():
        X, y = public[name](return_X_y=True) if name in public else bench.data(name)
        keep = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = np.asarray(X[keep], dtype=float), y[keep]
        parts = [halves(X, y, seed) for seed in range(2)]
        ours = {
            "ScreenedRTLM()": lambda _, part: learned_by(ScreenedRTLM(), *part[:2]),
            "ScreenedRTLMCV()": lambda _, part: learned_by(ScreenedRTLMCV(), *part[:2]),
        }
        if X.shape[1] > WIDE:
            del ours["ScreenedRTLMCV()"]
        peers = {
            label: asker(bench, *peer, lambda part: {"X": part[0], "y": part[1]})
            for label, peer in AT_DEFAULTS.items()
        }
        yield from rows("defaults", size(name, X), ours, peers, parts, error, "error", bench, 0)


def learned_by(model, X, y) -> tuple[float, np.ndarray]:
    """Return seconds and map of a fit."""
    started = time.process_time()
    model.fit(X, y)
    return time.process_time() - started, getattr(model, "best_estimator_", model).components_


def classes(bench: Bench) -> Iterator[Row]:
    """Error of five nearest neighbours on held-out samples."""
    for name, (most, splits) in CLASSES.items():
        X, y = load_breast_cancer(return_X_y=True) if name == "breast_cancer" else bench.data(name)
        keep = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = X[keep], y[keep]
        parts = [halves(X, y, seed) for seed in range(splits)]
        learn_of_classes(*parts[0][:2], 0)
        ours = {
            "ScreenedRTLM": lambda k, part: learn_of_classes(*part[:2], None),
            "ScreenedRTLM, lambda chosen": lambda k, part: learn_of_classes(*part[:2], k),
        }
        peers = {
            label: asker(bench, *peer, lambda part: {"X": part[0], "y": part[1]})
            for label, peer in OF_CLASSES.items()
        }
        yield from rows("classes", size(name, X), ours, peers, parts, error, "5-NN error", bench)


def halves(X, y, seed: int) -> tuple:
    """Return samples and labels to learn from, and to test on, standardised by the former."""
    train, test, labels, truth = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=seed
    )
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), labels, scaler.transform(test), truth


def error(L: np.ndarray, part: tuple) -> float:
    """Return the share of wrong classes by five nearest neighbours after a linear map."""
    X, y, X_test, y_test = part
    return 1.0 - KNeighborsClassifier().fit(X @ L.T, y).score(X_test @ L.T, y_test)


def learn_of_classes(X, y, seed: int | None) -> tuple[float, np.ndarray]:
    """Return seconds and map, of a lambda that is chosen on a part if there is a seed for it."""
    lam, started = 0.01, time.process_time()
    if seed is not None:
        fit_X, valid_X, fit_y, valid_y = train_test_split(
            X, y, test_size=0.25, stratify=y, random_state=seed
        )
        path = rtlm_path(fit_X, fit_y, n_neighbors=5, ratio=0.7, n_lams=30, tol=1e-4)
        scores = []
        for model in path:
            knn = KNeighborsClassifier().fit(model.transform(fit_X), fit_y)
            scores.append(knn.score(model.transform(valid_X), valid_y))
        lam = float(path.lams[int(np.argmax(scores))] / path.lam_max)
    model = ScreenedRTLM(lam).fit(X, y)
    return time.process_time() - started, model.components_


def verification(bench: Bench) -> Iterator[Row]:
    """Area under the ROC curve of distances between samples of classes not learned from."""
    for name, n in PAIRS.items():
        X, y = bench.data(name)
        parts = [of_identities(X, y, n, seed) for seed in range(5)]
        learn_of_pairs(*parts[0][:3], None)
        ours = {
            "RTLMPairsClassifier": lambda _, part: learn_of_pairs(*part[:3], None),
            "RTLMPairsClassifier, lambda chosen": lambda _, part: learn_of_pairs(*part[:3], LAMS),
        }
        peers = {
            label: asker(
                bench, *peer, lambda part: {"X": part[0], "pairs": part[1], "y": part[2]}
            )
            for label, peer in OF_PAIRS.items()
        }  # fmt: skip
        data = f"{size(name, X)} {n:,} pairs"
        yield from rows("verification", data, ours, peers, parts, area, "area", bench)


def of_identities(X, y, n_pairs: int, seed: int) -> tuple:
    """Return samples, pairs and answers of some classes, and the same of the others."""
    rng = np.random.default_rng(seed)
    found = rng.permutation(np.unique(y))
    known = np.isin(y, found[: len(found) * 6 // 10])
    mean, spread = X[known].mean(axis=0), X[known].std(axis=0)
    X = (X - mean) / np.where(spread > 1e-9, spread, 1.0)
    parts = []
    for part, n in ((known, n_pairs), (~known, 10_000)):
        parts += [X[part], *drawn(y[part], n, rng)]
    return tuple(parts)


def drawn(y, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return n pairs, half of them alike; classes are as frequent as each other."""
    names, members = np.unique(y), {c: np.flatnonzero(y == c) for c in np.unique(y)}
    alike = [rng.choice(members[c], 2, replace=False) for c in rng.choice(names, n // 2)]
    others = [[rng.choice(members[c]) for c in rng.choice(names, 2, replace=False)]
              for _ in range(n // 2)]  # fmt: skip
    return np.array([*alike, *others]), np.repeat([1, -1], n // 2)


def area(L: np.ndarray, part: tuple) -> float:
    """Return the area under the ROC curve of distances after a linear map."""
    *_, unseen, questions, truth = part
    Z = unseen @ L.T
    return roc_auc_score(truth, -np.linalg.norm(Z[questions[:, 0]] - Z[questions[:, 1]], axis=1))


def learn_of_pairs(X, pairs, y, lams: list[float] | None) -> tuple[float, np.ndarray]:
    """Return seconds and map, of a lambda chosen by cross-validation if there are values."""
    model, started = RTLMPairsClassifier(preprocessor=X), time.process_time()
    if lams is None:
        model.fit(pairs, y)
    else:
        # In any order, or a fold may hold pairs of one kind.
        order = np.random.default_rng(0).permutation(len(y))
        model = GridSearchCV(model, {"lam": lams}).fit(pairs[order], y[order]).best_estimator_
    return time.process_time() - started, model.components_


def asker(bench: Bench, method: str, options: dict, arrays: Callable) -> Callable | None:
    """Return what asks a peer to learn, or None where there is no environment with it."""
    process = bench.here(PEER) if method == "nca" else bench.there(PEER)
    job = {"method": method, "options": options, "limit": bench.limit}
    return process and (lambda _, part: process.ask(job, **arrays(part)))


def rows(work, data, ours, peers, parts, judge, unit, bench, beside=-1) -> Iterator[Row]:
    """Yield each of ours, at its means over the parts, beside the plain distance.

    Peers are `beside` one of ours, by default the last.
    """
    plain = np.mean([judge(np.eye(part[0].shape[1]), part) for part in parts])
    sides = []
    for label, learn in ours.items():
        found = [learn(k, part) for k, part in enumerate(parts)]
        judged = [judge(L, part) for (_, L), part in zip(found, parts, strict=True)]
        seconds = np.mean([seconds for seconds, _ in found])
        sides.append(Side(label, seconds, f"{unit} {np.mean(judged):.4f}"))
    for side in sides:
        yield Row(work, data, side, Side("Euclidean", 0.0, f"{unit} {plain:.4f}"))
    for label, ask in peers.items():
        if ask:
            peer = asked(label, ask, parts, judge, unit, bench.limit)
            yield Row(work, data, sides[beside], peer)


def asked(label: str, ask: Callable, parts: list, judge: Callable, unit: str, limit) -> Side:
    """Return a peer at its means over the parts, or why there are none."""
    found, judged = [], []
    for k, part in enumerate(parts):
        answer = ask(k, part)
        if "failed" in answer:
            return answered(label, answer, limit, "")
        found.append(answer["seconds"])
        judged.append(judge(answer["components"], part))
    return Side(label, np.mean(found), f"{unit} {np.mean(judged):.4f}")


JOBS = {"defaults": defaults, "classes": classes, "verification": verification}
