"""What the fuzzer expects of a call: a right answer, or an exception of a documented type, soon.

A call may raise ValueError, TypeError, MemoryError or OSError. All else is a finding: another
exception, an argument that was changed, arithmetic that overflows, numbers that are not finite, a
certificate that is not met without a warning, an objective that is not that of the formula, and a
call that takes longer than ten seconds of processor time.
"""

import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

SECONDS = ContextVar("processor seconds for one call", default=10.0)
ERRORS = (ValueError, TypeError, MemoryError, OSError)


class Finding(AssertionError):
    """Something that a user should not see."""


class TooLong(BaseException):
    """No `except Exception` of the package may keep it."""


@contextmanager
def time_limit(seconds: float):
    """Stop what takes longer, in processor time: a busy machine proves nothing.

    Where the system has no such timer there is no limit.
    """

    def stop(*_):
        raise TooLong

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


class Outcome:
    """What a call has returned or raised.

    Attributes
    ----------
    result : object or None
    error : Exception or None
    unconverged : bool
        Whether there was a ConvergenceWarning.
    """

    def __init__(self, result, error, caught):
        self.result, self.error = result, error
        self.unconverged = any(issubclass(one.category, ConvergenceWarning) for one in caught)


def call(function: Callable, *args, must_work: bool = False, **kwargs) -> Outcome:
    """Call a function; raise a `Finding` if it ends in a way that it should not.

    Parameters
    ----------
    function : callable
    must_work : bool
        Whether no error at all is in order.
    """
    before = contents((args, kwargs))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", category=RuntimeWarning, module="skscreen")
        try:
            with time_limit(SECONDS.get()):
                result, refused = function(*args, **kwargs), None
        except ERRORS as error:
            if must_work:
                raise Finding(f"refused valid input: {told(error)}") from error
            result, refused = None, error
        except TooLong as error:
            raise Finding(f"hang: {where(error)}") from error
        except Exception as error:
            raise Finding(f"crash: {told(error)}") from error
    if contents((args, kwargs)) != before:
        raise Finding("changed an argument")
    return Outcome(result, refused, caught)


def contents(values) -> object:
    """Return what arrays hold, in whatever collections of them, to be compared."""
    if sparse.issparse(values) and hasattr(values, "indptr"):
        return [contents(part) for part in (values.data, values.indices, values.indptr)]
    if isinstance(values, dict):
        return [(repr(name), contents(value)) for name, value in values.items()]
    if isinstance(values, list | tuple):
        return [contents(value) for value in values]
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.shape, str(values.dtype), values.tobytes()
    return None


def told(error: BaseException) -> str:
    """Return an exception in one line."""
    return f"{type(error).__name__} at {where(error)}: {str(error).splitlines()[:1]}"


