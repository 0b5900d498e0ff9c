"""
What is a false alarm worth?
============================

A machine has run well for a while, and its states of that time are all there is to learn from. A
one-class SVM finds the region of usual states. Its offset decides how many usual states raise an
alarm later: more than asked for if `nu` sets the offset, as many as asked for if held-out states
set it.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import ScreenedOneClassSVM, one_class_path

rng = np.random.default_rng(0)


def states(n):
    """Two modes of operation, one of them with a bend."""
    angle = rng.uniform(0.0, np.pi, n)
    bend = np.stack([2.0 * np.cos(angle) - 1.0, 2.0 * np.sin(angle)], axis=1)
    cloud = np.array([1.5, -1.5])
    points = np.where((np.arange(n) % 3 == 0)[:, None], cloud, bend)
    return points + rng.normal(scale=0.25, size=(n, 2))


X, held_out, later = states(300), states(1000), states(20_000)
rate = 0.02

# %%
# With nu = rate, at most this share of the training states is outside. More of the later states are
# outside, because 300 states do not show all there is. The offset by held-out states keeps the
# rate, and needs no other fit.

model = ScreenedOneClassSVM(nu=rate, gamma=1.0).fit(X)
by_nu = model.offset_
alarms_by_nu = np.mean(model.predict(later) < 0)
model.calibrate_offset(held_out, rate)
alarms = np.mean(model.predict(later) < 0)
print(
    f"asked for {rate:.0%}: by nu {alarms_by_nu:.1%}, by held-out states {alarms:.1%} false alarms"
)

# %%
# The same for all nu, along a path, in less time than 25 fits. Which nu is best?
# The one whose region is smallest at the rate: it calls the fewest unusual states usual.

path = one_class_path(X, np.linspace(0.01, 0.5, 25), gamma=1.0)
grid = np.stack(np.meshgrid(np.linspace(-4, 3, 120), np.linspace(-3, 3.5, 120)), axis=-1)
points = grid.reshape(-1, 2)
alarms_of_path, areas = [], []
for each in path:
    alarms_of_path.append(np.mean(each.predict(later) < 0))
    areas.append(np.mean(each.calibrate_offset(held_out, rate).predict(points) > 0))
best = path[int(np.argmin(areas))].calibrate_offset(held_out, rate)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.scatter(*X.T, s=8, color="0.6", label="usual states")
for estimator, offset, colour, name in (
    (model, by_nu, "tab:orange", f"by nu: {alarms_by_nu:.1%} false alarms"),
    (model, model.offset_, "tab:blue", f"by held-out states: {alarms:.1%}"),
):
    scores = estimator.score_samples(points).reshape(grid.shape[:2])
    left.contour(*np.moveaxis(grid, -1, 0), scores, levels=[offset], colors=colour)
    left.plot([], [], color=colour, label=name)
figure.suptitle("Held-out samples keep the rate of false alarms", fontweight="bold")
left.set(title=f"Asked for {rate:.0%}", xticks=[], yticks=[], xlim=(-4, 3), ylim=(-3, 3.5))
left.legend(loc="lower left", fontsize=8)
right.plot(path.nus, alarms_of_path, color="tab:orange", label="false alarms by nu")
right.plot(path.nus, path.nus, color="0.6", linestyle="--", label="nu itself")
right.axhline(rate, color="tab:blue", label=f"asked for, {rate:.0%}")
right.axvline(best.nu, color="tab:green", linestyle=":", label="smallest region at that rate")
right.set(xlabel="nu", ylabel="share of later states", title="Along the path", ylim=(0, 0.6))
right.legend(fontsize=8)
plt.show()
