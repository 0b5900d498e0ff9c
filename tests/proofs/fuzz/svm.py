"""Fuzz targets: the estimators, paths and searches of support vector machines."""

import pickle
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.model_selection import KFold, LeaveOneGroupOut

from skscreen import (
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedSVC,
    ScreenedSVCCV,
    screen_samples,
    svc_certified_C,
    svc_path,
    to_sklearn,
)
from tests.proofs.fuzz.checks import (
    call,
    expect,
    expect_certified,
    expect_close,
    expect_finite,
    svm_objectives,
)
from tests.proofs.fuzz.inputs import DENSE, SPARSE, Inputs

WEIGHTS = (None, "balanced", {}, {0: 2.0}, {0: 0.0}, {0: 1e8, 1: 1e-8})
SVC = {
    "C": (1.0, 1e-300, 1e-8, 1e3, 1e6, 1e12, 1e300, 5, np.float32(0.5)),
    "loss": ("hinge", "squared_hinge"),
    "kernel": ("linear", "rbf", "poly", "sigmoid", "precomputed", lambda A, B: A @ B.T),
    "gamma": ("scale", "auto", 1e-12, 1.0, 1e12),
    "degree": (0, 1, 2, 30),
    "coef0": (0.0, 1.0, -1.0, 1e10),
    "fit_intercept": (True, False),
    "intercept": ("penalised", "free"),
    "intercept_scaling": (1.0, 1e-8, 1e8, 1e200),
    "screening": (True, "ball1", "ball2", "gap", False),
    "solver": ("auto", "coordinate-descent", "second-order"),
    "tol": (1e-6, 1e-1, 1e-12, 1e-300, 1e300),
    "max_iter": (None, 1, 7, 1000),
    "class_weight": WEIGHTS,
    "cache_size": (1000, 1e-9, 1e-3, 1e30),
    "n_jobs": (None, 1, 2, -1),
    "verbose": (0, 0, False),
    "random_state": (None, 0, 7, np.random.RandomState(0)),
}
LINEAR = {
    **{name: SVC[name] for name in SVC if name not in (
        "kernel", "gamma", "degree", "coef0", "intercept", "cache_size", "solver",
    )},
    "penalty": ("l1", "l2"),
    "multi_class": ("ovr", "crammer_singer"),
    "dual": ("auto", True, False),
    "solver": ("auto", "coordinate-descent", "second-order"),
}  # fmt: skip
PRAGAM = {
    "C": SVC["C"],
    "fit_intercept": (True, False),
    "solver": ("auto", "pragam", "bmrm", "ls-bmrm", "pegasos"),
    "lipschitz": ("auto", 1e-8, 1.0, 1e8),
    "restart": (True, False),
    "batch_size": (None, 1, 3, 10**6),
    "projection": (True, False),
    "tol": (1e-4, 1e-1, 1e-10, 1e300),
    # By default 100,000, which take some eight seconds.
    "max_iter": (20_000, 1, 7, 300),
    "class_weight": WEIGHTS,
    "warm_start": (False, True),
    "n_jobs": (None, 1, 2),
    "verbose": (0, False),
    "random_state": SVC["random_state"],
}
SEARCH = {
    "Cs": (3, 1, [1.0], [0.1, 10.0], np.array([1e-12, 1.0, 1e6])),
    "cv": (None, 2, KFold(2), LeaveOneGroupOut(), [([0, 1, 2, 3], [1, 2])]),
    "scoring": (None, "accuracy", "balanced_accuracy", "roc_auc", lambda *args: 0.5),
    "refit": (True, False),
}
# Parameters whose extreme values excuse a refusal.
EXTREMES = ("C", "gamma", "degree", "coef0", "intercept_scaling", "kernel", "class_weight")


def classification(inputs: Inputs, forms, most_classes: int = 4) -> tuple:
    """Return X, y and weights to give, and the same as plain arrays."""
    n_classes = inputs.pick(2, 2, 2, 3, most_classes)
    n, d = inputs.count(2 * n_classes, 24), inputs.pick(1, 2, 3, 5, 40)
    y, codes = inputs.labels("y", n, n_classes)
    X, plain = inputs.matrix("X", n, d, codes, forms=forms)
    weights, plain_weights = inputs.weights("sample_weight", n)
    return (X, y, weights), (plain, codes, plain_weights)


