"""The peers of `after.py`: what fits, predictions and files of a fitted model cost."""

import pickle
import time
from collections.abc import Callable
from functools import cache
from math import ceil

from sklearn.datasets import make_classification

from benchmarks.support.peer_process import best_of, serve, timed


def made(method: str, job: dict):
    """Return an estimator of scikit-learn or of scikit-learn-intelex, on one thread."""
    kind = method.removeprefix("intelex ")
    if kind != method:
        import daal4py
        from sklearnex import svm

        daal4py.daalinit(1)
    else:
        from sklearn import svm
    machine = getattr(svm, kind)
    if kind.startswith("Linear"):
        return machine()
    return machine(kernel=job["kernel"], cache_size=1000)


def measured(model, work: str, X, y, rows, repeats: int) -> dict:
    """Return the CPU seconds of a piece of work, and the bytes of the model's pickle.

    "fit"; "rows", a prediction of all; "one row", a mean over them; "file", a pickle that is made
    and loaded.
    """
    calls = {
        "fit": lambda: model.fit(X, y),
        "rows": lambda: model.predict(rows),
        "one row": lambda: [model.predict(rows[i : i + 1]) for i in range(len(rows))],
        "file": lambda: pickle.loads(pickle.dumps(model)),
    }
    # The first prediction prepares what the others use.
    model.fit(X, y).predict(rows[:1])
    seconds = mean_seconds(calls[work], repeats)
    each = seconds / len(rows) if work == "one row" else seconds
    return {"seconds": each, "bytes": len(pickle.dumps(model))}


def mean_seconds(call: Callable, repeats: int) -> float:
    """Return the CPU seconds of a call, of so many that they take a fifth of a second."""
    # Where a limit is set the system's clock of a process has steps of milliseconds.
    started = time.perf_counter()
    call()
    n_calls = ceil(0.2 / max(time.perf_counter() - started, 1e-6))
    return best_of(repeats, lambda: [call() for _ in range(n_calls)])[0] / n_calls


@cache
def first_call(method: str) -> None:
    """Fit a small problem, once in a process: imports and loading."""
    X, y = make_classification(300, 20, random_state=0)
    made(method, {"kernel": "rbf"}).fit(X, y).predict(X)


def run(job: dict, arrays: dict) -> dict:
    """Do a piece of work against the clock."""
    first_call(job["method"])
    model = made(job["method"], job)
    rows = arrays["X"], arrays["y"], arrays["rows"]
    return timed(job["limit"], measured, model, job["work"], *rows, job["repeats"])[1]


if __name__ == "__main__":
    serve(run)
