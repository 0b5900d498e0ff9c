"""
How fast do certificates shrink?
================================

Pragam, two cutting-plane methods and Pegasos on the same problem, all with the same certificate:
the smallest objective so far less the largest lower bound.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from skscreen import PragamSVC

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
arms = [
    ("pragam", {}, "#0072B2"),
    ("pragam as published", {"restart": False}, "#56B4E9"),
    ("bmrm", {"solver": "bmrm"}, "#E69F00"),
    ("ls-bmrm", {"solver": "ls-bmrm"}, "#009E73"),
    ("pegasos", {"solver": "pegasos"}, "#D55E00"),
]

fig, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
fig.suptitle("Cutting planes arrive first here, Pragam as its theory says", fontweight="bold")
for name, options, colour in arms:
    with warnings.catch_warnings():
        # Not all of them arrive.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PragamSVC(C=0.1, tol=1e-7, max_iter=2000, **options).fit(X, y)
    history = model.history_
    gaps = history["primal"] - history["dual"]
    for ax, times in ((left, history["iteration"] + 1), (right, 1e3 * history["seconds"])):
        ax.plot(times[1:], gaps[1:], color=colour, label=name)
    print(f"{name:20} {model.n_iter_:5} iterations, gap {model.dual_gap_:.0e}")
left.set(xscale="log", yscale="log", xlabel="Iterations", ylabel="Certified duality gap J - D")
right.set(xscale="log", xlabel="Milliseconds")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.6)
left.legend(frameon=False, fontsize="small", loc="lower left")
plt.show()
