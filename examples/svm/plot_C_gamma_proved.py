"""
No pair of C and gamma is better: a proof
=========================================

A grid search knows the validation error at its grid points. Here, for each gamma, the error is
bounded between solved values of C as well, so that nothing is missed between the points. For none
of these gammas does any C in four decades have an error below the bound on the right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen import svc_certified_C

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
gammas = np.geomspace(1e-3, 0.1, 5)
results = [
    svc_certified_C(X[::2], y[::2], X[1::2], y[1::2], (0.01, 100.0), eps=0.01, gamma=gamma)
    for gamma in gammas
]

# The bounds are constant between their own edges: here on a common grid of C.
Cs = np.geomspace(0.01, 100.0, 201)


def on_grid(result, values):
    parts = np.searchsorted(result.bounds.edges, Cs, side="right") - 1
    return values[np.clip(parts, 0, len(values) - 1)]


fig, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
fig.suptitle("Every C between the grid points is covered", fontweight="bold")
surfaces = {
    "error is nowhere above": [on_grid(result, result.bounds.upper) for result in results],
    "error is nowhere below": [on_grid(result, result.bounds.lower) for result in results],
}
best = min(range(len(gammas)), key=lambda k: results[k].validation_error)
for ax, (title, values) in zip(axes, surfaces.items(), strict=True):
    mesh = ax.pcolormesh(Cs, gammas, np.array(values), vmin=0, vmax=0.2, cmap="viridis_r")
    ax.plot(results[best].C, gammas[best], "o", color="white", markeredgecolor="black")
    ax.set(xscale="log", yscale="log", xlabel="C")
    ax.set_title(title, loc="left")
axes[0].set_ylabel("gamma")
fig.colorbar(mesh, ax=axes, label="Validation error", extend="max")

lowest = min(result.lower_bound for result in results)
print(f"C = {results[best].C:.3g}, gamma = {gammas[best]:.3g}: ", end="")
print(f"error {results[best].validation_error:.3f}, no pair below {lowest:.3f}")
print(f"{sum(result.n_solved for result in results)} values of C solved")
plt.show()
