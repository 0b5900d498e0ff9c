"""Four things to see in a minute, on data that come with scikit-learn or are made here.

A map from comparisons, a grid search beside scikit-learn's, a learned metric, and a path on which
proofs leave out most triplets. Prints what it finds, in CPU seconds, and draws a figure of each:

    python examples/demo.py --output demo-output
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skscreen import OrdinalEmbedding, ScreenedRTLM, ScreenedSVC, ScreenedSVCCV, rtlm_path
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.inspection import EmbeddingDisplay
from skscreen.metrics import mean_average_precision

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "0.45"
CS, GAMMAS = np.logspace(-1, 3, 9), np.array([0.1, 0.3, 1.0, 3.0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="for the figures")
    output = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)
    plt.switch_backend("agg")
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

    with threadpool_limits(1):
        first_calls()
        show_all(output)


def show_all(output: Path) -> None:
    """Show one thing after the other, and write its figure."""
    shows = (
        (show_map, "A map from comparisons"),
        (show_search, "A grid search: 9 values of C, 4 of gamma, 5 folds; 1,500 points, 2 spirals"),
        (show_neighbours, "A learned metric: 449 images of digits, 1,348 others to try it on"),
        (show_screening, "A path with proofs: which triplets can't matter is known before solving"),
    )
    for number, (show, what) in enumerate(shows, 1):
        print(f"{number} of {len(shows)}. {what} ...", flush=True)
        figure = show()
        file = output / f"{show.__name__.removeprefix('show_')}.png"
        figure.savefig(file, dpi=150)
        plt.close(figure)
        print(f"   {file}\n", flush=True)


def first_calls() -> None:
    """Fit each estimator once to little data, so that nothing is loaded while it is timed."""
    X, y = load_iris(return_X_y=True)
    OrdinalEmbedding(random_state=0).fit(make_triplets(X[:40, :2], 500, random_state=0))
    ScreenedSVC(C=100.0).fit(X, y == 1)
    ScreenedSVCCV([0.1, 1.0], gammas=[0.1, 1.0], cv=2).fit(X, y == 1)
    ScreenedRTLM().fit(X, y)
    for screening in (True, False):
        rtlm_path(X, y, loss="hinge", n_lams=8, n_neighbors=None, screening=screening)


def seconds_of(function) -> tuple:
    """Call a function; return what it returns, and the CPU seconds."""
    started = time.process_time()
    result = function()
    return result, time.process_time() - started


def show_map() -> Figure:
    """Place cities by answers about which of two is nearer to a third."""
    cities = load_eurodist()
    answers = make_triplets(cities.distances, 2000, metric="precomputed", random_state=0)
    others = make_triplets(cities.distances, 5000, metric="precomputed", random_state=1)
    model, seconds = seconds_of(lambda: OrdinalEmbedding(random_state=0).fit(answers))
    right = model.score(others)
    print(f"   2,000 answers such as {said(cities.names, answers[0])}")
    print(f"   place 21 cities in {1000 * seconds:.0f} ms of the processor; "
          f"{right:.1%} of 5,000 others are right.")  # fmt: skip

    figure, ax = plt.subplots(figsize=(8.0, 7.0), layout="constrained")
    EmbeddingDisplay.from_estimator(
        model,
        names=cities.names,
        reference=scaled(cities),
        reference_name="from all distances",
        ax=ax,
    )
    ax.axis("off")
    title(figure, "Comparisons alone draw the map of Europe", f"2,000 answers such as "
          f"{said(cities.names, answers[0])}; {right:.1%} of 5,000 others are right")  # fmt: skip
    return figure


def said(names: Sequence[str], answer: np.ndarray) -> str:
    """Put an answer into words."""
    i, j, k = (names[index] for index in answer)
    return f"“{i} is nearer to {j} than to {k}”"


def scaled(cities) -> np.ndarray:
    """Return the map from all distances, by classical scaling; north is up, east is right."""
    centring = np.eye(21) - 1.0 / 21.0
    eigenvalues, vectors = np.linalg.eigh(-0.5 * centring @ cities.distances**2 @ centring)
    points = vectors[:, :-3:-1] * np.sqrt(eigenvalues[:-3:-1])
    at = dict(zip(cities.names, points, strict=True))
    return points * np.sign(
        [at["Vienna"][0] - at["Lisbon"][0], at["Stockholm"][1] - at["Athens"][1]]
    )


def show_search() -> Figure:
    """Choose C and gamma for two noisy spirals, as scikit-learn does, and faster."""
    X, y = spirals()
    grid = {"C": CS, "gamma": GAMMAS}
    theirs, seconds_theirs = seconds_of(lambda: GridSearchCV(SVC(), grid).fit(X, y))
    ours, seconds_ours = seconds_of(lambda: ScreenedSVCCV(CS, gammas=GAMMAS).fit(X, y))
    rows = [
        ("GridSearchCV(SVC())", seconds_theirs, *theirs.best_params_.values(), theirs.best_score_),
        ("ScreenedSVCCV", seconds_ours, ours.C_, ours.gamma_, ours.best_score_),
    ]
    for name, seconds, C, gamma, score in rows:
        print(f"   {name:20}{seconds:5.1f} CPU s   C = {C:.2g}, gamma = {gamma:g}, "
              f"accuracy {score:.1%}")  # fmt: skip
    times = seconds_theirs / seconds_ours
    best = ours.best_estimator_
    print(
        f"   {times:.1f} times faster. The best fit, {certificate(best.objective_, best.dual_gap_)}"
    )

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.0, 4.6), width_ratios=[3, 2], layout="constrained"
    )
    draw_regions(left, ours, X, y)
    draw_seconds(right, [name for name, *_ in rows], [seconds_theirs, seconds_ours])
    title(figure, f"The same C and gamma as GridSearchCV(SVC), {times:.1f} times faster",
          f"C = {ours.C_:.2g}, gamma = {ours.gamma_:g}: {ours.best_score_:.1%} in five-fold "
          "cross-validation")  # fmt: skip
    return figure


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Make points of two spirals, one of each class, so noisy that they overlap."""
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=1500)
    turn = 3.0 * np.pi * np.sqrt(rng.uniform(0.05, 1.0, 1500))
    angle = turn + np.pi * y
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * turn[:, None] / np.pi
    return X + rng.normal(scale=0.4, size=X.shape), y


