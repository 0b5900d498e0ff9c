"""
Which C and which gamma?
========================

Both at once, by cross-validation: for each fold and gamma one path over C, whose solutions are the
start of the next, on kernel matrices that share the distances of the samples.
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
