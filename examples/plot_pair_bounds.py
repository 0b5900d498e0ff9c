"""
Can a metric be learned from pairs alone?
=========================================

No class labels for most samples: only 300 pairs that are said to be alike or not. Squared distances
of pairs that are alike shall be at most U, those of the others at least L.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedRTLM

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
rng = np.random.default_rng(0)
first, second = rng.permutation(len(X))[:568].reshape(2, 284)
alike = y[first] == y[second]
pairs = np.stack([first, second], axis=1)
U, L = 1.0, 4.0

learn, unseen = np.arange(284) < 200, np.arange(284) >= 200
metric = ScreenedRTLM(lam=1e-4).fit(X, pairs=(pairs[learn & alike], pairs[learn & ~alike], U, L))


def squared(part):
    both = np.stack([X[pairs[part, 0]], X[pairs[part, 1]]], axis=1)
    euclidean = np.sum((both[:, 0] - both[:, 1]) ** 2, axis=1)
    return euclidean, metric.pair_distance(both) ** 2


fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for ax, which, title in zip(axes, (0, 1), ("Euclidean", "learned"), strict=True):
    values = [squared(unseen & alike)[which], squared(unseen & ~alike)[which]]
    bins = np.linspace(0.0, np.quantile(np.concatenate(values), 0.95), 25)
    for part, label, colour in zip(
        values, ("alike", "not alike"), ("#0072B2", "#E69F00"), strict=True
    ):
        ax.hist(np.minimum(part, bins[-1]), bins, color=colour, alpha=0.6, label=label)
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
