"""What is done with a fitted embedding: its methods, each a function of `tools/`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skscreen.answers.answers import AnswersLike
from skscreen.answers.given import Given, given_answers
from skscreen.core.checks import TableLike
from skscreen.core.sklearn_private import num_samples, wrap_data_with_container
from skscreen.embedding.problem.answers import counted
from skscreen.embedding.tools import bootstrap, feature_map, place, predict


def given_to(model: BaseEstimator, X: AnswersLike, y: ArrayLike | None = None) -> Given:
    """Return the answers that a method of an embedding was given."""
    if model.loss == "oddoneout":
        return given_answers(X, y, kinds=("oddoneout",))
    return given_answers(
        X, y, kinds=("triplets", "quadruplets"), arrays=("triplets",),
        instead="loss='oddoneout' takes them, or ",
    )  # fmt: skip


class FittedEmbedding(BaseEstimator):
    """The methods of an ordinal embedding after its fit."""

    # Of the estimator: the points, names of their objects, and which of them were compared.
    embedding_: np.ndarray
    objects_: np.ndarray
    compared_: np.ndarray

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def transform(self, X: AnswersLike | None = None) -> np.ndarray:
        """Return the points of the objects.

        Parameters
        ----------
        X : Answers, optional
            Not used, but checked as in `fit`.

        Returns
        -------
        ndarray of shape (n_objects, n_components)
            With ``set_output`` a frame, of pandas with the objects as its index.
        """
        check_is_fitted(self)
        if X is not None:
            # An array without what was answered will do.
            given_to(self, X, np.zeros(num_samples(X)) if self.loss == "oddoneout" else None)
        return self._wrapped(self.embedding_.copy(), self.objects_)

    def predict(self, X: AnswersLike, result_format: str | None = None) -> np.ndarray:
        """Return whether each answer agrees with the points.

        Parameters
        ----------
        X : Answers, or array-like of shape (n_answers, 3)
            As in `fit`; objects are matched by name.
        result_format : str, optional
            Return the answers that the points give, in a format of cblearn, a row for each row of
            answers. "list-order": rows, reversed where X does not agree. "list-boolean": True and
            False. "list-count": 1 and -1. "tensor-count": a SciPy array of shape (n_objects,
            n_objects^2) of 1 and -1. A tie counts as disagreement. For ``loss="oddoneout"`` only
            "list-boolean" and "list-count" are possible.

        Returns
        -------
        ndarray of shape (n_trials,), int
            Without `result_format`: 1 if the points say the same as X, -1 if they say the reverse,
            and 0 for ties and for objects that were in no answer of the fit. Of a trial that says
            several things the least of these.
        """
        check_is_fitted(self)
        return predict.predict(self, given_to(self, X), result_format)

    def score(
        self, X: AnswersLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the share of answers that agree with the points.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; objects are matched by name.

        Returns
        -------
        float
            Ties and objects that were in no answer of the fit count as disagreement.
        """
        check_is_fitted(self)
        answers = counted(given_to(self, X, y), sample_weight)
        agree = predict.agreement(self, answers) > 0
        return float(np.average(agree, weights=answers.weights))

    def lower_bound(self, tol: float = 1e-3) -> float:
        """Return a lower bound on F, for points in any number of dimensions.

        No embedding of the same answers with the same `reg_` is better than this one by more than
        ``objective_ - lower_bound()``; with ``formulation="convex"``, than the Gram matrix before
        it is cut to `n_components`. The bound comes from feasible dual variables. To find good
        ones, dimensions are added to the points until the bound could rise by at most the share
        `tol`, so it does not depend on how well the fit converged.

        Parameters
        ----------
        tol : float, default=1e-3
            Precision, >= 0. With infinity the dual variables are those of the fit itself, which is
            fast, but the bound is zero unless there are as many components as the best embedding
            has.

        Returns
        -------
        float
            It is 0, which proves nothing, if `reg_` is 0.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the loss is none of "gnmds", "ste" and "oddoneout".
        """
        check_is_fitted(self)
        return predict.lower_bound(self, tol)

    def place(
        self, X: AnswersLike, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        """Find points for new objects from answers about them, without moving the known points.

        Minimises the objective of the fit over the new points, from several starts. The estimator
        is not changed.

        Parameters
        ----------
        X, y, sample_weight
            Answers as in `fit`. Answers about known objects only are not used.

        Returns
        -------
        ndarray of shape (n_new_objects, n_components)
            A point for each object in X that was in no answer of the fit, in the order in which
            answers have them: that of `objects` of Answers, sorted for an array. With
            ``set_output`` the objects are the index of the data frame.

        Raises
        ------
        ValueError
            For invalid answers, or if they contain no new object.

        Warns
        -----
        ConvergenceWarning
            If the points did not converge.

        Examples
        --------
        >>> from skscreen import OrdinalEmbedding
        >>> from skscreen.datasets import load_eurodist, make_triplets
        >>> cities = load_eurodist()
        >>> answers = make_triplets(cities.distances, 3000, metric="precomputed", random_state=0)
        >>> with_last = (answers == 20).any(axis=1)
        >>> model = OrdinalEmbedding(random_state=0).fit(answers[~with_last])
        >>> model.place(answers[with_last]).shape
        (1, 2)
        """
        check_is_fitted(self)
        return self._wrapped(*place.place(self, counted(given_to(self, X, y), sample_weight)))

    def bootstrap(
        self, n_samples: int = 100, *, groups: ArrayLike | None = None, n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> bootstrap.Bootstrap:  # fmt: skip
        """Refit answers, or participants, drawn with replacement from those of the fit.

        Each fit starts from `embedding_` and keeps the ridge `reg_`; its points are aligned with
        `embedding_` by a similarity transformation. The spread of the points of an object shows how
        much its position depends on which answers were given, but no bias, such as that of the
        ridge or of too few dimensions.

        A refit does not show what few answers leave open. So the position of an object in fewer
        than 120 answers is drawn, for each sample, from a normal distribution over the map times
        the probability of the answers about it: a logistic function of the difference of the
        squared distances, with a share of answers at random, learned from left out answers.

        Parameters
        ----------
        n_samples : int, default=100
            At least 1.
        groups : array-like of shape (n_trials,), default=None
            Participant of each trial of the fit, such as ``answers.groups``. Participants are then
            drawn, each with all answers, because answers of one person are more alike than those of
            several; None draws single answers.
        n_jobs : int or None, default=None
            Threads.
        random_state : int, RandomState or None, default=None
            Seed of the resampled answers.

        Returns
        -------
        Bootstrap

        Warns
        -----
        ConvergenceWarning
            If refits did not reach `tol` in `max_iter` iterations of L-BFGS, 200 by default or
            where the fit was by another solver; one warning for all of them.
        UserWarning
            If answers do not fix objects: they are in none, or no chain of answers connects them
            with most of the others. Their points are infinite.

        References
        ----------
        B. Efron, R. J. Tibshirani (1993). An introduction to the bootstrap. Chapter 6.

        A. C. Davison, D. V. Hinkley (1997). Bootstrap methods and their application. Section 3.8,
        resampling of groups.
        """
        check_is_fitted(self)
        return bootstrap.bootstrap(self, n_samples, groups, n_jobs, random_state)

    def fit_features(self, F: TableLike, *, alpha: float = 0.1, gamma: float | None = None) -> Self:
        """Learn a map from features of the objects to their points.

        Kernel ridge regression with the kernel exp(-gamma |f - f'|^2), for the objects that were
        compared.

        Parameters
        ----------
        F : array-like of shape (n_objects, n_features)
            A row for each of `objects_`. A frame whose index are these may have them in any order,
            and so may a dict.
        alpha : float, default=0.1
            Strength of the ridge, > 0.
        gamma : float, optional
            By default 1 / (mean squared distance of the features).

        Returns
        -------
        OrdinalEmbedding

        Raises
        ------
        ValueError, TypeError
            For invalid arguments, or if the estimator is not fitted.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self)
        self._frame, self.feature_map_ = feature_map.learn_map(self, F, alpha, gamma)
        return self

    def map_features(self, F: TableLike) -> np.ndarray:
        """Return points for new objects from their features.

        Parameters
        ----------
        F : array-like of shape (n_new_objects, n_features)

        Returns
        -------
        ndarray of shape (n_new_objects, n_components)

        Raises
        ------
        ValueError, TypeError
            If `F` does not have the features of the map, or if `fit_features` was not called.
        MemoryError
            If the kernel matrices of so many objects would not fit into the free memory.
        """
        check_is_fitted(self, "feature_map_", msg="%(name)s has no map yet: call fit_features.")
        return feature_map.mapped(self._frame, self.feature_map_, F)

    def _wrapped(self, points: np.ndarray, objects: np.ndarray) -> Any:
        """Return points in the container that was set, with their objects as its index."""
        frame = wrap_data_with_container("transform", points, points, self)
        if hasattr(frame, "index"):
            frame.index = objects
        return frame
