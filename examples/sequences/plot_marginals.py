"""
How sure is a chain of each label?
==================================

A conditional random field gives probabilities: of each label at each position, of a span, of a
whole labelling. Here a machine changes between two states that seldom change, seen through noise.
The chain is unsure where the state changes, and where an observation contradicts its neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import ChainCRF

rng = np.random.default_rng(1)
STATES = np.array(["idle", "busy"])


def draw(length=60, stays=0.93):
    changes = rng.uniform(size=length) > stays
    state = np.cumsum(changes) % 2
    return (2.0 * state - 1.0 + rng.normal(scale=1.3, size=length))[:, None], STATES[state]


X, y = zip(*(draw() for _ in range(60)), strict=True)
model = ChainCRF(C=1.0).fit(X[:40], y[:40])

# The sequence with the most changes.
shown = max(range(40, 60), key=lambda k: np.count_nonzero(y[k][1:] != y[k][:-1]))
x, truth = X[shown], y[shown]
marginals = model.predict_marginals([x])[0]
busy = marginals[:, list(model.classes_).index("busy")]
t = np.arange(len(x))

fig, (seen, sure) = plt.subplots(2, 1, figsize=(8.0, 4.4), sharex=True, layout="constrained")
fig.suptitle("Unsure where the state changes", fontweight="bold")
seen.scatter(t, x[:, 0], s=14, color="0.35")
seen.set(ylabel="Observation")
sure.fill_between(t, 0, truth == "busy", step="mid", color="#E69F00", alpha=0.3, label="truth")
sure.plot(t, busy, "o-", markersize=4, color="#0072B2", label="probability of “busy”")
sure.set(xlabel="Position", ylabel="Probability", ylim=(0, 1.02))
sure.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
for ax in (seen, sure):
    ax.spines[["top", "right"]].set_visible(False)

print(f"Accuracy on new sequences: {model.score(X[40:], y[40:]):.3f}")
right = np.concatenate([m.max(axis=1) for m in model.predict_marginals(X[40:])]).mean()
print(f"Accuracy that its probabilities promise: {right:.3f}")
plt.show()
