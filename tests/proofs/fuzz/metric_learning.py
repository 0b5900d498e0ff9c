"""Fuzz targets: metric learning, and what is spread over Dask workers."""

import atexit
import pickle
from functools import cache

import dask.array as da
import numpy as np
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from skscreen import (
    RTLMPairsClassifier,
    RTLMQuadrupletsClassifier,
    RTLMTripletsClassifier,
    ScreenedRTLM,
    ScreenedRTLMCV,
    rtlm_path,
    screen_triplets,
)
from skscreen.distributed import DistributedLinearSVC, DistributedRTLM, distributed_svc_path
from skscreen.metric_learning.screening.paper.bounds import BOUNDS
from skscreen.metric_learning.screening.paper.rules import RULES
from tests.proofs.fuzz.checks import (
    Finding,
    call,
    expect,
    expect_certified,
    expect_close,
    expect_finite,
)
from tests.proofs.fuzz.inputs import DENSE, Inputs

RTLM = {
    "lam": (0.01, 1.0, 1e-6, 1e-300, 1e300, 3, np.float32(0.1)),
    "relative_lam": (True, False),
    "n_neighbors": (1, 2, 5, None),
    "loss": ("smoothed_hinge", "hinge", "squared_hinge"),
    "width": (0.05, 1e-12, 0.999),
    "pull": (0.0, 0.1, 1e6, 0),
    "linear_term": (None, "trace"),
    "diagonal": (False, True),
    "bound": ("gap", *BOUNDS, ("gap", "rrpb"), list(BOUNDS)),
    "rule": (None, *RULES),
    "screening": (True, False),
    "screen_every": (10, 1, 10**9),
    "active_set": (True, False),
    "tol": (1e-6, 1e-1, 1e-12, 1e-300, 1e300),
    "max_iter": (None, 1, 100),
    "n_jobs": (None, 1, 2),
    "verbose": (0, False),
}
DISTRIBUTED_LINEAR = {
    "C": (1.0, 1e-3, 1e3, np.float32(0.1)),
    "loss": ("squared_hinge", "hinge"),
    "fit_intercept": (True, False),
    "intercept_scaling": (1.0, 1e-2, 1e2),
    "tol": (1e-4, 1e-1, 1e-10),
    "class_weight": (None, "balanced"),
    "warm_start": (False, True),
    "verbose": (0, False),
}
LISTS = ("triplets", "quadruplets", "pairs", "comparison_weight")


def metric_data(inputs: Inputs) -> tuple:
    """Return X and y to give, and the same as plain arrays."""
    n_classes = inputs.pick(2, 2, 3)
    n, d = inputs.count(2 * n_classes, 16), inputs.pick(1, 2, 3, 6, 20)
    y, codes = inputs.labels("y", n, n_classes)
    X, plain = inputs.matrix("X", n, d, codes, forms=DENSE)
    return X, y, plain, codes


def comparisons(inputs: Inputs, n: int) -> dict:
    """Return lists of comparisons of n samples; spoiled ones are wrong in some way."""
    rng, found, counts = inputs.rng(), {}, 0
    kinds = inputs.pick(("triplets",), ("quadruplets",), ("pairs",), LISTS[:3])
    if "triplets" in kinds:
        found["triplets"] = np.array([rng.permutation(n)[:3] for _ in range(inputs.count(1, 30))])
    if "quadruplets" in kinds:
        found["quadruplets"] = np.array([rng.permutation(n)[:4] for _ in range(8)])
    for rows in found.values():
        counts += len(rows)
    if "pairs" in kinds:
        S, D = (np.array([rng.permutation(n)[:2] for _ in range(6)]) for _ in range(2))
        U = inputs.pick(1.0, 0.0, 1e-30, 1e30, rng.uniform(0.1, 1.0, 6), 1e39, -1.0)
        found["pairs"] = (S, D, U, inputs.pick(2.0, 1e-30, 1e30, rng.uniform(1.0, 2.0, 6)))
        found["pairs"] = inputs.pick(found["pairs"], found["pairs"], (S, D))
        counts += 12
        inputs.mild = False
    if inputs.pick(False, True):
        found["comparison_weight"] = 10.0 ** rng.uniform(-3, 3, counts)
    for name in inputs.spoiled & set(LISTS):
        rows = found.get(name, np.zeros((3, 3), dtype=int))
        found[name] = inputs.pick(
            lambda: np.full((3, 3), n), lambda: -np.ones((3, 4), dtype=int),
            lambda rows=rows: rows[:0],
            lambda: [[0.5, 1.0, 2.0]], lambda: "text", lambda: None, lambda: [[0, 1], [0]],
            lambda: np.zeros((2, 3, 4), int), lambda: np.array([["a", "b", "c"]]), lambda: 3,
            lambda: {}, lambda: [], lambda: object(), lambda: np.full(counts, np.nan),
            lambda rows=rows: (rows, rows), lambda: np.full((2, 3), 2**63, dtype=np.uint64),
        )()  # fmt: skip
    for name, value in found.items():
        inputs.note(name, value)
    return found


