"""How the cost of every estimator grows: CPU time over n, d, triplets, C and tolerance.

    python -m benchmarks.whole.growth [--out DIR] [--rows ScreenedRTLM,...] [--repeats 3]

Simulated data: two overlapping classes (scikit-learn's `make_classification` with 5 % wrong labels;
sparse rows of random words whose weights decide), three classes for metrics, label sequences that
seldom change, and answers about points in space, 10 % of them wrong. One quantity grows, the others
keep the values that are printed. A point is the fastest of some fits. The slope is that of a line
through the upper 50 % of the values (large n, small tolerance), in logarithms, so that the fixed
cost of a fit matters little. CPU seconds with one thread. A missed tolerance is marked. For metrics
C is lambda_max / lambda, and triplets grow with the number k of neighbours. For Pragam C is given
times n, so that the problem stays the same while n grows. The figure, growth.png, goes to DIR.
"""

import argparse
import inspect
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.support.environment import environment, one_thread
from benchmarks.support.tables import table
from benchmarks.whole.growth_data import answers, chains, classes, three_classes, words
from benchmarks.whole.growth_figure import panels
from skscreen import (
    ChainCRF,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedSVC,
)


@dataclass(frozen=True)
class Row:
    """An estimator: how data are made and models built from values, which values, what grows.

    The first word of a name in `grows` is a key of `values`.
    """

    data: object
    model: object
    values: dict
    grows: dict[str, tuple]


def linear_chain(model):
    """Return the row of a labeller that is linear in features."""
    values = {"n": 40, "d": 10, "length": 20, "n_labels": 3, "C": 10.0, "tol": 1e-3}
    grows = {
        "n": (10, 20, 40, 80, 160, 320),
        "d": (5, 10, 20, 40, 80, 160),
        "length": (5, 10, 20, 40, 80, 160),
        "n_labels": (3, 6, 12, 24, 48),
        "C": (1.0, 10.0, 100.0, 1e3),
        "tol": (1e-1, 1e-2, 1e-3, 1e-4),
    }
    return Row(chains, model, values, grows)


TOLS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
ROWS = {
    "ScreenedRTLM": Row(
        three_classes,
        lambda k, C, tol: ScreenedRTLM(1.0 / C, n_neighbors=k, tol=tol),
        {"n": 1000, "d": 20, "k": 5, "C": 100.0, "tol": 1e-6},
        {
            "n": (500, 1000, 2000, 4000, 8000, 16_000, 32_000),
            "d": (10, 20, 40, 80, 160),
            "k": (2, 4, 8, 16, 32, 64, 128),
            "C": (2.0, 10.0, 100.0, 1e3, 1e4, 1e5),
            "tol": TOLS,
        },
    ),
    "ScreenedLinearSVC": Row(
        classes,
        lambda C, tol: ScreenedLinearSVC(C=C, loss="hinge", tol=tol),
        {"n": 4000, "d": 50, "C": 1.0, "tol": 1e-6},
        {
            "n": (2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000),
            "d": (25, 50, 100, 200, 400, 800),
            "C": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3),
            "tol": TOLS,
        },
    ),
    "ScreenedLinearSVC, sparse": Row(
        words,
        lambda C, tol: ScreenedLinearSVC(C=C, loss="hinge", tol=tol),
        {"n": 8000, "d": 8000, "C": 1.0, "tol": 1e-6},
        {
            "n": (1000, 2000, 4000, 8000, 16_000, 32_000),
            "d": (1000, 2000, 4000, 8000, 16_000, 32_000),
            "C": (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3),
            "tol": TOLS,
        },
    ),
    "ScreenedSVC, RBF": Row(
        classes,
        lambda C, tol: ScreenedSVC(C=C, tol=tol, gamma="auto"),
        {"n": 1000, "d": 20, "C": 1.0, "tol": 1e-6},
        {
            "n": (500, 1000, 2000, 4000, 8000, 20_000, 50_000, 100_000, 200_000),
            "d": (20, 40, 80, 160, 320),
            "C": (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4),
            "tol": TOLS,
        },
    ),
    "PragamSVC": Row(
        classes,
        # C of the sum of losses over the number of samples, so that the problem stays the same.
        lambda n, C, tol: PragamSVC(C=C / n, tol=tol),
        {"n": 4000, "d": 50, "C": 100.0, "tol": 1e-3},
        {
            "n": (2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000),
            "d": (25, 50, 100, 200, 400, 800),
            "C": (1.0, 10.0, 100.0, 1e3, 1e4),
            "tol": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
        },
    ),
    "MaxMarginChain": linear_chain(lambda n, C, tol: MaxMarginChain(C=C / n, tol=tol)),
    "ChainCRF": linear_chain(lambda n, C, tol: ChainCRF(C=C / n, tol=tol)),
    "KernelChainClassifier": Row(
        chains,
        lambda n, C, tol: KernelChainClassifier(C=C / n, tol=tol),
        {"n": 40, "d": 10, "length": 20, "C": 10.0, "tol": 1e-4},
        {
            "n": (10, 20, 40, 80, 160),
            "d": (5, 10, 20, 40, 80, 160),
            "length": (5, 10, 20, 40, 80),
            "C": (1.0, 10.0, 100.0, 1e3),
            "tol": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
        },
    ),
    "OrdinalEmbedding": Row(
        answers,
        lambda d, tol: OrdinalEmbedding(d, tol=tol, random_state=0),
        {"n": 500, "d": 2, "answers": 50_000, "tol": 1e-4},
        {
            "n": (100, 200, 400, 800, 1600, 3200),
            "d": (1, 2, 4, 8, 16),
            "answers": (10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000),
            "tol": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
        },
    ),
}


