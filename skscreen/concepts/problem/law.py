"""The strength of the L1 penalty that belongs to a number of trials."""

import numpy as np

# Of so many trials an object the penalty falls with the root of their number; of fewer it is
# stronger by this power: that predicts best in simulations.
MANY_TRIALS, FEWER = 100.0, 0.35


def law(n_objects: int, n_trials: float) -> float:
    """Return the strength of the L1 penalty of so many trials of so many objects."""
    # The penalty competes with the noise of an entry of the gradient. The constant gives SPoSE's
    # .008 with its 1.46 million trials of 1,854 objects. Weights that sum to less than one trial
    # are no trial.
    share = n_objects / max(n_trials, 1.0)
    # Fewer trials an object leave pairs that by chance were kept whenever they were shown.
    return 0.224 * float(np.sqrt(share)) * max(1.0, MANY_TRIALS * share) ** FEWER