def where(error: BaseException) -> str:
    """Return the innermost lines of skscreen and of all in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/skscreen/" in frame.filename]
    shown = [*ours[-1:], *(frames[-1:] if frames[-1:] != ours[-1:] else [])]
    return " < ".join(f"{'/'.join(f.filename.split('/')[-2:])}:{f.lineno}" for f in shown)


def expect(truth, text: str) -> None:
    """Raise a `Finding` unless something holds."""
    if not truth:
        raise Finding(f"wrong: {text}")


def expect_finite(model) -> None:
    """Expect fitted attributes to be finite, but for histories."""
    for name, value in vars(model).items():
        # A gap is NaN where there is no certificate.
        told = name.endswith("_") and "history" not in name and name != "dual_gap_"
        if told and isinstance(value, np.ndarray | float):
            if name == "scores_" and np.ndim(value) == 2:
                # NaN are folds in which nothing could be fitted, of which a warning tells.
                value = value[~np.isnan(value).all(axis=1)]
            if np.asarray(value).dtype.kind in "fc":
                expect(np.all(np.isfinite(value)), f"{name} is not finite")


def expect_certified(gap: float, tol: float, unconverged: bool) -> None:
    """Expect a duality gap that meets its tolerance, or a warning."""
    # A warning may say that the relative gap is infinite, as of an objective near 1e-310.
    expect(gap >= 0.0 and (np.isfinite(gap) or unconverged), f"gap {gap}")
    expect(gap <= tol or unconverged, f"gap {gap:.3g} > tol={tol:g} without a warning")


def expect_close(found: float, wanted: float, rounding: float, text: str) -> None:
    """Expect two numbers to agree to six digits, but for rounding errors."""
    slack = 1e-6 * abs(wanted) + rounding + 1e-300
    expect(abs(found - wanted) <= slack, f"{text}: {found!r}, recomputed {wanted!r}")


def svm_objectives(model, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple:
    """Return P of `ScreenedSVC` and P(0) for each problem by its formula, and rounding errors."""
    classes, factors = model.classes_, np.ones(len(y))
    used = weights > 0.0
    if model.class_weight == "balanced":
        sums = np.array([weights[y == label].sum() for label in classes])
        # Classes without weight are none of the model's, and count for nothing.
        codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
        factors = (weights[used].sum() / (classes.size * sums))[codes]
    elif model.class_weight:
        factors = np.array([model.class_weight.get(label, 1.0) for label in y.tolist()])
    s = weights * factors
    scores = np.asarray(model.decision_function(X)).reshape(len(y), -1)
    if model.kernel == "linear":
        # A power of a sparse matrix is not that of its entries.
        coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
        squares = (coef**2).sum(axis=1)
        norms = np.linalg.norm(X, axis=1) * np.sqrt(squares.max())
    else:
        kernel = model._decision.kernel
        S, A = model.support_vectors_, model.dual_coef_
        A = A.toarray() if sparse.issparse(A) else A
        if kernel.name == "precomputed":
            K = X[np.ix_(model.support_, model.support_)]
        elif S.shape[0] == 0:
            # At a tolerance that w = 0 meets.
            K = np.zeros((0, 0))
        else:
            K = pairwise_kernels(
                S, metric=kernel.name, filter_params=True, gamma=kernel.gamma,
                degree=kernel.degree, coef0=kernel.coef0,
            )  # fmt: skip
        squares = np.einsum("ki,ij,kj->k", A, K, A)
        norms = np.abs(A).sum() * np.abs(K).max(initial=0.0) * np.ones(len(y))
    if model.fit_intercept and model.intercept == "penalised":
        squares = squares + (model.intercept_ / model.intercept_scaling) ** 2
    # Scores are sums over support vectors, in which much may cancel.
    lengths = np.linalg.norm(X, axis=1) if model.kernel == "linear" else np.zeros(1)
    known = hasattr(model, "dual_coef_")
    duals = np.abs(model.dual_coef_).sum(axis=1).max() if known else model.C * float(s.sum())
    norms = norms + duals * lengths.max() ** 2
    power = 2 if model.loss == "squared_hinge" else 1
    sizes = (1.0 + norms + np.abs(model.intercept_).max()) ** power
    rounding = 1e-12 * model.C * float(np.maximum(s, weights) @ sizes)
    found, at_zero = [], []
    for k in range(scores.shape[1]):
        own = y == classes[1 if scores.shape[1] == 1 else k]
        # Of more than two classes the rest has no class weights.
        each = s if scores.shape[1] == 1 else np.where(own, s, weights)
        losses = np.maximum(0.0, 1.0 - np.where(own, 1.0, -1.0) * scores[:, k]) ** power
        found.append(0.5 * squares[k] + model.C * float(each @ losses))
        at_zero.append(model.C * float(each.sum()))
    return found, at_zero, rounding


def embedding_losses(name: str, shape: float, a: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the losses of `OrdinalEmbedding` by their formulas."""
    if name == "soe":
        return np.maximum(0.0, np.sqrt(a) + shape - np.sqrt(c)) ** 2
    if name == "ste":
        return np.logaddexp(0.0, a - c)
    if name == "tste":
        return np.logaddexp(0.0, 0.5 * (shape + 1.0) * (np.log(shape + a) - np.log(shape + c)))
    if name == "ckl":
        return np.log(a + c + 2.0 * shape) - np.log(c + shape)
    z = np.maximum(1.0 + a - c, 0.0)
    if shape == 0.0:
        return z
    return np.where(z < shape, z**2 / (2.0 * shape), z - 0.5 * shape)
