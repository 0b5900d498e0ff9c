"""
Choose λ along the regularisation path
======================================

How strong should the penalty be? A path has a metric for each of many λ, each certified by its
duality gap. The one that classifies held-out wines best is chosen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skscreen import rtlm_path
from skscreen.inspection import PathDisplay

X, y = load_wine(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_val = scaler.transform(X_train), scaler.transform(X_val)

path = rtlm_path(X_train, y_train, n_neighbors=None)  # None: all triplets, 151,380 of them
models = list(path)
knn = KNeighborsClassifier(n_neighbors=5)
scores = [knn.fit(m.transform(X_train), y_train).score(m.transform(X_val), y_val) for m in models]
euclidean = knn.fit(X_train, y_train).score(X_val, y_val)

display = PathDisplay.from_path(
    path, tol=1e-6, scores=scores, baseline=euclidean, baseline_name="Euclidean"
)
display.figure_.suptitle("Accuracy peaks inside the path", fontweight="bold")
best = path.lams[display.best_index_]
print(f"{len(path)} values of λ; best {best:.4g}, which is {best / path.lam_max:.2g} λ_max")
plt.show()
