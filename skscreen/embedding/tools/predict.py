"""The points of an embedding, what they say about answers, and how much better others could be."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.core.inputs import check_format, in_format
from skscreen.core.sklearn_private import wrap_data_with_container
from skscreen.embedding.problem.answers import check_total, is_tensor, read_trials
from skscreen.embedding.problem.losses import CONVEX_LOSSES, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem, answer_margins
from skscreen.embedding.problem.reading.objects import are_positions
from skscreen.embedding.solvers.convex import certify
from skscreen.embedding.solvers.solve import SOLVERS, convex_solver
from skscreen.embedding.solvers.state import Settings
from skscreen.embedding.tools.fitted import answers_after_fit, layout_after_fit
from skscreen.fitting.warning import warn_user


class PredictMixin(BaseEstimator):
    """Mixin of ordinal embeddings: the points, agreement of answers, and a bound on F."""

    def transform(self, X: Any = None) -> np.ndarray:
        """Return the points of the objects; X does not change them.

        Parameters
        ----------
        X : array-like of answers, optional
            Not used, but its objects must be those of the fit; a warning says if some of them were
            in no answer.

        Returns
        -------
        ndarray of shape (n_objects, n_components)
        """
        check_is_fitted(self)
        if X is not None:
            answers = answers_after_fit(self, X, None, None, self.response_, strangers=False)
            named = np.unique(answers.rows)
            new = self.objects_[named[~self.compared_[named]]]
            if len(new):
                warn_user(
                    f"X names {len(new)} objects that were in no answer of the fit, the first is "
                    f"{new[0]!s}: their points are not known, see place."
                )
        points = self.embedding_.copy()
        points = wrap_data_with_container("transform", points, points, self)
        if hasattr(points, "index") and not are_positions(self.objects_):
            points.index = self.objects_
        return points

    def predict(self, X: Any, result_format: Any = None) -> np.ndarray:
        """Return whether each answer agrees with the points.

        Parameters
        ----------
        X : array-like of shape (n_answers, 3) or (n_answers, 4), or sparse tensor
            Triplets or quadruplets, as in `fit`; trials for ``loss="oddoneout"``.
        result_format : str, optional
            Return the answers that the points give, in a format of cblearn. "list-order": rows,
            reversed where X does not agree. "list-boolean": True and False. "list-count": 1 and -1.
            "tensor-count": a SciPy array of shape (n_objects, n_objects^2) of 1 and -1. A tie
            counts as disagreement. For trials only "list-boolean" and "list-count" are possible.

        Returns
        -------
        ndarray of shape (n_answers,), int
            Without `result_format`: 1 if the pair that is nearer according to X is nearer, -1 if it
            is not, and 0 for ties and for objects that were in no answer of the fit. For trials 1
            if the two other objects are the closest pair, and -1 if they are not.
        """
        check_is_fitted(self)
        rows = answers_after_fit(self, X, None, None, self.response_).rows
        agree = self._agree(rows)
        if result_format is None:
            return agree
        check_format(result_format)
        if self.loss == "oddoneout" and result_format not in ("list-boolean", "list-count"):
            raise ValueError("result_format must be 'list-boolean' or 'list-count' for trials.")
        if result_format == "tensor-count" and rows.max() >= len(self.embedding_):
            raise ValueError("X must name objects of the fit for result_format='tensor-count'.")
        if result_format == "list-order" and not is_tensor(X):
            # With the names of strangers, too.
            rows = read_trials(X, None, layout_after_fit(self)).named()
        rows, responses = in_format(rows, agree > 0, result_format, len(self.embedding_))
        return rows if responses is None else responses

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of answers that agree with the points.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
            Ties and objects that were in no answer of the fit count as disagreement.
        """
        check_is_fitted(self)
        rows, weights, _ = answers_after_fit(self, X, y, sample_weight, self.response_)
        check_total(weights)
        return float(np.average(self._agree(rows) > 0, weights=weights))

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
        if self.loss not in CONVEX_LOSSES:
            raise ValueError(
                f"loss must be 'gnmds', 'ste' or 'oddoneout' for a lower bound, got {self.loss!r}."
            )
        check_scalar(tol, "tol", Real, min_val=0.0)
        loss = EmbeddingLoss.of(self)
        answers, compared = self.answers_.compact(len(self.embedding_))
        problem = EmbeddingProblem(answers.rows, answers.weights, len(compared), loss, self.reg_)
        X = self.embedding_[compared]
        best = certify(problem, X)[1]
        if not np.isinf(tol):
            solver = SOLVERS[convex_solver(loss)]
            for progress in solver(problem, X.copy(), Settings(tol=float(tol)), None):
                best = max(best, progress.value * (1.0 - progress.dual_gap))
        return best

    def _agree(self, rows: np.ndarray) -> np.ndarray:
        n = len(self.embedding_)
        known = np.all(rows < n, axis=1)
        known[known] = self.compared_[rows[known]].all(axis=1)
        agree = np.zeros(len(rows), dtype=np.int64)
        loss = EmbeddingLoss(self.loss)
        agree[known] = np.sign(answer_margins(self.embedding_, rows[known], loss))
        return agree