def settle(inputs: Inputs, options: dict) -> None:
    """Decide whether the drawn options are mild."""
    if any(name in options for name in EXTREMES) or inputs.spoiled:
        inputs.mild = False
    # What is spoiled may have no truth value.
    if not inputs.spoiled and options.get("penalty") == "l1" and options.get("loss") == "hinge":
        inputs.mild = False


def fuzz_svc(inputs: Inputs) -> None:
    fuzz_one_svc(inputs, ScreenedSVC, SVC)


def fuzz_linear_svc(inputs: Inputs) -> None:
    fuzz_one_svc(inputs, ScreenedLinearSVC, LINEAR)


def fuzz_one_svc(inputs: Inputs, kind: type, valid: dict) -> None:
    """Fit an estimator, perhaps twice with a store, and check what it has learned."""
    inputs.spoil("X", "y", "sample_weight", *valid, "store")
    options = inputs.options(kind, valid)
    given, (X, codes, weights) = classification(inputs, SPARSE)
    settle(inputs, options)
    X = squared(inputs, options, X, given)
    given, X = (X, *given[1:]) if X is not None else given, X
    with TemporaryDirectory() as folder:
        if "store" in inputs.spoiled:
            options["store"] = inputs.junk("store", None)
            if isinstance(options["store"], str | bytes):
                options["store"] = 0
        elif inputs.pick(False, False, False, True) and not callable(options.get("kernel")):
            options["store"] = folder
        model = kind(**options)
        rounds = 2 if options.get("store") is folder else 1
        for _ in range(rounds):
            done = call(
                model.fit, given[0], given[1], sample_weight=given[2],
                must_work=inputs.mild and "solver" not in options and 0.0 < weights.min(),
            )  # fmt: skip
    if done.error is None:
        check_svc(inputs, model, given, codes, weights, done.unconverged)


def squared(inputs: Inputs, options: dict, X, given):
    """Return the kernel matrix of samples where that is what X must be, else nothing."""
    kernel = options.get("kernel")
    if not isinstance(kernel, str) or kernel != "precomputed" or "X" in inputs.spoiled:
        return None
    with np.errstate(all="ignore"):
        K = X @ X.T
    # Where products underflow, they are those of no samples.
    return K if np.all(np.isfinite(K)) and np.abs(K).max() > 1e-250 else np.eye(len(X))


def may_be_indefinite(kernel, coef0) -> bool:
    """Whether a kernel has indefinite matrices, whose solutions have no certificate.

    A function has, where its products underflow.
    """
    indefinite = kernel == "sigmoid" or (kernel == "poly" and float(coef0) < 0.0)
    return indefinite or callable(kernel)


def check_svc(inputs: Inputs, model, given, codes, weights, unconverged: bool) -> None:
    """Check what a fit has learned, on what it was given."""
    X, y, _ = given
    expect_finite(model)
    uncertified = may_be_indefinite(model.kernel, getattr(model, "coef0", 0.0))
    if not (uncertified and np.isnan(model.dual_gap_)):
        expect_certified(model.dual_gap_, float(model.tol), unconverged)
    scores = np.asarray(call(model.decision_function, X).result)
    expect(np.all(np.isfinite(scores)), "scores are not finite")
    labels = call(model.predict, X).result
    expect(set(labels.tolist()) <= set(model.classes_.tolist()), "classes that are none")
    again = pickle.loads(pickle.dumps(model)) if not callable(model.kernel) else model
    # Kernel values that are known from before are added up in another order.
    rounding = 0.0 if model.kernel == "linear" else 1e-12 * sizes_of_terms(model, X)
    np.testing.assert_allclose(again.decision_function(X), scores, rtol=0.0, atol=rounding)
    if inputs.spoiled & {"X", "y", "sample_weight", "class_weight"} or callable(model.kernel):
        return
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    y = np.ravel(np.asarray(y))
    if y.dtype == object:
        y = y.astype(str)
    if isinstance(model.class_weight, dict) and model.class_weight:
        return
    if model.kernel != "linear" and not inputs.mild:
        # Kernels of samples far from the origin, or of any power, are rounding errors in part.
        return
    if getattr(model, "multi_class", "ovr") == "ovo" and model.classes_.size > 2:
        # The formula is for problems of all samples, not of those of two classes.
        return
    if model.penalty == "l1" or getattr(model, "multi_class", "ovr") == "crammer_singer":
        return
    if any(not weights[codes == k].any() for k in np.unique(codes)):
        # A class without weight has a score, but no problem.
        return
    found, at_zero, rounding = svm_objectives(model, X, y, weights)
    for k, value in enumerate(found):
        expect_close(float(np.ravel(model.objective_)[k]), value, rounding, "objective")
        if not unconverged and model.tol <= 1e-3:
            expect(value <= at_zero[k] * (1.0 + 2e-3) + rounding, "worse than w = 0")


