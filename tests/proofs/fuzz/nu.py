"""Fuzz targets: one-class machines, classification and regression at a nu, and their paths."""

import numpy as np

from skscreen import (
    ScreenedNuSVC,
    ScreenedNuSVR,
    ScreenedOneClassSVM,
    nu_svc_path,
    nu_svr_path,
    one_class_path,
)
from tests.proofs.fuzz.checks import call, expect, expect_certified, expect_finite
from tests.proofs.fuzz.inputs import SPARSE, Inputs
from tests.proofs.fuzz.regression import regression
from tests.proofs.fuzz.svm import SVC, classification, may_be_indefinite, settle, squared

NU = {
    "nu": (0.5, 0.1, 1e-6, 1e-300, 1.0, 1, np.float32(0.25)),
    **{
        name: SVC[name]
        for name in ("kernel", "gamma", "degree", "coef0", "tol", "max_iter", "cache_size",
                     "verbose")
    },
}  # fmt: skip
ONE_CLASS = {**NU, "shape": ("plane", "plane", "sphere")}
CLASSES = {
    **NU,
    "multi_class": ("ovo", "ovr"),
    "decision_function_shape": ("ovr", "ovo"),
    "break_ties": (False, True),
    **{name: SVC[name] for name in ("class_weight", "n_jobs", "random_state")},
}
REGRESSION = {**NU, "C": SVC["C"]}
NUS = (None, [0.5], [0.1, 0.3], np.array([1e-3, 0.2, 1.0]), (1e-12, 0.5))


def samples(inputs: Inputs) -> tuple:
    """Return X and weights to give, and the same as plain arrays."""
    n, d = inputs.count(1, 24), inputs.pick(1, 2, 3, 5, 40)
    X, plain = inputs.matrix("X", n, d, forms=SPARSE)
    weights, plain_weights = inputs.weights("sample_weight", n)
    return X, weights, plain, plain_weights


def check(model, done) -> bool:
    """Check what a fit has learned; return whether there is a model."""
    if done.error is not None:
        return False
    uncertified = may_be_indefinite(model.kernel, model.coef0) and np.isnan(model.dual_gap_)
    if not uncertified:
        expect_finite(model)
        expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
    return not uncertified


def fuzz_one_class(inputs: Inputs) -> None:
    inputs.spoil("X", "sample_weight", *ONE_CLASS)
    options = inputs.options(ScreenedOneClassSVM, ONE_CLASS)
    X, weights, plain, plain_weights = samples(inputs)
    settle(inputs, options)
    kernel = squared(inputs, options, plain, X)
    X = X if kernel is None else kernel
    model = ScreenedOneClassSVM(**options)
    if not check(model, call(model.fit, X, sample_weight=weights)):
        return
    done = call(model.predict, X)
    if done.error is not None:
        # A kernel matrix does not tell where new samples are to a sphere.
        expect(model.shape == "sphere", "no prediction")
        return
    sides = np.asarray(done.result)
    expect(set(sides.tolist()) <= {1, -1}, "sides that are none")
    if not inputs.spoiled and not callable(model.kernel) and inputs.mild:
        share = float(plain_weights @ (sides < 0)) / plain_weights.sum()
        expect(share <= float(model.nu) * (1.0 + 1e-9), "more outliers than nu")
    if model.kernel != "precomputed" and not callable(model.kernel):
        expect(np.asarray(call(model.certain, X).result).dtype == bool, "certain")
    call(model.screened, X, sample_weight=weights)
    call(model.calibrate_offset, X, inputs.pick(0.5, 0.9, 0.01))


def fuzz_nu_svc(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", *CLASSES)
    options = inputs.options(ScreenedNuSVC, CLASSES)
    given, (X, _, _) = classification(inputs, SPARSE)
    settle(inputs, options)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    model = ScreenedNuSVC(**options)
    if not check(model, call(model.fit, X, given[1], sample_weight=given[2])):
        return
    scores = np.asarray(call(model.decision_function, X).result)
    expect(np.all(np.isfinite(scores)), "scores are not finite")
    call(model.predict, X)
    call(model.screened, X, given[1], sample_weight=given[2])


def fuzz_nu_svr(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", *REGRESSION)
    options = inputs.options(ScreenedNuSVR, REGRESSION)
    given, (X, _) = regression(inputs)
    settle(inputs, options)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    model = ScreenedNuSVR(**options)
    if not check(model, call(model.fit, X, given[1], sample_weight=given[2])):
        return
    found = np.asarray(call(model.predict, X).result)
    expect(np.all(np.isfinite(found)), "predictions are not finite")
    call(model.screened, X, given[1], sample_weight=given[2])


def along(inputs: Inputs, path, given: tuple, weights, options: dict) -> None:
    """Check a path."""
    options = {**options, "nus": inputs.junk("nus", inputs.pick(*NUS))}
    done = call(path, *given, sample_weight=weights, **options)
    if done.error is not None:
        return
    found = done.result
    for name in ("nus", "objectives", "dual_gaps", "n_iters", "seconds", "converged"):
        expect(len(getattr(found, name)) == len(found), name)
    expect(np.all(np.diff(found.nus) > 0.0), "nu does not ascend")
    expect(found[0].nu == found.nus[0], "nu of an estimator")


def fuzz_one_class_path(inputs: Inputs) -> None:
    inputs.spoil("X", "sample_weight", "nus", *ONE_CLASS)
    options = inputs.options(one_class_path, ONE_CLASS)
    X, weights, plain, _ = samples(inputs)
    kernel = squared(inputs, options, plain, X)
    along(inputs, one_class_path, (X if kernel is None else kernel,), weights, options)


def fuzz_nu_svc_path(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "nus", *CLASSES)
    options = inputs.options(nu_svc_path, CLASSES)
    given, (X, _, _) = classification(inputs, SPARSE)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    along(inputs, nu_svc_path, (X, given[1]), given[2], options)


def fuzz_nu_svr_path(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "nus", *REGRESSION)
    options = inputs.options(nu_svr_path, REGRESSION)
    given, (X, _) = regression(inputs)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    along(inputs, nu_svr_path, (X, given[1]), given[2], options)


TARGETS = {
    "ScreenedOneClassSVM": fuzz_one_class,
    "ScreenedNuSVC": fuzz_nu_svc,
    "ScreenedNuSVR": fuzz_nu_svr,
    "one_class_path": fuzz_one_class_path,
    "nu_svc_path": fuzz_nu_svc_path,
    "nu_svr_path": fuzz_nu_svr_path,
}
