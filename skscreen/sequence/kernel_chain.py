"""Kernel sequence labelling: the estimator."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from skscreen.core.memory import check_kernel_memory
from skscreen.core.sklearn_private import Interval, StrOptions, fit_context
from skscreen.fitting.callbacks import with_callbacks
from skscreen.samples.kernels.gram import Gram
from skscreen.samples.kernels.kernel import KERNELS, Kernel, gamma_value
from skscreen.samples.rows import LARGEST
from skscreen.sequence.base import MarginalsMixin, begin_fit, solve_chains
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import Sequences, SequencesLike
from skscreen.sequence.likelihood import KernelFactor, LogLoss
from skscreen.sequence.solvers.lbfgs import minimise


class KernelChainClassifier(MarginalsMixin):
    r"""Conditional random field on a chain with a kernel on the observations.

    A labelling y of a sequence x has a probability proportional to :math:`\exp F(x, y)`,

    .. math::

        F(x, y) = \sum_t U_{y_t}(x_t) + \sum_t E_{y_t, y_{t+1}},

    where each U_j is in the RKHS of a kernel k on observations, and the fit to sequences with
    weights :math:`s_c`, :math:`S = \sum_c s_c`, minimises, with :math:`\lambda = 1 / (C S)`,

    .. math::

        P = \frac{\lambda}{2} (\lVert U \rVert^2 + \lVert E \rVert^2 / \eta^2)
        - \frac1S \sum_c s_c \log p(y_c \mid x_c)

    by L-BFGS. As in `ChainCRF`, the marginals are a dual point with
    :math:`P - D = \lVert \nabla P \rVert^2 / (2 \lambda)`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the log-likelihood, > 0.
    kernel : {"linear", "rbf", "poly", "sigmoid"} or callable, default="rbf"
        Kernel on observations, with scikit-learn's formulas; see `ScreenedSVC`. It must be positive
        semi-definite, and observations are rows of numbers.
    gamma : {"scale", "auto"} or float, default="scale"
    degree : int, default=3
    coef0 : float, default=0.0
        Parameters of the kernels, see `ScreenedSVC`; here gamma is > 0.
    transition_scale : float, default=1.0
        eta > 0; the larger, the weaker the penalty on E.
    tol : float, default=1e-4
        Relative duality gap (P - D) / P at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of iterations of L-BFGS; None is 1000.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    observations_ : ndarray of shape (n_positions, n_features_in_), or CSR if a sequence was sparse
        The observations of all sequences of positive weight.
    dual_coef_ : ndarray of shape (n_positions, n_classes)
        A: U(x) = sum_s k(x, x_s) A[s].
    transition_ : ndarray of shape (n_classes, n_classes)
        E, the scores of transitions from the label of the row to that of the column.
    objective_, dual_gap_, n_iter_, history_, n_features_in_, feature_names_in_ : see `ChainCRF`

    Raises
    ------
    ValueError
        For invalid parameters or sequences; the message names the argument.
    MemoryError
        If the kernel matrix and its decomposition would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If the fit did not reach `tol`; names the gap that was reached.

    Notes
    -----
    The kernel matrix of all training observations is formed and factorised, and each iteration
    multiplies it by a matrix with n_classes columns, so there should be at most some ten thousand
    observations. The model is stationary: scores do not depend on the position in the sequence.

    References
    ----------
    Y. Altun, T. Hofmann, A.J. Smola (2004). Gaussian process classification for segmenting and
    annotating sequences. ICML.
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Appendix E.2, equation (32).

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import KernelChainClassifier
    >>> y = [np.array(list(labels)) for labels in ("aab", "abbba", "ba", "aaabb")]
    >>> X = [np.c_[labels == "a", labels == "b"].astype(float) for labels in y]
    >>> KernelChainClassifier().fit(X, y).score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNELS) - {"precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "transition_scale": [Interval(Real, 0, LARGEST, closed="right")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self, C=1.0, *, kernel="rbf", gamma="scale", degree=3, coef0=0.0, transition_scale=1.0,
        tol=1e-4, max_iter=None, verbose=0,
    ):  # fmt: skip
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.transition_scale = transition_scale
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: SequencesLike, y: Iterable[ArrayLike], sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the coefficients.

        Parameters
        ----------
        X, y, sample_weight
            Sequences, their labels and weights, see `MaxMarginChain.fit`.

        Returns
        -------
        KernelChainClassifier
        """
        sequences, codes, weights = begin_fit(self, X, y, sample_weight)
        factor = self._factor(sequences, weights)
        chains = Chains(
            Sequences(factor, sequences.starts), codes, self.classes_.size,
            weights / weights.sum(), np.ones(codes.size),
            1.0 / (float(self.C) * float(weights.sum())),
        )  # fmt: skip
        eta = float(self.transition_scale)
        problem = LogLoss(chains, eta)
        found = solve_chains(
            self, lambda watch: minimise(problem, float(self.tol), self.max_iter, watch),
            "Use a smaller C, or raise max_iter or tol.",
        )  # fmt: skip
        V, E = chains.tables(found.w)
        self.observations_ = sequences.X
        self.dual_coef_ = factor.coefficients(V)
        self.transition_ = eta * E
        return self

    def _factor(self, sequences: Sequences, weights: np.ndarray) -> KernelFactor:
        """Return the factor of the kernel matrix of all observations."""
        X = sequences.X
        gamma = gamma_value(self.gamma, X, np.repeat(weights, np.diff(sequences.starts)))
        self._kernel = Kernel(self.kernel, gamma, self.degree, float(self.coef0))
        n = X.shape[0]
        # As measured: three matrices of the size of K at the same time.
        check_kernel_memory(n, n, 3, "Use fewer observations, or ChainCRF.")
        K = self._kernel.between(X, X)
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel has values that are not finite on X: rescale X.")
        # Refuses kernels that are not positive semi-definite.
        Gram(K, Kernel("precomputed"), cache_size=0.0)
        return KernelFactor(K)

    def stacked_scores(self, sequences: Sequences) -> np.ndarray:
        """Return the scores of labels at all positions, one sequence after the other."""
        if not sequences.X.shape[0]:
            return np.empty((0, self.classes_.size))
        return self._kernel.scores(sequences.X, self.observations_, self.dual_coef_)