def sizes_of_terms(model, X) -> float:
    """Return the largest sum of absolute terms of a decision value."""
    X = X.tocsr() if hasattr(X, "tocsr") else np.ascontiguousarray(X, dtype=np.float64)
    if not hasattr(model, "support_"):
        return float((abs(X) @ np.abs(model.coef_).T).max(initial=0.0))
    if model.kernel == "precomputed":
        X = X[:, model.support_]
    elif callable(model.kernel):
        X = model._decision.kernel.function.to_training(X)[:, model.support_]
    vectors, kernel = model.support_vectors_, model._decision.kernel
    one_by_one = kernel.scores(X, vectors, np.eye(len(model.support_)))
    return float((np.abs(one_by_one) @ np.abs(model.dual_coef_.T)).max(initial=0.0))


def fuzz_svc_path(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "Cs", "eps", "C_max", "callbacks", *SVC)
    options = inputs.options(ScreenedSVC, {k: v for k, v in SVC.items() if k != "C"})
    given, (X, _, _) = classification(inputs, SPARSE)
    kernel = squared(inputs, options, X, given)
    if inputs.pick(True, False) or "Cs" in inputs.spoiled:
        options["Cs"] = inputs.junk("Cs", inputs.pick([1.0], [2.0, 0.1], [1e-9, 1e-3, 1e5], (1, 1)))
    else:
        options["eps"] = inputs.junk("eps", inputs.pick(None, 0.5, 0.1))
        options["C_max"] = inputs.junk("C_max", inputs.pick(10.0, 1e-9, 1e3))
    if "callbacks" in inputs.spoiled:
        options["callbacks"] = inputs.junk("callbacks", ())
    X = given[0] if kernel is None else kernel
    done = call(svc_path, X, given[1], sample_weight=given[2], **options)
    if done.error is not None:
        return
    path = done.result
    # Its matrix may be indefinite: a gap is NaN where there is no certificate.
    uncertified = may_be_indefinite(options.get("kernel"), options.get("coef0", 0.0))
    for name in ("Cs", "intercepts", "dual_coefs", "objectives", "dual_gaps", "n_iters", "rates",
                 "path_rates", "seconds", "converged"):  # fmt: skip
        values = getattr(path, name)
        expect(len(values) == len(path), name)
        known = np.isfinite(values) | (name == "dual_gaps" and uncertified)
        expect(np.all(known), f"{name} is not finite")
    expect(np.all(np.diff(path.Cs) > 0.0), "C does not ascend")
    for k, converged in enumerate(path.converged):
        tol = path.model.tol if options.get("Cs") is not None else 1.0
        if not (uncertified and np.isnan(path.dual_gaps[k])):
            expect_certified(path.dual_gaps[k], tol, done.unconverged or not converged)
    model = path[len(path) - 1]
    expect_finite(model)
    expect(np.all(np.isfinite(call(model.decision_function, X).result)), "scores")


