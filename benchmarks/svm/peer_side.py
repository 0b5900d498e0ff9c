"""The peers of `linear.py` and `kernels.py`: what a fit costs, and what it returns."""

from functools import cache

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification

from benchmarks.support.peer_process import best_of, serve, timed


def skglm(job: dict):
    """Return skglm's LinearSVC; working sets without end, because the tolerance is to decide."""
    from skglm import LinearSVC

    return LinearSVC(C=job["C"], tol=job["tol"], max_iter=10**6, fit_intercept=False)


def libsvm(job: dict):
    """Return scikit-learn's SVC."""
    from sklearn.svm import SVC

    options = {"kernel": job.get("kernel", "rbf"), "gamma": job["gamma"], "tol": job["tol"]}
    return SVC(C=job["C"], cache_size=2000, **options)


def intelex(job: dict):
    """Return the SVC of scikit-learn-intelex, on one thread."""
    import daal4py
    from sklearnex.svm import SVC

    daal4py.daalinit(1)
    return SVC(C=job["C"], gamma=job["gamma"], tol=job["tol"], cache_size=2000)


def thunder(job: dict):
    """Return ThunderSVM's SVC, on one thread of the processor."""
    from thundersvm import SVC

    return SVC(C=job["C"], gamma=job["gamma"], tol=job["tol"], cache_size=2000, n_jobs=1)


def snap(job: dict):
    """Return Snap ML's SupportVectorMachine, on one thread, with its limit of 1,000 epochs."""
    from snapml import SupportVectorMachine

    options = {"regularizer": 1.0 / job["C"], "tol": job["tol"], "n_jobs": 1}
    return SupportVectorMachine(fit_intercept=False, random_state=0, **options)


METHODS = {
    "skglm": skglm,
    "Snap ML": snap,
    "SVC": libsvm,
    "scikit-learn-intelex": intelex,
    "thundersvm-cpu": thunder,
}


@cache
def first_fit(method: str, is_sparse: bool) -> float:
    """Fit a small problem, once in a process: imports and compilation; return the seconds."""
    X, y = make_classification(300, 20, random_state=0)
    X = sparse.csr_matrix(X) if is_sparse else X
    job = {"C": 1.0, "tol": 1e-3, "gamma": 0.05}
    return timed(600.0, lambda: METHODS[method](job).fit(X, 2.0 * y - 1.0))[0]


def run(job: dict, arrays: dict) -> dict:
    """Fit against the clock; return seconds, those of compilation, and the solution."""
    if "X" in arrays:
        X = arrays["X"]
    else:
        parts = (arrays[name] for name in ("data", "indices", "indptr"))
        X = sparse.csr_matrix(tuple(parts), shape=job["shape"])
    first = first_fit(job["method"], sparse.issparse(X))
    model = METHODS[job["method"]](job)
    y, limit, repeats = arrays["y"], job["limit"], job["repeats"]
    seconds = timed(limit, best_of, repeats, lambda: model.fit(X, y))[1][0]
    answer = {"seconds": seconds, "first": first}
    if job["method"] in ("skglm", "Snap ML"):
        return answer | {"coef": np.ravel(model.coef_)}
    return answer | {
        "support": model.support_,
        "dual_coef": np.ravel(
            model.dual_coef_.toarray() if sparse.issparse(model.dual_coef_) else model.dual_coef_
        ),
        "intercept": np.ravel(model.intercept_),
    }


if __name__ == "__main__":
    serve(run)
