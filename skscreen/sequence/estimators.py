"""Labelling of sequences: a max-margin Markov chain and a kernel chain, as estimators."""

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from joblib import Parallel, effective_n_jobs
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skscreen.core.memory import check_kernel_memory
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.threads import N_JOBS, blas_threads_for
from skscreen.fitting.warning import warn_user
from skscreen.pragam.excessive_gap import excessive_gap
from skscreen.pragam.follow import Watch, follow
from skscreen.samples.gram import KERNELS
from skscreen.samples.kernel import Kernel, gamma_value
from skscreen.samples.rows import LARGEST, check_bounds
from skscreen.sequence.data import Sequences, check_labels, check_sequences
from skscreen.sequence.likelihood import MATRICES, ChainLikelihood
from skscreen.sequence.loops import best_labels
from skscreen.sequence.risk import ChainRisk


class _ChainClassifier(BaseEstimator):
    """Prediction and score from the scores of labels and of steps."""

    def predict(self, X) -> list[np.ndarray]:
        """Return the labels of largest score for each sequence (Viterbi).

        Parameters
        ----------
        X : list of array-likes of shape (length, n_features)

        Returns
        -------
        list of ndarrays of shape (length,)
        """
        check_is_fitted(self)
        sequences = check_sequences(X, self.n_features_in_)
        codes = np.empty(len(sequences.X), dtype=np.int64)
        best_labels(self._scores(sequences), self.transition_, sequences.first, codes)
        return sequences.split(self.classes_[codes])

    def score(self, X, y) -> float:
        """Return the share of all labels that are right.

        Parameters
        ----------
        X : list of array-likes of shape (length, n_features)
        y : list of array-likes of shape (length,)

        Returns
        -------
        float
        """
        found, y = self.predict(X), list(y)
        if len(found) != len(y) or any(len(a) != len(b) for a, b in zip(found, y, strict=True)):
            raise ValueError("y must hold one sequence of labels of the same length for each of X.")
        return float(np.mean(np.concatenate(found) == np.concatenate([column_or_1d(b) for b in y])))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "transition_")

    def _begin(self, X, y) -> tuple[Sequences, np.ndarray]:
        """Validate the data; return the sequences and the codes of their labels."""
        # A fit that fails or is interrupted leaves the estimator unfitted, not with an old model.
        vars(self).pop("transition_", None)
        sequences = check_sequences(X)
        self.classes_, codes = check_labels(sequences, y)
        self.n_features_in_ = sequences.X.shape[1]
        return sequences, codes


class PragamChainSVC(CallbackSupportMixin, _ChainClassifier):
    """Max-margin Markov chain for labelling sequences, with a certified optimum.

    A labelling y of a sequence x of feature vectors has the score

        w . f(x, y) = sum_t <W[y_t], x_t> + sum_t E[y_t, y_{t+1}],   w = (W, E),

    and the fit to n sequences minimises, with lam = 1 / (n C),

        J(w) = lam/2 |w|^2 + 1/n sum_c max_y [wrong_c(y) - w . (f(x_c, y_c) - f(x_c, y))]

    where wrong_c(y) counts the labels of y that differ from y_c. It stops when a lower bound D of
    the optimum proves that J is within `tol` of it.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0.
    lipschitz : "auto" or float, default="auto"
        The constant L of the gradient of D, see `PragamSVC`.
    restart : bool, default=True
        Whether to start again from the dual point reached, see `PragamSVC`.
    tol : float, default=1e-3
        Absolute duality gap J - D at which the fit stops, > 0. J is at most the mean length.
    max_iter : int, default=10000
        Most iterations.
    n_jobs : int or None, default=None
        Threads for the projections of the sequences.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features_in_)
        W.
    transition_ : ndarray of shape (n_classes, n_classes)
        E: from the label of the row to that of the column.
    objective_ : float
        J.
    dual_gap_ : float
        J - D, absolute.
    n_iter_ : int
        Iterations.
    history_ : structured ndarray
        Fields "iteration", "seconds", "primal", "dual", as of `PragamSVC`.
    n_features_in_ : int

    Raises
    ------
    ValueError
        For invalid parameters or sequences; the message names the argument.
    MemoryError
        If the marginals of all pairs of neighbouring labels would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`; names the gap that was reached.

    Notes
    -----
    The dual variables are probabilities of pairs of neighbouring labels. An iteration projects
    them onto consistent ones twice, by Newton's method on each sequence. Labels have no constant
    term: append a feature of ones where their frequencies should count.

    References
    ----------
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Appendix E.
    B. Taskar, C. Guestrin, D. Koller (2004). Max-margin Markov networks. NIPS 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import PragamChainSVC
    >>> y = [np.array(list(labels)) for labels in ("aab", "abbba", "ba", "aaabb")]
    >>> X = [np.c_[labels == "a", labels == "b"].astype(float) for labels in y]
    >>> model = PragamChainSVC().fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "lipschitz": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "restart": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        C=1.0,
        *,
        lipschitz="auto",
        restart=True,
        tol=1e-3,
        max_iter=10_000,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.lipschitz = lipschitz
        self.restart = restart
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of array-likes of shape (length, n_features)
            Sequences, of any lengths >= 1.
        y : list of array-likes of shape (length,)
            Their labels.

        Returns
        -------
        PragamChainSVC
        """
        sequences, codes = self._begin(X, y)
        check_bounds(float(self.C), np.ones(1))
        m, lam = self.classes_.size, 1.0 / (self.C * (sequences.first.size - 1))
        L = None if self.lipschitz == "auto" else float(self.lipschitz)
        n_threads = effective_n_jobs(self.n_jobs)
        with (
            Parallel(n_threads, require="sharedmem") as pool,
            Tasks(self, 0) as tasks,
            blas_threads_for(np.inf, n_threads),
        ):
            risk = ChainRisk(
                sequences.X, codes, sequences.first, m, lam, pool if n_threads > 1 else None
            )
            watch = Watch(tasks.bar, self.tol, 1).problem(0) if self.verbose > 0 else None
            # On badly scaled data the weights of uniform marginals are worse than none.
            none = np.zeros(m * (sequences.X.shape[1] + m))
            iterates = excessive_gap(risk, lipschitz=L, restart=self.restart, w=none)
            found = follow(iterates, self.tol, self.max_iter, watch)
        if not found.converged:
            warn_user(
                f"{found.n_iter} iterations reached a duality gap of {found.gap:.2e} > "
                f"tol={self.tol:g}. Standardise X, use a smaller C, or raise max_iter or tol.",
                ConvergenceWarning,
            )
        n_nodes = m * self.n_features_in_
        self.objective_, self.dual_gap_ = found.primal, found.gap
        self.n_iter_, self.history_ = found.n_iter, found.history
        self.coef_ = found.w[:n_nodes].reshape(m, -1)
        self.transition_ = found.w[n_nodes:].reshape(m, m)
        return self

    def _scores(self, sequences: Sequences) -> np.ndarray:
        return sequences.X @ self.coef_.T


