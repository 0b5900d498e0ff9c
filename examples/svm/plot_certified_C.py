"""
Could another C be better?
==========================

A grid search knows the validation error at the values of its grid. Here bounds between solved
values prove that no C of the range has an error lower by more than one percentage point.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen import ScreenedSVCCV, svc_certified_C
from skscreen.inspection import CertifiedPathDisplay

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)

best = svc_certified_C(X[::2], y[::2], X[1::2], y[1::2], (0.01, 100.0), eps=0.01, kernel="linear")
folds = ScreenedSVCCV([0.01, 100.0], certify=0.01, kernel="linear", intercept="penalised").fit(X, y)

fig, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
fig.suptitle("No C in the range is better by more than 1 %", fontweight="bold")
CertifiedPathDisplay.from_result(best, ax=axes[0])
CertifiedPathDisplay.from_estimator(folds, ax=axes[1])
for ax, title in zip(axes, ("one validation set", "mean of five folds"), strict=True):
    ax.set_title(title, loc="left", pad=38)
axes[1].set_ylabel("")

print(f"One set: C = {best.C:.3g}, error {best.validation_error:.3f}, ", end="")
print(f"nowhere below {best.lower_bound:.3f}; {best.n_solved} values solved")
lowest = folds.bounds_.lower.min()
print(f"Folds: C = {folds.C_:.3g}, error {1.0 - folds.best_score_:.3f}, nowhere below {lowest:.3f}")
plt.show()