L1_PATH = {
    **{name: LINEAR[name] for name in LINEAR if name not in (
        "C", "dual", "multi_class", "penalty", "loss",
    )},
    "loss": ("squared_hinge",),
    "kernel": ("linear",),
    "intercept": ("penalised",),
    "gamma": SVC["gamma"],
}  # fmt: skip


def fuzz_l1_path(inputs: Inputs) -> None:
    """Follow the path of an L1 penalty, and check objectives and what is decided of features."""
    inputs.spoil("X", "y", "sample_weight", "Cs", "eps", "penalty", *L1_PATH)
    options = inputs.options(ScreenedSVC, L1_PATH)
    given, (X, _, weights) = classification(inputs, SPARSE)
    Cs = inputs.junk("Cs", inputs.pick([1.0], [2.0, 0.1], [1e-9, 1e-3, 1e5], (1, 1)))
    done = call(
        svc_path, given[0], given[1], Cs, penalty=inputs.junk("penalty", "l1"),
        sample_weight=given[2], **options,
    )  # fmt: skip
    if done.error is not None or done.result.model.penalty != "l1":
        return
    path = done.result
    expect(np.all(np.diff(path.Cs) > 0.0), "C does not ascend")
    for name in ("intercepts", "objectives", "dual_gaps", "n_iters", "rates", "seconds"):
        expect(np.all(np.isfinite(getattr(path, name))), f"{name} is not finite")
    expect(np.all((path.rates >= 0.0) & (path.rates <= 1.0)), "rates")
    plain = not inputs.spoiled and not options.get("class_weight") and np.all(weights > 0.0)
    for k, model in enumerate(path):
        expect_finite(model)
        converged = bool(path.converged[k]) and not done.unconverged
        expect_certified(path.dual_gaps[k], float(path.model.tol), not converged)
        if plain:
            check_l1(model, X, np.ravel(np.asarray(given[1])), weights)


