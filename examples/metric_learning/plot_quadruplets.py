"""
Which features did a judge look at?
===================================

A judge says in which of two pairs of patients the two are more alike, and looks at a few features
only. The judge is simulated, so that the truth is known, and 10 % of the answers are wrong. A
diagonal metric is learned from these quadruplets; its weights show what the judge looked at.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from skscreen import RTLMQuadrupletsClassifier

data = load_diabetes()
X = StandardScaler().fit_transform(data.data)
rng = np.random.default_rng(0)
truth = np.zeros(X.shape[1])
truth[[2, 3, 8]] = 1.0, 0.5, 0.5

rows = np.array([rng.choice(len(X), 4, replace=False) for _ in range(1000)])
one, other = (((X[rows[:, k]] - X[rows[:, k + 1]]) ** 2) @ truth for k in (0, 2))
answers = np.where(one < other, 1, -1) * np.where(rng.random(len(rows)) < 0.1, -1, 1)

model = RTLMQuadrupletsClassifier(diagonal=True, preprocessor=X)
agreement = cross_val_score(model, rows, answers).mean()
model.fit(rows, answers)
weights = model.get_mahalanobis_matrix().diagonal()
print(f"answers of other folds that the metric gives: {agreement:.0%}, at best about 90 %")
print(f"relative duality gap: {model.dual_gap_:.0e}")

fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
fig.suptitle("The weights show what the judge looked at", fontweight="bold")
at = np.arange(X.shape[1])
ax.bar(at - 0.2, truth / truth.sum(), 0.4, color="0.7", label="the judge")
ax.bar(at + 0.2, weights / weights.sum(), 0.4, color="#0072B2", label="learned")
ax.set_xticks(at, data.feature_names)
ax.set(ylabel="Share of the weight")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
