"""The peer, cblearn, in an environment of its own (it pins numpy < 2); its defaults.

A job has loss, numbers of components and objects, seed, and arrays `train` and `test`: the answer
is CPU seconds of `fit` and the test error. Or it has dimensions to try, and `answers`.
"""

import time

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE, estimate_dimensionality_cv

from benchmarks.support.peer_process import serve

ESTIMATORS = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE}


def run(job: dict, arrays: dict) -> dict:
    if "dimensions" in job:
        return dimension(job, arrays["answers"])
    model = ESTIMATORS[job["loss"]](job["n_components"], random_state=job["seed"])
    start = time.process_time()
    model.fit(arrays["train"], n_objects=job["n_objects"])
    seconds = time.process_time() - start
    X = model.embedding_
    i, j, k = arrays["test"].T
    near, far = (((X[i] - X[other]) ** 2).sum(axis=1) for other in (j, k))
    return {"seconds": seconds, "error": float(1 - np.mean(near < far))}


def dimension(job: dict, answers: np.ndarray) -> dict:
    start = time.process_time()
    result = estimate_dimensionality_cv(
        SOE(1, n_init=job["n_init"], random_state=0), answers, test_dimensions=job["dimensions"],
        n_splits=job["cv"], refit=False, n_jobs=1,
        random_state=np.random.RandomState(job["seed"]),
    )  # fmt: skip
    seconds = time.process_time() - start
    return {"seconds": seconds, "dimension": int(result.estimated_dimension)}


if __name__ == "__main__":
    serve(run)
