"""Table II and Figure 5 of the paper: images found by features mapped into an embedding."""

import numpy as np
from sklearn.metrics import pairwise_distances

from benchmarks.embedding.figures import precision_curves
from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding, read_answers
from skscreen.metrics import mean_average_precision_of, precision_at_k_of, recall_at_k_of

LOSSES = ("gnmds", "ckl", "ste", "tste")
FLIPPED = (0.05, 0.10, 0.15)
# The eleven methods of the paper, with this package's steps, and the default solver.
METHODS = {
    "Gram (cvx)": {"formulation": "convex", "max_iter": 100},
    "batch": {"solver": "batch"},
    "SGD": {"solver": "sgd"},
    "SVRG": {"solver": "svrg"},
    "SVRG-SBB_0": {"solver": "svrg-sbb", "sbb_epsilon": 0.0},
    **{
        f"SVRG-SBB_e b={b}": {"solver": "svrg-sbb", "batch_size": b}
        for b in (1, 5, 10, 20, 50, 100)
    },
    "auto": {},
}


def retrieval(bench) -> dict:
    """Answers from labels, some reversed: MAP / P@K (Table II), and precision over recall."""
    images = _images(bench)
    results, panels = {}, {}
    for loss in LOSSES:
        panels[loss] = {}
        for name, options in METHODS.items():
            cells = [_found(images, loss, options, share) for share in FLIPPED]
            results[f"{loss} / {name}"] = [cell[:2] for cell in cells]
            panels[loss][name] = cells[0][2]
    print(f"{images['summary']}\n")
    table(
        "loss,method," + ",".join(f"{share:.0%} reversed: MAP / P@K" for share in FLIPPED),
        [
            (*key.split(" / "), *(f"{ap:.3f} / {precision:.3f}" for ap, precision in cells))
            for key, cells in results.items()
        ],
    )
    precision_curves(bench.out, "retrieval", panels, f"{FLIPPED[0]:.0%} of the answers reversed")
    return results


def _images(bench) -> dict:
    """Features and labels to learn from and of queries, and triplets that the labels answer."""
    X, y = bench.load("mnist")
    rng = np.random.default_rng(0)
    per_class, queries = bench.some((60, 40), (60, 40), (6, 4))
    size = bench.some(70_000, 20_000, 400)
    learn, ask = [], []
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        learn.extend(members[:per_class])
        ask.extend(members[per_class : per_class + queries])
    X, n, labels = X / X.max(), len(learn), y[learn]
    i = rng.integers(n, size=4 * size)
    j, k = (i + rng.integers(1, n, size=(2, 4 * size))) % n
    useful = np.flatnonzero((labels[i] == labels[j]) != (labels[i] == labels[k]))[:size]
    i, j, k = i[useful], j[useful], k[useful]
    turned = labels[i] == labels[k]
    rows = np.stack([i, np.where(turned, k, j), np.where(turned, j, k)], axis=1)
    images = {
        "learn": X[learn],
        "ask": X[ask],
        "rows": rows,
        "k": per_class,
        "classes": len(set(y)),
    }
    images["relevant"] = y[ask][:, None] == labels
    pixels = _judged(images, pairwise_distances(X[ask], X[learn]))
    images["summary"] = (
        f"mnist: {n} images to learn from, {len(ask)} queries, {len(rows):,} answers. By pixels "
        f"alone MAP / P@{per_class}: {pixels[0]:.3f} / {pixels[1]:.3f}."
    )
    return images


def _found(images: dict, loss: str, options: dict, share: float):
    """MAP, P@K, and precision and recall of a fit to answers of which a share is reversed."""
    answers = images["rows"].copy()
    flipped = np.random.default_rng(1).uniform(size=len(answers)) < share
    answers[flipped] = answers[flipped][:, [0, 2, 1]]
    model = OrdinalEmbedding(images["classes"], loss=loss, random_state=0, **options)
    model.fit(read_answers(answers, objects=range(len(images["learn"]))))
    model.fit_features(images["learn"])
    points = [model.map_features(images[which]) for which in ("ask", "learn")]
    return _judged(images, pairwise_distances(*points))


def _judged(images: dict, distances: np.ndarray):
    relevant, k = images["relevant"], images["k"]
    steps = np.unique(np.geomspace(1, distances.shape[1], 30).astype(int))
    curve = [[measure(relevant, distances, int(step)) for step in steps]
             for measure in (recall_at_k_of, precision_at_k_of)]  # fmt: skip
    ap = mean_average_precision_of(relevant, distances)
    return ap, precision_at_k_of(relevant, distances, k), np.array(curve)
