"""
Where do new objects go?
========================

An embedding places the objects that were compared. With features of the objects a map can be
learned that places others: here digits, compared by their class, and 300 that nobody compared.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from skscreen import OrdinalEmbedding
from skscreen.inspection import EmbeddingDisplay

X, y = load_digits(n_class=5, return_X_y=True)
order = np.random.RandomState(0).permutation(len(X))
X, y = X[order] / 16.0, y[order]
n, new = 300, slice(300, 600)

# "Image i is more like j than like k": j of the same class, k of another.
rng = np.random.RandomState(1)
i, j, k = rng.randint(n, size=(3, 60_000))
right = (y[i] == y[j]) & (y[i] != y[k]) & (i != j)
answers = np.stack([i, j, k], axis=1)[right]

model = OrdinalEmbedding(2, loss="tste", random_state=0).fit(answers).fit_features(X[:n])
placed = model.map_features(X[new])

fig, axes = plt.subplots(1, 2, figsize=(10.0, 5.0), layout="constrained")
EmbeddingDisplay.from_estimator(model, classes=y[:n], ax=axes[0])
EmbeddingDisplay(points=placed, classes=y[new]).plot(ax=axes[1])
axes[0].set_xlabel(f"{n} images that were compared")
axes[1].set_xlabel("300 new images, placed by their pixels")

knn = KNeighborsClassifier(5).fit(model.map_features(X[:n]), y[:n])
print(f"{len(answers):,} answers; 5-NN in the plane, new images: {knn.score(placed, y[new]):.1%}")
plt.show()
