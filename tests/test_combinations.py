"""Every parameter beside every other that chooses a kernel, a loss, a solver or the like.

What has no effect there is ignored: no combination of valid values is an error or a warning, but
for the few that are refused on purpose.
"""

import inspect
import warnings
from itertools import chain

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.fixes import parse_version
from test_dialect import CHOSEN, FITTED, GRID, SEARCHES, make, product

import skscreen
from skscreen.core.sklearn_private import StrOptions

# What chooses between problems or methods; a single value stands for all strings that are allowed.
CHOICES = {
    "kernel": ["linear", "rbf", "poly", product], "loss": None, "solver": None,
    "fit_intercept": [True, False], "intercept": None, "screening": [True, False, "gap", "ball2"],
    "multi_class": None, "penalty": None, "formulation": None, "diagonal": [True],
    "linear_term": ["trace"], "pull": [0.3], "relative_lam": [False], "refit": [False],
    "gammas": [[0.1, 1.0]], "epsilons": [[0.1, 0.5]], "warm_start": [True],
    "active_set": [False], "dual": [True, False], "n_init": [2],
}  # fmt: skip
# Of all else another valid value than the default.
OTHERS = {
    "gamma": 0.3, "degree": 5, "coef0": 2.0, "intercept_scaling": 3.0, "cache_size": 10,
    "indefinite": "error", "shrinking": False, "break_ties": True, "random_state": 3, "n_jobs": 2,
    "decision_function_shape": "ovo", "class_weight": "balanced", "width": 0.3, "bound": "gb",
    "rule": "linear", "screen_every": 3, "n_neighbors": 2, "lipschitz": 1.0, "restart": False,
    "batch_size": 5, "projection": False, "alpha": 2.0, "mu": 0.3, "margin": 0.5, "eta0": 1e-5,
    "smoothing": 0.5, "sbb_epsilon": 0.1, "update_frequency": 7, "reg": 0.1, "epsilon": 0.3,
    "unlabelled": -1, "n_components": 1, "store": "folder",
}  # fmt: skip
# Refused by LinearSVC, too; and an intercept that is not the best one of a batch.
REFUSED = {
    "ScreenedLinearSVC": {"loss": "hinge", "penalty": "l1"},
    "PragamSVC": {"solver": "pegasos", "batch_size": 5},
}


def data_of(name: str, options: dict) -> tuple:
    """Return what to fit to; of trials of the odd one out its place is said."""
    data = FITTED[name]
    if options.get("loss") == "oddoneout":
        return (*data, np.full(len(data[0]), 2))
    return data


def choices(kind: type) -> list[dict]:
    """Return the settings that choose something else than the defaults, one by one."""
    out = [{}]
    for name in inspect.signature(kind).parameters:
        values = CHOICES.get(name, ())
        if values is None:
            allowed = kind._parameter_constraints[name]
            values = chain(*(one.options for one in allowed if isinstance(one, StrOptions)))
        allowed = kind._parameter_constraints.get(name, ())
        named = set(chain(*(one.options for one in allowed if isinstance(one, StrOptions))))
        out += [{name: value} for value in sorted(values, key=str)
                if not isinstance(value, str) or value in named]  # fmt: skip
    return out


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FITTED)
def test_no_combination_is_an_error_or_a_warning(name, tmp_path):
    # Some methods of the papers are slow.
    kind, base = getattr(skscreen, name), {"max_iter": 100}
    if name in SEARCHES | CHOSEN:
        base = GRID if name in SEARCHES else {"lams": 2, "cv": 2}
    if name == "ScreenedNuSVC":
        # Below it w = 0 with the linear kernel, which is an error.
        base["nu"] = 0.7
    others = {k: v for k, v in OTHERS.items() if k in inspect.signature(kind).parameters}
    if "store" in others:
        others["store"] = tmp_path
    for chosen in choices(kind):
        # None of the others, and all of them in two parts.
        for extra in ({}, *(dict(list(others.items())[part::2]) for part in (0, 1))):
            options = {**base, **extra, **chosen}
            refused = REFUSED.get(name, {})
            if refused and refused.items() <= options.items():
                options = {
                    key: options[key] for key in options if key in chosen or key not in refused
                }
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                # Small steps, or triplets that are no odd ones out, fit badly.
                warnings.filterwarnings("ignore", "The answers agree with their own fit")
                try:
                    make(name, **options).fit(*data_of(name, options))
                except Exception as error:
                    raise AssertionError(f"{options}") from error


PATHS = [
    ("svc_path", {"Cs": [0.1, 1.0]}, {"C_max": 3.0}),
    ("svc_path", {"Cs": [0.1, 1.0], "kernel": "linear"}, {"gamma": 3.0, "degree": 7}),
    ("svc_path", {"Cs": [0.1, 1.0], "penalty": "l1"},
     {"gamma": 3.0, "cache_size": 10, "screening": "gap", "solver": "second-order"}),
    ("svc_path", {"Cs": [0.1, 1.0], "fit_intercept": False}, {"intercept": "penalised"}),
    ("svr_path", {"Cs": [0.1, 1.0]}, {"C_max": 3.0, "degree": 7, "coef0": 3.0}),
    ("svr_path", {"Cs": [0.1, 1.0], "kernel": "linear"}, {"gamma": 3.0, "cache_size": 10}),
    ("rtlm_path", {"lams": [1.0, 0.3]}, {"ratio": 0.5, "stop": 0.3}),
    ("rtlm_path", {"lams": [1.0, 0.3], "screening": False},
     {"bound": "gb", "rule": "linear", "screen_every": 3}),
    ("rtlm_path", {"lams": [1.0, 0.3], "loss": "squared_hinge"}, {"width": 0.3}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "ignored"), PATHS)
def test_parameters_without_effect_are_ignored_by_paths(name, settings, ignored):
    data = {"svr_path": FITTED["ScreenedSVR"], "svc_path": FITTED["ScreenedSVC"],
            "rtlm_path": FITTED["ScreenedRTLM"]}[name]  # fmt: skip
    if name != "rtlm_path":
        settings = {"random_state": 0, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = (
            getattr(skscreen, name)(*data, **options)
            for options in (settings, {**settings, **ignored})
        )
    np.testing.assert_array_equal(one.objectives, other.objectives)


class Recorder:
    """A callback that counts what has begun and ended."""

    def __init__(self):
        self.begun, self.ended, self.fits = [], [], []

    def setup(self, estimator, context):
        self.fits.append(1)

    def teardown(self, estimator, context):
        self.fits.append(-1)

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return False


@pytest.mark.few(11)
@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="scikit-learn has callbacks from 1.9 on",
)
@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_has_callbacks(name):
    followed = Recorder()
    make(name).set_callbacks(followed).fit(*FITTED[name])
    assert sum(followed.fits) == 0 and len(followed.fits) >= 2
    assert followed.begun[0] == followed.ended[-1] == "fit"
    # The tasks of a fit have a name; one that is begun when the fit is over never ends.
    assert "" not in followed.begun
    assert len(followed.begun) - len(followed.ended) in (0, 1)
