"""The peer of `dimension.py`, cblearn's estimate of the dimension, in an environment of its own."""

import time

import numpy as np
from cblearn.embedding import SOE, estimate_dimensionality_cv

from benchmarks.support.peer_process import serve


def run(job: dict, arrays: dict) -> dict:
    start = time.process_time()
    result = estimate_dimensionality_cv(
        SOE(1, n_init=job["n_init"], random_state=0), arrays["answers"],
        test_dimensions=job["dimensions"], n_splits=job["cv"], refit=False, n_jobs=1,
        random_state=np.random.RandomState(job["seed"]),
    )  # fmt: skip
    seconds = time.process_time() - start
    return {"seconds": seconds, "dimension": int(result.estimated_dimension)}


if __name__ == "__main__":
    serve(run)