def draw_regions(ax: Axes, model: ScreenedSVCCV, X: np.ndarray, y: np.ndarray) -> None:
    """Draw what the classifier says of the plane, and the points."""
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    xs, ys = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
    values = model.decision_function(np.column_stack([xs.ravel(), ys.ravel()])).reshape(xs.shape)
    ax.contourf(xs, ys, np.clip(values, -1.5, 1.5), levels=13, cmap="PuOr", alpha=0.75)
    ax.contour(xs, ys, values, levels=[0.0], colors="black", linewidths=1.2)
    for label, colour in ((0, "#8c4a00"), (1, "#2d004b")):
        ax.scatter(*X[y == label].T, s=5, color=colour, linewidths=0)
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)


def draw_seconds(ax: Axes, names: list[str], seconds: list[float]) -> None:
    """Draw bars, with the seconds written above; ours is the last."""
    bars = ax.bar(names, seconds, width=0.6, color=["0.7"] * (len(names) - 1) + [BLUE])
    ax.bar_label(bars, [f"{value:.1f} CPU s" for value in seconds], padding=3)
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.tick_params("x", length=0)


def show_neighbours() -> Figure:
    """Learn a metric from a quarter of the digits, and look for the same digit in the others."""
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X / 16.0, y, train_size=0.25, stratify=y, random_state=0)
    metric, seconds = seconds_of(lambda: ScreenedRTLM().fit(X, y))
    spaces = {"pixels": lambda X: X, "learned": metric.transform}
    found, quality = {}, {}
    print(f"   {metric.n_triplets_:,} triplets, {seconds:.2f} CPU s, "
          f"{certificate(metric.objective_, metric.dual_gap_)}")  # fmt: skip
    for name, space in spaces.items():
        Z = space(X_new)
        found[name] = NearestNeighbors(n_neighbors=101).fit(Z).kneighbors(Z)[1][:, 1:]
        quality[name] = mean_average_precision(Z, y_new, k="r")
        right = KNeighborsClassifier(5).fit(space(X), y).score(Z, y_new)
        print(f"   {name:8} mean average precision {quality[name]:.2f}, 5-NN error {1 - right:.1%}")

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11.0, 4.2), width_ratios=[3, 2], layout="constrained"
    )
    # Of some digits, the image that gains most.
    same = {name: y_new[rows] == y_new[:, None] for name, rows in found.items()}
    gain = (same["learned"].astype(float) - same["pixels"]).mean(axis=1)
    queries = [np.flatnonzero(y_new == digit)[gain[y_new == digit].argmax()] for digit in (1, 8, 9)]
    draw_answers(left, X_new, queries, found, same)
    for (name, rows), colour in zip(same.items(), ("0.6", BLUE), strict=True):
        share = rows.cumsum(axis=1).mean(axis=0) / np.arange(1, 101)
        right.plot(np.arange(1, 101), share, color=colour, linewidth=2)
        right.annotate(name, (100, share[-1]), (4, 0), textcoords="offset points", color=colour,
                       va="center", annotation_clip=False)  # fmt: skip
    right.set(xlabel="Images looked at", ylabel="Share that show the same digit", ylim=(None, 1.0))
    right.yaxis.set_major_formatter("{x:.0%}")
    title(figure, "The learned metric finds the same digit again",
          f"mean average precision {quality['pixels']:.2f} → {quality['learned']:.2f} on images it "
          "has not seen")  # fmt: skip
    return figure


