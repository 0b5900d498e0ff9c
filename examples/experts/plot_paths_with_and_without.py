"""
When does screening save time?
==============================

Whole paths of metrics with screening and without, at the same values of λ, with the smoothed hinge
and with the hinge. Screening decides most triplets everywhere. It saves time where a step costs
time for each triplet, as with the hinge; with the smoothed hinge, whose steps are few and mostly
work on pairs of samples, it hardly does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from skscreen import rtlm_path

data_sets = {"iris": (load_iris, None), "wine": (load_wine, 40)}
losses = {"smoothed_hinge": "#0072B2", "hinge": "#E69F00"}
ratios, rates = {}, {}
for name, (load, n_neighbors) in data_sets.items():
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    options = {"n_neighbors": n_neighbors, "ratio": 0.8, "n_lams": 20}
    for loss in losses:
        screened = rtlm_path(X, y, loss=loss, **options)
        plain = rtlm_path(
            X,
            y,
            loss=loss,
            n_neighbors=n_neighbors,
            lams=screened.lams,
            relative_lam=False,
            screening=False,
        )
        seconds = plain.seconds.sum(), screened.seconds.sum()
        ratios[loss, name] = seconds[0] / seconds[1]
        rates[loss, name] = screened.rates.mean()
        print(
            f"{name:7} {loss:15} {screened.n_triplets:9,} triplets, {len(plain)} values of λ: ",
            end="",
        )
        print(f"without {seconds[0]:.2f} s, with {seconds[1]:.2f} s, ", end="")
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
axes[1].set(ylabel="Seconds without / with screening")
axes[1].axhline(1.0, color="0.35", linestyle="--", linewidth=1)
axes[1].legend(frameon=False)
plt.show()
