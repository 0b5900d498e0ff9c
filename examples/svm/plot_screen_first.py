"""
Which samples are decided before solving?
=========================================

The toy problem of Ogawa et al. (2014), Fig. 1: two overlapping clouds and a linear classifier. From
the solution for C = 5 most samples are decided for C = 10: samples far on the right side have the
dual variable 0, samples far on the wrong side C. The samples near the margin are left to any
solver. Right: the closer the C of the reference, the more samples are decided (their Fig. 4).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from skscreen import ScreenedLinearSVC, ScreenedSVC, screen_samples

rng = np.random.default_rng(0)
y = np.arange(1000) % 2
X = rng.normal(scale=1.5, size=(1000, 2)) + np.where(y, 0.5, -0.5)[:, None]
reference = ScreenedLinearSVC(C=5.0, loss="hinge", fit_intercept=False, random_state=0).fit(X, y)
found = screen_samples(X, y, C=10.0, reference=reference)
print(found)

fig, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.6), layout="constrained")
fig.suptitle(f"{found.rate_:.0%} of the samples are decided before solving", fontweight="bold")
kinds = {
    1: ("dual variable 0", "#0072B2", 14),
    2: ("at its bound", "#D55E00", 14),
    0: ("undecided", "#999999", 22),
}
for code, (label, colour, size) in kinds.items():
    for value, marker in ((0, "o"), (1, "^")):
        some = X[(found.codes_ == code) & (y == value)]
        name = label if value == 0 else None
        left.scatter(*some.T, s=size, c=colour, marker=marker, label=name, linewidths=0)
w, ends = reference.coef_[0], np.array([-5.0, 5.0])
for margin in (-1.0, 0.0, 1.0):
    line = (margin - w[0] * ends) / w[1]
    left.plot(ends, line, color="black", lw=1.0, ls="-" if margin == 0.0 else ":")
left.set(xlim=(-5.0, 5.0), ylim=(-5.0, 5.0), xlabel="first feature", ylabel="second feature")
left.set_title("from C = 5 for C = 10; dots and triangles are the classes", loc="left", fontsize=9)
# Below, where no sample is.
left.legend(frameon=False, fontsize=9, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13))

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
ratios = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
options = {"kernel": "rbf", "gamma": 1.0 / X.shape[1], "fit_intercept": False}
models = [ScreenedSVC(C=10.0 * ratio, **options).fit(X, y) for ratio in ratios]
tests = {
    "intersection": ("IT: both balls", "#0072B2"),
    "ball1": ("BT1: the first", "#E69F00"),
    "ball2": ("BT2: the second", "#009E73"),
}
for name, (label, colour) in tests.items():
    rates = [screen_samples(X, y, 10.0, reference=m, tests=name).rate_ for m in models]
    right.plot(ratios, rates, color=colour, marker=".", label=label)
    print(f"{label.split(':')[0]:4} " + " ".join(f"{rate:.2f}" for rate in rates))
right.set(xlabel="C of the reference / C", ylabel="share decided", ylim=(-0.02, 1.02))
right.set_title("breast cancer, RBF kernel, C = 10", loc="left", fontsize=9)
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False, loc="upper left")
plt.show()
