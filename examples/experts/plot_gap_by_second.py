"""
A certificate, second by second
===============================

A solution bounds the optimum from above and a dual solution bounds it from below. Both are known
while a fit runs, so it knows how far it is from the optimum and stops when it is near enough. The
same gap says which triplets cannot change the optimum; they leave the problem.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skscreen import ScreenedRTLM

X, y = load_digits(return_X_y=True)
model = ScreenedRTLM(lam=1e-4, n_neighbors=5, tol=1e-9).fit(X / 16.0, y)
fit, steps = model.history_, model.screening_history_
steps = steps[steps["parameter"] == model.lam_]  # stronger ones lead the way to it

fig, axes = plt.subplots(1, 3, figsize=(11.0, 3.6), layout="constrained")
fig.suptitle("The optimum lies between two known numbers", fontweight="bold")
bounds, gap, left = axes
bounds.fill_between(fit["seconds"], fit["dual"], fit["primal"], color="0.88")
for name, look, colour, label in (
    ("primal", "o-", "#0072B2", "primal: the optimum is below it"),
    ("dual", "s-", "#E69F00", "dual: the optimum is above it"),
):
    bounds.plot(fit["seconds"], fit[name], look, color=colour, label=label)
middle = fit["primal"][-1]
bounds.set(ylim=(middle - 60, middle + 30), ylabel="Objective")
bounds.legend(frameon=False, loc="lower right")
gap.semilogy(fit["seconds"], fit["gap"], "o-", color="#0072B2")
gap.axhline(model.tol, color="0.35", linestyle="--", linewidth=1)
gap.annotate("tol", (0, model.tol), xytext=(0, 3), textcoords="offset points")
gap.set(ylabel="Relative duality gap")
# Where in the fit a decision was taken is known by its iteration.
when = np.interp(steps["iteration"], fit["iteration"], fit["seconds"])
left.step(when, 1.0 - steps["rate"], "o-", where="post", color="#0072B2")
left.set(ylim=(0, 1), ylabel="Share of triplets undecided")
for ax in axes:
    ax.set_xlabel("Seconds")
    ax.spines[["top", "right"]].set_visible(False)

print(f"Proved: the optimum lies within {model.dual_gap_:.0e} of {model.objective_:.6f}")
plt.show()
