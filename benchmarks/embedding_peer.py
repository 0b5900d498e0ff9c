"""The peer of `embedding.py`, cblearn, in an environment of its own (it pins numpy < 2).

Reads jobs from standard input, a JSON object a line with the name of a file of triplets (arrays
`train` and `test`), loss, number of components and objects, seed; answers with a line of CPU
seconds of `fit` and the test error. Every estimator has its default arguments.
"""

import json
import sys
import time
import warnings

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE

ESTIMATORS = {"gnmds": GNMDS, "ckl": CKL, "ste": STE, "tste": TSTE, "soe": SOE}


def run(job: dict) -> dict:
    with np.load(job["file"]) as arrays:
        train, test = arrays["train"], arrays["test"]
    model = ESTIMATORS[job["loss"]](job["n_components"], random_state=job["seed"])
    start = time.process_time()
    model.fit(train, n_objects=job["n_objects"])
    seconds = time.process_time() - start
    X = model.embedding_
    i, j, k = test.T
    near = ((X[i] - X[j]) ** 2).sum(axis=1)
    far = ((X[i] - X[k]) ** 2).sum(axis=1)
    return {"seconds": seconds, "error": float(1 - np.mean(near < far))}


warnings.simplefilter("ignore")
for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
