"""Fuzz targets: embeddings, sequences, measures, displays, the store and small functions."""

import inspect
import pickle
from functools import partial
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from scipy import sparse

import skscreen.metrics
from skscreen import (
    OrdinalEmbedding,
    ScreenedRTLM,
    ScreenedSVCCV,
    Store,
    project_box_equality,
    read_answers,
)
from skscreen.embedding.problem.losses import EmbeddingLoss
from skscreen.inspection import (
    CertifiedPathDisplay,
    EmbeddingDisplay,
    LearnedSpaceDisplay,
    PathDisplay,
    ScreeningDisplay,
    SearchDisplay,
    TransitionDisplay,
)
from skscreen.metrics import (
    noise_ceiling,
    procrustes_distance,
    triplet_error,
)
from tests.proofs.fuzz.checks import (
    call,
    embedding_losses,
    expect,
    expect_close,
    expect_finite,
)
from tests.proofs.fuzz.inputs import DENSE, Inputs

matplotlib.use("Agg")
EMBEDDING = {
    "n_components": (2, 1, 3, 7),
    "loss": ("soe", "ste", "tste", "gnmds", "ckl", "oddoneout"),
    "solver": ("auto", "lbfgs", "svrg-sbb", "svrg", "sgd", "batch"),
    "formulation": ("nonconvex", "nonconvex", "convex"),
    "reg": ("auto", 0.0, 1e-12, 1.0, 1e12, 1e300),
    "sbb_epsilon": ("auto", 0.0, 1e-300, 1e300),
    "eta0": (None, None, 1e-300, 0.01, 1e40),
    "update_frequency": (None, None, 1, 7),
    "batch_size": (1, 3, 10**6),
    "module_epochs": (None, 1, 5),
    "max_iter": (None, 1, 3, 20),
    "n_init": ("auto", 1, 3),
    "alpha": (None, 1e-12, 0.5, 1e6, 1e300),
    "mu": (1e-3, 1e-300, 1e300),
    "margin": (0.1, 1e-12, 1e6, 1e200),
    "smoothing": (1.0, 0.0, 1e-12, 1e6),
    "tol": (1e-4, 0.0, 1e-12, 1e300),
    "n_jobs": (None, 1, 2),
    "verbose": (0, False),
    "random_state": (None, 0, np.random.RandomState(0)),
}


def answers(inputs: Inputs, n: int, n_rows: int, width: int) -> tuple:
    """Return answers and responses to give, and plain rows of numbers."""
    rng = inputs.rng()
    rows = np.array([rng.choice(n, width, replace=width > n or inputs.pick(False, False, True))
                     for _ in range(n_rows)])  # fmt: skip
    if "X" in inputs.spoiled:
        given = inputs.pick(
            lambda: rows - 1, lambda: rows + 0.5, lambda: rows[:, :2], lambda: rows[:0],
            lambda: rows.astype(str), lambda: rows * 10**12, lambda: np.where(rows == 0, np.nan,
            rows), lambda: rows[None], lambda: rows[0], lambda: None, lambda: "text",
            lambda: 0 * rows, lambda: rows.astype(object), lambda: rows == 1, lambda: [[0, 1, 2],
            [0]], lambda: sparse.csr_array((3, 9)), lambda: sparse.eye_array(4, 16), lambda: 3,
            lambda: sparse.csr_array(([np.nan], ([0], [5])), shape=(3, 9)), lambda: rows + 1j,
            lambda: sparse.coo_array(([1.0], ([0], [5])), shape=(2**20, 2**40)), lambda: {},
        )()  # fmt: skip
    else:
        given = inputs.pick(
            lambda: rows.copy(), rows.tolist, lambda: rows.astype(np.uint8), lambda: rows.astype(
            float), lambda: np.asfortranarray(rows), lambda: rows.astype(object), lambda:
            rows.astype(np.float32), lambda: rows.astype(">i8"), lambda: rows[::-1][::-1],
            lambda: np.array(list("abcdefghijkl"))[rows], lambda: pd.DataFrame(rows).astype(str),
            lambda: rows[:, ::-1],
        )()  # fmt: skip
    right = rng.random(n_rows) < 0.7
    y = None
    if "y" in inputs.spoiled:
        y = inputs.pick([1, 2], right[:-1], "text", 0.5 * right, right.astype(str), {}, 3,
                        np.full(n_rows, np.nan), np.zeros(n_rows), [None] * n_rows)  # fmt: skip
    elif inputs.pick(False, True):
        y = inputs.pick(right, np.where(right, 1, -1), right.tolist(),
                        rng.integers(3, size=n_rows))  # fmt: skip
    elif "X" not in inputs.spoiled and inputs.pick(False, True):
        kind = inputs.pick("oddoneout", "mostcentral") if width == 3 else "quadruplets"
        said = {"chosen": rng.integers(3, size=n_rows), "response": "position"}
        done = call(read_answers, rows, kind=kind, **(said if width == 3 else {}))
        given = done.result if done.error is None else given
    return inputs.note("X", given), inputs.note("y", y), rows


