"""Transformers of scikit-learn, applied to the positions of sequences."""

from itertools import chain, pairwise
from typing import ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from skscreen.sequence.data import starts_of


class SequenceTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Apply a scikit-learn transformer to all positions of sequences.

    The transformer is fitted to the positions of all sequences stacked together, and its result is
    split into sequences again. ``SequenceTransformer(DictVectorizer())`` converts lists of dicts of
    features to sparse rows, and ``SequenceTransformer(StandardScaler())`` scales arrays.

    Parameters
    ----------
    transformer : transformer
        Transformer to apply. It is cloned, not changed.

    Attributes
    ----------
    transformer_ : transformer
        Fitted.

    Raises
    ------
    ValueError
        If X is not a list of sequences, or if the transformer refuses its positions.

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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None) -> Self:
        """Fit the transformer to all positions.

        Parameters
        ----------
        X : list of sequences
            Each sequence is an array or sparse matrix of shape (length, n_features), or a list of
            objects that the transformer accepts.
        y : ignored

        Returns
        -------
        SequenceTransformer
        """
        vars(self).pop("transformer_", None)
        self.transformer_ = clone(self.transformer).fit(_positions(_parts(X)))
        return self

    def transform(self, X) -> list:
        """Return the transformed sequences.

        Parameters
        ----------
        X : list of sequences

        Returns
        -------
        list of ndarrays or CSR arrays of shape (length, n_features_out)
        """
        check_is_fitted(self)
        parts = _parts(X)
        first = starts_of([_shape(part)[0] for part in parts])
        out = self.transformer_.transform(_positions(parts))
        if sparse.issparse(out):
            out = sparse.csr_array(out)
            return [out[begin:end] for begin, end in pairwise(first)]
        return np.split(np.asarray(out), first[1:-1])

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
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


def _parts(X) -> list:
    """Return the sequences of a list of them."""
    try:
        parts = list(X) if not sparse.issparse(X) else None
    except TypeError:
        parts = None
    if parts:
        parts = [part.to_numpy() if hasattr(part, "columns") else part for part in parts]
    if not parts or any(isinstance(part, (str, dict)) or not _shape(part) for part in parts):
        raise ValueError(
            "X must be a list of sequences, each a matrix or a list of what belongs to its "
            f"positions, got {type(X).__name__}. Put a single sequence into a list: [X]."
        )
    return parts


def _shape(part) -> tuple:
    """Return the shape of a sequence; of a list, whose items may be of any length, its length."""
    if hasattr(part, "shape"):
        return part.shape
    return (len(part),) if hasattr(part, "__len__") else ()


def _positions(parts: list):
    """Return all positions one after the other."""
    matrices = [part for part in parts if sparse.issparse(part) or isinstance(part, np.ndarray)]
    if not matrices or all(part.ndim == 1 for part in matrices):
        return list(chain.from_iterable(parts))
    shapes = [_shape(part) for part in parts]
    if len(matrices) < len(parts) or any(len(s) != 2 or s[1:] != shapes[0][1:] for s in shapes):
        raise ValueError(
            "X must hold matrices of shape (length, n_features) with the same features in all "
            f"sequences, or lists of objects, got shapes {sorted(set(shapes))[:4]}."
        )
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
