"""Bound on how much better an embedding in more dimensions could be."""

from numbers import Real

import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.embedding.problem.losses import CONVEX_LOSSES, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.convex import lower_bound as bound_from
from skscreen.embedding.solvers.solve import SOLVERS, convex_solver
from skscreen.embedding.solvers.state import Settings
from skscreen.embedding.tools.fitted import Fitted


class BoundMixin(Fitted):
    """Mixin of ordinal embeddings: a lower bound on the objective for convex losses."""

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
        best = bound_from(problem, X)
        if not np.isinf(tol):
            solver = SOLVERS[convex_solver(loss)]
            for progress in solver(problem, X.copy(), Settings(tol=float(tol)), None):
                best = max(best, progress.value * (1.0 - progress.dual_gap))
        return best