def fuzz_embedding(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "init", "F", "result_format", *EMBEDDING)
    options = {"max_iter": 20, **inputs.options(OrdinalEmbedding, EMBEDDING)}
    n, n_rows, width = inputs.count(4, 12), inputs.count(1, 60), inputs.pick(3, 4)
    X, y, rows = answers(inputs, n, n_rows, width)
    weights = inputs.weights("sample_weight", n_rows)[0]
    fit = {"sample_weight": weights}
    if "init" in inputs.spoiled or inputs.pick(False, False, True):
        fit["init"] = inputs.junk("init", inputs.rng().normal(size=(n, 2)))
    model = OrdinalEmbedding(**options)
    done = call(model.fit, X, y, **fit)
    if done.error is not None:
        return
    expect_finite(model)
    points = model.transform()
    expect(np.all(np.isfinite(points)), "points")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(), points)
    bound = call(model.lower_bound)
    slack = 1e-9 * abs(model.objective_)
    expect(bound.error is not None or bound.result <= model.objective_ + slack, "bound")
    formats = ("list-order", "list-boolean", "list-count", "tensor-count", None)
    call(model.predict, X, inputs.junk("result_format", inputs.pick(*formats)))
    place_new(inputs, model, rows)
    score = call(model.score, X, y, sample_weight=weights)
    expect(score.error is not None or 0.0 <= score.result <= 1.0, "score")
    F = inputs.matrix("F", len(points), 3)[0]
    if call(model.fit_features, F).error is None:
        mapped = call(model.map_features, F)
        expect(mapped.error is not None or np.all(np.isfinite(mapped.result)), "mapped points")
    if not inputs.spoiled and model.formulation == "nonconvex":
        check_stress(model)


def place_new(inputs: Inputs, model, rows) -> None:
    """Answers about objects of which some may be new, by number or by name."""
    names = [*model.objects_.tolist(), *inputs.pick((100, 200), ("x", "y"), (-1, 0.5))]
    more = np.array([[names[v % len(names)] for v in row] for row in rows + 1], dtype=object)
    done = call(model.place, more[: inputs.count(0, len(more))])
    if done.error is None:
        expect(np.all(np.isfinite(done.result)), "placed points")


def check_stress(model) -> None:
    """Compare `stress_` with its formula."""
    rows, weights = model.answers_.rows, model.answers_.weights
    weights = np.ones(len(rows)) if weights is None else weights
    odd = model.loss == "oddoneout"
    i, j, l, k = (rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]).T
    Z = model.embedding_
    a, c = (((Z[u] - Z[v]) ** 2).sum(axis=1) for u, v in ((i, j), (l, k)))
    shape = EmbeddingLoss.of(model).shape
    if model.loss == "soe":
        a, c = np.maximum(a, 1e-12), np.maximum(c, 1e-12)
    with np.errstate(all="ignore"):
        if odd:
            e = ((Z[j] - Z[k]) ** 2).sum(axis=1)
            losses = a + np.logaddexp.reduce([-a, -c, -e], axis=0)
        else:
            losses = embedding_losses(model.loss, shape, a, c)
    wanted = float(weights @ losses / weights.sum())
    if np.isfinite(wanted):
        expect_close(model.stress_, wanted, 1e-9 * (1.0 + float(np.max(a + c))), "stress")


