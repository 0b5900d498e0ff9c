"""One job of `versions.py`, with whatever skscreen PYTHONPATH leads to: prints its CPU seconds.

Run as a file, not as a module: the folder it is started in has a skscreen of its own. Only what
all versions have in common is used.
"""

import json
import pickle
import sys
import tempfile
import time
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import skscreen
from skscreen import (
    OrdinalEmbedding,
    PragamSVC,
    ScreenedSVC,
    rtlm_path,
    svc_path,
)


def metric_path(X, y, options):
    return float(rtlm_path(X, y, **options).dual_gaps.max())


def kernel_path(X, y, options):
    return float(
        svc_path(
            X, y, kernel="rbf", intercept="penalised", cache_size=2000, **options
        ).dual_gaps.max()
    )


def linear_fits(X, y, options):
    return max(
        float(ScreenedSVC(C, kernel="linear", intercept="penalised").fit(X, y).dual_gap_)
        for C in options["Cs"]
    )


def stored_search(X, y, options):
    with tempfile.TemporaryDirectory() as folder:
        model = ScreenedSVC(kernel="rbf", intercept="free", store=folder, gamma=options["gamma"])
        return GridSearchCV(model, {"C": options["Cs"]}, cv=5, refit=False).fit(X, y).best_score_


def embedding(X, y, options):
    seeds = range(10)
    return sum(float(OrdinalEmbedding(random_state=k, **options).fit(X).objective_) for k in seeds)


def pragam(X, y, options):
    return float(np.ravel(PragamSVC(**options).fit(X, y).objective_)[0])


JOBS = {job.__name__: job for job in (
    metric_path, kernel_path, linear_fits, stored_search, embedding, pragam)}  # fmt: skip


def main() -> None:
    """Read a job with its data from a file, run it on a few samples, then on all."""
    with open(sys.argv[1], "rb") as file:
        job, X, y, options, few = pickle.load(file)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        some = np.random.default_rng(0).permutation(X.shape[0])[:few]
        JOBS[job](X[some], None if y is None else y[some], options)
        started = time.process_time()
        value = JOBS[job](X, y, options)
        seconds = time.process_time() - started
    print(json.dumps({"seconds": seconds, "value": value, "package": skscreen.__file__}))


if __name__ == "__main__":
    main()
