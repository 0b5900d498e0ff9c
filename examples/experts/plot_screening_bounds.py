"""
Which bound decides how many triplets?
======================================

Along one regularisation path of wine each bound screens alone. The line of a bound is the share of
triplets it decides before the first iteration at a new λ.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler

from skscreen import rtlm_path
from skscreen.inspection import ScreeningDisplay

X, y = load_wine(return_X_y=True)
X = MinMaxScaler((-1.0, 1.0)).fit_transform(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), sharey=True, layout="constrained")
fig.suptitle("The ball of the gap decides about as many triplets as any", fontweight="bold")
path = rtlm_path(X, y, n_neighbors=20)
display = ScreeningDisplay.from_path(path, ax=left)
display.ax_.set_title("the default, gap", loc="left", pad=36)

colours = {"gap": "#0072B2", "rrpb": "#E69F00", "dgb": "#009E73", "gb": "#D55E00"}
for name, colour in colours.items():
    alone = rtlm_path(X, y, n_neighbors=20, lams=path.lams, relative_lam=False, bound=name)
    right.plot(alone.lams, alone.path_rates, color=colour, label=name)
    print(f"{name:5} mean share decided at the start: {alone.path_rates.mean():.0%}")
right.set_xscale("log")
right.xaxis.set_inverted(True)
right.set_xlabel("Regularisation parameter λ (log scale)")
right.set_title("each bound, at the start", loc="left", pad=36)
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0))
plt.show()
