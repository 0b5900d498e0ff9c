"""
What does a learned metric do to the data?
==========================================

The learned linear map of wine, its two strongest directions, beside the two principal components
of the standardised features. The metric is learned from one half, its λ chosen there by
cross-validation, and shown on the other.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedRTLMCV

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

metric = ScreenedRTLMCV().fit(X_train, y_train)
pca = PCA().fit(X_train)

fig, axes = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
for ax, name, model in [(axes[0], "principal components", pca), (axes[1], "learned", metric)]:
    train, test = model.transform(X_train), model.transform(X_test)
    accuracy = KNeighborsClassifier(5).fit(train, y_train).score(test, y_test)
    print(f"5-NN accuracy, all directions, {name}: {accuracy:.3f}")
    for label, colour, marker in zip(
        range(3), ("#0072B2", "#E69F00", "#009E73"), "osD", strict=True
    ):
        shown = test[y_test == label]
        ax.scatter(*shown[:, :2].T, s=18, color=colour, marker=marker, label=f"class {label}")
    ax.set(
        title=f"{name} (5-NN in all directions: {accuracy:.3f})",
        xlabel="first direction",
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.locator_params(nbins=5)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("second direction")
axes[1].legend(frameon=False)
print(f"λ is {metric.best_lam_:.2g} λ_max; ", end="")
print(f"rank of the learned metric: {len(metric.components_)} of {X.shape[1]}")
plt.show()
