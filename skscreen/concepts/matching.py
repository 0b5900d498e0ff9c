"""Dimensions of one fit beside those of another: pairs of them, and what many fits agree on."""

import numpy as np
from scipy.optimize import linear_sum_assignment

# Dimensions of different fits are taken for the same one where they correlate by more than this.
SAME = 0.6


def correlations(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return Pearson's r of each column of A with each of B; 0 for columns that do not vary."""
    scaled = []
    for X in (A, B):
        X = X - X.mean(axis=0)
        size = np.linalg.norm(X, axis=0)
        scaled.append(np.divide(X, size, out=np.zeros_like(X), where=size > 0.0))
    return np.clip(scaled[0].T @ scaled[1], -1.0, 1.0)


def match(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the partner in B of each column of A, -1 for none, and their r, NaN for none.

    One to one, with the largest sum of r.
    """
    found = correlations(A, B)
    partner, r = np.full(A.shape[1], -1), np.full(A.shape[1], np.nan)
    rows, columns = linear_sum_assignment(found, maximize=True)
    partner[rows], r[rows] = columns, found[rows, columns]
    return partner, r


def mean_correlation(r: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis by Fisher's z; pairs that were not found count as 0."""
    # An r of 1 or -1 has no z.
    z = np.arctanh(np.clip(np.nan_to_num(r), -1.0 + 1e-9, 1.0 - 1e-9))
    return np.tanh(z.mean(axis=0))


def consensus(fits: list[np.ndarray], min_support: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the dimensions (n, d) that enough of the fits have, and the share that has each.

    A dimension is in each fit once at most, and no dimension of a fit is in two of these. Those
    with the closest partners come first; each is the mean of its partners.
    """
    columns = np.concatenate(fits, axis=1)
    owner = np.repeat(np.arange(len(fits)), [fit.shape[1] for fit in fits])
    r = correlations(columns, columns)
    # Of each dimension the closest one in each fit, as far as it is the same.
    closest = np.stack(
        [r[:, owner == fit].max(axis=1, initial=0.0) for fit in range(len(fits))], axis=1
    )
    order = np.argsort(-np.where(closest > SAME, closest, 0.0).sum(axis=1), kind="stable")
    left = np.ones(len(owner), dtype=bool)
    found, support = [], []
    for seed in order:
        if not left[seed]:
            continue
        members = _members(r[seed], owner, left, owner[seed])
        members.append(seed)
        left[members] = False
        if len(members) >= min_support * len(fits):
            found.append(columns[:, members].mean(axis=1))
            support.append(len(members) / len(fits))
    shape = (len(columns), len(found))
    return np.array(found).T.reshape(shape), np.array(support)


def _members(r: np.ndarray, owner: np.ndarray, left: np.ndarray, own: int) -> list[int]:
    """Return the closest of the columns left of each other fit, if it is the same dimension."""
    members = []
    for fit in range(owner.max() + 1):
        candidates = np.flatnonzero(left & (owner == fit)) if fit != own else np.empty(0, int)
        if candidates.size:
            best = candidates[np.argmax(r[candidates])]
            if r[best] > SAME:
                members.append(int(best))
    return members
