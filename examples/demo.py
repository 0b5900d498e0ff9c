"""Metrics along the whole regularisation path of three data sets that come with scikit-learn.

For wine, breast cancer and digits the path is followed with screening and, at the same values of λ,
without. λ is chosen by the 5-NN accuracy on a validation part. Prints one table and draws two
figures:

    python examples/demo.py --output demo-output
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skscreen import RTLMPath, rtlm_path
from skscreen.inspection import PathDisplay, ScreeningDisplay

# Name, loader, and neighbours of each sample in its own and in the other classes; None means all.
DATA_SETS = [
    ("wine", load_wine, None),
    ("breast cancer", load_breast_cancer, 50),
    ("digits", load_digits, 50),
]
TOL = 1e-6

HEADER = """
                               share screened           seconds            worst  5-NN accuracy
data set        triplets    λ  start   mean   last  without  with ratio      gap  Euclidean learned
"""
ROW = (
    "{:<13}  {:>9,}  {:>3} {:>6.1%} {:>6.1%} {:>6.1%}  {:>7.2f} {:>5.2f} {:>5.2f}  {:>7.1e}"
    "  {:>9.3f} {:>7.3f}"
)
NOTES = f"""
λ               number of values, from λ_max to where the loss hardly falls any more
share screened  of the triplets off the quadratic piece of the loss, with proof; start: before the
                first iteration (mean over the path), mean: at the end of each solve, last: at the
                end of the path
seconds         for the whole path, at the same values of λ; ratio: without / with screening
worst gap       largest relative duality gap of the full problem, with screening (tolerance {TOL:g})
5-NN accuracy   on the test part, standardised; λ chosen by that on the validation part
"""


@dataclass(frozen=True)
class Part:
    """Standardised samples and their classes."""

    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Result:
    """What the table and the figures show of one data set."""

    name: str
    path: RTLMPath
    seconds_with: float
    seconds_without: float
    validation: np.ndarray  # accuracy at each λ
    validation_euclidean: float
    test: float
    test_euclidean: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="for the figures")
    output = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)
    plt.switch_backend("agg")

    say(f"Compiled the kernels in {compile_kernels():.1f} s (kept on disk for the next run).")
    results = [evaluate(*data_set) for data_set in DATA_SETS]
    print_table(results)
    for file in draw_screening(results, output), draw_paths(results, output):
        print(f"Figure: {file}")


def say(message: str) -> None:
    """Write to where the progress bars are, so that the table has stdout to itself."""
    print(message, file=sys.stderr, flush=True)


def compile_kernels() -> float:
    """Run every kernel once, on little data, so that no compilation is timed below."""
    start = time.perf_counter()
    for screening in (True, False):
        rtlm_path(*load_iris(return_X_y=True), ratio=0.5, screening=screening)
    return time.perf_counter() - start


def evaluate(name: str, load, n_neighbors: int | None) -> Result:
    train, validation, test = split(*load(return_X_y=True))
    path, seconds_with = follow(f"{name}, with screening", train, n_neighbors)
    _, seconds_without = follow(
        f"{name}, without screening", train, n_neighbors, lams=path.lams, screening=False
    )
    metrics = [path.estimator(index) for index in range(len(path))]
    accuracies = np.array([knn_accuracy(train, validation, metric.transform) for metric in metrics])
    best = metrics[accuracies.argmax()]
    return Result(
        name=name,
        path=path,
        seconds_with=seconds_with,
        seconds_without=seconds_without,
        validation=accuracies,
        validation_euclidean=knn_accuracy(train, validation),
        test=knn_accuracy(train, test, best.transform),
        test_euclidean=knn_accuracy(train, test),
    )


def split(X: np.ndarray, y: np.ndarray) -> list[Part]:
    """Half for training, a quarter each for validation and test; scaled as the training part."""
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    X_validation, X_test, y_validation, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    return [
        Part(scaler.transform(X_train), y_train),
        Part(scaler.transform(X_validation), y_validation),
        Part(scaler.transform(X_test), y_test),
    ]


def follow(title: str, train: Part, n_neighbors: int | None, **options) -> tuple[RTLMPath, float]:
    """Learn along the path under a progress bar; also the seconds that took."""
    say(title)
    start = time.perf_counter()
    path = rtlm_path(train.X, train.y, n_neighbors=n_neighbors, tol=TOL, verbose=1, **options)
    return path, time.perf_counter() - start


def knn_accuracy(train: Part, part: Part, transform=lambda X: X) -> float:
    knn = KNeighborsClassifier(n_neighbors=5).fit(transform(train.X), train.y)
    return knn.score(transform(part.X), part.y)


def print_table(results: list[Result]) -> None:
    print(HEADER, end="")
    for result in results:
        path = result.path
        print(
            ROW.format(
                result.name,
                path.n_triplets,
                len(path),
                path.path_screening_rates.mean(),
                path.screening_rates.mean(),
                path.screening_rates[-1],
                result.seconds_without,
                result.seconds_with,
                result.seconds_without / result.seconds_with,
                path.dual_gaps.max(),
                result.test_euclidean,
                result.test,
            )
        )
    print(NOTES)


def draw_screening(results: list[Result], output: Path) -> Path:
    figure, axes = panels(1, results, pad=24)
    for result, ax in zip(results, axes[0], strict=True):
        ScreeningDisplay.from_path(result.path, ax=ax)
    axes[0, 0].set_ylabel("Share of triplets screened")
    return save(figure, axes, output / "screening.png")


def draw_paths(results: list[Result], output: Path) -> Path:
    figure, axes = panels(3, results, pad=8)
    for result, column in zip(results, axes.T, strict=True):
        PathDisplay.from_path(
            result.path,
            tol=TOL,
            scores=result.validation,
            score_name="5-NN validation accuracy",
            baseline=result.validation_euclidean,
            baseline_name="Euclidean",
            ax=column,
        )
    return save(figure, axes, output / "path.png")


def panels(n_rows: int, results: list[Result], pad: float) -> tuple[Figure, np.ndarray]:
    """One column for each data set, under its name."""
    figure, axes = plt.subplots(
        n_rows,
        len(results),
        figsize=(4.6 * len(results), 1.2 + 2.4 * n_rows),
        sharex="col",
        squeeze=False,
        layout="constrained",
    )
    for result, ax in zip(results, axes[0], strict=True):
        ax.set_title(f"{result.name}: {result.path.n_triplets:,} triplets", loc="left", pad=pad)
    return figure, axes


def save(figure: Figure, axes: np.ndarray, file: Path) -> Path:
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    figure.savefig(file, dpi=150)
    plt.close(figure)
    return file


if __name__ == "__main__":
    main()
