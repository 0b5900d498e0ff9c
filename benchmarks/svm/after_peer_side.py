"""The peers of `after.py`: what fits, predictions and files of a fitted model cost."""

import pickle
import time
from collections.abc import Callable
from functools import cache

from sklearn.datasets import make_classification

from benchmarks.support.peer_process import serve, timed


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


def measured(model, works: list[str], X, y, rows, repeats: int) -> dict:
    """Return the CPU seconds of pieces of work, by name, and the bytes of the model's pickle.

    "fit"; "rows", a prediction of all; "one row", a mean over 50 of them; "file", a pickle that is
    made and loaded.
    """
    single = rows[:50]
    calls = {
        "fit": lambda: model.fit(X, y),
        "rows": lambda: model.predict(rows),
        "one row": lambda: [model.predict(single[i : i + 1]) for i in range(len(single))],
        "file": lambda: pickle.loads(pickle.dumps(model)),
    }
    # The first prediction prepares what the others use.
    model.fit(X, y).predict(rows[:1])
    seconds = {work: mean_seconds(calls[work], repeats) for work in works}
    if "one row" in works:
        seconds["one row"] /= len(single)
    return {"seconds": seconds, "bytes": len(pickle.dumps(model))}


def mean_seconds(call: Callable, repeats: int) -> float:
    """Return the CPU seconds of a call, of so many that they take a tenth of a second or more."""
    # Where a limit is set the system's clock of a process has steps of milliseconds.
    n_calls = 1
    while (seconds := seconds_of(call, n_calls)) < 0.1:
        n_calls = int(n_calls * min(max(0.15 / max(seconds, 1e-9), 2.0), 100.0))
    for _ in range(repeats - 1 if seconds < 5.0 else 0):
        seconds = min(seconds, seconds_of(call, n_calls))
    return seconds / n_calls


def seconds_of(call: Callable, n_calls: int) -> float:
    """Return the CPU seconds of so many calls."""
    started = time.process_time()
    for _ in range(n_calls):
        call()
    return time.process_time() - started


@cache
def first_call(method: str) -> None:
    """Fit a small problem, once in a process: imports and loading."""
    X, y = make_classification(300, 20, random_state=0)
    made(method, {"kernel": "rbf"}).fit(X, y).predict(X)


def run(job: dict, arrays: dict) -> dict:
    """Do pieces of work against the clock."""
    first_call(job["method"])
    model = made(job["method"], job)
    rows = arrays["X"], arrays["y"], arrays["rows"]
    return timed(job["limit"], measured, model, job["works"], *rows, job["repeats"])[1]


if __name__ == "__main__":
    serve(run)
