"""
How slow cutting planes can be
==============================

BMRM on problems built to be as hard as its theory allows: its certified gap follows 1 / (2 λ t)
until the last step.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import hadamard

from skscreen.pragam.bundle import bmrm


class LargestOf:
    """The risk R(w) = max_i <a_i, w> + c, which shows one column a_i at a time."""

    floor = -np.inf  # nothing is known about the optimum before the first column

    def __init__(self, columns, lam, c=0.0):
        self.rows, self.lam, self.c = columns.T, lam, c
        self.n_weights = len(columns)

    def cut(self, w):
        heights = self.rows @ w + self.c
        i = int(np.argmax(heights))
        return heights[i], 0.0, self.rows[i], self.c


def run(risk, n_steps):
    """Return λ times the certified gap, and the error of w_t, after 1, 2, ... steps."""
    primals, duals = [], []
    for iterate in bmrm(risk):
        primals.append(iterate.primal)
        duals.append(iterate.dual)
        if iterate.iteration == n_steps:
            break
    gaps = np.minimum.accumulate(primals) - duals
    return risk.lam * gaps[1:], risk.lam * np.array(primals[1:])


lam, d = 0.1, 128
t = np.arange(1, d)

# Orthonormal columns: the columns of a Hadamard matrix. (The matrix printed in the paper, with
# columns that come in pairs of opposite sign, is solved in two steps.)
orthonormal = LargestOf(hadamard(d) / np.sqrt(d), lam, c=0.5 / (lam * d))
gaps, _ = run(orthonormal, d - 1)
predicted = 0.5 / t

# The corners of a regular simplex, whose optimum is w = 0: no tie is needed.
corners = (np.eye(d) - 1.0 / d) * np.sqrt(d / (d - 1.0))
simplex = LargestOf(np.linalg.svd(corners)[2][: d - 1] @ corners, lam)
_, errors = run(simplex, d - 1)
predicted_errors = (d + t) / (2.0 * t * (d - 1.0))

fig, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
fig.suptitle("Cutting planes can be as slow as their theory allows", fontweight="bold")
ax.loglog(t, gaps, "o", markersize=4, color="#0072B2", label="Hadamard: certified gap $ε_t$")
ax.loglog(t, predicted, color="#0072B2", label=r"$1 / (2 λ t)$")
ax.loglog(t, errors, "s", markersize=4, color="#E69F00", label="simplex: $J(w_t) - J^*$")
ax.loglog(t, predicted_errors, color="#E69F00", label=r"$(m + t) / (2 λ t (m - 1))$")
ax.set_xlabel("Cutting planes t")
ax.set_ylabel("λ × gap or error")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

deviation = np.max(np.abs(gaps / predicted - 1.0))
deviation_errors = np.max(np.abs(errors / predicted_errors - 1.0))
print(f"Largest relative deviation from theory: {deviation:.0e} and {deviation_errors:.0e}")
plt.show()