def main() -> None:
    """Measure the rows asked for; print a table each and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("growth"), help="folder for the figure")
    parser.add_argument("--rows", default=";".join(ROWS), help="names, with ; between them")
    parser.add_argument("--repeats", type=int, default=3, help="of fits below half a second")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    print(environment())
    found = {}
    with one_thread():
        for name in args.rows.split(";"):
            found[name] = measure(name, ROWS[name], args.repeats)
    panels(args.out, "growth", found)


def cells(row: Row):
    """Yield each quantity that grows with all values."""
    for quantity, xs in row.grows.items():
        for x in xs:
            yield quantity, {**row.values, quantity: x}


def measure(name: str, row: Row, repeats: int) -> dict:
    """Measure one estimator; return for each quantity its values, seconds and slope."""
    found = {}
    for quantity, values in cells(row):
        seconds, model = fit(row, values, repeats)
        # What a quantity is called may differ from what grows: k makes k^2 triplets a sample.
        x = values[quantity]
        if quantity == "k":
            quantity, x = "triplets", model.n_triplets_
        missed = getattr(model, "dual_gap_", 0.0) > values["tol"]
        found.setdefault(quantity, []).append((x, seconds, missed))
    kept = ", ".join(f"{key} = {value:g}" for key, value in row.values.items())
    print(f"{name}; {kept} where they do not grow")
    rows, result = [], {}
    for quantity, points in found.items():
        xs, seconds, late = (np.array(column) for column in zip(*points, strict=True))
        line = slope(xs, seconds, harder=-1 if quantity == "tol" else 1)
        result[quantity] = xs, seconds, late, line
        shown = " ".join(f"{s:.2g}{'*' if l else ''}" for s, l in zip(seconds, late, strict=True))
        rows.append((quantity, f"{xs[0]:g} to {xs[-1]:g}", f"{line[0]:+.2f}", shown))
    table("grows,values,slope,CPU s (* tolerance missed)", rows)
    return result


def fit(row: Row, values: dict, repeats: int):
    """Return the fewest CPU seconds of some fits, and the model."""
    X, *y = of_values(row.data, values)()
    best = np.inf
    for repeat in range(repeats):
        model = of_values(row.model, values)()
        started = time.process_time()
        model.fit(X, *y)
        best = min(best, time.process_time() - started)
        # Not after the first, which may have loaded modules.
        if repeat and best > 0.5:
            break
    return best, model


def of_values(function, values: dict):
    """Return a function with those of the values that it takes."""
    taken = inspect.signature(function).parameters
    return partial(function, **{key: value for key, value in values.items() if key in taken})


def slope(xs: np.ndarray, seconds: np.ndarray, harder: int) -> tuple:
    """Return slope and intercept, in logarithms, of a line, and the values it goes through.

    `harder` is 1 if large values ask for more, -1 if small ones do.
    """
    half = np.argsort(harder * xs)[-(xs.size // 2 + 1) :]
    return *np.polyfit(np.log(xs[half]), np.log(seconds[half]), 1), xs[half]


if __name__ == "__main__":
    main()