def fuzz_projection(inputs: Inputs) -> None:
    names = ("point", "total", "coefficients", "lower", "upper", "weights")
    inputs.spoil(*names)
    rng, n = inputs.rng(), inputs.count(1, 12)
    scale = inputs.pick(1.0, 1e-8, 1e8, 1e-150, 1e150, 1e-300, 1e300)
    m = scale * inputs.pick(rng.normal(size=n), np.zeros(n), np.round(rng.normal(size=n)))
    sigma = inputs.pick(1.0, rng.choice([-1.0, 1.0], n), rng.choice([0.0, 1.0], n),
                        10.0 ** rng.uniform(-8, 8, n), 1e-200, 1e200)  # fmt: skip
    lower = inputs.pick(0.0, -np.inf, -scale, scale * rng.uniform(-2, -1, n), -1e300)
    upper = inputs.pick(scale, np.inf, scale * rng.uniform(0, 1, n), 0.0, 1e300)
    weights = inputs.pick(1.0, rng.uniform(0.5, 2.0, n), 10.0 ** rng.uniform(-8, 8, n), 1e-200)
    inside = np.clip(rng.normal(size=n) * scale, lower, upper)
    total = inputs.pick(float(np.sum(sigma * inside)), 0.0, 1.0, scale, 1e30)
    values = dict(zip(names, (m, total, sigma, lower, upper, weights), strict=True))
    values = {name: inputs.junk(name, value) for name, value in values.items()}
    done = call(project_box_equality, values.pop("point"), values.pop("total"), **values)
    if done.error is not None or inputs.spoiled:
        return
    a = done.result
    l, u, s = (np.broadcast_to(v, n).astype(float) for v in (lower, upper, sigma))
    expect(np.all(np.isfinite(a)), "not finite")
    expect(np.all((a >= l) & (a <= u)), "out of the box")
    with np.errstate(all="ignore"):
        size = float(np.abs(s * a).sum() + np.abs(s * m).sum() + abs(total))
        expect(abs(float(s @ a) - total) <= 1e-10 * size + 1e-300, "the equality does not hold")


def fuzz_store(inputs: Inputs) -> None:
    inputs.spoil("folder", "max_bytes", "key", "value", "store")
    with TemporaryDirectory() as folder:
        folder = inputs.note("folder", inputs.pick(None, 3, b"x", [], object())) if (
            "folder" in inputs.spoiled) else folder  # fmt: skip
        made = call(Store, folder, inputs.junk("max_bytes", inputs.pick(4 * 2**30, 0, 1000)))
        if made.error is not None or "folder" in inputs.spoiled or "max_bytes" in inputs.spoiled:
            return
        store, value = made.result, inputs.pick(1.0, 1e-300, 1e300, 5, np.float32(0.1))
        alpha = inputs.rng().normal(size=inputs.count(0, 50))
        call(store.put, "a", value, {"alpha": alpha}, must_work=True)
        found = call(store.neighbours, "a", value).result
        if store.max_bytes > 1000:
            expect(found[0][0] == value, "another value")
            np.testing.assert_array_equal(found[0][1]["alpha"], alpha)


def fuzz_measures(inputs: Inputs) -> None:
    inputs.spoil(
        "X",
        "y",
        "Y",
        "sample_weight",
        "embedding",
        "relevant",
        "distances",
        "k",
        "oddoneout",
        "gallery",
        "junk",
    )
    n, n_rows = inputs.count(3, 8), inputs.count(1, 20)
    X, y, _ = answers(inputs, n, n_rows, inputs.pick(3, 4))
    embedding, points = inputs.matrix("embedding", n, 2, forms=DENSE)
    weights = inputs.weights("sample_weight", n_rows)[0]
    done = call(triplet_error, embedding, X, y, weights)
    expect(done.error is not None or 0.0 <= done.result <= 1.0, "triplet_error")
    done = call(partial(noise_ceiling, oddoneout=inputs.junk("oddoneout", False)), X, y)
    expect(done.error is not None or done.result.lower <= done.result.upper, "noise_ceiling")
    Y = inputs.matrix("Y", n, 2, forms=DENSE)[0]
    done = call(procrustes_distance, points, Y)
    expect(done.error is not None or -1e-9 <= done.result <= 1.0 + 1e-9, "procrustes_distance")
    rng = inputs.rng()
    relevant = inputs.pick(rng.random((4, n)) < 0.5, rng.integers(0, 2, (4, n)))
    if "relevant" in inputs.spoiled:
        relevant = inputs.pick(relevant[:-1], relevant[0], "text", None, relevant * np.nan, 3, [])
    distances = inputs.matrix("distances", 4, n, forms=DENSE)[0]
    k = inputs.junk("k", inputs.count(1, n))
    labels = inputs.labels("y", n, 2)[0]
    options = {
        "gallery": inputs.junk("gallery", inputs.pick(None, (embedding, labels))),
        "junk": inputs.junk("junk", inputs.pick(None, -1, [0])), "k": k,
    }  # fmt: skip
    for function in measures_of_retrieval():
        by_matrix = function.__name__.endswith("_of")
        data = (relevant, distances) if by_matrix else (embedding, labels)
        done = call(function, *data, **({"k": k} if by_matrix else options))
        expect(done.error is not None or 0.0 <= done.result <= 1.0, function.__name__)


