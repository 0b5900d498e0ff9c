"""The peers of `peers.py`: what one fit costs, and the linear map that it learns."""

import numpy as np

from benchmarks.support.peer_process import serve, timed


def nca(X, y, _options):
    """Fit scikit-learn's NeighborhoodComponentsAnalysis."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return NeighborhoodComponentsAnalysis(random_state=0).fit(X, y).components_


def metric_learn(X, y, options):
    """Fit metric-learn's LMNN."""
    from metric_learn import LMNN

    return LMNN(random_state=0, **options).fit(X, y).components_


def mlpack(X, y, options):
    """Fit mlpack's LMNN."""
    import mlpack

    # A seed of 0 stands for the clock.
    return mlpack.lmnn(input_=X, labels=y.astype(np.int64), seed=1, **options)["output"]


METHODS = {"nca": nca, "metric-learn": metric_learn, "mlpack": mlpack}


def from_pairs(learner, pairs, y, options):
    """Fit one of metric-learn's learners from pairs."""
    import metric_learn

    return getattr(metric_learn, learner)(random_state=0, **options).fit(pairs, y).components_


def run(job: dict, arrays: dict) -> dict:
    """Fit once on a few samples for imports and first calls, then on all against the clock."""
    method, X, y = job["method"], arrays["X"], arrays["y"]
    if "pairs" in arrays:
        import metric_learn  # noqa: F401

        arguments = from_pairs, method, X[arrays["pairs"]], y
    else:
        arguments = METHODS[method], X, y
        few = np.concatenate([np.flatnonzero(y == c)[:8] for c in np.unique(y)])
        METHODS[method](X[few], y[few], job["options"])
    seconds, components = timed(job["limit"], *arguments, job["options"])
    if not np.isfinite(components).all():
        return {"failed": f"not finite after {seconds:.1f} s"}
    return {"seconds": seconds, "components": components}


if __name__ == "__main__":
    serve(run)