def check_metric(model, X, unconverged: bool) -> None:
    """Check what a fit has learned."""
    expect_finite(model)
    expect_certified(model.dual_gap_, float(model.tol), unconverged)
    expect(model.dual_objective_ <= model.objective_ * (1.0 + 1e-9), "dual above primal")
    mapped = call(model.transform, X).result
    expect(mapped is not None and np.all(np.isfinite(mapped)), "mapped samples")
    M = model.get_mahalanobis_matrix()
    expect(np.all(np.isfinite(M)), "the metric is not finite")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.components_, model.components_)
    pairs = np.zeros((1, 2, model.n_features_in_))
    expect(call(model.pair_distance, pairs).result[0] == 0.0, "distance of a sample to itself")
    expect(model.get_metric()(pairs[0, 0], pairs[0, 1]) == 0.0, "metric as a function")


def triplet_objective(model, X, triplets, weights) -> tuple[float, float]:
    """Return P of a full or diagonal metric by its formula, and rounding errors."""
    Z = (X - X.mean(axis=0)) @ model.components_.T
    i, j, l = triplets.T
    near, far = ((Z[i] - Z[k]) ** 2 for k in (j, l))
    z = 1.0 - (far.sum(axis=1) - near.sum(axis=1))
    gamma = model.width if model.loss == "smoothed_hinge" else 0.0
    losses = np.maximum(z, 0.0)
    if gamma:
        losses = np.where(losses < gamma, losses**2 / (2.0 * gamma), losses - 0.5 * gamma)
    M = model.get_mahalanobis_matrix()
    trace = 0.0 if model.linear_term is None else float(np.trace(M))
    # Components are in single precision if X is.
    relative = 1e-10 if model.components_.dtype == np.float64 else 1e-6
    rounding = relative * float(weights @ (1.0 + near.sum(axis=1) + far.sum(axis=1)))
    if model.loss == "squared_hinge":
        rounding *= 1.0 + 2.0 * float(losses.max(initial=0.0))
        losses = losses**2
    return float(weights @ losses) + 0.5 * model.lam_ * float((M * M).sum()) + trace, rounding


def fuzz_rtlm(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", *RTLM)
    options = inputs.options(ScreenedRTLM, RTLM)
    X, y, plain, codes = metric_data(inputs)
    model = ScreenedRTLM(**options)
    calm = inputs.mild and not inputs.spoiled and not {"lam", "pull", "width"} & set(options)
    weights = inputs.junk("sample_weight", inputs.pick(None, np.ones(len(codes))))
    done = call(
        model.fit, X, y, sample_weight=weights,
        must_work=calm and len(codes) > 6,
    )  # fmt: skip
    if done.error is not None:
        return
    check_metric(model, X, done.unconverged)
    if inputs.spoiled or model.n_neighbors is not None or model.pull:
        return
    same = codes[:, None] == codes
    i, j, l = np.indices((len(codes),) * 3).reshape(3, -1)
    rows = np.stack([i, j, l], axis=1)[same[i, j] & ~same[i, l] & (i != j)]
    wanted, rounding = triplet_objective(model, plain, rows, np.ones(len(rows)))
    expect_close(model.objective_, wanted, rounding, "objective")


def fuzz_comparisons(inputs: Inputs) -> None:
    inputs.spoil("X", *LISTS, *RTLM)
    options = inputs.options(ScreenedRTLM, {k: v for k, v in RTLM.items() if k != "pull"})
    n, d = inputs.count(5, 14), inputs.pick(1, 2, 3, 6)
    X, plain = inputs.matrix("X", n, d, forms=DENSE)
    lists = comparisons(inputs, n)
    model = ScreenedRTLM(**options)
    done = call(model.fit, X, **lists)
    if done.error is not None:
        return
    check_metric(model, X, done.unconverged)
    if not inputs.spoiled and set(lists) <= {"triplets", "comparison_weight"}:
        rows = np.asarray(lists["triplets"])
        weights = np.asarray(lists.get("comparison_weight", np.ones(len(rows))))
        wanted, rounding = triplet_objective(model, plain, rows, weights)
        expect_close(model.objective_, wanted, rounding, "objective")


def fuzz_tuples(inputs: Inputs) -> None:
    kinds = (RTLMPairsClassifier, RTLMTripletsClassifier, RTLMQuadrupletsClassifier)
    size = inputs.pick(2, 3, 4)
    kind, name = kinds[size - 2], ("pairs", "triplets", "quadruplets")[size - 2]
    inputs.spoil("X", "y", name, "bounds", "calibration_params", "preprocessor", "sample_weight",
                 *RTLM)  # fmt: skip
    n, d, rng = inputs.count(5, 14), inputs.pick(1, 2, 3, 6), inputs.rng()
    X, plain = inputs.matrix("X", n, d, forms=DENSE)
    rows = np.array([rng.permutation(n)[:size] for _ in range(inputs.count(2, 30))])
    y = inputs.junk("y", np.where(rng.random(len(rows)) < 0.5, 1, -1))
    valid = {**RTLM, "bounds": (None, (1.0, 2.0), [1e-3, 1e3]), "n_components": (None, 1, 0.5)}
    model = kind(**inputs.options(kind, valid))
    tuples = plain[rows]
    if inputs.pick(False, True):
        tuples = rows
        model.set_params(preprocessor=inputs.junk("preprocessor", X))
    if name in inputs.spoiled:
        tuples = inputs.pick(tuples[:0], tuples[:, :1], tuples * np.nan, "text", None, 3, [[0]],
                             rows, rows.astype(str), tuples[None], [], -tuples)  # fmt: skip
    inputs.note(name, tuples)
    extra = {"sample_weight": inputs.junk("sample_weight", inputs.pick(None, np.ones(len(rows))))}
    if size == 2:
        extra["calibration_params"] = inputs.junk("calibration_params", inputs.pick(
            None, {}, {"strategy": "max_tpr", "min_rate": 0.5}, {"strategy": "f_beta"},
        ))  # fmt: skip
    done = call(model.fit, tuples, y, **extra)
    if done.error is not None:
        return
    expect_finite(model)
    expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
    expect(set(call(model.predict, tuples).result) <= {-1, 1}, "predictions")
    expect(np.all(np.isfinite(call(model.decision_function, tuples).result)), "decisions")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.components_, model.components_)


