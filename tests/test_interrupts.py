"""A fit that is interrupted at any line leaves no half of a model, and the store sound."""

import signal
import sys
import time
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info

from skscreen import (
    ChainCRF,
    ConceptEmbedding,
    KernelChainClassifier,
    MaxMarginChain,
    OrdinalEmbedding,
    PragamSVC,
    ScreenedLinearSVC,
    ScreenedRTLM,
    ScreenedRTLMCV,
    ScreenedSVC,
    ScreenedSVCCV,
    Store,
    rtlm_path,
    svc_path,
)
from skscreen.datasets import make_triplets

X, y = load_wine(return_X_y=True)
X, y = scale(X)[::3, :4], y[::3]
TRIPLETS = make_triplets(X[:12], 200, random_state=0)
ODD = np.arange(len(TRIPLETS)) % 3
CHAINS = np.split(X, 6), np.split(y, [10, 20, 30, 40, 50])
CHAINS = np.split(X, [10, 20, 30, 40, 50]), CHAINS[1]

FITS = {
    "ScreenedSVC": (ScreenedLinearSVC(random_state=0), (X, y)),
    "ScreenedSVC, kernel": (ScreenedSVC(kernel="rbf", intercept="penalised"), (X, y)),
    "PragamSVC": (PragamSVC(0.1), (X, y)),
    "PragamSVC, warm": (PragamSVC(0.1, warm_start=True), (X, y)),
    "ScreenedRTLM": (ScreenedRTLM(0.5, n_neighbors=1), (X, y)),
    "ScreenedSVCCV": (ScreenedSVCCV(2, cv=2, kernel="linear", intercept="penalised"), (X, y < 1)),
    "ScreenedSVCCV, certified": (
        ScreenedSVCCV([0.1, 1.0], cv=2, certify=0.5, kernel="linear", intercept="penalised"),
        (X, y < 1),
    ),
    "ScreenedRTLMCV": (ScreenedRTLMCV([0.5], cv=2, n_neighbors=1), (X, y)),
    "OrdinalEmbedding": (OrdinalEmbedding(max_iter=5, n_init=1, random_state=0), (TRIPLETS,)),
    "ConceptEmbedding": (ConceptEmbedding(4, n_init=2, max_iter=5), (TRIPLETS, ODD)),
    "MaxMarginChain": (MaxMarginChain(0.01, tol=0.1), CHAINS),
    "ChainCRF": (ChainCRF(0.01, tol=0.1), CHAINS),
    "KernelChainClassifier": (KernelChainClassifier(0.01, tol=0.1), CHAINS),
}
# Two fits are compared, so they must not draw.
for _model, _ in FITS.values():
    if "random_state" in _model.get_params():
        _model.set_params(random_state=0)
# Lines of a fit at which it is interrupted: some of all, and each of the last.
SOME, LAST = 8, 16


class Interrupt(BaseException):
    """What a signal handler may raise; also as KeyboardInterrupt below."""


def interrupted(function, at=None, kind=KeyboardInterrupt):
    """Call a function, raise at a line of the package by its number; return lines and result."""
    lines = 0

    def on_line(frame, event, _):
        nonlocal lines
        lines += event == "line"
        if lines == at and event == "line":
            raise kind
        return on_line

    def on_call(frame, event, _):
        return on_line if "/skscreen/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        # An interrupt where a block of np.errstate ends would leave its settings to other tests.
        with np.errstate():
            return lines, function()
    finally:
        sys.settrace(before)
        interrupted.lines = lines


def moments(function):
    """Return the numbers of the lines at which to interrupt."""
    interrupted(function)
    n = interrupted.lines
    some = np.linspace(1, n, SOME).astype(int)
    return n, sorted({*some.tolist(), *range(max(n - LAST, 1), n + 1)})


def is_fitted(model):
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def marker(model):
    """Return the attribute that says that a model is fitted."""
    names = ("components_", "embedding_", "transition_")
    names += (
        ("dual_coef_", "coef_")
        if isinstance(model, ScreenedLinearSVC | ScreenedSVC)
        else ("coef_",)
    )
    return next(name for name in names if hasattr(model, name))


def state(model):
    """What a user can see of a fitted model, as numbers that can be compared."""
    skip = ("seconds", "history_", "screening_history_", "bounds_", "answers_")
    found = {}
    for name, value in vars(model).items():
        if name in TIMED:
            continue
        if name.endswith("_") and name not in skip and not hasattr(value, "get_params"):
            found[name] = np.asarray(value, dtype=None)
    return found


# These hold seconds.
TIMED = ("history_", "screening_history_", "cv_results_")


