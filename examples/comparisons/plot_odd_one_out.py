"""
A map from choices of the odd one out
=====================================

A participant is shown three cities and says which one lies apart. The judgements use distances by
road with an error of 20 %. 1,500 judgements draw the map, by the likelihood of the choice among
three or by triplets made from the choices. Lines lead to the places that all distances give.
Ellipses show how much the positions depend on which trials were seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import OrdinalEmbedding, read_answers
from skscreen.datasets import load_eurodist, make_triplets
from skscreen.inspection import EmbeddingDisplay
from skscreen.metrics import triplet_error
from skscreen.preprocessing import triplets_from_oddoneout

cities = load_eurodist()
names, D = np.array(cities.names), cities.distances
rng = np.random.default_rng(0)
shown = np.array([rng.choice(21, 3, replace=False) for _ in range(1500)])
left, middle, right = shown.T
sides = np.stack([D[middle, right], D[left, right], D[left, middle]], axis=1)
odd = np.argmin(sides * rng.lognormal(sigma=0.2, size=sides.shape), axis=1)

# Classical scaling: the two largest eigenpairs of the centred squared distances; north is up.
centring = np.eye(21) - 1.0 / 21.0
eigenvalues, vectors = np.linalg.eigh(-0.5 * centring @ D**2 @ centring)
classical = vectors[:, :-3:-1] * np.sqrt(eigenvalues[:-3:-1])
at = dict(zip(cities.names, classical, strict=True))
classical *= np.sign([at["Vienna"][0] - at["Lisbon"][0], at["Stockholm"][1] - at["Athens"][1]])

answers = read_answers(
    names[shown], kind="oddoneout", chosen=odd, response="position", objects=names
)
model = OrdinalEmbedding(loss="oddoneout", random_state=0).fit(answers)
fig, ax = plt.subplots(figsize=(6.4, 5.8), layout="constrained")
fig.suptitle("1,500 choices of the odd one out draw the map", fontweight="bold")
EmbeddingDisplay.from_estimator(model, reference=classical, reference_name="all distances", ax=ax)

# How sure are the positions? Ellipses of 95 %, from bootstrapped trials.
fig, ax = plt.subplots(figsize=(6.4, 5.8), layout="constrained")
fig.suptitle("Far cities are known less well", fontweight="bold")
EmbeddingDisplay.from_estimator(
    model,
    regions=model.bootstrap(100, random_state=0),
    reference=classical,
    reference_name="all distances",
    ax=ax,
)

made = OrdinalEmbedding(random_state=0).fit(triplets_from_oddoneout(answers))
true = make_triplets(D, 5000, metric="precomputed", random_state=1)
for name, fitted in (("choices", model), ("triplets of the choices", made)):
    print(f"{name}: {triplet_error(fitted.embedding_, true):.1%} of true triplets wrong")
plt.show()
