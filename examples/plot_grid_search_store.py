"""
What does a store save in a grid search?
========================================

A grid search fits the same folds again and again with another C. With ``memory=`` a fit starts from
the nearest values that were solved before, and screens by them. The scores are the same.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from skscreen import ScreenedSVC, Store

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
Cs = np.geomspace(0.1, 100.0, 16)


def iterations(estimator, X, y):
    """Not a score: the steps that the fit of a fold took."""
    return float(estimator.n_iter_.sum())


def search(memory):
    model = ScreenedSVC(kernel="rbf", memory=memory)
    scoring = {"accuracy": "accuracy", "iterations": iterations}
    return GridSearchCV(model, {"C": Cs}, scoring=scoring, refit="accuracy", cv=5).fit(X, y)


alone = search(None)
with TemporaryDirectory() as folder:
    store = Store(folder, max_bytes=2**30)
    stored = search(store)

fig, (top, bottom) = plt.subplots(2, sharex=True, figsize=(6.6, 5.2), layout="constrained")
for result, label, colour, marker in [
    (alone, "without a store", "#E69F00", "s"),
    (stored, "with a store", "#0072B2", "o"),
]:
    steps = result.cv_results_["mean_test_iterations"]
    scores = result.cv_results_["mean_test_accuracy"]
    top.plot(Cs, steps, marker=marker, color=colour, label=label)
    bottom.plot(Cs, scores, marker=marker, color=colour, label=label)
    print(f"{label}: {5 * steps.sum():,.0f} steps, best C {result.best_params_['C']:.3g}")
top.set(ylabel="Steps of a fit, mean of 5 folds", ylim=(0, None))
bottom.set(xscale="log", xlabel="C (log scale)", ylabel="Accuracy, mean of 5 folds")
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
plt.show()