def fuzz_rtlm_path(inputs: Inputs) -> None:
    own = ("lams", "ratio", "stop", "n_lams", "ranges", "callbacks")
    inputs.spoil("X", "y", *own, *RTLM)
    fixed = ("lam", "max_iter")
    options = inputs.options(ScreenedRTLM, {k: v for k, v in RTLM.items() if k not in fixed})
    X, y, _, _ = metric_data(inputs)
    options["n_lams"] = inputs.junk("n_lams", inputs.pick(1, 3, 6))
    options["max_iter"] = 500
    for name, values in (
        ("lams", (None, [1.0], [1e-3, 1e3], (5.0, 5.0), [1e-2])), ("ratio", (0.9, 0.1, 1e-9)),
        ("stop", (0.01, 0.0, 1e9)), ("ranges", (False, True)), ("callbacks", ((),)),
    ):  # fmt: skip
        if name in inputs.spoiled or inputs.pick(False, True):
            options[name] = inputs.junk(name, inputs.pick(*values))
    if inputs.spoiled & {"n_lams", "ratio", "stop"}:
        # A whole path may take long.
        options["lams"] = [1.0, 0.5]
    done = call(rtlm_path, X, y, **options)
    if done.error is not None:
        return
    path = done.result
    for name in ("lams", "matrices", "objectives", "dual_gaps", "n_iters", "rates",
                 "path_rates", "seconds", "converged"):  # fmt: skip
        values = getattr(path, name)
        expect(len(values) == len(path) and np.all(np.isfinite(values)), name)
    for gap, converged in zip(path.dual_gaps, path.converged, strict=True):
        expect_certified(gap, float(path.model.tol), done.unconverged or not converged)
    if path.problem is not None:
        rates = path.range_rates
        expect(np.all(np.isfinite(rates[np.triu_indices(len(path))])), "range_rates")
    check_metric(path[len(path) - 1], X, True)


def fuzz_rtlm_cv(inputs: Inputs) -> None:
    search = {
        "lams": (2, 1, [0.1], [0.5, 1e-4]), "cv": (2, KFold(2), 3),
        "scoring": (None, "accuracy", "f1_macro"), "classifier": (None, GaussianNB()),
        "refit": (True, False),
    }  # fmt: skip
    inputs.spoil("X", "y", "groups", *search, *RTLM)
    valid = {**{k: v for k, v in RTLM.items() if k != "lam"}, **search}
    valid["n_jobs"] = (None, 1)
    options = {"lams": 2, "cv": 2, **inputs.options(ScreenedRTLMCV, valid)}
    options["max_iter"] = min(options["max_iter"], 500) if (
        isinstance(options.get("max_iter"), int) and "max_iter" not in inputs.spoiled
    ) else options.get("max_iter", 500)  # fmt: skip
    X, y, _, codes = metric_data(inputs)
    model = ScreenedRTLMCV(**options)
    groups = inputs.junk("groups", np.arange(len(codes)) % 2)
    done = call(model.fit, X, y, groups=groups)
    if done.error is None:
        expect_finite(model)
        expect(np.isfinite(model.best_score_), "scores")
        if model.refit:
            check_metric(model, X, True)


