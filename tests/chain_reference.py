"""Label chains by enumeration of all labellings; shares nothing with us."""

from itertools import pairwise, product

import cvxpy as cp
import numpy as np
from pragam_reference import TIGHT

from tests.optima import Problem


def features(x, labels, m):
    """f(x, y): sums of observations by label, and numbers of steps, as one vector."""
    nodes, edges = np.zeros((m, x.shape[1])), np.zeros((m, m))
    for row, label in zip(x, labels, strict=True):
        nodes[label] += row
    for left, right in pairwise(labels):
        edges[left, right] += 1.0
    return np.concatenate([nodes.ravel(), edges.ravel()])


def labellings(length, m):
    return [np.array(labels) for labels in product(range(m), repeat=length)]


def differences(X, y, m):
    """For each chain: losses of all labellings, and f(true) - f in the rows of a matrix."""
    out = []
    for x, truth in zip(X, y, strict=True):
        all_of = labellings(len(x), m)
        losses = np.array([float(np.sum(labels != truth)) for labels in all_of])
        rows = np.stack([features(x, truth, m) - features(x, labels, m) for labels in all_of])
        out.append((losses, rows))
    return out


def margin_objective(X, y, m, lam, w):
    parts = [np.max(losses - rows @ w) for losses, rows in differences(X, y, m)]
    return 0.5 * lam * w @ w + np.mean(parts)


def margin_optimum(X, y, m, lam):
    """The optimum of the structured hinge loss by a conic solver."""
    parts = differences(X, y, m)
    w = cp.Variable(parts[0][1].shape[1])
    risk = sum(cp.max(losses - rows @ w) for losses, rows in parts) / len(parts)
    return Problem(cp.Minimize(0.5 * lam * cp.sum_squares(w) + risk)).solve(**TIGHT)


def log_loss(X, y, m, w):
    """Mean negative log-likelihood of scores w . f."""
    total = 0.0
    for x, truth in zip(X, y, strict=True):
        scores = np.array([w @ features(x, labels, m) for labels in labellings(len(x), m)])
        total += np.log(np.sum(np.exp(scores))) - w @ features(x, truth, m)
    return total / len(X)


def log_optimum(X, y, m, lam):
    """The optimum of the log loss by a conic solver."""
    parts = differences(X, y, m)
    w = cp.Variable(parts[0][1].shape[1])
    risk = sum(cp.log_sum_exp(-rows @ w) for _, rows in parts) / len(parts)
    return Problem(cp.Minimize(0.5 * lam * cp.sum_squares(w) + risk)).solve(solver="CLARABEL")


def log_marginals(x, m, w):
    """Probabilities of the labels at each position."""
    paths = labellings(len(x), m)
    scores = np.array([w @ features(x, labels, m) for labels in paths])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    out = np.zeros((len(x), m))
    for labels, share in zip(paths, shares, strict=True):
        out[np.arange(len(x)), labels] += share
    return out
