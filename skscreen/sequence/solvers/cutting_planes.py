"""The risk of max-margin chains as BMRM asks for it: with an affine function below it."""

import numpy as np

from skscreen.sequence.chains import Chains


class ChainCuts:
    """R(w) = sum_c s_c max_y [loss_c(y) - w . (f(x_c, y_c) - f(x_c, y))]; see `bundle.Cuts`."""

    floor = 0.0

    def __init__(self, chains: Chains):
        self.chains, self.lam, self.n_weights = chains, chains.lam, chains.n_weights
        self._truth = chains.features(chains.codes)

    def cut(self, w: np.ndarray) -> tuple[float, float, np.ndarray, float]:
        """Return R(w), no intercept, and slope and offset of the function of worst labellings."""
        labels, value = self.chains.worst(w)
        return value, 0.0, self.chains.features(labels) - self._truth, self.chains.loss(labels)
