"""
What does a sequence labeller learn?
====================================

Words of noisy images of digits, in which some digits seldom follow others. A conditional random
field and a max-margin Markov chain see both the images and the neighbours; a classifier of single
images mixes up digits that they keep apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay

from skscreen import ChainCRF, MaxMarginChain
from skscreen.metrics import sequence_accuracy

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images = images / 16.0
# From each digit to the next: a few are frequent.
table = rng.dirichlet(np.full(10, 0.2), size=10)


def words(n_words, rows):
    """Draw words, with images from some rows of the data."""
    X, y = [], []
    for _ in range(n_words):
        word = [rng.integers(10)]
        while len(word) < 6:
            word.append(rng.choice(10, p=table[word[-1]]))
        picked = [rng.choice(rows[digits[rows] == digit]) for digit in word]
        X.append(images[picked] + rng.normal(scale=0.5, size=(6, 64)))
        y.append(np.array(word))
    return X, y


X, y = words(300, np.arange(900))
X_test, y_test = words(300, np.arange(900, len(digits)))

margin = MaxMarginChain(C=0.03).fit(X, y)
crf = ChainCRF(C=0.3).fit(X, y)
single = LogisticRegression(C=0.1, max_iter=1000).fit(np.concatenate(X), np.concatenate(y))
found = {
    "single images": [single.predict(part) for part in X_test],
    "max-margin chain": margin.predict(X_test),
    "conditional random field": crf.predict(X_test),
}

fig, axes = plt.subplots(1, 2, figsize=(10.0, 4.6), layout="constrained")
fig.suptitle("Neighbours resolve what single images mix up", fontweight="bold")
for ax, name in zip(axes, ("single images", "conditional random field"), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        np.concatenate(y_test), np.concatenate(found[name]), normalize="true", include_values=False,
        cmap="Blues", colorbar=False, ax=ax,
    )  # fmt: skip
    ax.set(title=f"Confusions, {name}", xlabel="Predicted digit", ylabel="True digit")
fig.colorbar(axes[0].images[0], ax=axes, shrink=0.8, label="Share of the true digit")

# %%
# The scores of steps follow the frequencies of neighbours.

most = np.abs(crf.transition_).max()
fig, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
fig.suptitle("Scores of steps follow how often digits follow each other", fontweight="bold")
axes[0].imshow(table, cmap="Greys")
axes[0].set(title="Frequency of the next digit in the words", ylabel="From digit")
image = axes[1].imshow(crf.transition_, cmap="RdBu", vmin=-most, vmax=most)
axes[1].set(title="Learned scores of steps")
for ax in axes:
    ax.set(xlabel="To digit", xticks=range(10), yticks=range(10))
fig.colorbar(image, ax=axes[1], shrink=0.8, label="Score")

# %%
# Marginal probabilities tell which positions are in doubt.

marginals, word = crf.predict_marginals(X_test[:1])[0], X_test[0]
fig, axes = plt.subplots(2, 6, figsize=(10.0, 3.4), layout="constrained", sharey="row")
fig.suptitle("Marginal probabilities tell which positions are in doubt", fontweight="bold")
for t in range(6):
    axes[0, t].imshow(word[t].reshape(8, 8), cmap="Greys")
    axes[0, t].set(xticks=[], yticks=[], title=f"true {y_test[0][t]}")
    axes[1, t].bar(range(10), marginals[t], color="#0072B2")
    axes[1, t].set(xticks=range(0, 10, 3), xlabel="digit", ylim=(0.0, 1.0))
axes[1, 0].set_ylabel("probability")

accuracy = {}
for name, labels in found.items():
    accuracy[name] = np.mean(np.concatenate(labels) == np.concatenate(y_test))
    whole = sequence_accuracy(y_test, labels)
    print(f"{name}: {accuracy[name]:.3f} of the digits right, {whole:.3f} of the words")
print(f"Certified: gap {margin.dual_gap_:.1e} of the objective, and {crf.dual_gap_:.1e}")
plt.show()
