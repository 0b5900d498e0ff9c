"""Sparse, non-negative dimensions of objects from choices among three: the estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skscreen.answers.answers import AnswersLike
from skscreen.concepts.fitted import fit_dimensions, n_tasks, objective_of
from skscreen.concepts.problem.law import law
from skscreen.concepts.reading import asked, asked_as_given, read
from skscreen.concepts.tools.choices import is_right, kept_over_thirds, probabilities, similarities
from skscreen.concepts.tools.resample import ConceptBootstrap, resample
from skscreen.core.floats import LARGEST
from skscreen.core.sklearn_private import Interval, StrOptions, fit_context
from skscreen.core.threads import N_JOBS, one_blas_thread
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import forget


class ConceptEmbedding(CallbackSupportMixin, BaseEstimator):
    r"""Sparse, non-negative dimensions of objects, from choices of the odd one out of three.

    As in SPoSE and VICE, objects have vectors :math:`x_i \ge 0`, whose dimensions can be named by
    the objects that have the most of them. The more similar two objects are, the larger is
    :math:`x_i \cdot x_j`. In a trial of objects i, j and k the pair (i, j) is kept, and k is the
    odd one, with probability

    .. math::

        p = \frac{\exp(x_i \cdot x_j)}
        {\exp(x_i \cdot x_j) + \exp(x_i \cdot x_k) + \exp(x_j \cdot x_k)}

    The fit minimises over m trials of n objects, with weights :math:`w_q`,

    .. math::

        F(X) = \frac{\sum_q -w_q \log p_q}{\sum_q w_q}
        + \frac{\text{l1}}{n} \sum_{id} x_{id} + \frac{\text{l2}}{n} \sum_{id} x_{id}^2
        \quad \text{over } x_{id} \ge 0

    from several starts, keeps the dimensions that the starts agree on, and fits once more.
    Answers about two options, triplets and quadruplets, have the softmax of two pairs.

    For a map in few dimensions, where near means similar, use `OrdinalEmbedding`.

    Parameters
    ----------
    n_components : int, default=90
        Number of dimensions at the start, more than are expected: those that the trials do not
        support become exactly zero.
    l1 : float or "auto", default="auto"
        Strength >= 0 of the L1 penalty, the lambda of SPoSE: the larger, the fewer dimensions.
        "auto" is :math:`0.224 \sqrt{n / m}`, which is SPoSE's .008 for its 1.46 million trials of
        1,854 objects; m is the sum of the weights. With fewer than 100 trials an object it is
        stronger, times :math:`(100 n / m)^{0.35}`. `ConceptEmbeddingCV` chooses it by held-out
        trials.
    l2 : float or "auto", default="auto"
        Strength >= 0 of a ridge, "auto" is l1 / 20. Without it dimensions appear in which one
        object has a huge entry and all others tiny ones: in products these cost little.
    n_init : int, default=3
        Number of starts, each with all entries near the same level, and noise of its own. The level
        is .1, as in SPoSE, or 18 l1, if that is larger; of a high level a start has fewer
        dimensions, 50 / level^2, but 10 at least. The noise is 10 % of the level, as in SPoSE, and
        up to 30 % where `l1` is greater than "auto", lest dimensions end at zero before they
        differ. If they all do, the start is repeated with 30 %.
    min_support : float, default=0.5
        A dimension is kept if at least this share of the starts has it, from 0 to 1. Dimensions of
        two starts are the same if they correlate by more than .6 and are paired one to one. Of
        several starts those of fewer than three significant objects (`n_significant_`) are then
        left out, unless there are no others.
    max_iter : int, default=1000
        Largest number of iterations of a start, and of the fit after them.
    tol : float, default=2e-6
        The problem is not convex and has no duality gap: a start ends when the relative decrease
        of F in an iteration is at most this, in the mean of ten.
    n_jobs : int or None, default=None
        Number of threads for the starts. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_objects, n_dimensions)
        Vectors of the objects, >= 0 and mostly exactly 0. The dimension with the largest sum comes
        first. Objects in no trial have zeros.
    support_ : ndarray of shape (n_dimensions,)
        Share of the starts that have each dimension.
    reproducibility_ : ndarray of shape (n_dimensions,)
        Pearson's r of each dimension with its partner in each start, one to one, averaged over the
        starts by Fisher's z; a start without a partner counts as 0. NaN of one start.
    standard_errors_ : ndarray of shape (n_objects, n_dimensions)
        Standard errors of the positive entries; NaN where an entry is 0. See the notes.
    n_significant_ : ndarray of shape (n_dimensions,), int
        How many objects have significantly more than 0 of each dimension, at a false discovery
        rate of 5 % (Benjamini and Hochberg) within the dimension. VICE keeps dimensions with more
        than five. Where `l1` is too small, false dimensions pass, too.
    l1_, l2_ : float
        Strengths of the penalties.
    objective_ : float
        F at `embedding_`.
    log_likelihood_ : float
        Sum of the logarithms of the probabilities of what was chosen, with the weights.
    history_ : structured ndarray
        For each iteration of each start: "iteration", "seconds", objective "primal", "dual" and
        "gap" (NaN: there is no certificate), number of "dimensions" that are not zero, and "start".
        The highest "start" is the fit after the starts, if there are several.
    n_iter_ : int
        Number of iterations, the entries of `history_`.
    objects_ : ndarray of shape (n_objects,)
        Names of the objects.
    compared_ : ndarray of shape (n_objects,), bool
        Whether each object is in a trial.
    answers_ : Answers
        The answers of the fit.
    n_trials_ : int
        Number of trials that were given.

    Raises
    ------
    TypeError, ValueError
        For invalid parameters, answers or weights; the message names the argument.
    MemoryError
        If tables of pairs, trials and copies of the points would not fit into the free memory;
        names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` iterations did not reach `tol`.
    UserWarning
        If no dimension is left.

    See Also
    --------
    OrdinalEmbedding : A map of the objects from the same trials, ``loss="oddoneout"``.
    ConceptEmbeddingCV : Choose `l1` by held-out trials.
    skscreen.metrics.match_dimensions : Compare with published dimensions.
    skscreen.metrics.noise_ceiling : How well trials can be predicted, if some were repeated.
    skscreen.inspection.ConceptDisplay : Show the objects of each dimension.

    Notes
    -----
    There is no certificate. F is not convex, and zero is a local minimum of every dimension: the
    penalty is linear, what a dimension gains is quadratic. So a lower F is not a better model.
    Starts with large dimensions find lower F with twice as many dimensions and predict new trials
    worse. The convex envelope of the smallest L1 norm that gives wanted similarities is 0, so there
    is no useful lower bound, either. What can be told instead is how far starts agree, `support_`
    and `reproducibility_`, how far resampled participants do, `bootstrap`, and how well trials
    that were held out are predicted, `score`. The number of dimensions is not sharp: it may change
    by 33 % while the held-out likelihood changes by less than its error.

    Standard errors are those of a row with the others held fixed, from the Hessian of the penalised
    likelihood. In 30 simulations intervals of 95 % contained the mean of the estimates in 96 % of
    the cases and the true entry in 71 %, because the penalty shrinks entries. On sets of the size
    of THINGS they are 25 % too small; the bootstrap is the reference.

    A pass over the trials takes exp(x_i . x_j) of each pair of objects once, in tables of
    16 n^2 bytes (55 MB for THINGS). With more than 8,000 objects, or few trials, the pairs that
    occur are listed instead. On one core 1.46 million trials of 1,854 objects take about half a
    minute.

    References
    ----------
    C. Y. Zheng, F. Pereira, C. I. Baker, M. N. Hebart (2019). Revealing interpretable object
    representations from human behavior. ICLR. Section 3.

    M. N. Hebart, C. Y. Zheng, F. Pereira, C. I. Baker (2020). Revealing the multidimensional mental
    representations of natural objects underlying human similarity judgements. Nature Human
    Behaviour 4, 1173-1185.

    L. Muttenthaler, C. Y. Zheng, P. McClure, R. A. Vandermeulen, M. N. Hebart, F. Pereira (2022).
    VICE: Variational interpretable concept embeddings. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import ConceptEmbedding
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(2.5 * np.eye(3), 10, axis=0)  # three groups of ten objects
    >>> trials = np.array([rng.permutation(30)[:3] for _ in range(3000)])
    >>> similar = np.stack(
    ...     [
    ...         (truth[trials[:, i]] * truth[trials[:, j]]).sum(axis=1)
    ...         for i, j in ((1, 2), (0, 2), (0, 1))
    ...     ],
    ...     axis=1,
    ... )
    >>> odd = np.argmax(similar + rng.gumbel(size=similar.shape), axis=1)
    >>> model = ConceptEmbedding(10, l1=0.04, random_state=0).fit(trials, odd)
    >>> model.embedding_.shape
    (30, 3)
    >>> sorted(model.top_objects(10).min(axis=0).tolist())  # the first object of each group
    [0, 10, 20]
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "l1": [StrOptions({"auto"}), Interval(Real, 0, LARGEST, closed="both")],
        "l2": [StrOptions({"auto"}), Interval(Real, 0, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, 10**6, closed="both")],
        "min_support": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components=90, *, l1="auto", l2="auto", n_init=3, min_support=0.5, max_iter=1000,
        tol=2e-6, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.n_components = n_components
        self.l1 = l1
        self.l2 = l2
        self.n_init = n_init
        self.min_support = min_support
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, answers: AnswersLike, y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Find the dimensions.

        Parameters
        ----------
        answers : Answers or array-like of shape (n_trials, 3)
            From `read_answers`, of kind "oddoneout", "triplets" or "quadruplets". An array holds
            three objects in each row, and `y` says which one is odd.
        y : array-like of shape (n_trials,), optional
            Of an array: the column of the odd one, 0, 1 or 2.
        sample_weight : array-like of shape (n_trials,), optional
            Weights >= 0. A weight of 2 counts as the trial twice.

        Returns
        -------
        ConceptEmbedding
        """
        forget(self)
        reading = read(answers, y, sample_weight)
        l1 = (
            law(reading.trials.n_objects, reading.trials.total)
            if self.l1 == "auto"
            else float(self.l1)
        )
        objective = objective_of(self, reading.trials, l1, int(self.n_init))
        with one_blas_thread(), Tasks(self, n_tasks(self), "start") as tasks:
            fit_dimensions(self, reading, objective, tasks)
        return self

    def predict_proba(self, answers: AnswersLike) -> np.ndarray:
        """Return how likely each choice is.

        Parameters
        ----------
        answers : Answers or array-like of shape (n_trials, 3)
            An array holds three objects in each row; nothing says which one is odd.

        Returns
        -------
        ndarray of shape (n_rows, 3) or (n_rows, 2)
            Of trials of the odd one out: the probability that the object in each column is the odd
            one; in `answers.rows` the one that was chosen stands last. Of triplets and quadruplets:
            that the pair that a row says to be closer is, and that the other one is. A row for each
            of `answers.rows`.
        """
        check_is_fitted(self)
        rows, kind, _ = asked_as_given(self, answers)
        return probabilities(similarities(self.embedding_, rows, kind))

    def predict(self, answers: AnswersLike) -> np.ndarray:
        """Return the most likely choices, columns of `predict_proba`; the first one of ties.

        Parameters
        ----------
        answers : Answers or array-like of shape (n_trials, 3)
            As in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,), int
            Of an array the column of the odd one, as `y` in `fit`.
        """
        check_is_fitted(self)
        rows, kind, _ = asked_as_given(self, answers)
        return np.argmax(similarities(self.embedding_, rows, kind), axis=1)

    def score(
        self, answers: AnswersLike, y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:  # fmt: skip
        """Return the share of choices that are the most likely ones. Ties count as wrong.

        Chance is a third for trials of the odd one out; `noise_ceiling` tells how much is possible.

        Parameters
        ----------
        answers, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows, kind, weights = asked(self, answers, y, sample_weight)
        right = is_right(similarities(self.embedding_, rows, kind), kind)
        return float(np.average(right, weights=weights))

    def similarity(self) -> np.ndarray:
        """Return how alike objects are: how often two of them are kept together.

        The probability that they are kept in a trial with a third object, in the mean over all
        third objects that were in a trial of the fit. Takes n^3 / 6 steps: a second or two for
        1,854 objects.

        Returns
        -------
        ndarray of shape (n_objects, n_objects)
            With ones on the diagonal; NaN for objects that were in no trial.
        """
        check_is_fitted(self)
        found = np.full((len(self.objects_), len(self.objects_)), np.nan)
        compared = np.flatnonzero(self.compared_)
        found[np.ix_(compared, compared)] = kept_over_thirds(self.embedding_[compared])
        return found

    def top_objects(self, n: int = 10) -> np.ndarray:
        """Return the names of the objects that have the most of each dimension.

        Parameters
        ----------
        n : int, default=10
            Number of objects of a dimension.

        Returns
        -------
        ndarray of shape (n, n_dimensions)
            A column for each dimension, the object with the most first.
        """
        check_is_fitted(self)
        n = check_scalar(n, "n", Integral, min_val=1, max_val=len(self.objects_))
        return self.objects_[np.argsort(-self.embedding_, axis=0, kind="stable")[:n]]

    def bootstrap(
        self, n_samples: int = 50, *, groups: ArrayLike | None = None, n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> ConceptBootstrap:  # fmt: skip
        """Refit trials, or participants, drawn with replacement from those of the fit.

        Each refit starts from `embedding_` and keeps `l1_` and `l2_`. So it shows how far the
        dimensions and their entries depend on which trials, or people, were asked, but not how far
        on the start; `reproducibility_` shows that.

        Parameters
        ----------
        n_samples : int, default=50
            Number of refits, at least 1.
        groups : array-like of shape (n_trials,), default=None
            Participant of each trial, as `answers.groups`. Participants are then drawn, each with
            all trials; None draws single trials.
        n_jobs : int or None, default=None
            Threads.
        random_state : int, RandomState or None, default=None
            Seed of the draws.

        Returns
        -------
        ConceptBootstrap
            With `embeddings`, `correlations` and `standard_errors`.

        Warns
        -----
        ConvergenceWarning
            If refits did not reach `tol` in `max_iter` iterations; one warning for all of them.
        """
        check_is_fitted(self)
        n_samples = check_scalar(n_samples, "n_samples", Integral, min_val=1)
        return resample(self, n_samples, groups, n_jobs, check_random_state(random_state))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")
