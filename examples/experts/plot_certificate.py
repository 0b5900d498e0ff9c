"""
How far from the optimum can a fit be?
======================================

The relative duality gap that a fit reports bounds the distance of its objective to the optimum.
Here the same metric is learned to several tolerances and compared with a far more precise one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from skscreen import ScreenedRTLM

X, y = load_wine(return_X_y=True)
X = scale(X)


def fit(tol):
    # Only the tolerance differs between two fits.
    return ScreenedRTLM(lam=0.001, n_neighbors=10, screening=False, tol=tol).fit(X, y)


precise = fit(1e-11)
tolerances = 10.0 ** -np.arange(1, 9)
models = [fit(tol) for tol in tolerances]

gaps = np.array([model.dual_gap_ for model in models])
errors = np.array([model.objective_ / precise.objective_ - 1.0 for model in models])
# The objective is lam-strongly convex: |M - M*|^2 <= 2 (P - D) / lam.
radii = np.array([np.sqrt(2.0 * m.dual_gap_ * m.objective_ / m.lam_) for m in models])
M = precise.get_mahalanobis_matrix()
size = np.linalg.norm(M)
distances = [np.linalg.norm(model.get_mahalanobis_matrix() - M) for model in models]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
fig.suptitle("The true error never exceeds the gap that was proved", fontweight="bold")
left.loglog(tolerances, gaps, "o-", color="#0072B2", label="proved: relative duality gap")
left.loglog(tolerances, np.maximum(errors, 1e-12), "s-", color="#E69F00", label="true error")
left.loglog(tolerances, tolerances, color="0.35", linestyle="--", linewidth=1, label="tolerance")
left.set(xlabel="tol", ylabel="Relative error of the objective")
right.loglog(tolerances, radii / size, "o-", color="#0072B2", label="proved: radius of the ball")
right.loglog(tolerances, distances / size, "s-", color="#E69F00", label="true distance")
right.set(xlabel="tol", ylabel="Distance from M*, relative to |M*|")
for ax in (left, right):
    ax.xaxis.set_inverted(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")

print(f"Largest true error over the gap that was proved: {np.max(errors / gaps):.2f}")
plt.show()
