"""Linear support vector machines: single fits and paths, at the same gap on both sides.

Gaps are relative duality gaps of the full problem. LinearSVC and skglm are tried with tolerances
1e-1, 1e-2, ... until the objective of their solution, computed here, is within 1e-6 of the
optimum. A fit that does not get there within the limit is marked. This favours them: they only have
to be as close as skscreen has to prove. Snap ML and ours are compared in this way at 1e-4 and 1e-6.
The intercept is penalised on both sides; skglm, which fits none, gets a column of ones; beside Snap
ML there is none. Dense sets are standardised, pixels of mnist are in [0, 1], texts are tf-idf rows
of length 1.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.support.comparison import Bench, Row, Side, answered, fitted, size
from benchmarks.support.peer_process import best_of
from benchmarks.svm.peers_here import ladder, linear_svc, losses
from skscreen import ScreenedLinearSVC, ScreenedSVC, svc_path

GAP, ROUGH = 1e-6, 1e-3
PEER = "benchmarks.svm.peer_side"
HINGE = {
    "mnist": (0.1, 10.0), "shuttle": (1.0,), "w8a": (0.1, 10.0), "reuters_money": (0.1, 1.0, 10.0),
    "news20_binary": (0.1, 1.0, 10.0),
}  # fmt: skip
PATHS = ("news20_binary", "reuters_money", "w8a")
BINARY = ("mnist", "w8a", "reuters_money", "news20_binary", "a9a")
MULTICLASS = ("news20", "sector", "mnist-10", "letter")
SELECTION = ("news20_binary", "reuters_money", "leukemia", "a9a")
CLASSES_AT_ONCE = ("news20", "sector", "letter", "usps")
FREE = {
    "spambase": 4601, "a9a": 8000, "phishing": 11055, "dna": 3186, "reuters_money": 11069,
}  # fmt: skip


def hinge(bench: Bench) -> Iterator[Row]:
    """One fit of the hinge, beside LinearSVC(loss="hinge") and skglm."""
    there = bench.there(PEER)
    for name, Cs in HINGE.items():
        X, y = bench.sets(name)
        for C in Cs:
            model = ScreenedLinearSVC(C=C, loss="hinge", tol=GAP)
            ours = fitted("ScreenedLinearSVC", model, X, y, bench.repeats)
            dual = certified_dual(X, y, C)
            work, data = f"hinge C = {C:g}", size(name, X)
            how = {"C": C, "loss": "hinge"}
            peer = linear_svc(X, y, dual, GAP, bench.limit, bench.repeats, **how)
            yield Row(work, data, ours, peer)
            if there:
                yield Row(work, data, ours, skglm(there, X, y, C, dual, bench))


def certified_dual(X, y, C: float) -> float:
    """Return a dual value within 1e-9 of the optimum."""
    options = {"kernel": "linear", "intercept": "penalised", "tol": 1e-9}
    return svc_path(X, y, Cs=[C], **options).solutions[0].certificate.dual


def skglm(there, X, y, C: float, dual: float, bench: Bench) -> Side:
    """Return skglm's side at the loosest tolerance that reaches the gap."""
    job = {"method": "skglm", "C": C, "limit": bench.limit, "repeats": bench.repeats}
    # It fits no intercept: a column of ones stands for it, with a penalty as ours has.
    ones = np.ones((X.shape[0], 1))
    X = sparse.hstack((X, ones)) if sparse.issparse(X) else np.hstack((X, ones))
    arrays = arrays_of(X, job) | {"y": y.astype(float)}

    def fit(tol: float):
        answer = there.ask(job | {"tol": tol}, **arrays)
        return answer.get("failed") or (answer["seconds"], answer["coef"])

    return ladder("skglm", fit, dual, partial(primal, X, y, C), GAP, bench.limit)


def snap(bench: Bench) -> Iterator[Row]:
    """One fit of the hinge without an intercept to an excess over the optimum, beside Snap ML."""
    if not (there := bench.there(PEER)):
        return
    for name in BINARY:
        X, y = bench.sets(name)
        for C in (0.1, 10.0):
            exact = ScreenedLinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9).fit(X, y)
            dual = exact.objective_ * (1.0 - exact.dual_gap_)
            for excess in (1e-4, GAP):
                sides = without_intercept(there, X, y, C, dual, excess, bench)
                yield Row(f"hinge to {excess:g} C = {C:g}", size(name, X), *sides)


def without_intercept(there, X, y, C, dual: float, excess: float, bench: Bench) -> list[Side]:
    """Return ours and Snap ML's side at the loosest tolerances that reach the excess."""

    def ours(tol: float):
        model = ScreenedLinearSVC(C=C, loss="hinge", fit_intercept=False, tol=tol)
        seconds, _ = best_of(bench.repeats, lambda: model.fit(X, y))
        return seconds, model.coef_[0]

    def peer(tol: float):
        answer = there.ask(job | {"tol": tol}, **arrays)
        return answer.get("failed") or (answer["seconds"], answer["coef"])

    job = {"method": "Snap ML", "C": C, "limit": bench.limit, "repeats": bench.repeats}
    arrays = arrays_of(X, job) | {"y": y.astype(float)}
    known = dual, partial(primal, X, y, C), excess, bench.limit
    return [ladder("ScreenedLinearSVC", ours, *known), ladder("Snap ML", peer, *known)]


def primal(X, y, C: float, coef: np.ndarray) -> float:
    """Return the objective of the hinge without an intercept."""
    return 0.5 * float(coef @ coef) + C * float(np.maximum(1.0 - y * (X @ coef), 0.0).sum())


