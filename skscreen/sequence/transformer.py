"""Transformers of scikit-learn, applied to the positions of sequences."""

import sys
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.utils.validation import check_is_fitted

from skscreen.core.inputs import is_sparse
from skscreen.core.sklearn_private import HasMethods, fit_context
from skscreen.sequence.data import check_names, length_of, list_of_sequences, starts_of
from skscreen.sequence.items import plain_items
from skscreen.sequence.labels import labels_of_positions


class SequenceTransformer(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Apply a scikit-learn transformer to all positions of sequences.

    The transformer is fitted to the positions of all sequences stacked together, and to their
    labels if there are any, and its result is split into sequences again.
    ``SequenceTransformer(DictVectorizer())`` converts lists of dicts of features to sparse rows,
    ``SequenceTransformer(StandardScaler())`` scales arrays, and
    ``SequenceTransformer(make_pipeline(DictVectorizer(), SelectKBest(chi2, k=1000)))`` selects
    features by their labels.

    Parameters
    ----------
    transformer : transformer
        Transformer to apply. It is cloned, not changed.

    Attributes
    ----------
    transformer_ : transformer
        Fitted.
    feature_names_in_ : ndarray of str
        Columns of the first frame, where sequences are frames; all must have the same, in order.

    Raises
    ------
    ValueError
        If X is not a list of sequences, or if the transformer refuses its positions; names the
        sequence and the position of an item that is no dict of features.

    Notes
    -----
    A `DictVectorizer`, alone or first in a pipeline, gets the items that crfsuite takes as well:
    lists of strings, ``["word=the", "bias"]``, are dicts of ones. In a dict, a nested dict
    ``{"suffix": {"3": "the"}}`` is a feature "suffix=3=the", a list or set of strings a feature for
    each, and a value of NaN is no feature.

    Examples
    --------
    >>> from sklearn.feature_extraction import DictVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from skscreen import ChainCRF, SequenceTransformer
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "cat", "last": True}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> model = make_pipeline(SequenceTransformer(DictVectorizer()), ChainCRF(C=10.0))
    >>> [
    ...     labels.tolist()
    ...     for labels in model.fit(X, y).predict([[{"word": "the"}, {"word": "dog"}]])
    ... ]
    [['DET', 'NOUN']]
    """

    _parameter_constraints: ClassVar[dict] = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer):
        self.transformer = transformer

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the transformer to all positions.

        Parameters
        ----------
        X : iterable of sequences
            Each sequence is an array, a frame or a sparse matrix of shape (length, n_features), or
            a list of objects that the transformer accepts.
        y : list of array-likes of shape (length,), optional
            Labels, for transformers that learn from them.

        Returns
        -------
        SequenceTransformer
        """
        positions, labels, _ = self._begin(X, y)
        self.transformer_.fit(positions, *labels)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> list:
        """Fit the transformer to all positions, and return the transformed sequences.

        Parameters
        ----------
        X : iterable of sequences
            As in `fit`.
        y : list of array-likes of shape (length,), optional

        Returns
        -------
        list of ndarrays or CSR arrays of shape (length, n_features_out)
        """
        positions, labels, first = self._begin(X, y)
        if hasattr(self.transformer_, "fit_transform"):
            out = self.transformer_.fit_transform(positions, *labels)
        else:
            out = self.transformer_.fit(positions, *labels).transform(positions)
        return _split(out, first)

    def transform(self, X: Any) -> list:
        """Return the transformed sequences.

        Parameters
        ----------
        X : iterable of sequences

        Returns
        -------
        list of ndarrays or CSR arrays of shape (length, n_features_out)
        """
        check_is_fitted(self)
        parts = _parts(X)
        # What selects columns by name needs no others, and says which of them are missing.
        fewer = _selects_columns(self.transformer_) and self._have_fewer_columns(parts)
        check_names(clone(self) if fewer else self, parts, reset=fewer)
        first = starts_of([length_of(part) for part in parts])
        if not first[-1]:
            return [np.empty((0, 0)) for _ in parts]
        return _split(self.transformer_.transform(self._positions(parts)), first)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features that the transformer makes.

        Parameters
        ----------
        input_features : array-like of str, optional

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transformer_")

    def _begin(self, X, y) -> tuple:
        """Return all positions, the labels if there are any, and first positions of sequences."""
        for name in ("transformer_", "feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        if hasattr(y, "__next__"):
            raise ValueError(
                f"y must be a list, which later steps can read again, got {type(y).__name__}: pass "
                "list(y)."
            )
        parts = _parts(X)
        check_names(self, parts, reset=True)
        lengths = [length_of(part) for part in parts]
        if not sum(lengths):
            raise ValueError("X must hold at least one sequence that is not empty, got none.")
        labels = () if y is None else (labels_of_positions(y, lengths),)
        transformer = clone(self.transformer)
        self.transformer_ = transformer
        try:
            positions = self._positions(parts)
        except ValueError:
            del self.transformer_
            raise
        return positions, labels, starts_of(lengths)

    def _have_fewer_columns(self, parts: list) -> bool:
        """Whether all parts are frames without some of the columns of the fit."""
        names = set(getattr(self, "feature_names_in_", ()))
        return all(hasattr(part, "columns") and set(part.columns) < names for part in parts)

    def _positions(self, parts: list):
        """Return all positions one after the other, as the transformer takes them."""
        separator = _separator(self.transformer_)
        filled = [(c, part) for c, part in enumerate(parts) if length_of(part)]
        if separator is not None:
            items = (plain_items(part, f"X[{c}]", separator) for c, part in filled)
            return list(chain.from_iterable(items))
        return _stack([part for _, part in filled])


def _parts(X) -> list:
    """Return the sequences of a list of them."""
    parts = list_of_sequences(X)
    for c, part in enumerate(parts):
        # A bare number has no length, and an array of no dimension either.
        if isinstance(part, (str, bytes, dict)) or not hasattr(part, "__len__") or (
            getattr(part, "shape", None) == ()
        ):  # fmt: skip
            hint = "Put a single sequence into a list: [X]."
            if isinstance(part, str):
                hint = (
                    "Of sentences pass [[{'word': word} for word in text.split()] for text in X]."
                )
            raise ValueError(
                "X must be a list of sequences, each a matrix or a list of what belongs to its "
                f"positions, got {type(part).__name__} as X[{c}]. {hint}"
            )
    return parts


def _selects_columns(transformer) -> bool:
    """Whether a transformer takes columns by their names, in any order."""
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    return isinstance(transformer, ColumnTransformer)


def _separator(transformer) -> str | None:
    """Return what joins names and values of features, for a transformer that takes dicts."""
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    if isinstance(transformer, DictVectorizer):
        return transformer.separator
    return "=" if isinstance(transformer, FeatureHasher) and (
        transformer.input_type == "dict"
    ) else None  # fmt: skip


def _split(out, first: np.ndarray) -> list:
    """Return the rows of each sequence."""
    out = sparse.csr_array(out) if is_sparse(out) else np.asarray(out)
    if not out.ndim or out.shape[0] != first[-1]:
        # Rows would be taken for those of other sequences.
        raise ValueError(
            f"transformer must return a row for each of {first[-1]} positions of X, got shape "
            f"{out.shape}: leave positions out of X and y before, not in a transformer."
        )
    if is_sparse(out):
        return [out[begin:end] for begin, end in pairwise(first)]
    return np.split(out, first[1:-1])


def _stack(parts: list):
    """Return sequences one below the other: a list, a matrix or a frame."""
    if all(hasattr(part, "columns") for part in parts):
        # Of pandas, polars and their like.
        frame = sys.modules[type(parts[0]).__module__.partition(".")[0]].concat(parts)
        return frame.reset_index(drop=True) if hasattr(frame, "reset_index") else frame
    parts = [np.asarray(part) if hasattr(part, "columns") else part for part in parts]
    matrices = [part for part in parts if is_sparse(part) or isinstance(part, np.ndarray)]
    if not matrices or all(part.ndim == 1 for part in matrices):
        return list(chain.from_iterable(parts))
    shapes = [getattr(part, "shape", (length_of(part),)) for part in parts]
    if len(matrices) < len(parts) or any(len(s) != 2 or s[1:] != shapes[0][1:] for s in shapes):
        raise ValueError(
            "X must hold matrices of shape (length, n_features) with the same features in all "
            f"sequences, or lists of objects, got shapes {sorted(set(shapes))[:4]}."
        )
    if any(is_sparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
