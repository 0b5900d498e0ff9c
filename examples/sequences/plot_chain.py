"""
Does the order of labels help?
==============================

Noisy observations of a label that seldom changes. A classifier of single positions is misled by the
noise. A max-margin Markov chain, and a conditional random field with a kernel, learn that the label
stays the same for a while.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.model_selection import GridSearchCV

from skscreen import KernelChainClassifier, MaxMarginChain, ScreenedLinearSVC

rng = np.random.default_rng(0)
n_sequences, length, n_labels, stays = 50, 40, 3, 0.9


def draw():
    y = np.empty(length, dtype=int)
    y[0] = rng.integers(n_labels)
    for t in range(1, length):
        y[t] = y[t - 1] if rng.uniform() < stays else rng.integers(n_labels)
    return np.eye(n_labels)[y] + rng.normal(scale=0.9, size=(length, n_labels)), y


X, y = zip(*(draw() for _ in range(n_sequences)), strict=True)
X, X_test, y, y_test = X[:20], X[20:], y[:20], y[20:]

chain = MaxMarginChain(C=0.1, random_state=0).fit(X, y)
search = GridSearchCV(ScreenedLinearSVC(), {"C": [0.01, 0.1, 1.0]})
single = search.fit(np.concatenate(X), np.concatenate(y))
kernel = KernelChainClassifier(C=1.0).fit(X, y)
accuracy_chain = chain.score(X_test, y_test)
accuracy_kernel = kernel.score(X_test, y_test)
accuracy_single = single.score(np.concatenate(X_test), np.concatenate(y_test))

fig, (left, right) = plt.subplots(
    1, 2, figsize=(10.0, 3.0), width_ratios=[3, 1], layout="constrained"
)
fig.suptitle("Chains keep a label where a single noisy position misleads", fontweight="bold")
rows = {
    "true": y_test[0],
    f"single ({accuracy_single:.0%})": single.predict(X_test[0]),
    f"max-margin ({accuracy_chain:.0%})": chain.predict(X_test[:1])[0],
    f"kernel ({accuracy_kernel:.0%})": kernel.predict(X_test[:1])[0],
}
colours = ListedColormap(["#0072B2", "#E69F00", "#009E73"])
left.imshow(list(rows.values()), aspect="auto", cmap=colours)
left.set_yticks(range(len(rows)), rows)
left.set(xlabel="Position", title="Labels of one test sequence (accuracy on all 30)")
most = np.abs(chain.transition_).max()
image = right.imshow(chain.transition_, cmap="RdBu", vmin=-most, vmax=most)
right.set(title="Learned transitions\n(max-margin)", xlabel="to label", ylabel="from label",
          xticks=range(3), yticks=range(3))  # fmt: skip
fig.colorbar(image, ax=right, shrink=0.8)

print(f"Test accuracy: single positions {accuracy_single:.3f}, ", end="")
print(f"max-margin chain {accuracy_chain:.3f}, kernel chain {accuracy_kernel:.3f}")
print(f"Certified: (P - D) / P = {chain.dual_gap_:.1e} after {chain.n_iter_} sweeps")
plt.show()