def check_l1(model, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
    """Check the objectives of a model with an L1 penalty by its formula."""
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    scores = X @ coef.T + model.intercept_
    for k in range(len(coef)):
        signs = np.where(y == model.classes_[1 if len(coef) == 1 else k], 1.0, -1.0)
        size = np.abs(coef[k]).sum()
        if model.fit_intercept:
            size += abs(model.intercept_[k]) / model.intercept_scaling
        losses = np.maximum(1.0 - signs * scores[:, k], 0.0) ** 2
        terms = (1.0 + np.abs(X) @ np.abs(coef[k]) + abs(model.intercept_[k])) ** 2
        rounding = 1e-12 * model.C * float(weights @ terms)
        found = float(np.ravel(model.objective_)[k])
        expect_close(found, size + model.C * float(weights @ losses), rounding, "objective")


def fuzz_svc_cv(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "groups", "certify", "gammas", *SEARCH, *SVC)
    # Folds in processes of their own would be most of the time.
    valid = {**{k: v for k, v in SVC.items() if k != "C"}, **SEARCH, "certify": (None, 0.3, 0.9)}
    valid["gammas"] = (None, [0.5, "scale"], ["auto"])
    valid["n_jobs"] = (None, 1)
    options = {"Cs": 3, **inputs.options(ScreenedSVCCV, valid)}
    given, (X, codes, _) = classification(inputs, SPARSE, most_classes=3)
    kernel = squared(inputs, options, X, given)
    groups = inputs.junk("groups", np.arange(len(codes)) % 3)
    model = ScreenedSVCCV(**options)
    X = given[0] if kernel is None else kernel
    done = call(model.fit, X, given[1], sample_weight=given[2], groups=groups)
    if done.error is not None:
        return
    expect_finite(model)
    expect(model.C_ > 0.0, "C_")
    if model.refit:
        expect(np.all(np.isfinite(call(model.decision_function, X).result)), "scores")


# What a certified choice of C takes beside the parameters of its estimator.
CERTIFIED = (
    "X", "y", "sample_weight", "X_val", "sample_weight_val", "C_range", "eps", "diagonal_val",
    "n_grid", "max_solves",
)  # fmt: skip


def certified(inputs: Inputs, search, options: dict, given, X, eps):
    """Call a certified choice of C, and check that it warns where it proves less than asked for."""
    X_val = given[0] if "X_val" not in inputs.spoiled else inputs.matrix("X_val", 5, 3)[0]
    weights = inputs.weights("sample_weight_val", len(X))[0]
    kernel = squared(inputs, options, X, given)
    X = given[0]
    if kernel is not None:
        X = X_val = kernel
        options["diagonal_val"] = inputs.junk("diagonal_val", np.diagonal(kernel).copy())
    for name, value in (("eps", inputs.pick(*eps)), ("n_grid", 3), ("max_solves", 30)):
        options[name] = inputs.junk(name, value)
    span = inputs.junk("C_range", inputs.pick((0.1, 1.0), (1e-6, 1e3), [1.0, 1.0 + 1e-12]))
    done = call(
        search, X, given[1], X_val, given[1], span, sample_weight=given[2],
        sample_weight_val=weights, **options,
    )  # fmt: skip
    if done.error is None:
        expect(done.result.converged or done.unconverged, "less was proved, without a warning")
        expect_finite(done.result.estimator)
    return done


def fuzz_certified_c(inputs: Inputs) -> None:
    inputs.spoil(*CERTIFIED, *SVC)
    valid = {k: v for k, v in SVC.items() if k not in ("C", "gamma", "coef0", "degree")}
    options = inputs.options(ScreenedSVC, valid)
    given, (X, _, _) = classification(inputs, DENSE)
    done = certified(inputs, svc_certified_C, options, given, X, (0.1, 0.5, 0.01))
    if done.error is None:
        low, error, high = (
            done.result.lower_bound, done.result.validation_error, done.result.upper_bound,
        )  # fmt: skip
        expect(low <= error + 1e-9 <= high + 2e-9, "bounds")
        expect(0.0 <= low <= high <= 1.0 + 1e-9, "range of the bounds")


def fuzz_to_sklearn(inputs: Inputs) -> None:
    inputs.spoil("model")
    _, (X, y, weights) = classification(inputs, SPARSE)
    name = inputs.pick("rbf", "linear", "poly")
    model = inputs.pick(
        ScreenedSVC(kernel=name), ScreenedSVC(kernel=name, multi_class="ovr"), ScreenedLinearSVC()
    )
    if call(model.fit, X, y, weights).error is not None:
        return
    done = call(to_sklearn, inputs.junk("model", model))
    if done.error is None and not inputs.spoiled:
        peer = done.result
        if model.classes_.size == peer.classes_.size:
            scores, others = (each.decision_function(X) for each in (model, peer))
            # Votes of pairs depend on signs of scores, which rounding errors may turn.
            size = 1.0 + np.abs(scores).max() + sizes_of_terms(model, X)
            off = float(np.median(np.abs(scores - others)))
            # Which of two equal samples' votes counts is a matter of the last digit.
            if len(np.unique(scores, axis=0)) > 1:
                expect_close(off, 0.0, 1e-9 * size + apart(model, X), "scores")


def apart(model, X) -> float:
    """Return how far scores by weights and by dual variables are apart, with a linear kernel.

    That is what the tolerance leaves, where weights of samples span many decades.
    """
    if model.get_params().get("kernel") != "linear":
        return 0.0
    given = model.dual_coef_ @ model.support_vectors_
    if np.shape(given) != np.shape(model.coef_):
        return np.inf
    return 2.0 * float(np.abs(X @ (model.coef_ - given).T).max())


def fuzz_screen_samples(inputs: Inputs) -> None:
    """Screen from a fitted estimator, or from numbers, and check what is printed of it."""
    taken = ("gamma", "degree", "coef0", "loss", "intercept_scaling", "class_weight")
    valid = {**{name: SVC[name] for name in taken}, "kernel": SVC["kernel"][:-1]}
    inputs.spoil("X", "y", "sample_weight", "C", "reference", "intercept", "tests", *taken)
    given, (X, codes, _) = classification(inputs, SPARSE)
    options = inputs.options(ScreenedSVC, valid)
    kernel = squared(inputs, options, X, given)
    weights = np.linspace(-1.0, 1.0, X.shape[1]), inputs.pick(0.0, -3.0, [1.0])
    X = given[0] if kernel is None else kernel
    numbers = np.zeros(len(codes)), np.linspace(0.0, 1.0, len(codes))
    reference = inputs.pick(*numbers, np.stack(numbers), weights, None)
    if reference is None:
        mild = {name: options[name] for name in options if name in ("kernel", "loss")}
        mild["kernel"] = mild.get("kernel") if mild.get("kernel") == "precomputed" else "rbf"
        reference = ScreenedSVC(max_iter=100, **mild)
        if call(reference.fit, X, given[1], sample_weight=given[2]).error:
            return
    elif "kernel" not in options:
        options["kernel"] = "linear"
    options["intercept"] = inputs.junk("intercept", inputs.pick("free", "penalised", "none"))
    options["tests"] = inputs.junk("tests", inputs.pick("intersection", "ball1", "ball2", "gap"))
    done = call(
        screen_samples, X, given[1], inputs.junk("C", inputs.pick(1.0, 1e-8, 1e6)),
        reference=inputs.junk("reference", reference), multi_class=inputs.pick(None, "ovr", "ovo"),
        sample_weight=given[2], **options,
    )  # fmt: skip
    if done.error is None:
        found = done.result
        expect(np.isin(found.codes_, (0, 1, 2)).all() and 0.0 <= found.rate_ <= 1.0, "codes")
        expect(not np.any(found.bounds_[..., 0] > found.bounds_[..., 1] + 1e-6), "bounds")
        call(found.reduced_problem)


def fuzz_pragam(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "store", *PRAGAM)
    options = {"max_iter": 2000, **inputs.options(PragamSVC, PRAGAM)}
    given, (X, codes, weights) = classification(inputs, SPARSE)
    settle(inputs, options)
    model = PragamSVC(**options)
    for _ in range(1 + (options.get("warm_start") is True)):
        done = call(model.fit, given[0], given[1], sample_weight=given[2])
        if done.error is not None:
            return
    expect_finite(model)
    expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
    scores = np.asarray(call(model.decision_function, given[0]).result)
    expect(np.all(np.isfinite(scores)), "scores are not finite")
    call(model.predict, given[0])
    if inputs.spoiled & {"X", "y", "sample_weight", "class_weight"} or model.class_weight:
        return
    if any(not weights[codes == k].any() for k in np.unique(codes)):
        # A class without weight has a score, but no problem.
        return
    y, scores = np.unique(np.ravel(np.asarray(given[1])).astype(str), return_inverse=True)[1], (
        scores.reshape(len(codes), -1)
    )  # fmt: skip
    if len(np.unique(y)) != len(model.classes_) or np.asarray(given[1]).dtype.kind not in "OU":
        y = np.unique(np.ravel(np.asarray(given[1])), return_inverse=True)[1]
    lam = 1.0 / (float(model.C) * weights.sum())
    for k in range(scores.shape[1]):
        signs = np.where(y == (1 if scores.shape[1] == 1 else k), 1.0, -1.0)
        loss = weights @ np.maximum(0.0, 1.0 - signs * scores[:, k]) / weights.sum()
        wanted = 0.5 * lam * float(model.coef_[k] @ model.coef_[k]) + loss
        size = np.abs(X).max(initial=0.0) * np.abs(model.coef_[k]).sum() + abs(model.intercept_[k])
        expect_close(np.atleast_1d(model.objective_)[k], wanted, 1e-9 * (1.0 + size), "objective")


TARGETS = {
    "ScreenedLinearSVC": fuzz_linear_svc,
    "ScreenedSVC": fuzz_svc,
    "svc_path": fuzz_svc_path,
    "svc_path with L1 penalty": fuzz_l1_path,
    "ScreenedSVCCV": fuzz_svc_cv,
    "svc_certified_C": fuzz_certified_c,
    "screen_samples": fuzz_screen_samples,
    "to_sklearn": fuzz_to_sklearn,
    "PragamSVC": fuzz_pragam,
}
