"""What would not fit into memory is refused before it is allocated, with numbers and bytes."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    rtlm_path,
    svc_certified_C,
    svc_path,
)
from skscreen.core import memory
from skscreen.datasets import make_triplets
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import Kernel

LinearHingeSVC = partial(ScreenedLinearSVC, loss="hinge")

FREE = 1000
rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = rng.normal(size=(60, 4)) + y[:, None]
TWO = X[y < 2], y[y < 2]
TRIPLETS = make_triplets(X[:20], 300, random_state=0)
SEQUENCES, LABELS = np.split(X, 6), np.split(y, 6)
RBF = ScreenedSVC(kernel="rbf", intercept="penalised")


JOBS = {
    "full metric": lambda: ScreenedRTLM().fit(X, y),
    "diagonal metric": lambda: ScreenedRTLM(diagonal=True).fit(np.tile(X, 5), y),
    "all triplets": lambda: ScreenedRTLM(n_neighbors=None, diagonal=True).fit(X, y),
    "comparisons": lambda: ScreenedRTLM(diagonal=True).fit(X, triplets=TRIPLETS),
    "metric, folds": lambda: ScreenedRTLMCV(2, cv=2).fit(X, y),
    "metric, path": lambda: rtlm_path(X, y),
    "kernel": lambda: RBF.fit(*TWO),
    "kernel in tiles": lambda: clone(RBF).set_params(cache_size=1e-6).fit(*TWO),
    "kernel, folds": lambda: ScreenedSVCCV(2, kernel="rbf", cv=2, intercept="penalised").fit(*TWO),
    "kernel, path": lambda: svc_path(*TWO, Cs=[1.0], kernel="rbf", intercept="penalised"),
    "certified": lambda: svc_certified_C(*TWO, *TWO, (0.1, 1.0), kernel="rbf"),
    "Newton": lambda: LinearHingeSVC(solver="second-order").fit(np.tile(TWO[0], 5), TWO[1]),
    "classes": lambda: LinearHingeSVC().fit(X, y),
    "path": lambda: svc_path(
        *TWO, Cs=np.geomspace(0.1, 10.0, 6), kernel="linear", intercept="penalised"
    ),
    "pragam, classes": lambda: PragamSVC().fit(X, y),
    "bundle": lambda: PragamSVC(10.0, solver="bmrm").fit(*TWO),
    "chain": lambda: MaxMarginChain().fit(SEQUENCES, LABELS),
    "crf": lambda: ChainCRF().fit(SEQUENCES, LABELS),
    "kernel chain": lambda: KernelChainClassifier().fit(SEQUENCES, LABELS),
    "points": lambda: OrdinalEmbedding().fit(TRIPLETS),
    "Gram": lambda: OrdinalEmbedding(formulation="convex", loss="gnmds").fit(TRIPLETS),
    "made triplets": lambda: make_triplets(X, 1000),
}


STARTS = {
    "metric": lambda: ScreenedRTLMCV(1000, cv=2).fit(X, y),
    "kernel": lambda: ScreenedSVCCV(1000, kernel="rbf", cv=2, intercept="penalised").fit(*TWO),
}


@pytest.mark.parametrize("name", STARTS)
def test_starts_of_refits_are_counted_before_the_folds(name, little_memory):
    little_memory(100_000)
    with pytest.raises(MemoryError, match=r"\b1,000 values\b"):
        STARTS[name]()


@pytest.mark.parametrize("name", JOBS)
def test_too_much_is_refused_with_its_number_and_size(name, little_memory):
    little_memory(FREE)
    with pytest.raises(MemoryError) as error:
        JOBS[name]()
    assert str(error.value)[0].isupper() or str(error.value)[0].isdigit()
    # What is needed, what is there, and what to use instead.
    error.match(r"\d.* [\d,]+ bytes, .*\b1,000\b.*\. [A-Z].*\.$")


@pytest.mark.parametrize("name", [name for name in JOBS if name != "objects"])
def test_what_fits_is_not_refused(name, little_memory):
    little_memory(10**9)
    JOBS[name]()


def test_a_fit_that_is_refused_leaves_the_estimator_unfitted(little_memory):
    model = ScreenedRTLM().fit(X, y)
    little_memory(FREE)
    with pytest.raises(MemoryError):
        model.fit(X, y)
    assert not model.__sklearn_is_fitted__()


def test_parts_of_a_solve_are_refused_on_their_own(little_memory):
    # Enough for what comes before.
    little_memory(300_000)
    many = np.tile(TWO[0], (400, 1)), np.tile(TWO[1], 400)
    with pytest.raises(MemoryError, match=r"\bcache_size\b"):
        svc_certified_C(*TWO, *many, (0.1, 1.0), kernel="rbf")
    points = OrdinalEmbedding(random_state=0).fit(TRIPLETS)
    features = rng.normal(size=(20, 2))
    points.fit_features(features)
    with pytest.raises(MemoryError, match=r"\b5,000 .*\bF\b"):
        points.map_features(np.tile(features, (250, 1)))
    little_memory(FREE)
    with pytest.raises(MemoryError, match=r"\b20 .*\bF\b"):
        points.fit_features(features)


def test_a_matrix_larger_than_the_cache_is_not_asked_for(little_memory):
    samples = rng.normal(size=(2000, 3))
    little_memory(20_000_000)
    with pytest.raises(MemoryError, match=r"\b2,000 rows\b"):
        Gram(samples, Kernel("rbf"))
    assert Gram(samples, Kernel("rbf"), cache_size=8).whole is None


def test_nothing_is_refused_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    memory.check_memory(1e30, "All", "Wait.")
