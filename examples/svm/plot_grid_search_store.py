"""
What does a store save in a grid search?
========================================

A grid search fits the same folds again and again with another C. With ``store=`` a fit starts from
the nearest values that were solved before, and screens by them; the kernel matrix of a fold is
computed once. The scores are the same.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from skscreen import ScreenedSVC, Store

X, y = load_digits(return_X_y=True)
X, y = X / 16.0, y % 2
Cs = np.geomspace(0.1, 100.0, 16)


def search(store):
    model = ScreenedSVC(store=store)
    return GridSearchCV(model, {"C": Cs}, cv=5).fit(X, y)


alone = search(None)
with TemporaryDirectory() as folder:
    store = Store(folder, max_bytes=2**30)
    stored = search(store)
    n_solved = len(list(store.folder.rglob("*.npz")))
print(f"{n_solved} solved problems were kept")

fig, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6.6, 5.2), layout="constrained")
for result, label, colour, marker in [
    (alone, "without a store", "#E69F00", "s"),
    (stored, "with a store", "#0072B2", "o"),
]:
    seconds = result.cv_results_["mean_fit_time"]
    scores = result.cv_results_["mean_test_score"]
    top.plot(Cs, seconds, marker=marker, color=colour, label=label)
    bottom.plot(Cs, scores, marker=marker, color=colour, label=label)
    print(f"{label}: {5 * seconds.sum():.2f} s, best C {result.best_params_['C']:.3g}")
share = sum(stored.cv_results_["mean_fit_time"]) / sum(alone.cv_results_["mean_fit_time"])
fig.suptitle(f"With a store: {share:.0%} of the time, the same scores", fontweight="bold")
top.set_title("means of 5 folds", loc="left", fontsize=9)
top.set(ylabel="Seconds of a fit", ylim=(0, None))
bottom.set(xscale="log", xlabel="C (log scale)", ylabel="Accuracy")
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
plt.show()