def same(first, second):
    assert set(first) == set(second)
    for name in first:
        if first[name].dtype.kind == "f":
            # The last digits of products depend on where arrays lie in memory.
            np.testing.assert_allclose(first[name], second[name], 1e-7, 1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)


# One of each family is interrupted by the other exception too.
KINDS = [(name, KeyboardInterrupt) for name in FITS]
KINDS += [(name, Interrupt) for name in ("ScreenedSVC", "PragamSVC", "ScreenedRTLM", "ChainCRF",
                                         "OrdinalEmbedding")]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name, kind", KINDS)
def test_an_interrupted_fit_leaves_all_or_nothing(name, kind):
    model, data = FITS[name]
    fresh = clone(model).fit(*data)
    wanted, last = state(fresh), marker(fresh)
    # One fit before: of other data where that can be told.
    other = [part[::-1] for part in data] if name != "PragamSVC, warm" else data
    fitted = clone(model).fit(*other)
    _, places = moments(lambda: clone(fitted).fit(*data))
    for at in places if kind is KeyboardInterrupt else places[::4]:
        used = deepcopy(fitted)
        old, before = state(used), vars(used)[last]
        try:
            interrupted(lambda: used.fit(*data), at, kind)  # noqa: B023
        except kind:
            pass
        if is_fitted(used):
            # Interrupted before the first attribute of the old fit went, or after the last came.
            if name == "PragamSVC, warm":
                assert used.dual_gap_ <= used.tol
            else:
                same(state(used), old if vars(used).get(last) is before else wanted)
    used = clone(used).fit(*data)
    same(state(used), wanted)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["ScreenedSVC", "ScreenedSVC, kernel", "PragamSVC", "ScreenedRTLM"]
)
def test_an_interrupted_fit_leaves_the_store_sound(name, tmp_path):
    model, data = FITS[name]
    bare = clone(model).fit(*data)
    parameter = "lam" if name == "ScreenedRTLM" else "C"
    value = getattr(model, parameter)
    store = Store(tmp_path)
    _, places = moments(lambda: clone(model).set_params(store=Store(tmp_path / "a")).fit(*data))
    for k, at in enumerate(places):
        other = clone(model).set_params(store=store, **{parameter: value * (1.0 + 0.01 * k)})
        try:
            interrupted(lambda: other.fit(*data), at)  # noqa: B023
        except KeyboardInterrupt:
            pass
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = clone(model).set_params(store=store).fit(*data)
    assert not list(tmp_path.rglob("*.tmp"))
    slack = 2.0 * model.tol if name == "PragamSVC" else 2.0 * model.tol * np.abs(bare.objective_)
    assert np.all(np.abs(kept.objective_ - bare.objective_) <= slack)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["svc", "rtlm"])
@pytest.mark.slow
def test_an_interrupted_path_returns_whole_solutions_or_raises(name):
    def solve():
        if name == "svc":
            return svc_path(
                X, y < 1, Cs=[0.01, 0.1, 1.0, 10.0], kernel="linear", intercept="penalised",
                random_state=0,
            )  # fmt: skip
        return rtlm_path(X, y, n_lams=4, n_neighbors=2)

    whole = interrupted(solve)[1]
    _, places = moments(solve)
    ended = set()
    for at in places:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = interrupted(solve, at)[1]
        except KeyboardInterrupt:
            ended.add(0)
            continue
        ended.add(len(path))
        np.testing.assert_allclose(path.objectives, whole.objectives[: len(path)], rtol=1e-5)
        assert path.converged.all()
    assert len(ended) > 2
    with pytest.raises(Interrupt):
        interrupted(solve, places[len(places) // 3], Interrupt)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no alarms")
def test_a_signal_ends_a_fit_soon():
    rng = np.random.default_rng(0)
    labels = np.arange(1500) % 2
    samples = rng.normal(size=(1500, 40)) + 0.1 * labels[:, None]
    model = ScreenedSVC(kernel="rbf", C=1e4, tol=1e-10, intercept="penalised").fit(X, y)

    def stop(*_):
        raise Interrupt

    before, threads = signal.signal(signal.SIGALRM, stop), threadpool_info()
    try:
        for seconds in (0.001, 0.02, 0.1):
            interrupted_model, began = clone(model), time.perf_counter()
            with pytest.raises(Interrupt):
                # Under load the first alarm comes before the fit begins.
                signal.setitimer(signal.ITIMER_REAL, seconds)
                interrupted_model.fit(samples, labels)
            assert not is_fitted(interrupted_model) and time.perf_counter() - began < 5.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert threadpool_info() == threads
    assert model.fit(X, y).score(X, y) > 0.9
