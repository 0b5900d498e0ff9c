"""
A map from comparisons alone
============================

Which of two cities is nearer to a third by road? From 2,000 such answers, without any distance,
ordinal embedding draws the map of 21 European cities. Classical scaling needs all distances.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import OrdinalEmbedding
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.inspection import EmbeddingDisplay
from skscreen.metrics import procrustes_distance, triplet_error

cities = load_eurodist()
answers = make_triplets(cities.distances, 2000, metric="precomputed", random_state=0)
unseen = make_triplets(cities.distances, 5000, metric="precomputed", random_state=1)

# Classical scaling: the two largest eigenpairs of the centred squared distances.
centring = np.eye(21) - 1.0 / 21.0
eigenvalues, vectors = np.linalg.eigh(-0.5 * centring @ cities.distances**2 @ centring)
classical = vectors[:, :-3:-1] * np.sqrt(eigenvalues[:-3:-1])
# East is right and north is up.
at = dict(zip(cities.names, classical, strict=True))
classical *= np.sign([at["Vienna"][0] - at["Lisbon"][0], at["Stockholm"][1] - at["Athens"][1]])

model = OrdinalEmbedding(n_components=2, random_state=0).fit(answers)
fig, ax = plt.subplots(figsize=(8.0, 6.6), layout="constrained")
fig.suptitle("2,000 comparisons put the cities where their distances do", fontweight="bold")
display = EmbeddingDisplay.from_estimator(
    model, names=cities.names, reference=classical, reference_name="classical scaling", ax=ax
)

print(f"Unseen answers wrong: {1.0 - model.score(unseen):.1%}", end=", ")
print(f"classical scaling: {triplet_error(classical, unseen):.1%}", end="; ")
print(f"Procrustes distance: {procrustes_distance(classical, model.embedding_):.3f}")
plt.show()
