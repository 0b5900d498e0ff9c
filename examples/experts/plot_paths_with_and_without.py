"""
When does screening save time?
==============================

Whole paths of metrics with screening and without, at the same values of λ, with the smoothed hinge
and with the hinge. Screening decides most triplets everywhere. It saves time where a step costs
time for each triplet, as with the hinge; with the smoothed hinge, whose steps are few and mostly
work on pairs of samples, it hardly does.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from skscreen import rtlm_path


def timed(X, y, **options):
    """Return a path and the CPU seconds that it took."""
    started = time.process_time()
    path = rtlm_path(X, y, **options)
    return path, time.process_time() - started


data_sets = {"iris": (load_iris, None), "wine": (load_wine, 40)}
losses = {"smoothed_hinge": "#0072B2", "hinge": "#E69F00"}
ratios, rates = {}, {}
for name, (load, n_neighbors) in data_sets.items():
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    options = {"n_neighbors": n_neighbors, "ratio": 0.8, "n_lams": 40}
    for loss in losses:
        screened, with_screening = timed(X, y, loss=loss, **options)
        plain, without = timed(
            X,
            y,
            loss=loss,
            n_neighbors=n_neighbors,
            lams=screened.lams,
            relative_lam=False,
            screening=False,
        )
        ratios[loss, name] = without / with_screening
        rates[loss, name] = screened.rates.mean()
        print(
            f"{name:7} {loss:15} {screened.n_triplets:9,} triplets, {len(plain)} values of λ: ",
            end="",
        )
        print(f"without {without:.2f} s, with {with_screening:.2f} s, ", end="")
        print(f"{rates[loss, name]:.0%} decided, largest gap {screened.dual_gaps.max():.0e}")

fig, axes = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
fig.suptitle("Proofs decide most triplets; time is saved with the hinge", fontweight="bold")
at = np.arange(len(data_sets))
for ax, values in zip(axes, (rates, ratios), strict=True):
    for shift, (loss, colour) in zip((-0.2, 0.2), losses.items(), strict=True):
        heights = [values[loss, name] for name in data_sets]
        ax.bar(at + shift, heights, 0.4, color=colour, label=loss.replace("_", " "))
    ax.set_xticks(at, data_sets)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(ylabel="Triplets decided, mean over the path", ylim=(0.0, 1.0))
axes[0].yaxis.set_major_formatter("{x:.0%}")
axes[1].set(ylabel="CPU seconds without / with screening")
axes[1].axhline(1.0, color="0.35", linestyle="--", linewidth=1)
axes[0].legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
plt.show()
