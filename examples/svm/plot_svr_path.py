"""
Support vector regression: what C and epsilon do
================================================

`svr_path` solves a regression for many values of C, each with a proof of how near it is to the
optimum. Left: the functions for a small and a large C. Residuals up to epsilon cost nothing, so
samples inside the tube around the function are no support vectors. Right: along the path, how many
there are, and how far predictions are off on new samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from skscreen import svr_path

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3.0, 3.0, 120))
y = np.sinc(x) + 0.1 * rng.normal(size=120)
new = rng.uniform(-3.0, 3.0, 2000)
wanted = np.sinc(new)

epsilon = 0.1
Cs = np.geomspace(0.01, 1000.0, 40)
path = svr_path(x[:, None], y, Cs=Cs, gamma=1.0, epsilon=epsilon)
print(path)

# %%
# The same path for no tube at all, which makes every sample a support vector: least absolute
# deviations.
absolute = svr_path(x[:, None], y, Cs=Cs, gamma=1.0, epsilon=0.0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
figure.suptitle("A moderate C errs least on new samples", fontweight="bold")
line = np.linspace(-3.0, 3.0, 300)
left.plot(x, y, ".", color="0.6")
for index, colour in ((10, "C0"), (26, "C1")):
    model = path[index]
    values = model.predict(line[:, None])
    left.plot(line, values, colour, label=f"C = {model.C:.2g}")
    left.fill_between(line, values - epsilon, values + epsilon, color=colour, alpha=0.15, lw=0.0)
left.set(xlabel="x", ylabel="y")
left.legend()

for found, colour, name in ((path, "C0", "epsilon = 0.1"), (absolute, "C2", "epsilon = 0")):
    errors = [np.abs(found[k].predict(new[:, None]) - wanted).mean() for k in range(len(found))]
    right.semilogx(found.Cs, errors, colour, label=f"mean absolute error, {name}")
right.set(xlabel="C", ylabel="mean absolute error", ylim=(0.0, None))
support = right.twinx()
share = (path.dual_coefs != 0.0).mean(axis=1)
support.semilogx(path.Cs, share, "C0--", label="support vectors, epsilon = 0.1")
support.set(ylabel="share of support vectors", ylim=(0.0, 1.0))
handles = [*right.get_lines(), *support.get_lines()]
right.legend(handles, [handle.get_label() for handle in handles], fontsize="small")
plt.show()