@cache
def cluster():
    """Return a client of workers in this process, made when it is needed."""
    from distributed import Client

    client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    atexit.register(client.close)
    return client


def fuzz_distributed_rtlm(inputs: Inputs) -> None:
    cluster()
    valid = {k: v for k, v in RTLM.items() if k not in ("active_set", "n_jobs", "max_iter")}
    valid["n_partitions"] = (None, 1, 3, 100)
    inputs.spoil("X", "y", *valid)
    options = {"max_iter": 30, **inputs.options(DistributedRTLM, valid)}
    X, y, _, _ = metric_data(inputs)
    model = DistributedRTLM(**options)
    done = call(model.fit, X, y)
    if done.error is None:
        check_metric(model, X, done.unconverged)


def fuzz_distributed_linear(inputs: Inputs) -> None:
    cluster()
    inputs.spoil("X", "y", "sample_weight", *DISTRIBUTED_LINEAR)
    options = {"max_iter": 20, **inputs.options(DistributedLinearSVC, DISTRIBUTED_LINEAR)}
    n_classes = inputs.pick(2, 3)
    n = inputs.count(2 * n_classes, 12)
    y, codes = inputs.labels("y", n, n_classes)
    X = inputs.numbers(n, 3, codes)
    if "X" in inputs.spoiled:
        X[0, 0] = inputs.pick(np.nan, np.inf, 1.0)
        X = inputs.pick(X, X[:-1], X[:, :0], X.astype(str), X.astype(complex))
    chunks = inputs.pick((n, 3), (4, 3), (3, 2))
    given = X if inputs.pick(True, False) and "X" in inputs.spoiled else da.from_array(X, chunks)
    weights = inputs.weights("sample_weight", n)[0]
    model = DistributedLinearSVC(**options)
    done = call(model.fit, given, y, sample_weight=weights)
    if done.error is None:
        if not np.all(np.isfinite(np.asarray(X, dtype=float))):
            raise Finding("wrong: fitted numbers that are not finite")
        expect_finite(model)
        expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
        scores = call(model.decision_function, given).result
        expect(np.all(np.isfinite(np.asarray(scores))), "scores")
        some = {key: value for key, value in options.items() if key not in ("C", "warm_start")}
        path = call(distributed_svc_path, given, y, [0.1, 1.0], sample_weight=weights, **some)
        if path.error is None:
            expect(np.all(np.isfinite(path.result.coefs)), "coefficients")


def fuzz_screen_triplets(inputs: Inputs) -> None:
    """Screen by a matrix, or by a fitted estimator, from labels or lists."""
    taken = ("loss", "n_neighbors", "diagonal", "pull", "linear_term")
    inputs.spoil("X", "y", "lam", "reference", "bound", "rule", "triplets", *taken)
    X, y, plain, codes = metric_data(inputs)
    options = inputs.options(ScreenedRTLM, {name: RTLM[name] for name in taken})
    d = plain.shape[1]
    reference = np.full(d, 0.1) if options.get("diagonal") is True else 0.1 * np.eye(d)
    if inputs.pick(False, True) and not inputs.spoiled:
        fitted = ScreenedRTLM(max_iter=100, **options)
        if call(fitted.fit, X, y).error is None:
            reference, options = fitted, {}
    triplets = None
    if "triplets" in inputs.spoiled or inputs.pick(False, True):
        rng = inputs.rng()
        triplets = np.array([rng.permutation(len(codes))[:3] for _ in range(10)])
        triplets, y = inputs.junk("triplets", triplets), None
    done = call(
        screen_triplets, X, y, triplets=triplets, lam=inputs.junk("lam", inputs.pick(0.1, 1e-3)),
        reference=inputs.junk("reference", reference),
        bound=inputs.junk("bound", inputs.pick("rrpb", "gap", ["dgb", "pgb"])),
        rule=inputs.junk("rule", inputs.pick(*RULES)),
        **options,
    )  # fmt: skip
    if done.error is None:
        found = done.result
        expect(np.isin(found.codes_, (0, 1, 2)).all() and 0.0 <= found.rate_ <= 1.0, "codes")
        expect(len(found.triplets_) == len(found.codes_) == len(found.intervals_), "lengths")


TARGETS = {
    "ScreenedRTLM": fuzz_rtlm,
    "ScreenedRTLM from comparisons": fuzz_comparisons,
    "tuples": fuzz_tuples,
    "screen_triplets": fuzz_screen_triplets,
    "rtlm_path": fuzz_rtlm_path,
    "ScreenedRTLMCV": fuzz_rtlm_cv,
    "DistributedRTLM": fuzz_distributed_rtlm,
    "DistributedLinearSVC": fuzz_distributed_linear,
}
