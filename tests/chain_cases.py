"""Small sequences for tests of several files, and words of real digits."""

import numpy as np
from sklearn.datasets import load_digits

_RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2, 3, 1]
X = [_RNG.normal(size=(length, 2)) for length in LENGTHS]
CODES = [_RNG.integers(0, 3, length) for length in LENGTHS]
Y = [np.array(["x", "y", "z"])[codes] for codes in CODES]


def digit_words(n_words, seed, rows):
    """Synthetic words: real images of digits, in sequences drawn from a table of label pairs."""
    images, digits = load_digits(return_X_y=True)
    images, digits = images[rows] / 16.0, digits[rows]
    keep = digits < 5
    images, digits = images[keep], digits[keep]
    table = np.random.default_rng(7).dirichlet(np.full(5, 0.2), size=5)
    rng = np.random.default_rng(seed)
    words = []
    for _ in range(n_words):
        word = [int(rng.integers(5))]
        while len(word) < rng.integers(2, 7):
            word.append(int(rng.choice(5, p=table[word[-1]])))
        words.append(np.array(word))
    noise = [0.6 * rng.normal(size=(len(word), 64)) for word in words]
    pick = [[rng.choice(np.flatnonzero(digits == d)) for d in word] for word in words]
    return [images[p] + e for p, e in zip(pick, noise, strict=True)], words


def with_constants(X, intercept, ends):
    """Return sequences with the features that `fit_intercept` and `fit_start_end` stand for."""
    out = []
    for x in X:
        first, last = np.zeros((2, len(x), 1))
        first[0], last[-1] = 1.0, 1.0
        columns = [x] + [np.ones((len(x), 1))] * intercept + [first, last] * ends
        out.append(np.hstack(columns))
    return out


def weights_of(model, intercept, ends):
    """Return the weights of a fitted model as the flat vector of `chain_reference`."""
    W = [model.coef_] + [model.intercept_[:, None]] * intercept
    W += [model.start_[:, None], model.end_[:, None]] * ends
    return np.concatenate([np.hstack(W).ravel(), model.transition_.ravel()])
