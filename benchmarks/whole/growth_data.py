"""Made data of any size for `growth.py`; the same values give the same data."""

from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.embedding.runs import synthetic


@lru_cache(2)
def classes(n: int, d: int, n_classes: int = 2):
    """Standardised features, ten of which matter, and labels."""
    X, y = make_classification(
        n, d, n_informative=min(10, d), n_redundant=0, n_classes=n_classes, n_clusters_per_class=2,
        flip_y=0.05, class_sep=1.0, random_state=0,
    )  # fmt: skip
    return StandardScaler().fit_transform(X), y


def three_classes(n: int, d: int):
    """Three classes, for metrics."""
    return classes(n, d, 3)


@lru_cache(2)
def words(n: int, d: int, per_row: int = 50):
    """Unit rows of words, frequent and rare ones, and the sign of their noisy score."""
    rng = np.random.default_rng(0)
    columns = np.floor(d ** rng.uniform(size=(n, per_row))).astype(np.int64) - 1
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_array((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X = sparse.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X
    score = X @ rng.normal(size=d)
    return X.tocsr(), (score + 0.3 * score.std() * rng.normal(size=n) > 0.0).astype(int)


@lru_cache(2)
def chains(n: int, d: int, length: int, n_labels: int = 3):
    """Sequences whose label changes once in ten steps, and noisy observations of it."""
    rng = np.random.default_rng(0)
    centres, X, y = rng.normal(size=(n_labels, d)), [], []
    for _ in range(n):
        fresh = rng.integers(n_labels, size=length)
        last = np.maximum.accumulate(np.where(rng.random(length) < 0.1, np.arange(length), 0))
        y.append(fresh[last])
        X.append(centres[y[-1]] + rng.normal(scale=np.sqrt(d), size=(length, d)))
    return X, y


@lru_cache(2)
def answers(n: int, d: int, answers: int):
    """Answers about n points in d dimensions, a tenth of them wrong."""
    return (synthetic(n, d, answers, 0.1, 0)[0],)
