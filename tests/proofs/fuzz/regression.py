"""Fuzz targets: support vector regression."""

import pickle
from tempfile import TemporaryDirectory

import numpy as np

from skscreen import ScreenedLinearSVR, ScreenedSVR, ScreenedSVRCV, svr_certified_C, svr_path
from tests.proofs.fuzz.checks import call, expect, expect_certified, expect_finite
from tests.proofs.fuzz.inputs import DENSE, SPARSE, Inputs
from tests.proofs.fuzz.svm import (
    CERTIFIED,
    SEARCH,
    SVC,
    certified,
    may_be_indefinite,
    settle,
    sizes_of_terms,
    squared,
)

SVR = {
    **{name: values for name, values in SVC.items() if name not in ("class_weight", "n_jobs")},
    "epsilon": (0.1, 0.0, 1e-12, 1.0, 1e6, 1e300),
    "loss": ("epsilon_insensitive", "squared_epsilon_insensitive"),
}


def regression(inputs: Inputs, forms=SPARSE) -> tuple:
    """Return X, y and weights to give, and X and the weights as plain arrays."""
    n, d = inputs.count(2, 24), inputs.pick(1, 2, 3, 5, 40)
    X, plain = inputs.matrix("X", n, d, forms=forms)
    targets = inputs.numbers(n, 1)[:, 0]
    y = inputs.matrix("y", n, 1)[0] if "y" in inputs.spoiled else inputs.note("y", targets)
    weights, plain_weights = inputs.weights("sample_weight", n)
    return (X, y, weights), (plain, plain_weights)


def fuzz_svr(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", *SVR, "store")
    options = inputs.options(ScreenedSVR, SVR)
    given, (X, weights) = regression(inputs)
    settle(inputs, options)
    X = squared(inputs, options, X, given)
    given, X = (X, *given[1:]) if X is not None else given, X
    with TemporaryDirectory() as folder:
        if inputs.pick(False, False, False, True) and not callable(options.get("kernel")):
            options["store"] = inputs.junk("store", folder)
        model = ScreenedSVR(**options)
        for _ in range(2 if options.get("store") is folder else 1):
            done = call(
                model.fit, given[0], given[1], sample_weight=given[2],
                must_work=inputs.mild and "solver" not in options and 0.0 < weights.min(),
            )  # fmt: skip
    if done.error is not None:
        return
    expect_finite(model)
    if not (may_be_indefinite(model.kernel, model.coef0) and np.isnan(model.dual_gap_)):
        expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
    found = np.asarray(call(model.predict, given[0]).result)
    expect(np.all(np.isfinite(found)), "predictions are not finite")
    if not callable(model.kernel):
        again = pickle.loads(pickle.dumps(model)).predict(given[0])
        rounding = 0.0 if model.kernel == "linear" else 1e-12 * sizes_of_terms(model, given[0])
        np.testing.assert_allclose(again, found, rtol=0.0, atol=rounding)


def fuzz_linear_svr(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", *SVR)
    options = inputs.options(ScreenedLinearSVR, SVR)
    given, (_, weights) = regression(inputs)
    settle(inputs, options)
    model = ScreenedLinearSVR(**options)
    done = call(
        model.fit, given[0], given[1], sample_weight=given[2],
        must_work=inputs.mild and "solver" not in options and 0.0 < weights.min(),
    )  # fmt: skip
    if done.error is None:
        expect_finite(model)
        expect_certified(model.dual_gap_, float(model.tol), done.unconverged)
        expect(model.coef_.shape == (model.n_features_in_,), "coef_ is not a vector")


def fuzz_svr_path(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "Cs", "eps", "C_max", *SVR)
    options = inputs.options(ScreenedSVR, {k: v for k, v in SVR.items() if k != "C"})
    given, (X, _) = regression(inputs)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    if inputs.pick(True, False) or "Cs" in inputs.spoiled:
        options["Cs"] = inputs.junk("Cs", inputs.pick([1.0], [2.0, 0.1], [1e-9, 1e-3, 1e5]))
    else:
        options["eps"] = inputs.junk("eps", inputs.pick(None, 0.5, 0.1))
        options["C_max"] = inputs.junk("C_max", inputs.pick(10.0, 1e-9, 1e3))
    done = call(svr_path, X, given[1], sample_weight=given[2], **options)
    if done.error is not None:
        return
    path = done.result
    # Its matrix may be indefinite: a gap is NaN where there is no certificate.
    uncertified = may_be_indefinite(options.get("kernel"), options.get("coef0", 0.0))
    for name in ("Cs", "intercepts", "dual_coefs", "objectives", "dual_gaps", "rates"):
        known = np.isfinite(getattr(path, name)) | (name == "dual_gaps" and uncertified)
        expect(np.all(known), f"{name} is not finite")
    expect(np.all(np.diff(path.Cs) > 0.0), "C does not ascend")
    for k, converged in enumerate(path.converged):
        tol = path.model.tol if options.get("Cs") is not None else 1.0
        if not (uncertified and np.isnan(path.dual_gaps[k])):
            expect_certified(path.dual_gaps[k], tol, done.unconverged or not converged)
    expect(np.all(np.isfinite(call(path[0].predict, X).result)), "predictions")


def fuzz_svr_cv(inputs: Inputs) -> None:
    inputs.spoil("X", "y", "sample_weight", "groups", "epsilons", "gammas", *SEARCH, *SVR)
    valid = {**{k: v for k, v in SVR.items() if k != "C"}, **SEARCH, "n_jobs": (None, 1)}
    valid["scoring"] = (None, "r2", "neg_mean_absolute_error", lambda *args: 0.5)
    valid |= {"epsilons": (None, [0.1], [0.0, 1.0]), "gammas": (None, ["scale", 0.1], [1e-3, 1.0])}
    options = {"Cs": 2, **inputs.options(ScreenedSVRCV, valid)}
    given, (X, _) = regression(inputs)
    groups = inputs.junk("groups", np.arange(len(X)) % 3)
    kernel = squared(inputs, options, X, given)
    X = given[0] if kernel is None else kernel
    model = ScreenedSVRCV(**options)
    done = call(model.fit, X, given[1], sample_weight=given[2], groups=groups)
    if done.error is not None:
        return
    expect_finite(model)
    expect(model.C_ > 0.0, "C_")
    if model.refit:
        expect(np.all(np.isfinite(call(model.predict, X).result)), "predictions")


def fuzz_certified_c(inputs: Inputs) -> None:
    inputs.spoil(*CERTIFIED, *SVR)
    valid = {k: v for k, v in SVR.items() if k not in ("C", "gamma", "coef0", "degree")}
    options = inputs.options(ScreenedSVR, valid)
    given, (X, _) = regression(inputs, DENSE)
    done = certified(inputs, svr_certified_C, options, given, X, (0.1, 0.5, 10.0))
    if done.error is None:
        found = done.result
        expect(0.0 <= found.lower_bound <= found.validation_error <= found.upper_bound, "bounds")


TARGETS = {
    "ScreenedSVR": fuzz_svr,
    "ScreenedLinearSVR": fuzz_linear_svr,
    "svr_path": fuzz_svr_path,
    "ScreenedSVRCV": fuzz_svr_cv,
    "svr_certified_C": fuzz_certified_c,
}