def path(bench: Bench) -> Iterator[Row]:
    """A path of 20 values of C from 0.01 to 10, beside as many fits of LinearSVC."""
    Cs = np.geomspace(1e-2, 1e1, 20)
    options = {"Cs": Cs, "kernel": "linear", "intercept": "penalised", "tol": GAP}
    for name in PATHS:
        X, y = bench.sets(name)
        seconds, found = best_of(2, lambda X=X, y=y: svc_path(X, y, **options))
        ours = Side("svc_path", seconds, f"gaps up to {found.dual_gaps.max():.0e}")
        sides = [linear_svc(X, y, point.certificate.dual, GAP, bench.limit, C=point.C, loss="hinge")
                 for point in found.solutions]  # fmt: skip
        missed = sum(side.late for side in sides)
        peer = Side("20 LinearSVC", sum(side.seconds for side in sides), late=missed > 0,
                    reached=f"{missed} missed 1e-6" if missed else "gaps up to 1e-06")  # fmt: skip
        yield Row("path of 20 C", size(name, X), ours, peer)


def squared_hinge(bench: Bench) -> Iterator[Row]:
    """One fit of the squared hinge, of two and of all classes, beside LinearSVC."""
    for name in BINARY + MULTICLASS:
        X, y = labelled(bench, name)
        for C in (0.1, 10.0):
            yield fit_beside(bench, "squared hinge", name, X, y, C)


def l1(bench: Bench) -> Iterator[Row]:
    """One fit with an L1 penalty, beside LinearSVC(penalty="l1", dual=False)."""
    for name in SELECTION:
        X, y = bench.sets(name)
        for C in (0.1, 1.0, 10.0):
            options = {"penalty": "l1", "dual": False, "objectives": l1_objective}
            yield fit_beside(bench, "L1 penalty", name, X, y, C, **options)


def crammer_singer(bench: Bench) -> Iterator[Row]:
    """One fit of the multi-class hinge, beside LinearSVC(multi_class="crammer_singer")."""
    for name in CLASSES_AT_ONCE:
        X, y = labelled(bench, name)
        for C in (0.1, 1.0):
            how = {"gap": ROUGH, "multi_class": "crammer_singer", "objectives": joint_objective}
            yield fit_beside(bench, "multi-class hinge", name, X, y, C, **how)


def fit_beside(
    bench: Bench, work: str, name: str, X, y, C: float, gap: float = GAP, objectives=None, **options
) -> Row:
    """Return one fit to a gap, beside LinearSVC with the same options to the same gap."""
    model = ScreenedLinearSVC(C=C, tol=gap, **options)
    ours = fitted("ScreenedLinearSVC", model, X, y, bench.repeats)
    dual = model.objective_ * (1.0 - model.dual_gap_)
    options |= {"C": C, "max_iter": 20_000}
    peer = linear_svc(X, y, dual, gap, bench.limit, bench.repeats, objectives, **options)
    return Row(f"{work} C = {C:g}", size(name, X), ours, peer)


def labelled(bench: Bench, name: str):
    """Return samples and labels: of two classes, or of all that a set has."""
    if name in BINARY:
        return bench.sets(name)
    X, y = bench.data(name.split("-")[0])
    if name == "mnist-10":
        return X / 255.0, y
    return (X if sparse.issparse(X) else StandardScaler().fit_transform(X)), y


def l1_objective(model: LinearSVC, X, y) -> np.ndarray:
    """Return the objectives of its problems with an L1 penalty, which the intercept has too."""
    sizes = np.abs(model.coef_).sum(axis=1) + np.abs(model.intercept_)
    return sizes + losses(model, X, y)


def joint_objective(model: LinearSVC, X, y) -> float:
    """Return the objective of the multi-class hinge."""
    scores, own = model.decision_function(X), np.searchsorted(model.classes_, y)
    scores += 1.0
    scores[np.arange(y.size), own] -= 1.0
    losses = scores.max(axis=1) - scores[np.arange(y.size), own]
    return (
        0.5 * float((model.coef_**2).sum() + model.intercept_ @ model.intercept_)
        + model.C * losses.sum()
    )


def free_intercept(bench: Bench) -> Iterator[Row]:
    """The linear kernel with a free intercept, the problem of SVC(kernel="linear"), beside it."""
    for name, n in FREE.items():
        X, y = bench.sets(name, n)
        for C in (1.0, 100.0):
            model = ScreenedSVC(C, kernel="linear", tol=1e-6)
            ours = fitted('ScreenedSVC(kernel="linear")', model, X, y, bench.repeats)
            job = {"method": "SVC", "kernel": "linear", "C": C, "gamma": 1.0, "tol": 1e-3,
                   "limit": bench.limit, "repeats": 1}  # fmt: skip
            arrays = arrays_of(X, job) | {"y": y}
            answer = bench.here(PEER).ask(job, **arrays)
            said = "tol=1e-3 which is no gap"
            peer = answered('SVC(kernel="linear")', answer, bench.limit, said)
            yield Row(f"free intercept C = {C:g}", size(name, X), ours, peer)


def arrays_of(X, job: dict) -> dict:
    """Return the arrays of the samples; the shape of sparse ones goes into the job."""
    if not sparse.issparse(X):
        return {"X": X}
    X, job["shape"] = sparse.csr_array(X), X.shape
    return {name: getattr(X, name) for name in ("data", "indices", "indptr")}


JOBS = {
    "hinge": hinge, "snap": snap, "linear_path": path, "squared_hinge": squared_hinge,
    "l1": l1, "crammer_singer": crammer_singer, "free_intercept": free_intercept,
}  # fmt: skip
