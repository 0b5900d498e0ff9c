"""The peers of `nu.py`: what a fit costs."""

from functools import cache

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
    options = {"nu": job["nu"], "gamma": job["gamma"], "tol": job["tol"], "cache_size": 1000}
    if kind == "NuSVR":
        options["C"] = job["C"]
    return getattr(svm, kind)(**options)


@cache
def first_fit(method: str) -> float:
    """Fit a small problem, once in a process; return the seconds."""
    X, y = make_classification(300, 20, random_state=0)
    job = {"nu": 0.3, "tol": 1e-3, "gamma": 0.05, "C": 1.0}
    return timed(600.0, lambda: made(method, job).fit(X, 2.0 * y - 1.0))[0]


def run(job: dict, arrays: dict) -> dict:
    """Fit against the clock; return seconds."""
    first, model = first_fit(job["method"]), made(job["method"], job)
    X, y = arrays["X"], arrays["y"]
    seconds = timed(job["limit"], best_of, job["repeats"], lambda: model.fit(X, y))[1][0]
    return {"seconds": seconds, "first": first}


if __name__ == "__main__":
    serve(run)
