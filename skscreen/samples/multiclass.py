"""More than two classes as problems of two: one-vs-rest, or one-vs-one.

Each problem is a set of samples with signs. One against the rest takes all samples, and the class
that a problem tells from the others has the sign +1. One against one takes the samples of two
classes i < j, in scikit-learn's order of pairs, (0, 1), (0, 2), ..., (1, 2), ...; class i has the
sign +1. Two classes are one problem, in which the second one has the sign +1.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from skscreen.core.memory import check_memory
from skscreen.samples.labels import Labels
from skscreen.samples.losses import SampleLosses, hinge, squared_hinge

# Losses of classifiers by name.
LOSSES = {"hinge": hinge, "squared_hinge": squared_hinge}


class _Classes:
    """What all divisions into problems of two classes have."""

    # Whether samples have the same weights in all problems that they take part in.
    same_weights = True
    # What is taken from scores before they are learned: nothing, unlike in a regression.
    shift = 0.0
    labels: Labels
    n_problems: int
    n_variables: int  # dual variables of all problems
    what: str  # there is a problem for each

    @property
    def content(self) -> tuple:
        """All that the problems depend on beside the samples and the loss."""
        return self.labels.codes, self.labels.weights, type(self).__name__

    def rows(self, problem: int) -> np.ndarray:
        """Return which of the samples take part in a problem."""
        raise NotImplementedError

    def losses(self, problem: int, loss: str) -> SampleLosses:
        """Return the losses of a problem at C = 1."""
        shared, rows = self.labels.weights, self.rows(problem)
        return LOSSES[loss](shared[rows] if self.same_weights else self.weights(problem))

    def losses_of_hinge(self, problem: int) -> SampleLosses:
        """Return the losses of a problem at C = 1 if they are hinges."""
        return self.losses(problem, "hinge")

    def weights(self, problem: int) -> np.ndarray:
        """Return the weights of the samples of a problem."""
        return self.labels.weights[self.rows(problem)]

    def signs(self, problem: int) -> np.ndarray:
        """Return the signs, +1 or -1, of the samples of a problem."""
        raise NotImplementedError

    def by_class(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return some samples class by class, and how many each class has, absent ones too."""
        labels, codes = self.labels, self.labels.codes[found]
        counts = np.bincount(labels.present[codes], minlength=labels.all_classes.size)
        return found[np.argsort(codes, kind="stable")], counts

    def check(self, n_features: int) -> None:
        """Refuse more dual variables and weights of features than would fit into memory."""
        what = f"{self.n_problems:,} problems, one for each {self.what}, with"
        # Of dual variables with and without sign, for each problem and in the matrix of all.
        needed = 32 * (self.n_variables + self.n_problems * n_features)
        check_memory(
            needed, f"{what} {self.n_variables:,} dual variables",
            "Use fewer classes, or a regression if y holds numbers.",
        )  # fmt: skip


class OneVsRest(_Classes):
    """One problem for each class, on all samples; one problem for two classes.

    Of more than two classes a sample has the weight of its class in the problem of this class, and
    its sample weight alone where it is one of the rest, as in `LinearSVC`.
    """

    what = "class"

    def __init__(self, labels: Labels):
        self.labels, n_classes = labels, labels.present.size
        self.n_problems = n_classes if n_classes > 2 else 1
        self.everyone = np.arange(labels.rows.size)
        self.n_variables = self.n_problems * self.everyone.size
        unweighted = np.array_equal(labels.weights, labels.repetitions)
        self.same_weights = unweighted or self.n_problems == 1

    @property
    def content(self) -> tuple:
        """All that the problems depend on beside the samples and the loss."""
        known = super().content
        return known if self.same_weights else (*known, self.labels.repetitions)

    def rows(self, problem: int) -> np.ndarray:
        """Return which of the samples take part in a problem, ascending."""
        return self.everyone

    def weights(self, problem: int) -> np.ndarray:
        """Return the weights of the samples in a problem."""
        labels = self.labels
        if self.same_weights:
            return labels.weights
        return np.where(labels.codes == problem, labels.weights, labels.repetitions)

    def signs(self, problem: int) -> np.ndarray:
        """Return the signs, +1 or -1, of the samples of a problem."""
        positive = problem if self.n_problems > 1 else 1
        return np.where(self.labels.codes == positive, 1.0, -1.0)

    def dual_coefs(self, betas: Sequence[np.ndarray]) -> np.ndarray:
        """Return dual variables with signs, a row for each problem, a column for each sample."""
        return np.stack(betas)


class OneVsOne(_Classes):
    """One problem for each pair of more than two classes, on the samples of these."""

    what = "pair of classes"

    def __init__(self, labels: Labels):
        self.labels, n_classes = labels, labels.present.size
        self.pairs = list(combinations(range(n_classes), 2))
        self.n_problems = len(self.pairs)
        self.n_variables = (n_classes - 1) * labels.rows.size
        # For each class, which of the samples belong to it, ascending.
        order = np.argsort(labels.codes, kind="stable")
        self.members = np.split(order, np.bincount(labels.codes).cumsum()[:-1])

    def rows(self, problem: int) -> np.ndarray:
        """Return which of the samples take part in a problem: class by class, each ascending."""
        return np.concatenate([self.members[c] for c in self.pairs[problem]])

    def signs(self, problem: int) -> np.ndarray:
        """Return the signs, +1 or -1, of the samples of a problem."""
        return np.repeat([1.0, -1.0], [self.members[c].size for c in self.pairs[problem]])

    def dual_coefs(self, betas: Sequence[np.ndarray]) -> np.ndarray:
        """Return dual variables with signs as `SVC` has them: a row for each other class."""
        out = np.zeros((self.labels.present.size - 1, self.labels.rows.size))
        for (i, j), beta in zip(self.pairs, betas, strict=True):
            out[j - 1, self.members[i]] = beta[: self.members[i].size]
            out[i, self.members[j]] = beta[self.members[i].size :]
        return out


Division = OneVsRest | OneVsOne


def with_absent_pairs(scores: np.ndarray, present: np.ndarray, n_classes: int) -> np.ndarray:
    """Return scores (n, n_problems) with columns of pairs that have an absent class."""
    if present.size == n_classes:
        return scores
    known = dict(zip(combinations(present.tolist(), 2), scores.T, strict=True))
    # For the other class of the pair, or zero.
    there = np.isin(np.arange(n_classes), present).astype(float)
    columns = [
        known.get((i, j), np.full(len(scores), there[i] - there[j]))
        for i, j in combinations(range(n_classes), 2)
    ]
    return np.stack(columns, axis=1)
