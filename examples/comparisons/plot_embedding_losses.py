"""
Which loss tolerates wrong answers?
===================================

People err. Here 60 objects in three dimensions are compared 4,000 times, and more and more answers
are wrong. The error is measured on new answers without mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import OrdinalEmbedding
from skscreen.datasets import make_triplets

points = np.random.RandomState(0).normal(size=(60, 3))
unseen = make_triplets(points, 5000, random_state=1)
shares = np.array([0.0, 0.05, 0.1, 0.2, 0.3])
losses = ["soe", "ste", "gnmds", "tste", "ckl"]

fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for loss, colour, marker in zip(
    losses, ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"), "osDv^", strict=True
):
    errors = []
    for share in shares:
        answers = make_triplets(points, 4000, noise=share, random_state=2)
        model = OrdinalEmbedding(3, loss=loss, random_state=0).fit(answers)
        errors.append(1.0 - model.score(unseen))
    ax.plot(shares, errors, color=colour, marker=marker, label=loss)
    print(f"{loss:6}" + "".join(f"{error:8.1%}" for error in errors))
fig.suptitle("With many wrong answers all losses err alike", fontweight="bold")
ax.set(xlabel="Share of wrong answers", ylabel="Error on unseen answers", ylim=(0.0, None))
ax.xaxis.set_major_formatter(plt.matplotlib.ticker.PercentFormatter(1.0, decimals=0))
ax.yaxis.set_major_formatter(plt.matplotlib.ticker.PercentFormatter(1.0, decimals=0))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
