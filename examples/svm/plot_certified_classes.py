"""
Ten classes: could another C be better?
=======================================

Ten problems, each digit against the rest, are solved along one path over C. Bounds on all scores
prove, for every C of the range, how many validation samples can be right and how many are wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skscreen import svc_certified_C, svc_path
from skscreen.inspection import CertifiedPathDisplay

X, y = load_digits(return_X_y=True)
X = X / 16.0
X, y, X_val, y_val = X[::2], y[::2], X[1::2], y[1::2]

options = {"intercept": "penalised", "multi_class": "ovr"}
best = svc_certified_C(X, y, X_val, y_val, (0.01, 100.0), eps=0.01, **options)
path = svc_path(X, y, Cs=np.geomspace(0.01, 100.0, 60), **options)
errors = [1.0 - path[k].score(X_val, y_val) for k in range(len(path))]

display = CertifiedPathDisplay.from_result(best)
display.ax_.plot(path.Cs, errors, color="black", linewidth=0.8)
display.figure_.suptitle("The error of 60 more values of C lies in the band", fontweight="bold")

print(f"C = {best.C:.3g}, error {best.validation_error:.3f}, ", end="")
print(f"nowhere below {best.lower_bound:.3f}; {best.n_solved} values solved")
print(f"60 others: errors from {min(errors):.3f} to {max(errors):.3f}, ", end="")
print(f"gaps of all {len(path.solutions[0].problems)} problems <= {path.dual_gaps.max():.0e}")
plt.show()