RANKS = (1, 3, 10, 20, 30, 40, 50, 60, 70, 80)


def draw_answers(ax: Axes, images: np.ndarray, queries: list[int], found: dict, same: dict) -> None:
    """Draw what is found for some images, nearest first; what is wrong is in orange."""
    ax.set(xlim=(-3.2, len(RANKS)), ylim=(len(queries) * 2.4, -0.6))
    ax.axis("off")
    for row, query in enumerate(queries):
        top = 2.4 * row
        draw_digit(ax, images[query], -3.1, top + 0.1, 1.8, "black")
        for line, name in enumerate(found):
            ax.text(-0.1, top + line + 0.5, name, ha="right", va="center", fontsize=8)
            for column, rank in enumerate(RANKS):
                colour = BLUE if same[name][query, rank - 1] else ORANGE
                picture = images[found[name][query, rank - 1]]
                draw_digit(ax, picture, column, top + line + 0.03, 0.92, colour)
    for column, rank in enumerate(RANKS):
        ax.text(column + 0.46, -0.15, f"{rank}", ha="center", fontsize=8, color=GREY)


def draw_digit(ax: Axes, image: np.ndarray, x: float, y: float, size: float, colour: str) -> None:
    """Draw an image in a frame, dark where it has ink."""
    extent = (x, x + size, y + size, y)
    tint = "Blues" if colour == BLUE else "Oranges" if colour == ORANGE else "Greys"
    ax.imshow(image.reshape(8, 8), cmap=tint, extent=extent, aspect="equal", vmax=1.1)


def show_screening() -> Figure:
    """Compute a path of the hinge with screening and without."""
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    options = {"loss": "hinge", "n_neighbors": None, "n_lams": 50, "stop": 0.0}
    screened, with_proofs = seconds_of(lambda: rtlm_path(X, y, **options))
    plain, without = seconds_of(lambda: rtlm_path(X, y, screening=False, **options))
    times = without / with_proofs
    apart = abs(screened.objectives / plain.objectives - 1.0).max()
    print(f"   iris, hinge, {screened.n_triplets:,} triplets, {len(plain)} values of λ")
    for name, path, seconds in (("without", plain, without), ("with", screened, with_proofs)):
        print(f"   {name:8} {seconds:4.1f} CPU s, largest gap {path.dual_gaps.max():.0e}")
    decided = screened.rates.mean()
    print(f"   {times:.1f} times faster: {decided:.0%} of the triplets are decided on average, and "
          f"objectives differ by {apart:.0e} at most.")  # fmt: skip

    figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7.6, 5.6), layout="constrained")
    top.fill_between(screened.lams, screened.rates, color=BLUE, alpha=0.25, linewidth=0)
    top.plot(screened.lams, screened.rates, color=BLUE, linewidth=2)
    top.set(ylim=(0.0, 1.0), ylabel="Triplets decided")
    top.yaxis.set_major_formatter("{x:.0%}")
    for name, path, seconds, colour in (
        ("without", plain, without, "0.6"), ("with proofs", screened, with_proofs, BLUE)
    ):  # fmt: skip
        # The shape of the clock's seconds, the height of the CPU's.
        so_far = path.seconds.cumsum()
        so_far *= seconds / so_far[-1]
        bottom.plot(path.lams, so_far, color=colour, linewidth=2)
        # Beside the end of its curve, where no curve is.
        bottom.annotate(f"{name}\n{seconds:.1f} s", (path.lams[-1], so_far[-1]), (6, 0),
                        textcoords="offset points", color=colour, va="center",
                        annotation_clip=False)  # fmt: skip
    bottom.set(xscale="log", xlabel="Regularisation parameter λ (log scale)",
               ylabel="CPU seconds so far", ylim=(0.0, 1.05 * without))  # fmt: skip
    bottom.xaxis.set_inverted(True)
    title(figure, f"Proofs leave out {decided:.0%} of the triplets",
          f"iris, hinge, {screened.n_triplets:,} triplets, {len(plain)} values of λ; {times:.1f} "
          "times faster, the same optimum")  # fmt: skip
    return figure


def certificate(objective: float, gap: float) -> str:
    """Put into words what a duality gap proves."""
    return f"objective {objective:.6g}, proved to exceed the optimum by {gap:.0e} of it at most."


def title(figure: Figure, conclusion: str, detail: str) -> None:
    """Write what a figure shows, and below it of what, above the axes."""
    height = figure.get_figheight()
    figure.get_layout_engine().set(rect=(0.0, 0.0, 1.0, 1.0 - 0.75 / height))
    figure.text(0.02, 1.0 - 0.34 / height, conclusion, fontsize=14, fontweight="bold")
    figure.text(0.02, 1.0 - 0.6 / height, detail, fontsize=10, color=GREY)


if __name__ == "__main__":
    main()
