"""What the estimators at a nu share: their parameters, and what is said of their solutions."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from skscreen.core.sklearn_private import Interval, Options, StrOptions
from skscreen.fitting.path import warn_unless_converged
from skscreen.fitting.warning import warn_user
from skscreen.samples.kernels.kernel import KERNELS
from skscreen.svm.nu.solve import NuSolution, ShownAtNu
from skscreen.svm.parameters import KERNEL

# All but those of a C.
OF_NU = {
    "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    "kernel": [StrOptions(set(KERNELS)), callable],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
    **{
        name: KERNEL[name]
        for name in ("gamma", "degree", "coef0", "tol", "shrinking", "cache_size", "verbose")
    },
}

# Advice if a solve ended at `max_iter`, and if it was ended by rounding errors or its own limit.
_ADVICE = (
    "Standardise X, use a larger nu, or raise max_iter or tol.",
    "The samples may need a larger nu, as a small one lets hardly any sample be on the wrong side; "
    "or standardise X, or raise tol.",
)
_NOT_CERTIFIED = (
    "the kernel is not positive semi-definite: the problem is not convex, the solution is where "
    "LIBSVM stops, and nothing certifies it (dual_gap_ is nan). Choose another kernel or other "
    "parameters."
)


def warn_of(model: BaseEstimator, solutions: Sequence[NuSolution | ShownAtNu]) -> None:
    """Warn of solutions without a certificate, and above the tolerance."""
    certified = [found for found in solutions if not np.isnan(found.certificate.gap)]
    if len(certified) < len(solutions):
        warn_user(_NOT_CERTIFIED)
    warn_unless_converged(certified, model.tol, model.max_iter, _ADVICE)