class KernelChainClassifier(_ChainClassifier):
    """Kernel sequence labelling: a chain of labels with probabilities, in an RKHS.

    A labelling y of a sequence x has a probability proportional to exp F(x, y),

        F(x, y) = sum_t U(x_t)[y_t] + sum_t E[y_t, y_{t+1}],

    U from the RKHS of a kernel k on observations, and the fit to n sequences minimises

        P = lam/2 (|U|^2 + |E|^2 / eta^2) + 1/n sum_c (log sum_y exp F(x_c, y) - F(x_c, y_c)),

    lam = 1 / (n C), by L-BFGS. P is strongly convex, so that a small gradient proves a good value.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the log-likelihood, > 0.
    kernel : {"linear", "rbf", "poly", "sigmoid"} or callable, default="rbf"
        On observations, with scikit-learn's formulas; see `ScreenedSVC`.
    gamma : {"scale", "auto"} or float, default="scale"
    degree : int, default=3
    coef0 : float, default=0.0
        Parameters of the kernels, see `ScreenedSVC`.
    transition_scale : float, default=1.0
        eta > 0: the larger, the weaker the penalty of E.
    tol : float, default=1e-4
        Distance of P from its optimum at which the fit stops, > 0: a bound |gradient|^2 / (2 lam).
    max_iter : int, default=1000
        Most iterations of L-BFGS.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    observations_ : ndarray of shape (n_positions, n_features_in_)
        All training observations.
    dual_coef_ : ndarray of shape (n_positions, n_classes)
        A: U(x) = sum_s k(x, x_s) A[s].
    transition_ : ndarray of shape (n_classes, n_classes)
        E: from the label of the row to that of the column.
    objective_ : float
        P.
    dual_gap_ : float
        |gradient|^2 / (2 lam), a bound of the distance of P from its optimum.
    n_iter_ : int
        Iterations of L-BFGS.
    n_features_in_ : int

    Raises
    ------
    ValueError
        For invalid parameters or sequences; the message names the argument.
    MemoryError
        If the kernel matrix and its decomposition would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If the fit ended before `tol`; names the bound that was reached.

    Notes
    -----
    The kernel matrix of all training observations is formed and decomposed: for a few thousand of
    them. The kernel on (observation, pair of labels) is stationary: it is the same wherever the
    pair stands.

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
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        transition_scale=1.0,
        tol=1e-4,
        max_iter=1000,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.transition_scale = transition_scale
        self.tol = tol
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Learn the coefficients.

        Parameters
        ----------
        X : list of array-likes of shape (length, n_features)
            Sequences, of any lengths >= 1.
        y : list of array-likes of shape (length,)
            Their labels.

        Returns
        -------
        KernelChainClassifier
        """
        sequences, codes = self._begin(X, y)
        check_bounds(float(self.C), np.ones(1))
        observations, lam = sequences.X, 1.0 / (self.C * (sequences.first.size - 1))
        gamma = gamma_value(self.gamma, observations, np.ones(len(observations)))
        self._kernel = Kernel(self.kernel, gamma, self.degree, float(self.coef0))
        n = len(observations)
        check_kernel_memory(n, n, MATRICES, "Use fewer observations, or PragamChainSVC.")
        K = self._kernel.between(observations, observations)
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel has values that are not finite on X: rescale X.")
        problem = ChainLikelihood(
            K, codes, sequences.first, self.classes_.size, lam, float(self.transition_scale)
        )
        largest = np.sqrt(2.0 * lam * self.tol / problem.size)
        found = minimize(
            problem.value_and_gradient,
            np.zeros(problem.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "gtol": largest,
                     "ftol": 0.0},
        )  # fmt: skip
        # Where a line search breaks down, value and gradient that come with it are not those of x.
        self.objective_, gradient = problem.value_and_gradient(found.x)
        self.n_iter_ = int(found.nit)
        self.dual_gap_ = 0.5 * float(gradient @ gradient) / lam
        if self.dual_gap_ > self.tol:
            warn_user(
                f"{self.n_iter_} iterations reached a distance of at most {self.dual_gap_:.2e} > "
                f"tol={self.tol:g} from the optimum. Use a smaller C, or raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.observations_ = observations
        self.dual_coef_ = problem.coefficients(found.x)
        self.transition_ = problem.scores(found.x)[1]
        return self

    def _scores(self, sequences: Sequences) -> np.ndarray:
        return self._kernel.scores(sequences.X, self.observations_, self.dual_coef_)
