"""Shares of samples that the tests of Ogawa et al. (2014) decide, for `paper.py`."""

from pathlib import Path

import numpy as np

from benchmarks.support.data import Sets
from benchmarks.support.figures import legend_below, look, row_of_axes, save, tidy
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
    found = {}
    for name in names or SETS:
        X, y = data(name, 200 if args.quick else 2000)
        for kernel in ("linear", "rbf"):
            print(f"\n{name} {X.shape}, {kernel}\n")
            options = {"kernel": kernel, "gamma": 1.0 / X.shape[1], "intercept": "penalised"}
            shares = by_reference(X, y, options)
            rises = all(np.all(np.diff(shares[label]) >= -SLACK) for label in ("BT1", "IT"))
            if not rises or np.any(shares["IT"] < shares["BT1"] - SLACK):
                raise AssertionError(f"The shares for {name}, {kernel} are not in order.")
            found[name, kernel] = shares["IT"]
            along_path(X, y, options)
    draw(found, args.out)


def by_reference(X, y, options: dict) -> dict[str, np.ndarray]:
    """Print and return the shares that each test decides, against C_ref / C."""
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
    return shares


def draw(found: dict[tuple[str, str], np.ndarray], out: Path) -> None:
    """Draw the shares of the intersection test, by data and kernel."""
    figure, axes = row_of_axes(["linear kernel", "RBF kernel"], 4.2, 3.4)
    for k, name in enumerate(dict.fromkeys(name for name, _ in found)):
        for ax, kernel in zip(axes, ("linear", "rbf"), strict=True):
            ax.plot(RATIOS, found[name, kernel], marker=".", label=name, **look(k))
    for ax in axes:
        ax.set_xlabel("C of the known solution / C of the fit")
        tidy(ax)
    axes[0].set_ylabel("share of samples decided")
    figure.suptitle("The nearer a known solution, the more samples are decided before the fit")
    legend_below(figure, axes[0])
    save(figure, out, "shares")


def along_path(X, y, options: dict) -> None:
    """Print the mean shares of tenths of the eps-path from C_min to C."""
    rows = []
    for label in ("BT1", "IT"):
        path = svc_path(X, y, eps=EPS, C_max=C, screening=TESTS[label], **options)
        shares = path.path_rates[1:]
        tenths = (f"{part.mean():.3f}" for part in np.array_split(shares, 10))
        rows.append((f"{label} ({len(path.Cs)} C)", *tenths))
    table("part of the path," + ",".join(f"{tenth}/10" for tenth in range(1, 11)), rows)
