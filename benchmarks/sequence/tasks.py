"""Real tasks of labelling sequences: letters of handwritten words, and chunks of sentences."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer

from benchmarks.support.data import Data
from skscreen import SequenceTransformer


class Task:
    """Sequences and their labels; `train` and `test` number those to learn from and to test on."""

    def __init__(self, X, y, train, test):
        self.X, self.y = ([part[i] for i in train] for part in (X, y))
        self.X_test, self.y_test = ([part[i] for i in test] for part in (X, y))

    def stacked(self) -> dict[str, np.ndarray]:
        """Return all as plain arrays, for a peer in another process."""
        out = {}
        for name, X, y in (("train", self.X, self.y), ("test", self.X_test, self.y_test)):
            rows = sparse.vstack([sparse.csr_array(part) for part in X], format="csr")
            out |= {f"{name}_lengths": np.array([part.shape[0] for part in X])}
            out |= {f"{name}_labels": np.concatenate(y).astype(str)}
            out |= {f"{name}_columns": rows.indices, f"{name}_starts": rows.indptr}
        return out


def letters(folder: Path, folds) -> Task:
    """Return the words of some folds to learn from and all others to test on, binary pixels."""
    X, y, fold = Data(folder).sequences("ocr_letters")
    chosen = np.isin(fold, list(folds))
    # crfsuite knows no constant term: here it is a feature, and nobody has another.
    X = [np.hstack([part, np.ones((len(part), 1))]) for part in X]
    return Task(X, y, np.flatnonzero(chosen), np.flatnonzero(~chosen))


def chunks(folder: Path) -> Task:
    """Return 600 sentences to learn from and 300 to test on, with sparse binary features."""
    sentences, y, _ = Data(folder).sequences("chunking")
    features = [word_features(sentence) for sentence in sentences]
    model = SequenceTransformer(DictVectorizer()).fit(features[:600])
    return Task(model.transform(features), y, range(600), range(600, 900))


def word_features(sentence) -> list[dict]:
    """Return the features of each word of a sentence of (word, part of speech)."""
    out = []
    for t, (word, speech) in enumerate(sentence):
        row = {"constant": 1.0, f"ending={word[-3:].lower()}": 1.0}
        for shift in range(-2, 3):
            if 0 <= t + shift < len(sentence):
                near, near_speech = sentence[t + shift]
                row[f"word{shift}={near.lower()}"] = row[f"speech{shift}={near_speech}"] = 1.0
        if t > 0:
            row[f"pair={sentence[t - 1][1]}|{speech}"] = 1.0
        if word[0].isupper():
            row["capital"] = 1.0
        if any(letter.isdigit() for letter in word):
            row["digit"] = 1.0
        out.append(row)
    return out
