"""The experiments of the paper on safe triplet screening, repeated with skscreen.

    python -m benchmarks.metric_learning.paper --data FOLDER [--parts bounds,rules,...]
                                               [--out DIR] [--quick]

Yoshida, Takeuchi and Karasuyama (2019), Neural Computation 31: for each table and figure that our
data allows, our numbers beside the paper's, as ratios (CPU time without screening or with the
active set alone, divided by that with it), and the figures as PNGs in DIR. FOLDER is that of
`path.py`. All arms of a table are measured in one run, one BLAS thread, in seconds of CPU in
the solver. Unlike the paper, which averages five subsamples of 90 %, the
runs here take all samples. --quick is a rehearsal on a fifth of the samples.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.metric_learning import paper_figures as figures
from benchmarks.metric_learning import paper_numbers as paper
from benchmarks.metric_learning.paper_numbers import PAPER, RUNS, SETS
from benchmarks.metric_learning.paper_reasons import CASES, reasons
from benchmarks.metric_learning.paper_runs import arms_table, best_of, dynamic_rates, of_decidable
from benchmarks.support.data import Data
from benchmarks.support.parts import headed, options_of
from benchmarks.support.tables import table
from skscreen import rtlm_path
from skscreen.metric_learning.solvers import progress, reduction

NEIGHBOURS = {**SETS, "usps": 10, "madelon": 20, "colon_cancer": None}
NEIGHBOURS |= {"a9a": 5, "mnist": 5, "cifar10_pca200": 2}
NONE = {"screening": False}


@dataclass(frozen=True)
class Bench:
    """Where the data comes from, where figures go, and how much is run."""

    data: Data
    out: Path
    quick: bool
    repeats: int
    sets: tuple[str, ...] = tuple(SETS)

    def load(self, name: str):
        """Return features in [-1, 1], labels and options of a path as in the paper."""
        X, y = self.data(name)
        rows = paper.TRAINING_ROWS.get(name, len(X))
        X, y = X[:rows], y[:rows]
        if name in paper.REDUCED:
            X = PCA(paper.REDUCED[name], random_state=0).fit_transform(X)
        options = {"n_neighbors": NEIGHBOURS[name]}
        if self.quick:
            X, y = (X, y) if len(X) < 500 else (X[::5], y[::5])
            options["n_lams"] = 25
        return scaled(name, X), y, options

    def run(self, name: str, X, y, arms: dict, repeats: int | None = None, **options) -> dict:
        """Measure the arms in turn and print sizes; the fastest of the repeats counts."""
        runs = best_of(X, y, arms, repeats or self.repeats, **options)
        first = next(iter(runs.values())).path
        grid = f"λ = {first.lams[0]:.3g}"
        if len(first) > 1:
            ends = f"from {first.lams[0]:.3g} to {first.lams[-1]:.3g}"
            grid = f"{len(first)} values of λ {ends}"
        gap = max(run.path.dual_gaps.max() for run in runs.values())
        print(
            f"\n{name}: {len(X)} samples, {X.shape[1]} features, "
            f"k={options.get('n_neighbors') or 'all'}, {first.n_triplets:,} triplets, "
            f"{grid}; largest relative gap {gap:.1e}\n"
        )
        return runs


def scaled(name: str, X) -> np.ndarray:
    """Features as the paper had them, as far as its values of lambda tell."""
    if name in ("madelon", "usps"):
        return np.asarray(X, float)
    if name == "colon_cancer":
        # As in LIBSVM's file of this name: samples first, then features.
        return StandardScaler().fit_transform(StandardScaler().fit_transform(X.T).T)
    return MinMaxScaler((-1, 1)).fit_transform(X)


def bounds(bench: Bench) -> None:
    """Figure 9: CPU time of the path and of its screening, ratio 0.9, no active set."""
    ratios = {}
    for name in bench.sets:
        X, y, options = bench.load(name)
        runs = bench.run(name, X, y, RUNS, active_set=False, **options)
        theirs = dict(zip(RUNS, PAPER[name], strict=False))
        parts = dict(zip(list(RUNS)[1:], paper.SCREENING_SECONDS[name], strict=False))
        arms_table(
            "bound", runs,
            "CPU s,none / it,paper,screening,paper's,visits none / it,iterations,ms a step,"
            "path rate,end rate",
            paper={label: f"{theirs['none'] / known:.2f}" for label, known in theirs.items()},
            **{"paper's": {label: f"{part / theirs[label]:.0%}" for label, part in parts.items()}},
        )  # fmt: skip
        none = runs["none"]
        ratios[name] = {
            label: (none.seconds / runs[label].seconds, theirs["none"] / theirs[label])
            for label in parts
        }
        first, last = paper.LAMBDAS[name]
        span = none.path.lams[0] / none.path.lams[-1]
        print(f"First over last λ: {span:.1e}; paper: {first / last:.1e}.")
    title = "Regularisation paths, ratio 0.9, without active set"
    figures.ratio_bars(bench.out, "bounds", ratios, title)


def rules(bench: Bench) -> None:
    """Rules from GB and DGB on segment: what they decide on the path step, and the cost."""
    arms = {"none": NONE}
    for bound in ("gb", "dgb"):
        for rule in ("sphere", "linear", "semidefinite"):
            if (bound, rule) != ("gb", "semidefinite"):
                arms[f"{bound.upper()}, {rule}"] = {"bound": bound, "rule": rule}
    arms["PGB, sphere"] = {"bound": "pgb"}
    X, y, options = bench.load("segment")
    runs = bench.run("segment", X, y, arms, active_set=False, **options)
    rates = {label: of_decidable(run.path, "path_rates") for label, run in runs.items()}
    thirds = {}
    for k, name in enumerate(("path rate: first third of the path", "second", "last")):
        means = {label: np.array_split(rate, 3)[k].mean() for label, rate in rates.items()}
        thirds[name] = {label: f"{mean:.3f}" for label, mean in means.items()}
    columns = f"CPU s,none / it,screening,{','.join(thirds)},end rate"
    arms_table("bound and rule", runs, columns, **thirds)
    panels = {
        title: {label: rate for label, rate in rates.items() if label.split(",")[0] in names}
        for title, names in {"From GB": ("GB", "PGB"), "From DGB": ("DGB", "PGB")}.items()
    }
    figures.rate_lines(bench.out, "rules", panels, runs["none"].path.lams, "Path screening rate")


def dynamic(bench: Bench) -> None:
    """Heat maps of the screening rate over iterations and lambda."""
    arms = {bound: RUNS[bound] for bound in ("DGB", "PGB", "RRPB+PGB")}
    maps, lams = {}, {}
    for name in ("segment", "phishing"):
        X, y, options = bench.load(name)
        runs = bench.run(name, X, y, arms, repeats=1, active_set=False, **options)
        lams[name] = runs["PGB"].path.lams
        maps[name] = {label: dynamic_rates(run.path) for label, run in runs.items()}
        at_ten = {}
        for label, rates in maps[name].items():
            # Of each lambda, at its last iteration if it had fewer.
            found = [column[~np.isnan(column)][:11][-1] for column in rates.T]
            at_ten[label] = f"{np.mean(found):.3f}"
        later = "after 10 iterations or at the end"
        arms_table("bound", runs, f"path rate,{later},end rate", **{later: at_ten})
        counts = runs["PGB"].path.n_iters
        print(f"Iterations for one λ: median {np.median(counts):.0f}, largest {counts.max()}.")
    figures.dynamic_maps(bench.out, "dynamic", maps, lams)


def ranges(bench: Bench) -> None:
    """Heat maps of what the ranges of lambda from one reference decide further down."""
    maps, lams, rows = {}, {}, []
    for tol in (1e-4, 1e-6):
        X, y, options = bench.load("segment")
        arms = {"rrpb": {"bound": "rrpb", "ranges": True, "tol": tol}}
        path = bench.run("segment", X, y, arms, repeats=1, **options)["rrpb"].path
        title = f"segment, reference accuracy {tol:g}"
        maps[title], lams[title] = of_decidable(path, "range_rates"), path.lams
        steps = (1, 2, 5, 10, 20)
        means = [np.nanmean(np.diagonal(of_decidable(path, "range_rates"), step)) for step in steps]
        rows.append((f"{tol:g}", *(f"{mean:.3f}" for mean in means)))
    table("reference accuracy," + ",".join(f"{step} steps of 0.9 down" for step in steps), rows)
    figures.range_maps(bench.out, "ranges", maps, lams)


SCREENED = {"active set": NONE, "+ RRPB": RUNS["RRPB"], "+ RRPB+PGB": RUNS["RRPB+PGB"]}


def active(bench: Bench) -> None:
    """Table 3: the active set alone and with screening, ratio 0.99."""
    beside_active_set(bench, paper.ACTIVE_SECONDS, "active", "Active set, ratio 0.99")


def diagonal(bench: Bench) -> None:
    """Table 4: diagonal metrics, the active set alone and with screening, ratio 0.99."""
    title = "Diagonal metric, active set, ratio 0.99"
    beside_active_set(bench, paper.DIAGONAL_SECONDS, "diagonal", title, diagonal=True)


def beside_active_set(bench: Bench, printed: dict, figure: str, title: str, **kind) -> None:
    """Print the arms of SCREENED beside the seconds that the paper printed."""
    ratios = {}
    for name, seconds in printed.items():
        X, y, options = bench.load(name)
        runs = bench.run(name, X, y, SCREENED, repeats=1, ratio=0.99, **kind, **options)
        theirs = {label: seconds[0] / each for label, each in zip(runs, seconds, strict=True)}
        arms_table(
            "arm", runs,
            "CPU s,none / it,paper,screening,visits none / it,iterations a λ,λ without any,"
            "path rate",
            paper={label: f"{ratio:.2f}" for label, ratio in theirs.items()},
        )  # fmt: skip
        alone, *screened = runs
        ratios[name] = {label: (runs[alone].seconds / runs[label].seconds, theirs[label])
                        for label in screened}  # fmt: skip
    figures.ratio_bars(bench.out, figure, ratios, title)


def hinge(bench: Bench) -> None:
    """The hinge beside the smoothed hinge: PGB on segment."""
    X, y, options = bench.load("segment")
    panels, lams = {}, ()
    for loss in ("smoothed_hinge", "hinge"):
        arms = {"none": NONE, "PGB": {"bound": "pgb"}, "gap": {"bound": "gap"}}
        runs = bench.run(
            f"segment, {loss}", X, y, arms, repeats=1, loss=loss, active_set=False, **options
        )
        arms_table(f"bound for {loss}", runs, "CPU s,none / it,iterations,path rate,end rate")
        path = runs["PGB"].path
        panels[f"PGB, {loss.replace('_', ' ')}"] = {
            "path step": of_decidable(path, "path_rates"),
            "end of the solve": of_decidable(path, "rates"),
        }
        lams = max(lams, tuple(path.lams), key=len)
    figures.rate_lines(bench.out, "hinge", panels, np.array(lams), "Screening rate")


def fixed(bench: Bench) -> None:
    """Dynamic screening at the last lambda of the path alone, from the start of a path."""
    panels = {}
    bounds_ = {"none": NONE, "DGB": {"bound": "dgb"}, "PGB": {"bound": "pgb"}}
    for name in ("segment", "phishing"):
        X, y, options = bench.load(name)
        lam = rtlm_path(X, y, **options).lams[-1]
        panel = panels[f"{name}, λ = {lam:.3g}"] = {}
        fixed_lam = {"n_neighbors": options["n_neighbors"], "lams": [lam], "relative_lam": False}
        for active_set in (False, True):
            runs = bench.run(name, X, y, bounds_, active_set=active_set, **fixed_lam)
            head = f"{'with' if active_set else 'without'} active set"
            arms_table(head, runs, "CPU s,none / it,iterations,end rate")
            panel |= {
                f"{label}, {head}": dynamic_rates(run.path)[:, 0]
                for label, run in runs.items()
                if label != "none"
            }
    figures.rates_over_iterations(bench.out, "fixed", panels)


def neighbours(bench: Bench) -> None:
    """Accuracy on phishing over the neighbours in the triplets, lambda chosen on validation."""
    X, y = bench.data("phishing")
    # LIBSVM's scale of the rows, for which the paper gives its values of lambda.
    X = X / np.sqrt(30.0)
    if bench.quick:
        X, y = X[::5], y[::5]
    ks = (2, 6, 15) if bench.quick else (2, 4, 6, 9, 12, 15, 20)
    lams, n_splits = np.geomspace(1e5, 0.1, 28), bench.repeats
    scores = np.empty((n_splits, len(ks), 3))
    seconds = np.empty((n_splits, len(ks), 2))
    for split in range(n_splits):
        parts = split_in_three(X, y, split)
        for i, k in enumerate(ks):
            arms = {"none": NONE, "RRPB+PGB": {"bound": ("rrpb", "pgb")}}
            runs = best_of(*parts[0], arms, 1, n_neighbors=k, lams=lams, relative_lam=False)
            seconds[split, i] = [run.seconds for run in runs.values()]
            scores[split, i] = chosen_accuracies(runs["RRPB+PGB"].path, parts)
    means, errors = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(n_splits)
    print(f"\nphishing: {n_splits} splits 60/20/20, {len(lams)} values of λ from 1e5 to 0.1\n")
    rows = [
        (k, *(f"{mean:.4f} ± {error:.4f}" for mean, error in zip(*values, strict=True)),
         *(f"{value:.2f}" for value in seconds.mean(axis=0)[i]))
        for i, (k, values) in enumerate(zip(ks, zip(means, errors, strict=True), strict=True))
    ]  # fmt: skip
    table("k,10-NN,20-NN,30-NN,CPU s without screening,with RRPB+PGB", rows)
    best = {n: ks[int(np.argmax(means[:, j]))] for j, n in enumerate(paper.BEST_NEIGHBOURS)}
    for n, (theirs, unscreened) in paper.BEST_NEIGHBOURS.items():
        print(
            f"{n}-NN: best k={best[n]}; paper {theirs} (in its time without screening {unscreened})"
        )
    accuracies = {n: means[:, j] for j, n in enumerate(best)}
    error_bars = {n: errors[:, j] for j, n in enumerate(best)}
    costs = {
        "without screening": seconds[..., 0].mean(axis=0),
        "RRPB+PGB": seconds[..., 1].mean(axis=0),
    }
    figures.accuracy_over_neighbours(bench.out, "neighbours", ks, accuracies, error_bars, costs)


def split_in_three(X, y, seed: int):
    """Split into 60 % to learn from, 20 % to choose lambda on and 20 % to test."""
    learn_X, rest_X, learn_y, rest_y = train_test_split(X, y, test_size=0.4, random_state=seed)
    choose_X, test_X, choose_y, test_y = train_test_split(
        rest_X, rest_y, test_size=0.5, random_state=seed
    )
    return (learn_X, learn_y), (choose_X, choose_y), (test_X, test_y)


def chosen_accuracies(path, parts) -> np.ndarray:
    """Test accuracies of 10-, 20- and 30-NN, each at the lambda best on the validation part."""
    (X, y), *held_out = parts
    scores = np.empty((2, len(path), 3))
    for i in range(len(path)):
        model = path[i]
        search = NearestNeighbors(n_neighbors=30, algorithm="brute").fit(model.transform(X))
        for j, (other_X, other_y) in enumerate(held_out):
            found = y[search.kneighbors(model.transform(other_X), return_distance=False)]
            for m, n_neighbors in enumerate(paper.BEST_NEIGHBOURS):
                votes = found[:, :n_neighbors].mean(axis=1) > 0.5
                scores[j, i, m] = np.mean(votes == other_y)
    best = scores[0].argmax(axis=0)
    return scores[1, best, np.arange(3)]


def reason(bench: Bench) -> None:
    """Take away, one by one, what makes our paths cheap without screening."""
    for name in filter(CASES.__contains__, bench.sets):
        X, y, _ = bench.load(name)
        reasons(X, y, name, **{**CASES[name], **({"n_lams": 25} if bench.quick else {})})


PARTS = {
    "bounds": bounds,
    "rules": rules,
    "dynamic": dynamic,
    "ranges": ranges,
    "active": active,
    "hinge": hinge,
    "diagonal": diagonal,
    "fixed": fixed,
    "neighbours": neighbours,
    "reasons": reason,
}


def main() -> None:
    """Run the parts asked for."""
    args = options_of(
        __doc__, PARTS, "rtlm_paper",
        repeats=(3, "the fastest counts; splits of the part neighbours"),
        sets=(",".join(SETS), "for the parts bounds and reasons"),
    )  # fmt: skip
    # The paper gives CPU seconds, and other programs on the machine cost none of ours.
    progress.perf_counter = reduction.perf_counter = time.process_time
    bench = Bench(Data(args.data), args.out, args.quick, args.repeats, tuple(args.sets.split(",")))
    for _, part in headed(args.parts, PARTS):
        part(bench)


if __name__ == "__main__":
    main()
