"""Max-margin Markov chains: the estimator and its solvers by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skscreen.core.sklearn_private import StrOptions, fit_context
from skscreen.core.threads import blas_threads_for
from skscreen.fitting.callbacks import with_callbacks
from skscreen.pragam.bundle import bmrm
from skscreen.pragam.iterates import Iterate, follow
from skscreen.sequence.base import LinearChain, keep_weights, linear_chains, solve_chains
from skscreen.sequence.chains import Chains
from skscreen.sequence.data import SequencesLike
from skscreen.sequence.solvers.auto import automatic
from skscreen.sequence.solvers.entropic_gap import entropic_gap
from skscreen.sequence.solvers.frank_wolfe import frank_wolfe
from skscreen.sequence.solvers.smoothing import smoothing

# Most iterations by default; BMRM keeps a plane for each.
LIMITS = {
    "auto": 10_000, "frank-wolfe": 10_000, "smoothing": 10_000, "pragam": 10_000, "bmrm": 1_000
}  # fmt: skip


class MaxMarginChain(LinearChain):
    r"""Max-margin Markov chain for labelling sequences, with a certified optimum.

    A labelling y of a sequence x of feature vectors has the score

    .. math::

        w \cdot f(x, y) = \sum_t (\langle W_{y_t}, x_t \rangle + b_{y_t}) + \sum_t E_{y_t, y_{t+1}},
        \qquad w = (W, b, E),

    and the fit to sequences with weights :math:`s_c`, :math:`S = \sum_c s_c`, minimises, with
    :math:`\lambda = 1 / (C S)`,

    .. math::

        P(w) = \frac{\lambda}{2} \lVert w \rVert^2 + \frac1S \sum_c s_c
        \max_y [\ell_c(y) - w \cdot (f(x_c, y_c) - f(x_c, y))]

    where :math:`\ell_c(y)` is the number of labels of y that differ from y_c. The fit stops when P
    exceeds a lower bound D on the optimum by at most `tol` times P.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0.
    solver : str, default="auto"
        One of "auto", "frank-wolfe", "smoothing", "pragam" and "bmrm".
        "frank-wolfe" updates one sequence after the other and caches the labellings that it finds;
        it is by far the fastest for text and for standardised columns. "smoothing" is L-BFGS on
        smoothed losses, for columns of large numbers, as pixels or time stamps. "auto" uses
        Frank-Wolfe; it switches to smoothing if columns differ in scale or progress is slow.
        "pragam" is Nesterov's excessive gap technique with the entropy as prox function; it stores
        no labellings, and its rate is guaranteed. "bmrm" is a cutting-plane method.
    fit_intercept : bool, default=True
        Whether to fit a constant term b for each label, penalised like other weights; otherwise b =
        0.
    fit_start_end : bool, default=False
        Whether to fit scores of each label at the first and at the last position of a sequence,
        also penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights k >= 0 of the positions, by true class; "balanced" is inversely proportional to the
        frequency of the class, and 1 on average. See Notes.
    tol : float, default=1e-3
        Relative duality gap (P - D) / P at which the fit stops, > 0.
    max_iter : int or None, default=None
        Largest number of iterations. None is 1000 for "bmrm", else 10000.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the order in which "frank-wolfe" visits the sequences.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features_in_)
        W.
    intercept_ : ndarray of shape (n_classes,)
        b.
    transition_ : ndarray of shape (n_classes, n_classes)
        E, the scores of transitions from the label of the row to that of the column.
    start_, end_ : ndarray of shape (n_classes,)
        Scores of the labels at the first and at the last position; zero without `fit_start_end`.
    objective_, dual_gap_ : float
        P, and the relative duality gap (P - D) / P.
    n_iter_ : int
        Number of iterations; for "frank-wolfe", of sweeps over all sequences that search for new
        labellings.
    history_ : structured ndarray
        Fields "iteration", "seconds", "primal", "dual", "gap": the smallest P and the largest D so
        far, at the iterations where they were computed. "frank-wolfe" computes them near the end,
        and occasionally before.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Columns of the first frame, where sequences are frames; all must have the same, in order.

    Raises
    ------
    ValueError
        For invalid parameters, sequences, labels or weights; the message names the argument.
    MemoryError
        If weights, cached labellings, planes or marginals would not fit into the free memory.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`; names the gap that was reached.

    Notes
    -----
    With `class_weight`, position t of true label y_t counts k(y_t) times: its loss, its scores
    :math:`\langle W_j, x_t \rangle + b_j` and those of its transitions, those by the larger weight
    of their two ends, are multiplied by it in the maximum above, that of sequence c then being

    .. math::

        \max_y \sum_t k_t ([y_t \ne y_{c,t}] + U_t(y_t) - U_t(y_{c,t}))
        + \sum_t \max(k_t, k_{t+1}) (E_{y_t, y_{t+1}} - E_{y_{c,t}, y_{c,t+1}}).

    For sequences of length one this is the weighted multiclass hinge loss: the label that is found
    has the sign of :math:`p k_1 - (1 - p) k_0`, where weights of the losses alone would leave that
    of p - 1/2. A transition takes the larger weight, because any smaller one would be outweighed by
    the scores of a rare label in the fit, but not in prediction. The problem is convex, equal
    weights k are a factor of C, and the certificate is that of the weighted problem.

    An iteration costs n_positions n_classes (n_features + n_classes) operations; for sparse
    sequences n_features is the number of non-zeros per row.
    ``SequenceTransformer(DictVectorizer())`` converts lists of dicts of features.

    References
    ----------
    B. Taskar, C. Guestrin, D. Koller (2004). Max-margin Markov networks. NIPS 16.
    S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher (2013). Block-coordinate Frank-Wolfe
    optimization for structural SVMs. ICML.
    X. Zhang, A. Saha, S.V.N. Vishwanathan (2011). Accelerated training of max-margin Markov
    networks with kernels. ALT.
    A. Saha, X. Zhang, S.V.N. Vishwanathan (2010). Lower bounds for BMRM and faster rates for
    training SVMs. arXiv:0909.1334. Appendix E.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import MaxMarginChain
    >>> y = [np.array(list(labels)) for labels in ("aab", "abbba", "ba", "aaabb")]
    >>> X = [np.c_[labels == "a", labels == "b"].astype(float) for labels in y]
    >>> model = MaxMarginChain().fit(X, y)
    >>> model.score(X, y)
    1.0
    >>> model.dual_gap_ <= 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearChain._parameter_constraints,
        "solver": [StrOptions(set(LIMITS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self, C=1.0, *, solver="auto", random_state=None, fit_intercept=True, fit_start_end=False,
        class_weight=None, tol=1e-3, max_iter=None, verbose=0,
    ):  # fmt: skip
        self.C = C
        self.solver = solver
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.fit_start_end = fit_start_end
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: SequencesLike, y: Iterable[ArrayLike], sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : list of array-likes, frames or sparse matrices of shape (length, n_features)
            Sequences; any iterable of them. Empty ones are skipped, with a warning.
        y : list of array-likes of shape (length,)
            Their labels: all numbers or all strings.
        sample_weight : array-like of shape (n_sequences,), optional
            Weights >= 0 of the sequences.

        Returns
        -------
        MaxMarginChain
        """
        chains = linear_chains(self, X, y, sample_weight).weighted()
        limit = LIMITS[self.solver] if self.max_iter is None else self.max_iter
        iterates = self._iterates(chains, limit)
        with blas_threads_for(chains.n_labels):
            found = solve_chains(
                self, lambda watch: follow(iterates, float(self.tol), limit, watch),
                "Standardise X, use a smaller C, or raise max_iter or tol.",
            )  # fmt: skip
        keep_weights(self, chains, found.w)
        return self

    def _iterates(self, chains: Chains, limit: int) -> Iterator[Iterate]:
        if self.solver in ("auto", "frank-wolfe"):
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            run = automatic if self.solver == "auto" else frank_wolfe
            return run(chains, float(self.tol), seed, limit)
        if self.solver == "smoothing":
            return smoothing(chains, float(self.tol), limit)
        return entropic_gap(chains) if self.solver == "pragam" else bmrm(chains)
