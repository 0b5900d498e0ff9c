"""
Are these two pictures of the same digit?
=========================================

Verification: a metric is learned from pairs of pictures that show the same digit or not, and asked
about pairs of other pictures. Every similar pair is compared with every dissimilar one. The
threshold that turns distances into decisions is calibrated on pairs that the metric was not learned
from, so that 95 % of the pairs of different digits are refused.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, roc_curve

from skscreen import RTLMPairsClassifier

X, y = load_digits(return_X_y=True)
X = X / 16.0
rng = np.random.default_rng(0)


order = rng.permutation(len(X))


def draw(among, n):
    """Return n pairs of some samples, half of them of the same digit."""
    pairs = rng.choice(among, (20 * n, 2))
    alike = y[pairs[:, 0]] == y[pairs[:, 1]]
    same = pairs[alike & (pairs[:, 0] != pairs[:, 1])][: n // 2]
    return np.concatenate((same, pairs[~alike][: n // 2])), np.repeat([1, -1], n // 2)


model = RTLMPairsClassifier(preprocessor=X).fit(*draw(order[:600], 2000))
model.calibrate_threshold(*draw(order[600:900], 2000), strategy="max_tpr", min_rate=0.95)

pairs, truth = draw(order[900:], 4000)
distances = {
    "Euclidean": np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1),
    "learned": model.pair_distance(pairs),
}
print(f"{model.n_triplets_:,} comparisons, relative duality gap {model.dual_gap_:.0e}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for (name, found), colour in zip(distances.items(), ("0.5", "#0072B2"), strict=True):
    area = roc_auc_score(truth, -found)
    print(f"{name}: area under the ROC curve of unseen pictures {area:.3f}")
    left.plot(*roc_curve(truth, -found)[:2], color=colour, label=f"{name}: {area:.3f}")
left.set(xlabel="Different digits accepted", ylabel="Same digit accepted", title="Unseen pictures")
left.legend(frameon=False, title="Area under the curve")
fig.suptitle("The learned distance tells same from different better than pixels", fontweight="bold")
bins = np.linspace(0.0, np.quantile(distances["learned"], 0.99), 40)
for value, label, colour in ((1, "same digit", "#0072B2"), (-1, "different", "#E69F00")):
    right.hist(distances["learned"][truth == value], bins, color=colour, alpha=0.6, label=label)
right.axvline(model.threshold_, color="0.35", linestyle="--", linewidth=1, label="threshold")
right.set(xlabel="Learned distance", ylabel="Pairs", title="Decisions")
right.legend(frameon=False)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
predicted = model.predict(pairs)
print(f"unseen pairs of different digits refused: {np.mean(predicted[truth == -1] == -1):.0%}")
plt.show()
