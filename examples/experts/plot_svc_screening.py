"""
Which samples does a support vector machine depend on?
======================================================

Most samples have a margin that is safely above or below 1: their dual variable is 0 or C, whatever
the others do. From the solution at C = 5 screening proves this for most of them at C = 10, before
any iteration. (The data are made as in figure 1 of Ogawa et al. 2014.)
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import svc_path
from skscreen.inspection import ScreeningDisplay

rng = np.random.default_rng(0)
y = np.tile([-1, 1], 500)
X = rng.normal(0.5 * y[:, None], 1.5, size=(1000, 2))

Cs = np.geomspace(0.005, 20.0, 25)
path = svc_path(X, y, Cs=Cs, kernel="linear", intercept="penalised")
reference = svc_path(X, y, Cs=[5.0, 10.0], kernel="linear", intercept="penalised")
model = reference[1]
duals = np.abs(reference.dual_coefs[1])
states = [
    ("dual variable 0", duals <= 1e-9, "#56B4E9", "o", 10),
    ("dual variable C", duals >= 10.0 - 1e-9, "#E69F00", "s", 10),
    ("between: margin 1", (duals > 1e-9) & (duals < 10.0 - 1e-9), "black", "D", 45),
]

fig, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.4), layout="constrained")
fig.suptitle("All but a few samples rest at 0 or C, and screening proves it", fontweight="bold")
for label, chosen, colour, marker, size in states:
    left.scatter(
        *X[chosen].T, s=size, color=colour, marker=marker, label=f"{label} ({chosen.sum()})"
    )
xs = np.array([X[:, 0].min(), X[:, 0].max()])
(w0, w1), b = model.coef_[0], model.intercept_[0]
for value, style in [(0.0, "-"), (1.0, "--"), (-1.0, "--")]:
    left.plot(xs, (value - b - w0 * xs) / w1, color="0.35", linestyle=style, linewidth=1)
left.set(xlim=xs, ylim=(X[:, 1].min(), X[:, 1].max()), xticks=[], yticks=[])
left.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
display = ScreeningDisplay.from_path(path, ax=right)

print(f"Decided at C = 10 from C = 5: {reference.path_rates[1]:.1%}")
plt.show()
