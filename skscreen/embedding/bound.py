"""How much better an embedding in more dimensions could be at most."""

from numbers import Real

import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.embedding.convex import CONVEX_LOSSES, convex
from skscreen.embedding.convex import lower_bound as bound_from
from skscreen.embedding.losses import EmbeddingLoss
from skscreen.embedding.objective import EmbeddingProblem
from skscreen.embedding.state import Settings


class BoundMixin:
    """For ordinal embeddings whose loss is convex in the Gram matrix: a proof of quality."""

    def lower_bound(self, tol: float = 1e-3) -> float:
        """Return a number below which F is nowhere, in any number of dimensions.

        No embedding of the same answers with the same `reg_` is better than this one by more than
        ``objective_ - lower_bound()``. The bound comes from dual variables, scaled to feasibility;
        they are those of points to which dimensions are added until it can rise by a share `tol`
        at most. So it does not depend on how well the fit ended.

        Parameters
        ----------
        tol : float, default=1e-3
            At least 0. With infinity the dual variables are those of the fit itself: fast, and zero
            unless there are as many components as the best embedding has.

        Returns
        -------
        float
            0, which proves nothing, if `reg_` is 0.

        Raises
        ------
        NotFittedError
            If there is no fit.
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
        problem = EmbeddingProblem(*self.answers_, len(self.embedding_), loss, self.reg_)
        best = bound_from(problem, self.embedding_)
        if not np.isinf(tol):
            for progress in convex(problem, self.embedding_.copy(), Settings(tol=float(tol))):
                best = max(best, progress.value * (1.0 - progress.dual_gap))
        return best
