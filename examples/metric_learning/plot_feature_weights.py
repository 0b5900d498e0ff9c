"""
Which features matter?
======================

A diagonal metric is one weight for each feature. Here half of the features are noise: their
weights stay near zero along the whole path, many exactly at zero, and nearest neighbours gain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skscreen import rtlm_path

X, y = load_wine(return_X_y=True)
n_real = X.shape[1]
X = np.hstack([X, np.random.default_rng(0).normal(size=X.shape)])
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

path = rtlm_path(X_train, y_train, n_neighbors=None, diagonal=True)
weights = path.matrices / path.matrices.max(axis=1, keepdims=True)
scores = []
for index in range(len(path)):
    model = path[index]
    knn = KNeighborsClassifier(5).fit(model.transform(X_train), y_train)
    scores.append(knn.score(model.transform(X_test), y_test))
euclidean = KNeighborsClassifier(5).fit(X_train, y_train).score(X_test, y_test)

fig, (top, bottom) = plt.subplots(
    2, sharex=True, figsize=(7.0, 5.4), height_ratios=[2, 1], layout="constrained"
)
fig.suptitle("Features of noise get no weight, and neighbours gain", fontweight="bold")
top.plot(path.lams, weights[:, n_real:], color="0.6", linewidth=1)
top.plot(path.lams, weights[:, :n_real], color="#0072B2", linewidth=1.2)
top.plot([], [], color="#0072B2", label="13 features of wine")
top.plot([], [], color="0.6", label="13 features of noise")
top.set(ylabel="Weight, relative to the largest")
bottom.plot(path.lams, scores, color="#009E73", label="5-NN, learned weights")
bottom.axhline(euclidean, color="0.35", linestyle="--", linewidth=1, label="5-NN, Euclidean")
bottom.set(xscale="log", xlabel="Regularisation parameter λ (log scale)", ylabel="Test accuracy")
bottom.xaxis.set_inverted(True)
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")

zero = weights[-1] == 0.0
print(f"Weights of zero: {zero[:n_real].sum()} of 13 real, {zero[n_real:].sum()} of 13 noise")
print(f"Test accuracy, Euclidean {euclidean:.3f}, best on the path {max(scores):.3f}")
plt.show()
