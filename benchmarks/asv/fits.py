"""Fits of two commits, in CPU seconds of one thread, and what they reach.

    make speed [BASE=main] [BENCH="fit.*metric"]

asv builds both commits in environments of their own and runs each job with one and with the other
in turn. It lists what got slower or reaches another value. Data are made, or come with
scikit-learn. Only names that both commits have can be used.
"""

import os
import subprocess
import sys
import time
import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.preprocessing import scale

import skscreen as sk
from skscreen.datasets import load_eurodist, make_triplets


@cache
def data(part: int = 1) -> SimpleNamespace:
    """Return what the jobs work on, or about so small a part, made once in a process."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, y = make_classification(20_000 // part, 50, n_informative=20, flip_y=0.05, random_state=0)
    digits, ten = load_digits(return_X_y=True)
    wine, three = load_wine(return_X_y=True)
    iris, kinds = load_iris(return_X_y=True)
    cancer, benign = load_breast_cancer(return_X_y=True)
    diabetes, progress = map(scale, load_diabetes(return_X_y=True))
    digits, ten, wine = scale(digits)[::part], ten[::part], scale(wine)
    cuts = np.arange(9, len(digits), 9)
    rows = np.array([rng.permutation(len(wine))[:3] for _ in range(2000 // part)])
    # Of three wines the nearer one second.
    near = ((wine[rows[:, 1:]] - wine[rows[:, :1]]) ** 2).sum(axis=2)
    rows[:, 1:] = np.take_along_axis(rows[:, 1:], near.argsort(axis=1), axis=1)
    cities = load_eurodist().distances
    return SimpleNamespace(
        X=X, y=y, digits=digits, ten=ten, wine=wine, three=three, iris=iris, kinds=kinds,
        cancer=scale(cancer), benign=benign, diabetes=diabetes, progress=progress,
        chains=np.split(digits, cuts), labels=np.split(ten, cuts), triplets=wine[rows],
        pairs=wine[rows[:, :2]], like=np.where(three[rows[:, 0]] == three[rows[:, 1]], 1, -1),
        answers=make_triplets(rng.normal(size=(200, 3)), 30_000 // part, noise=0.1, random_state=0),
        cities=make_triplets(cities, 2000 // part, metric="precomputed", random_state=0),
    )  # fmt: skip


# A fit, or a value that it reaches.
JOBS = {
    "linear, squared hinge": lambda d: sk.ScreenedLinearSVC().fit(d.X, d.y),
    "linear, hinge": lambda d: sk.ScreenedLinearSVC(C=10.0, loss="hinge").fit(d.X, d.y),
    "linear, ten classes": lambda d: sk.ScreenedLinearSVC().fit(d.digits, d.ten),
    "linear, path": lambda d: sk.svc_path(
        d.X[:4000], d.y[:4000], Cs=np.geomspace(0.01, 10, 20), kernel="linear",
        intercept="penalised",
    ).objectives[-1],
    "linear, iris": lambda d: sk.ScreenedLinearSVC().fit(d.iris, d.kinds),
    "linear kernel, iris": lambda d: sk.ScreenedSVC(kernel="linear").fit(d.iris, d.kinds),
    "linear kernel, ten classes": lambda d: sk.ScreenedSVC(kernel="linear").fit(
        d.digits[:300], d.ten[:300]
    ),
    "RBF": lambda d: sk.ScreenedSVC(10.0).fit(d.X[:6000], d.y[:6000]),
    "RBF, ten classes": lambda d: sk.ScreenedSVC(10.0).fit(d.digits, d.ten),
    "RBF, path": lambda d: sk.svc_path(
        d.digits, d.ten % 2, Cs=np.geomspace(0.01, 1000, 31)
    ).objectives[-1],
    "RBF, iris": lambda d: sk.ScreenedSVC().fit(d.iris, d.kinds),
    "RBF, wine": lambda d: sk.ScreenedSVC().fit(d.wine, d.three),
    "RBF, cancer": lambda d: sk.ScreenedSVC().fit(d.cancer, d.benign),
    "linear, cancer": lambda d: sk.ScreenedLinearSVC().fit(d.cancer, d.benign),
    "linear kernel, cancer": lambda d: sk.ScreenedSVC(kernel="linear").fit(d.cancer, d.benign),
    "regression, diabetes": lambda d: sk.ScreenedSVR().fit(d.diabetes, d.progress),
    "linear regression, diabetes": lambda d: sk.ScreenedLinearSVR().fit(d.diabetes, d.progress),
    "one class, iris": lambda d: sk.ScreenedOneClassSVM(nu=0.1).fit(d.iris),
    "nu, iris": lambda d: sk.ScreenedNuSVC(0.2).fit(d.iris, d.kinds),
    "nu, diabetes": lambda d: sk.ScreenedNuSVR().fit(d.diabetes, d.progress),
    "search": lambda d: sk.ScreenedSVCCV(5, gammas=[1e-3, 1e-2], cv=3).fit(
        d.digits, d.ten
    ).best_score_,
    "regression": lambda d: sk.ScreenedSVR().fit(d.X[:4000, 1:], d.X[:4000, 0]),
    "Pragam": lambda d: sk.PragamSVC(1e-3).fit(d.X, d.y),
    "metric": lambda d: sk.ScreenedRTLM(0.01).fit(d.digits, d.ten),
    "metric, path": lambda d: sk.rtlm_path(d.wine, d.three, n_lams=40).objectives[-1],
    "metric, wine": lambda d: sk.ScreenedRTLM().fit(d.wine, d.three),
    "metric, triplets": lambda d: sk.RTLMTripletsClassifier().fit(d.triplets),
    "metric, pairs": lambda d: sk.RTLMPairsClassifier().fit(d.pairs, d.like),
    "embedding": lambda d: sk.OrdinalEmbedding(3, random_state=0).fit(d.answers),
    "embedding, cities": lambda d: sk.OrdinalEmbedding(random_state=0).fit(d.cities),
    "max-margin chain": lambda d: sk.MaxMarginChain(0.1).fit(d.chains, d.labels),
    "chain CRF": lambda d: sk.ChainCRF(0.1).fit(d.chains, d.labels),
}  # fmt: skip


def reached(found) -> float:
    """Return the objective of a fit, the sum over its problems."""
    return float(np.sum(getattr(found, "objective_", found)))


class Fit:
    """What a fit takes and reaches."""

    params = tuple(JOBS)
    param_names = ("job",)
    timer = time.process_time
    rounds = 5

    def time_fit(self, job: str) -> None:
        """Fit."""
        JOBS[job](data())

    def track_objective(self, job: str) -> float:
        """Fit, and return the objective."""
        return reached(JOBS[job](data()))


class Import:
    """A new process until skscreen is imported."""

    rounds = 5

    @staticmethod
    def timer() -> float:
        """Return the CPU seconds of processes that ended."""
        ended = os.times()
        return ended.children_user + ended.children_system

    def time_import(self) -> None:
        """Start a process that imports."""
        subprocess.run([sys.executable, "-c", "import skscreen"], check=True)
