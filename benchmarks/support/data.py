"""Data sets of the benchmarks: of a folder that the user names, or public ones that it keeps."""

import hashlib
import importlib.util
import urllib.request
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import (
    fetch_openml,
    load_breast_cancer,
    load_iris,
    load_svmlight_files,
    load_wine,
)
from sklearn.preprocessing import StandardScaler

# Sets that anybody can get, most of them of the UCI repository: name and version on OpenML, whose
# own checksum scikit-learn compares with what arrives.
OPENML = {
    "letter": ("letter", 1), "satimage": ("satimage", 1), "segment": ("segment", 1),
    "spambase": ("spambase", 1), "magic": ("MagicTelescope", 1), "mnist": ("mnist_784", 1),
    "usps": ("USPS", 2), "dna": ("dna", 1),
}  # fmt: skip
# Files of LIBSVM's collection, training samples first, and the `checksum` of what they hold.
SOURCE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
LIBSVM = {
    "a9a": (
        "binary/a9a", "binary/a9a.t",
        "659a30b83c477b7e724a623f53730f61b7b3a46dcb39234d10527128de638cd9",
    ),
    "ijcnn1": (
        "binary/ijcnn1.bz2", "a23cad7720e294498ad53db179e96ab7fc6b32244cf988c18ed35b08519d35ea",
    ),
    "madelon": (
        "binary/madelon", "binary/madelon.t",
        "34cd8ace5861caaa95d06989048a8d8005ca317934fc4919847ef01931bd437b",
    ),
    "mushrooms": (
        "binary/mushrooms", "57d21d24413869725cdd00bac2d68a0adf2a86a40b76f83f29d30cd3f31fdafc",
    ),
    "phishing": (
        "binary/phishing", "67731c895be8bbe7897bc5358ed45a04b6642d39e7fc822b1132dccdebe67fe3",
    ),
    "sector": (
        "multiclass/sector/sector.scale.bz2", "multiclass/sector/sector.t.scale.bz2",
        "a5462384f99bcea49fcacd304813460003191e246c43d886b97973a0ecb5d057",
    ),
    "w8a": ("binary/w8a", "df1c6ea96e6c678e200e5cb40294bd45ec6979e312d359c3f6c13164e8c558ff"),
}  # fmt: skip
# The class that is told from the rest where there are more than two.
POSITIVE = {"shuttle": [0], "satimage": [1, 3, 5], "mnist": [0, 2, 4, 6, 8], "dna": [2]}
POSITIVE["letter"] = list(range(13))


class Data:
    """Data sets by name: by the folder's `load.py`, or without one public ones, kept in the folder.

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
        """Return a public set, with labels 0 to k - 1."""
        if name in LIBSVM:
            *files, digest = LIBSVM[name]
            return fetch_libsvm(self._folder, files, digest)
        if name not in OPENML:
            public = ", ".join((*OPENML, *LIBSVM))
            raise LookupError(f"{name!r} needs a load.py in {self._folder}; public: {public}")
        known, version = OPENML[name]
        found = fetch_openml(known, version=version, data_home=self._folder, as_frame=False)
        X = found.data if sparse.issparse(found.data) else np.asarray(found.data, float)
        return X, np.unique(found.target, return_inverse=True)[1]


def fetch_libsvm(folder: Path, files: list[str], digest: str, source: str = SOURCE):
    """Return features and labels 0 to k - 1 of files that the folder keeps; checks what they hold.

    Features that are on have different values in different editions of a set; here they are 1.
    """
    paths = [folder / Path(file).name for file in files]
    for file, path in zip(files, paths, strict=True):
        if not path.exists():
            urllib.request.urlretrieve(source + file, path)
    parts = load_svmlight_files(paths, zero_based=False)
    X, y = sparse.vstack(parts[::2], format="csr"), np.concatenate(parts[1::2])
    if np.unique(X.data).size == 1:
        X.data[:] = 1.0
    y = np.unique(y, return_inverse=True)[1]
    if (found := checksum(X, y)) != digest:
        raise ValueError(f"{', '.join(files)} in {folder} have the checksum {found}, not {digest}.")
    return (X if X.nnz < 0.1 * np.prod(X.shape) else X.toarray()), y


def checksum(X, y) -> str:
    """Return the SHA-256 of samples and labels, whatever file they come from."""
    X = sparse.csr_array(X, dtype=np.float32)
    X.eliminate_zeros()
    X.sort_indices()
    found = hashlib.sha256()
    for part, kind in ((X.indptr, "i8"), (X.indices, "i8"), (X.data, "f4"), (y, "i8")):
        found.update(np.ascontiguousarray(part, f"<{kind}").tobytes())
    return found.hexdigest()


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
