"""
Do step sizes need tuning?
==========================

Solvers of ordinal embedding from one start on one problem. SVRG-SBB finds its step sizes by itself,
L-BFGS by a line search; the other solvers use their default steps, tuned on other data. The
default, `solver="auto"`, is a short run of SGD and then L-BFGS.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets

points = np.random.RandomState(0).normal(scale=0.22, size=(100, 10))
answers = make_triplets(points, 10_000, random_state=0)
start = np.random.RandomState(1).normal(scale=0.22, size=points.shape)

fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for solver, colour in [
    ("lbfgs", "#0072B2"),
    ("svrg-sbb", "#D55E00"),
    ("svrg", "#E69F00"),
    ("sgd", "#009E73"),
    ("batch", "#CC79A7"),
]:
    model = OrdinalEmbedding(
        10, loss="ste", solver=solver, reg=1e-3, max_iter=40, tol=0.0, random_state=0
    )
    with warnings.catch_warnings():
        # A tolerance of zero is never met: all go on to the last epoch.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(answers, init=start)
    passes = model.history_["passes"]
    losses = model.history_["primal"]
    # SGD looks at the objective once, at its end.
    at_end = np.isfinite(losses).sum() == 1
    name = f"{solver}, at its end" if at_end else solver
    ax.plot(passes, losses, color=colour, marker="o" if at_end else None, label=name)
    print(f"{solver:9} objective {model.objective_:.4f} after {passes[-1]:.0f} passes")
fig.suptitle("L-BFGS arrives first, SVRG-SBB without a tuned step", fontweight="bold")
ax.set(xlabel="Passes over the answers", ylabel="Objective", yscale="log", xlim=(0, 60))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
