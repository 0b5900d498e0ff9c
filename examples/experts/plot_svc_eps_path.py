"""
How many values of C are enough for a whole path?
=================================================

The ε-path solves at few values of C and promises that between two of them the solution at the
smaller one, scaled, is nearly optimal: its objective is within ε. Here the promise is checked at
many values in between.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen import svc_path

X, y = load_breast_cancer(return_X_y=True)
X, signs = scale(X), 2 * y - 1
data = np.hstack([X, np.ones((len(X), 1))]) * signs[:, None]
eps, C_max = 0.05, 1.0
path = svc_path(X, y, eps=eps, C_max=C_max, kernel="linear", intercept="penalised")
checks = np.geomspace(path.Cs[0], C_max, 100)
optima = svc_path(X, y, Cs=checks, tol=1e-6, kernel="linear", intercept="penalised")


def dual(C):
    """Dual objective of the last stored solution at or below C, scaled to C."""
    index = np.searchsorted(path.Cs, C * (1 + 1e-12)) - 1
    alpha = np.abs(path.dual_coefs[index]) * C / path.Cs[index]
    return alpha.sum() - 0.5 * np.sum((alpha @ data) ** 2)


errors = np.array([1.0 - dual(C) / best for C, best in zip(checks, optima.objectives, strict=True)])

fig, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7.0, 5.0), layout="constrained")
fig.suptitle(f"{len(path)} values of C are enough: no error above ε", fontweight="bold")
top.plot(checks, optima.objectives, color="0.35", label="optimal objective")
top.plot(path.Cs, path.objectives, "o", color="#0072B2", label=f"solved: {len(path)} values of C")
top.set(xscale="log", yscale="log", ylabel="Objective")
bottom.plot(checks, errors, color="#E69F00", label="true error of the scaled solution")
bottom.axhline(eps, color="0.35", linestyle="--", linewidth=1, label=f"promise: ε = {eps}")
bottom.vlines(path.Cs, 0.0, eps, color="0.85", linewidth=0.8, zorder=0)
bottom.set(xlabel="C (log scale)", ylabel="Relative error", ylim=(0.0, 1.3 * eps))
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="upper left")

print(
    f"{len(path)} values of C from {path.Cs[0]:.2g} to {C_max:g}; largest error {errors.max():.3f}"
)
plt.show()
