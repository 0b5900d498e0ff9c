"""
What does a projection onto a box and a plane cost?
===================================================

The nearest point of a box that also satisfies one linear equality, as every step of Pragam with an
intercept needs it. It takes linear time, also where many entries are equal.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from skscreen import project_box_equality

rng = np.random.default_rng(0)
sizes = np.logspace(3, 6, 7).astype(int)
makers = {
    "all entries differ": lambda n: rng.normal(size=n),
    "ten different values": lambda n: rng.integers(10, size=n).astype(float),
}


def seconds(point, signs):
    """The fastest of five; also how far the equality is from holding."""
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        nearest = project_box_equality(point, 0.0, coefficients=signs)
        taken.append(time.perf_counter() - start)
    return min(taken), abs(signs @ nearest) / len(point)


fig, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
fig.suptitle("A projection takes linear time", fontweight="bold")
worst = 0.0
for (label, make), colour, marker in zip(makers.items(), ("#0072B2", "#E69F00"), "os", strict=True):
    times = []
    for n in sizes:
        taken, error = seconds(make(n), np.where(np.arange(n) % 3 == 0, -1.0, 1.0))
        times.append(taken)
        worst = max(worst, error)
    ax.loglog(sizes, times, marker=marker, color=colour, label=label)
guide = times[-1] * sizes / sizes[-1]
ax.loglog(sizes, guide, color="0.35", linestyle="--", linewidth=1, label="proportional to n")
ax.set(xlabel="Entries n", ylabel="Seconds")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
print(f"Largest violation of the equality, over n: {worst:.0e}")
plt.show()
