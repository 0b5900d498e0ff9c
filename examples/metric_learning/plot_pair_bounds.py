"""
Can a metric be learned from pairs alone?
=========================================

No class labels, only 200 pairs and whether they are alike. Squared distances should be at most U in
pairs that are alike, and at least L in other pairs. The figure shows pairs of other samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedRTLM

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
pairs, unseen = rng.choice(order[:284], (200, 2)), rng.choice(order[284:], (5000, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
alike, alike_unseen = (y[part[:, 0]] == y[part[:, 1]] for part in (pairs, unseen))
U, L = 1.0, 4.0

metric = ScreenedRTLM(lam=1e-4).fit(X, pairs=(pairs[alike], pairs[~alike], U, L))
both = X[unseen]
squares = {
    "Euclidean": np.sum((both[:, 0] - both[:, 1]) ** 2, axis=1),
    "learned": metric.pair_distance(both) ** 2,
}

fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
fig.suptitle("200 pairs teach a distance that orders unseen pairs", fontweight="bold")
for ax, (title, distances) in zip(axes, squares.items(), strict=True):
    values = [distances[alike_unseen], distances[~alike_unseen]]
    bins = np.linspace(0.0, np.quantile(distances, 0.9), 30)
    for part, label, colour in zip(
        values, ("alike", "not alike"), ("#0072B2", "#E69F00"), strict=True
    ):
        ax.hist(part, bins, color=colour, alpha=0.6, label=label)
    # How often a pair that is not alike is farther apart than one that is.
    auc = np.mean(values[1][:, None] > values[0][None])
    ax.set(
        title=f"{title}: {auc:.0%} in the right order", xlabel="Squared distance of unseen pairs"
    )
    ax.spines[["top", "right"]].set_visible(False)
    print(f"{title}: {auc:.1%} of (alike, not alike) in the right order")
for value, name in ((U, "U"), (L, "L")):
    axes[1].axvline(value, color="0.35", linestyle="--", linewidth=1)
    axes[1].annotate(name, (value, 0.97), xycoords=("data", "axes fraction"), xytext=(3, 0),
                     textcoords="offset points", va="top")  # fmt: skip
axes[0].set_ylabel("Pairs")
axes[0].legend(frameon=False)
print(f"Relative duality gap: {metric.dual_gap_:.0e}, {metric.n_triplets_} pairs")
plt.show()
