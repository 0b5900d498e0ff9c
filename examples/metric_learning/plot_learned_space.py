"""
What does a learned metric do to the data?
==========================================

Wines by the two principal components of their features, and by the two strongest directions of a
learned map. All points of the ellipse have the same learned distance from its centre. The metric is
learned, and its λ chosen by cross-validation, on half of the wines; the figure shows the others.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from skscreen import ScreenedRTLMCV
from skscreen.inspection import LearnedSpaceDisplay

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

metric = ScreenedRTLMCV().fit(X_train, y_train)
pca = PCA().fit(X_train)

for name, model in (("principal components", pca), ("learned", metric)):
    knn = KNeighborsClassifier(5).fit(model.transform(X_train), y_train)
    accuracy = knn.score(model.transform(X_test), y_test)
    print(f"5-NN accuracy, all directions, {name}: {accuracy:.3f}")

display = LearnedSpaceDisplay.from_estimator(metric, X_test, y_test)
display.figure_.suptitle("The learned map separates the classes of unseen wines", fontweight="bold")
print(f"λ is {metric.best_lam_:.2g} λ_max; ", end="")
print(f"rank of the learned metric: {len(metric.components_)} of {X.shape[1]}")
plt.show()
