"""Simulated trials of the odd one out, and how well dimensions predict them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skscreen.metrics import match_dimensions

# Of the real THINGS trials two answers agree so often that .67 is about the best accuracy.
CEILING = 0.67
ODD_LAST = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])


@dataclass(frozen=True)
class Task:
    """A truth, trials to learn from and others to predict, the odd one last."""

    truth: np.ndarray
    train: np.ndarray
    test: np.ndarray


def things(folder: Path, n_trials: int) -> Task:
    """Trials of 1,854 things, answered by the published dimensions of VICE."""
    with np.load(folder / "things_dimensions.npz") as stored:
        X = stored["embedding"].astype(float)
    X[X < 0.02] = 0.0
    return task(X, n_trials, 100_000, seed=1)


def small() -> Task:
    """10,000 trials of 100 objects with five dimensions."""
    rng = np.random.default_rng(3)
    has = rng.random((100, 5)) < 0.25
    # Things without any dimension would be like no other.
    has[np.arange(100), rng.integers(5, size=100)] = True
    X = has * rng.gamma(2.0, 0.5, size=(100, 5))
    return task(X, 10_000, 50_000, seed=1)


def task(X: np.ndarray, n_trials: int, n_test: int, seed: int) -> Task:
    """Return trials answered by dimensions, which are scaled to the best possible accuracy."""
    rng = np.random.default_rng(seed)
    some = draw(len(X), 200_000, rng)
    low, high = 0.1, 10.0
    for _ in range(30):
        scale = np.sqrt(low * high)
        best = probabilities(scale * X, some).max(axis=1).mean()
        low, high = (scale, high) if best < CEILING else (low, scale)
    shown = draw(len(X), n_trials + n_test, rng)
    chances = np.cumsum(probabilities(scale * X, shown), axis=1)
    odd = (rng.random((len(shown), 1)) > chances[:, :2]).sum(axis=1)
    rows = np.take_along_axis(shown, ODD_LAST[odd], axis=1).astype(np.int32)
    return Task(scale * X, rows[:n_trials], rows[n_trials:])


def draw(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return m rows of three different numbers below n."""
    found = np.empty((0, 3), dtype=np.int64)
    while len(found) < m:
        rows = rng.integers(n, size=(m, 3))
        i, j, k = rows.T
        found = np.concatenate([found, rows[(i != j) & (i != k) & (j != k)]])
    return found[:m]


def probabilities(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return how likely each object of a trial is the odd one."""
    S, (i, j, k) = X @ X.T, rows.T
    s = np.stack([S[j, k], S[i, k], S[i, j]], axis=1)
    powers = np.exp(s - s.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def said(task: Task, X: np.ndarray) -> str:
    """Return what dimensions are worth: on new trials, and beside the truth."""
    X = X[:, X.max(axis=0) > 0.1]
    p = probabilities(X, task.test)
    accuracy = np.mean(p[:, 2] > p[:, :2].max(axis=1))
    r = np.nan_to_num(match_dimensions(task.truth, X).correlations)
    return (
        f"-log p {-np.log(p[:, 2]).mean():.4f}; accuracy {accuracy:.4f}; {X.shape[1]} dimensions; "
        f"{np.mean(r > 0.8):.0%} of the true ones"
    )
