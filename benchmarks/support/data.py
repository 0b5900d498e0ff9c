"""Data sets of the benchmarks: from a folder that the user names, OpenML, or scikit-learn."""

import importlib.util
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_openml, load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

# Sets that anybody can get: name and version on OpenML, whose own checksum scikit-learn compares
# with what arrives. The folder keeps them.
OPENML = {
    "letter": ("letter", 1), "satimage": ("satimage", 1), "segment": ("segment", 1),
    "spambase": ("spambase", 1), "magic": ("MagicTelescope", 1), "mnist": ("mnist_784", 1),
    "usps": ("USPS", 2), "dna": ("dna", 1), "phishing": ("PhishingWebsites", 1),
}  # fmt: skip
# The class that is told from the rest where there are more than two.
POSITIVE = {"shuttle": [0], "satimage": [1, 3, 5], "mnist": [0, 2, 4, 6, 8], "dna": [2]}
POSITIVE["letter"] = list(range(13))


class Data:
    """Data sets by name: by the folder's `load.py`, or without one from OpenML, kept in the folder.

    `load.py` has `load(name)`, which returns X and y, or triplets; for sequences `load_sequences`.
    """

    def __init__(self, folder: Path):
        self._folder, self._module = folder, None
        if (folder / "load.py").exists():
            spec = importlib.util.spec_from_file_location("load", folder / "load.py")
            self._module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self._module)

    def __call__(self, name: str):
        """Return the features as stored and the labels; of human answers, the triplets."""
        bundled = {"iris": load_iris, "wine": load_wine}
        if name in bundled:
            return bundled[name](return_X_y=True)
        if self._module is None:
            return self._public(name)
        if name == "ocr_letters":
            words, letters, _ = self.sequences(name)
            return np.concatenate(words).astype(float), np.concatenate(letters)
        return self._module.load(name)

    def sequences(self, name: str):
        """Return sequences, labels and folds, which the folder's `load.py` knows alone."""
        return self._module.load_sequences(name)

    def test_mask(self, name: str) -> np.ndarray | None:
        """Return which samples are stored as test samples, if any are."""
        return self._module.info(name).get("test") if self._module else None

    def _public(self, name: str):
        """Return a set of OpenML, with labels 0 to k - 1."""
        if name not in OPENML:
            public = ", ".join(OPENML)
            raise LookupError(f"{name!r} needs a load.py in {self._folder}; public: {public}")
        known, version = OPENML[name]
        found = fetch_openml(known, version=version, data_home=self._folder, as_frame=False)
        X = found.data if sparse.issparse(found.data) else np.asarray(found.data, float)
        return X, np.unique(found.target, return_inverse=True)[1]


class Sets:
    """Two-class problems by name: features, standardised where dense, and signs."""

    def __init__(self, folder: Path):
        self._load = Data(folder)

    def __call__(self, name: str, n: int | None = None):
        """Return samples (the first n of a shuffled order) and signs."""
        if name == "breast_cancer":
            X, y = load_breast_cancer(return_X_y=True)
        else:
            X, y = self._load(name)
        if n is not None:
            keep = np.random.default_rng(0).permutation(X.shape[0])[:n]
            X, y = X[keep], y[keep]
        y = np.isin(y, POSITIVE[name]) if name in POSITIVE else y == y.max()
        if name == "mnist":
            X = X / 255.0
        elif not sparse.issparse(X):
            X = StandardScaler().fit_transform(X)
        return X, np.where(y, 1, -1)

    def multiclass(self, name: str):
        """Return features as stored and class labels."""
        return self._load(name)
