"""All private names of scikit-learn that the package uses; no other file imports one.

They may change in any release. So there are as few as can be, each with what it does that no public
name does.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, TypeVar

# Parameters are checked, and errors of them read, as those of scikit-learn.
from sklearn.base import BaseEstimator, _fit_context

# `score`, `predict` and `sparsify` of linear classifiers, in the last digit as in `LinearSVC`.
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

# Rows of arrays, frames, sparse matrices and lists.
from sklearn.utils import _safe_indexing as safe_indexing

# Threads of OpenMP, limits of containers and of threadpoolctl included.
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_effective_n_threads

# Constraints of parameters; the error is a ValueError and a TypeError.
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import validate_params as _validate_params

# `set_output` for other methods than `transform`.
from sklearn.utils._set_output import _wrap_data_with_container as wrap_data_with_container

# Rows as above, on both sides of kernel matrices.
from sklearn.utils.metaestimators import _safe_split as safe_split

# Names of features of what is no X of `fit`: a preprocessor, or new objects.
from sklearn.utils.validation import _check_feature_names as check_feature_names

# Weights, with scikit-learn's texts.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight_of

# The number of rows of anything, with scikit-learn's error for what has none.
from sklearn.utils.validation import _num_samples as num_samples

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "LinearClassifierMixin",
    "Options",
    "QuickParameters",
    "RealNotInt",
    "SparseCoefMixin",
    "StrOptions",
    "check_feature_names",
    "check_sample_weight_of",
    "fit_context",
    "num_samples",
    "openmp_effective_n_threads",
    "safe_indexing",
    "safe_split",
    "validate_params",
    "wrap_data_with_container",
]

Function = TypeVar("Function", bound=Callable)


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Function], Function]:
    """Check the parameters of an estimator before it is fitted; types stay as they are."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


# Types whose values tell whether a parameter is valid.
_PLAIN = {bool, float, int, str, type(None)}


class QuickParameters(BaseEstimator):
    """An estimator whose signature is read once, and equal plain parameters are checked once."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        kind: Any = cls
        return _names_of(kind)

    def _validate_params(self) -> None:
        values = [getattr(self, name) for name in self._get_param_names()]
        if _PLAIN.issuperset(map(type, values)):
            kind: Any = type(self)
            _check_plain(kind, *values)
        else:
            super()._validate_params()


@cache
def _names_of(kind: Any) -> list[str]:
    return super(QuickParameters, kind)._get_param_names()


@lru_cache(maxsize=1000, typed=True)
def _check_plain(kind: Any, *values: Any) -> None:
    """Check the parameters of a kind of estimators; only those that are valid are remembered."""
    given = dict(zip(kind._get_param_names(), values, strict=True))
    validate_parameter_constraints(kind._parameter_constraints, given, caller_name=kind.__name__)


def validate_params(
    constraints: dict[str, Any], *, prefer_skip_nested_validation: bool
) -> Callable[[Function], Function]:
    """Check the parameters of a function before it runs; types stay as they are."""
    return _validate_params(
        constraints, prefer_skip_nested_validation=prefer_skip_nested_validation
    )
