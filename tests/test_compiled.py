import os
import subprocess
import sys
from pathlib import Path

import pytest

import skscreen

SCRIPT = """
import numpy as np
from scipy import sparse

from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    PragamSVC,
    svc_path,
)
from skscreen.metric_learning.path_solver import PathSolver
from skscreen.metric_learning.problem import comparisons
from skscreen.metric_learning.problem.comparisons import Comparisons, DiagonalComparisons
from skscreen.metric_learning.problem.domains import NonnegativeOrthant, PSDCone
from skscreen.metric_learning.problem.losses import SmoothedHinge
from skscreen.metric_learning.problem.objective import Problem
from skscreen.samples.rows import LinearSamples
from skscreen.metric_learning.problem.triplets import comparisons_from_arrays, triplets_from_labels
from rtlm_reference import triplets_from_array
from skscreen.metric_learning.screening.bounds import BOUNDS
from skscreen.metric_learning.screening.rules import RULES
from skscreen.svm.solvers.linear.solve import SOLVERS, solve_linear
from skscreen.metric_learning.solvers.progress import Options

rng = np.random.default_rng(0)
y = np.arange(30) % 3
X = rng.normal(size=(30, 5)) + y[:, None]
X[:4] = X[4]
X -= X.mean(axis=0)
triplets = np.stack([rng.permutation(30)[:3] for _ in range(200)])
near, far = rng.integers(30, size=(2, 200, 2))
thresholds, weights = rng.choice([-0.5, 1.0, 2.0], 200), rng.choice([0.5, 2.0], 200)
lists = [
    triplets_from_labels(X, y, 3),
    triplets_from_array(triplets),
    comparisons_from_arrays(near, far, thresholds, weights),
    triplets_from_labels(X, y, None),
]
for items in lists:
    # The last through running extremes, whatever its size.
    comparisons.SORT_FROM = (1, 0) if items is lists[-1] else (96, 32)
    for geometry, domain in (
        (Comparisons(X, items), PSDCone()),
        (DiagonalComparisons(X, items), NonnegativeOrthant()),
    ):
        for gamma in (0.05, 0.0):
            problem = Problem(geometry, SmoothedHinge(1.0, gamma), domain)
            lam_max, first = problem.lam_max()
            for bounds, rule in ((("gap",), "sphere"), *((tuple(BOUNDS), name) for name in RULES)):
                solver = PathSolver(problem, first, ranges=True)
                for k in range(-1, 12):
                    options = Options(bounds=bounds, rule=rule, screen_every=3)
                    solver.solve(lam_max * 0.6**k, options)

signs = np.where(y == 1, 1.0, -1.0)
wide = np.hstack([X * (rng.random(X.shape) < 0.3) for _ in range(20)])
for matrix in (X, wide, X.astype(np.float32), sparse.csr_array(X), sparse.csr_matrix(wide)):
    for bias in (0.0, 1.0):
        samples = LinearSamples(matrix, signs, bias)
        for C in (1e-3, 1.0, 1e3):
            for name in SOLVERS:
                solve_linear(samples, np.full(30, C), solver=name, tol=1e-9, max_iter=500)
for kernel in ("linear", "rbf"):
    svc_path(X, signs, Cs=np.geomspace(1e-4, 1e2, 15), kernel=kernel)

weights = rng.integers(0, 3, 30)
for matrix in (X, sparse.csr_array(X)):
    for intercept in (False, True):
        for solver in ("pragam", "bmrm", "ls-bmrm", "pegasos"):
            options = {"fit_intercept": intercept, "solver": solver, "max_iter": 50}
            PragamSVC(**options).fit(matrix, signs, weights)
    options = {"fit_intercept": False, "solver": "pegasos", "max_iter": 100}
    PragamSVC(batch_size=2, **options).fit(matrix, signs, weights)
chains = np.split(X, [1, 3, 10, 22])
chain_labels = np.split(y, [1, 3, 10, 22])
for solver in ("frank-wolfe", "pragam", "pragam-euclidean", "bmrm"):
    MaxMarginChain(solver=solver, max_iter=50).fit(chains, chain_labels)
for form in (np.asarray, sparse.csr_array):
    rows = [form(chain) for chain in chains]
    for chain in (MaxMarginChain(30.0), ChainCRF(), KernelChainClassifier()):
        chain.fit(rows, chain_labels).predict(rows)
"""


@pytest.mark.slow
def test_compiled_code_stays_within_its_arrays(tmp_path):
    """Compiled code checks no index; here it does, in a process of its own."""
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(
            str(path) for path in (Path(skscreen.__file__).parents[1], Path(__file__).parent)
        ),
    }
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
