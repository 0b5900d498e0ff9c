"""Fit every public estimator to small data; `.ci/release.py` runs this on installed wheels.

`smoke.py` prints where the package lies and a digest of what was learnt: two runs on one processor
level agree in every bit. `smoke.py NAME` prints the seconds of the first and the second fit of one
estimator. It imports nothing but the package and what the package needs.
"""

import hashlib
import inspect
import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler

import skscreen

RNG = np.random.default_rng(0)
y = np.repeat([0, 1, 2], [25, 50, 25])
X = RNG.normal(size=(100, 4)) + y[:, np.newaxis]
CURVE = X[:, 0] + X[:, 1] ** 2
CHAINS = [X[start : start + 5] for start in range(0, 100, 5)]
LABELS = [y[start : start + 5] + np.arange(5) % 2 for start in range(0, 100, 5)]
ROWS = np.array([RNG.permutation(100)[:4] for _ in range(60)])
LIKE = np.where(y[ROWS[:, 0]] == y[ROWS[:, 1]], 1, -1)
TRIALS, ODD = np.array([RNG.permutation(12)[:3] for _ in range(400)]), np.arange(400) % 3
TRIPLETS = np.array([RNG.permutation(8)[:3] for _ in range(200)])
QUADRUPLETS = np.sort([RNG.permutation(9)[:4] for _ in range(300)], axis=1)
NOISE = np.square(QUADRUPLETS) @ [1, -1, -1, 1] + RNG.normal(size=300) > 0

# What each estimator is fitted to.
DATA = {
    "ChainCRF": (CHAINS, LABELS),
    "ConceptEmbedding": (TRIALS, ODD),
    "ConceptEmbeddingCV": (TRIALS, ODD),
    "DifferenceScaling": (QUADRUPLETS, NOISE),
    "KernelChainClassifier": (CHAINS, LABELS),
    "MaxMarginChain": (CHAINS, LABELS),
    "OrdinalEmbedding": (TRIPLETS,),
    "PragamSVC": (X, y == 1),
    "RTLMPairsClassifier": (X[ROWS[:, :2]], LIKE),
    "RTLMQuadrupletsClassifier": (X[ROWS],),
    "RTLMTripletsClassifier": (X[ROWS[:, :3]],),
    "ScreenedLinearSVC": (X, y == 1),
    "ScreenedLinearSVR": (X, CURVE),
    "ScreenedNuSVC": (X, y == 1),
    "ScreenedNuSVR": (X, CURVE),
    "ScreenedOneClassSVM": (X,),
    "ScreenedRTLM": (X, y),
    "ScreenedRTLMCV": (X, y),
    "ScreenedSVC": (X, y == 1),
    "ScreenedSVCCV": (X, y == 1),
    "ScreenedSVR": (X, CURVE),
    "ScreenedSVRCV": (X, CURVE),
    "SequenceTransformer": (CHAINS,),
}


def make(name: str) -> BaseEstimator:
    """Return an estimator with its defaults."""
    kind, options = getattr(skscreen, name), {}
    if "random_state" in inspect.signature(kind).parameters:
        options["random_state"] = 0
    return kind(StandardScaler()) if name == "SequenceTransformer" else kind(**options)


def learnt(model: BaseEstimator) -> bytes:
    """Return the numbers that a model has learnt; records are left out, as they hold seconds."""
    values = [value for name, value in sorted(vars(model).items()) if name[-1] == "_"]
    numbers = [np.asarray(v) for v in values if isinstance(v, float | int | np.ndarray)]
    return b"".join(array.tobytes() for array in numbers if array.dtype.kind in "biuf")


def main(names: list[str]) -> None:
    """Fit one estimator twice, or all of them once."""
    warnings.simplefilter("ignore")
    if names:
        model = make(names[0])
        start = perf_counter()
        model.fit(*DATA[names[0]])
        middle = perf_counter()
        clone(model).fit(*DATA[names[0]])
        print(middle - start, perf_counter() - middle)
        return
    public = {name: getattr(skscreen, name) for name in skscreen.__all__}
    kinds = {name: value for name, value in public.items() if inspect.isclass(value)}
    missing = {name for name, kind in kinds.items() if issubclass(kind, BaseEstimator)} - set(DATA)
    if missing:
        sys.exit(f"Without data here: {', '.join(sorted(missing))}.")
    digest = hashlib.sha256()
    for name, data in DATA.items():
        digest.update(learnt(make(name).fit(*data)))
    print(skscreen.__file__, digest.hexdigest())


if __name__ == "__main__":
    main(sys.argv[1:])
