"""Transformers of scikit-learn, applied to the positions of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.utils.validation import check_is_fitted, validate_data

from skscreen.core.checks import Matrix, is_frame, is_sparse
from skscreen.core.sklearn_private import HasMethods, fit_context
from skscreen.sequence.data import SequencesLike, as_sequences, length_of, stack, starts_of
from skscreen.sequence.items import plain_items, rows_of
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
        If X is not a list of sequences, or if the transformer refuses its positions.

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
    def fit(self, X: SequencesLike, y: Iterable[ArrayLike] | None = None) -> Self:
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
    def fit_transform(self, X: SequencesLike, y: Iterable[ArrayLike] | None = None) -> list:
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
        positions, labels, starts = self._begin(X, y)
        if hasattr(self.transformer_, "fit_transform"):
            out = self.transformer_.fit_transform(positions, *labels)
        else:
            out = self.transformer_.fit(positions, *labels).transform(positions)
        return _split(out, starts)

    def transform(self, X: SequencesLike) -> list:
        """Return the transformed sequences.

        Parameters
        ----------
        X : iterable of sequences

        Returns
        -------
        list of ndarrays or CSR arrays of shape (length, n_features_out)
        """
        check_is_fitted(self)
        parts = as_sequences(X, "X")
        starts = starts_of([length_of(part) for part in parts])
        if not starts[-1]:
            return [np.empty((0, 0)) for _ in parts]
        positions, transformer = stack(parts), self.transformer_
        steps = getattr(transformer, "steps", [("", transformer)])
        vectorizer = steps[0][1]
        if type(vectorizer) is DictVectorizer and vectorizer.sparse:
            places, separator = vectorizer.vocabulary_, vectorizer.separator
            rows = rows_of(positions, places, separator).astype(vectorizer.dtype, copy=False)
            return _split(rows if len(steps) == 1 else transformer[1:].transform(rows), starts)
        return _split(transformer.transform(_taken(positions, transformer)), starts)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
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

    def _begin(self, X: SequencesLike, y: Iterable[ArrayLike] | None) -> tuple:
        """Return all positions, the labels if there are any, and starts of sequences."""
        for name in ("transformer_", "feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        if isinstance(y, Iterator):
            raise ValueError("y must be a list, which later steps can read again, got an iterator.")
        parts = as_sequences(X, "X")
        lengths = [length_of(part) for part in parts]
        if not sum(lengths):
            raise ValueError("X must hold at least one sequence that is not empty, got none.")
        labels = () if y is None else (labels_of_positions(y, lengths),)
        positions, transformer = stack(parts), clone(self.transformer)
        if is_frame(positions):
            validate_data(self, positions, skip_check_array=True)
        positions = _taken(positions, transformer)
        self.transformer_ = transformer
        return positions, labels, starts_of(lengths)


def _taken(positions: Any, transformer: BaseEstimator) -> Any:
    """Return positions as a transformer takes them: for one that takes dicts, as such."""
    separator = _separator(transformer)
    return positions if separator is None else plain_items(positions, separator)


def _separator(transformer: BaseEstimator) -> str | None:
    """Return what joins names and values of features, for a transformer that takes dicts."""
    while hasattr(transformer, "steps"):
        transformer = transformer.steps[0][1]
    if isinstance(transformer, DictVectorizer):
        return transformer.separator
    return "=" if isinstance(transformer, FeatureHasher) and (
        transformer.input_type == "dict"
    ) else None  # fmt: skip


def _split(out: Matrix, starts: np.ndarray) -> list:
    """Return the rows of each sequence."""
    out = sparse.csr_array(out) if is_sparse(out) else np.asarray(out)
    if not out.ndim or out.shape[0] != starts[-1]:
        # Rows would be taken for those of other sequences.
        raise ValueError(
            f"transformer must return a row for each of {starts[-1]} positions of X, got shape "
            f"{out.shape}."
        )
    if starts.size == 2:
        return [out]
    if not is_sparse(out):
        return np.split(out, starts[1:-1])
    data, columns, places = out.data, out.indices, out.indptr
    parts = []
    # In half of the time of slices, with views of the entries.
    for begin, end in pairwise(starts.tolist()):
        own = places[begin : end + 1]
        entries = slice(own[0], own[-1])
        part = data[entries], columns[entries], own - own[0]
        parts.append(sparse.csr_array(part, shape=(end - begin, out.shape[1])))
    return parts
