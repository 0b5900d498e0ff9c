"""What the parameters of the support vector machines may be."""

import os
from numbers import Integral, Real

from skscreen.core.sklearn_private import Interval, Options, StrOptions
from skscreen.core.threads import N_JOBS
from skscreen.fitting.store import Store
from skscreen.samples.kernels.kernel import KERNELS
from skscreen.svm.screening.rules import BOUNDS
from skscreen.svm.solvers.linear.solve import SOLVERS

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")

_OF_ALL = {
    "fit_intercept": ["boolean"],
    "intercept_scaling": [POSITIVE],
    # A live view: a bound that somebody adds is a name too.
    "screening": ["boolean", StrOptions(BOUNDS.keys())],
    "tol": [POSITIVE],
    "store": [str, os.PathLike, Store, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}

OF_CLASSES = {"class_weight": [dict, StrOptions({"balanced"}), None], "n_jobs": N_JOBS}

LINEAR = {
    **_OF_ALL,
    "C": [POSITIVE],
    "dual": ["boolean", StrOptions({"auto"})],
    "solver": [StrOptions(set(SOLVERS))],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}

KERNEL = {
    **_OF_ALL,
    "C": [Interval(Real, 0, None, closed="right")],
    "kernel": [StrOptions(set(KERNELS)), callable],
    "gamma": [StrOptions({"scale", "auto"}), NOT_NEGATIVE],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "intercept": [StrOptions({"penalised", "free"})],
    "solver": [StrOptions(set(SOLVERS))],
    "max_iter": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
    "shrinking": ["boolean"],
    "indefinite": [StrOptions({"warn", "error", "shift"})],
    "cache_size": [POSITIVE],
}