def measures_of_retrieval() -> list:
    """Return the measures of samples with labels, and of relevant items with distances."""
    found = []
    for name in skscreen.metrics.__all__:
        function = getattr(skscreen.metrics, name)
        if next(iter(inspect.signature(function).parameters)) in ("Z", "relevant"):
            found.append(function)
    return found


def fuzz_displays(inputs: Inputs) -> None:
    plt.close("all")
    inputs.spoil(
        "scores",
        "tol",
        "baseline",
        "names",
        "classes",
        "reference",
        "regions",
        "level",
        "result",
        "search",
    )
    rng, n = inputs.rng(), inputs.count(1, 40)
    values = rng.uniform(size=n) * inputs.pick(1.0, 0.0, 1e-300, 1e300, -1.0)
    if inputs.pick(False, False, True):
        values[0] = inputs.pick(np.nan, np.inf)
    path = SimpleNamespace(
        values=np.sort(10.0 ** rng.uniform(-5, 5, n))[::-1], objectives=values, dual_gaps=values,
        rates=np.clip(values, 0, 1), path_rates=np.clip(values, 0, 1),
    )  # fmt: skip
    scores = inputs.junk("scores", inputs.pick(None, values))
    options = {name: inputs.junk(name, None) for name in ("tol", "baseline")}
    call(PathDisplay.from_path, path, scores=scores, **options)
    call(ScreeningDisplay.from_path, path)
    points = SimpleNamespace(embedding_=rng.normal(size=(n, inputs.pick(1, 2, 3))))
    some = {
        "names": inputs.junk("names", inputs.pick(None, [f"o{i}" for i in range(n)])),
        "classes": inputs.junk("classes", inputs.pick(None, np.arange(n) % 3)),
        "reference": inputs.junk("reference", inputs.pick(None, rng.normal(size=(n, 2)))),
        "regions": inputs.junk(
            "regions", inputs.pick(None, rng.normal(size=(4, *points.embedding_.shape)))
        ),
        "level": inputs.junk("level", 0.9),
    }
    call(partial(EmbeddingDisplay.from_estimator, points, **some))
    edges = np.sort(10.0 ** rng.uniform(-2, 2, n + 1))
    result = SimpleNamespace(edges=edges, lower=values, upper=values, Cs=edges, best=0,
                             errors=np.append(values, 0.0), name="validation error")  # fmt: skip
    certified = SimpleNamespace(bounds=result)
    call(CertifiedPathDisplay.from_result, inputs.junk("result", certified))
    grid = ScreenedSVCCV()
    params = [{"gamma": gamma, "C": C} for gamma in edges[:2] for C in edges]
    results = {"params": params, "mean_test_score": rng.random(len(params)),
               "std_test_score": rng.random(len(params))}  # fmt: skip
    vars(grid).update(cv_results_=results, best_index_=0, bounds_=result)
    call(SearchDisplay.from_estimator, inputs.junk("search", grid))
    call(CertifiedPathDisplay.from_estimator, inputs.junk("estimator", grid))
    call(TransitionDisplay.from_estimator, inputs.junk("model", grid))
    metric = ScreenedRTLM()
    metric.components_ = rng.normal(size=(inputs.count(1, 4), 3)) * inputs.pick(1.0, 0.0, 1e-200)
    X = inputs.matrix("X", max(n, 2), 3, forms=DENSE)[0]
    y = inputs.junk("classes", inputs.pick(None, np.arange(max(n, 2)) % 3))
    call(LearnedSpaceDisplay.from_estimator, metric, X, y)


TARGETS = {
    "OrdinalEmbedding": fuzz_embedding,
    "project_box_equality": fuzz_projection,
    "Store": fuzz_store,
    "metrics": fuzz_measures,
    "displays": fuzz_displays,
}
