"""
Where do new objects go?
========================

An embedding places the objects that were compared. If objects have features, a map from features to
places can be learned, and it places new objects, too: here images of digits. Answers are about the
pixels; nobody said which digit is which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import euclidean_distances

from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets
from skscreen.inspection import EmbeddingDisplay
from skscreen.metrics import mean_average_precision_of, precision_at_k_of, recall_at_k_of

X, y = load_digits(n_class=4, return_X_y=True)
order = np.random.RandomState(0).permutation(len(X))
X, y = X[order] / 16.0, y[order]
n, new = 300, slice(300, 600)

answers = make_triplets(X[:n], 20_000, random_state=0)
model = OrdinalEmbedding(2, random_state=0).fit(answers).fit_features(X[:n])
placed = model.map_features(X[new])

fig, axes = plt.subplots(1, 2, figsize=(10.0, 5.0), layout="constrained")
EmbeddingDisplay.from_estimator(model, classes=y[:n], ax=axes[0])
EmbeddingDisplay(points=placed, classes=y[new]).plot(ax=axes[1])
fig.suptitle("New images land among those of the same digit", fontweight="bold")
axes[0].set_xlabel(f"{n} images that were compared")
axes[1].set_xlabel("300 new images, placed by their pixels")

# Neighbours of a new image in the map: both sides are mapped.
alike = y[new][:, None] == y[:n]
distances = euclidean_distances(placed, model.map_features(X[:n]))
print(f"{len(answers):,} answers; by chance {alike.mean():.1%} are the same digit")
print(f"of the 10 nearest: {precision_at_k_of(alike, distances, 10):.1%}")
print(f"of that digit among the 75 nearest: {recall_at_k_of(alike, distances, 75):.1%}")
print(f"mean average precision: {mean_average_precision_of(alike, distances):.3f}")
plt.show()
