"""Shares of samples that the tests of Ogawa et al. (2014) decide, for `paper.py`."""

import numpy as np

from benchmarks.support.data import Sets
from benchmarks.support.tables import table
from skscreen import ScreenedSVC, screen_samples, svc_path

# D01, D02 and D04 of the paper.
SETS = ("breast_cancer", "dna", "satimage")
C, EPS = 10.0, 1e-3
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
TESTS = {"BT1": "ball1", "BT2": "ball2", "IT": "intersection"}
# Shares may differ by a few samples, as solutions are known to their gaps.
SLACK = 2e-3


def rates(data: Sets, names: list[str], args) -> None:
    """Figures 4 and 5: shares that the tests decide, for C = 10 and along the eps-path.

    First against the C of the reference: a share must not fall with it, nor the intersection test
    (IT) decide less than the first ball test (BT1). Then for tenths of the path's values of C. The
    intercept is penalised; RBF kernels have gamma = 1 / d. Sets are cut to 2,000 samples.
    """
    for name in names or SETS:
        X, y = data(name, 200 if args.quick else 2000)
        for kernel in ("linear", "rbf"):
            print(f"\n{name} {X.shape}, {kernel}\n")
            options = {"kernel": kernel, "gamma": 1.0 / X.shape[1], "intercept": "penalised"}
            if not by_reference(X, y, options):
                raise AssertionError(f"The shares for {name}, {kernel} are not in order.")
            along_path(X, y, options)


def by_reference(X, y, options: dict) -> bool:
    """Print the shares against C_ref / C; return whether they rise, and IT decides most."""
    # What a reference lacks to its optimum would count more than the distance of a C nearby.
    references = [ScreenedSVC(C=C * ratio, tol=1e-10, **options).fit(X, y) for ratio in RATIOS]
    shares = {
        label: np.array(
            [screen_samples(X, y, C, reference=r, tests=test).rate_ for r in references]
        )
        for label, test in TESTS.items()
    }
    table(
        "C_ref / C," + ",".join(f"{ratio:g}" for ratio in RATIOS),
        [(label, *(f"{share:.3f}" for share in row)) for label, row in shares.items()],
    )
    rises = all(np.all(np.diff(shares[label]) >= -SLACK) for label in ("BT1", "IT"))
    return bool(rises and np.all(shares["IT"] >= shares["BT1"] - SLACK))


def along_path(X, y, options: dict) -> None:
    """Print the mean shares of tenths of the eps-path from C_min to C."""
    rows = []
    for label in ("BT1", "IT"):
        path = svc_path(X, y, eps=EPS, C_max=C, screening=TESTS[label], **options)
        shares = path.path_rates[1:]
        tenths = (f"{part.mean():.3f}" for part in np.array_split(shares, 10))
        rows.append((f"{label} ({len(path.Cs)} C)", *tenths))
    table("part of the path," + ",".join(f"{tenth}/10" for tenth in range(1, 11)), rows)
