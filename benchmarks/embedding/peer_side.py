"""The peer, cblearn, in an environment of its own (it pins numpy < 2).

A job has loss, numbers of components and objects, seed, arrays `train` and `test`; the answer
CPU seconds of `fit` and the test error. Every estimator has its default arguments.
"""

import time

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE

from benchmarks.support.peer_process import serve

ESTIMATORS = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE}


def run(job: dict, arrays: dict) -> dict:
    model = ESTIMATORS[job["loss"]](job["n_components"], random_state=job["seed"])
    start = time.process_time()
    model.fit(arrays["train"], n_objects=job["n_objects"])
    seconds = time.process_time() - start
    X = model.embedding_
    i, j, k = arrays["test"].T
    near = ((X[i] - X[j]) ** 2).sum(axis=1)
    far = ((X[i] - X[k]) ** 2).sum(axis=1)
    return {"seconds": seconds, "error": float(1 - np.mean(near < far))}


if __name__ == "__main__":
    serve(run)
