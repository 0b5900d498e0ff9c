"""
Which C and which gamma?
========================

Cross-validation chooses both at once. For each fold and gamma one path over C is solved, where each
solution is the start of the next; all kernel matrices share the distances between samples.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skscreen import ScreenedSVCCV
from skscreen.inspection import SearchDisplay

X, y = load_digits(return_X_y=True)
X, y = X / 16.0, y % 2

started = time.perf_counter()
search = ScreenedSVCCV(Cs=np.geomspace(0.1, 100, 7), gammas=np.geomspace(0.01, 1, 5)).fit(X, y)
seconds = time.perf_counter() - started

display = SearchDisplay.from_estimator(search)
display.figure_.suptitle("Where gamma fits, accuracy hardly depends on C", fontweight="bold")
print(f"35 pairs, 5 folds: {seconds:.1f} s")
print(f"C = {search.C_:.3g}, gamma = {search.gamma_:.3g}: accuracy {search.best_score_:.3f}")
plt.show()
