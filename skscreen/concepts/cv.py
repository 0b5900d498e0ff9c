"""Sparse, non-negative dimensions with the penalty that predicts held-out trials best."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skscreen.answers.answers import AnswersLike
from skscreen.concepts.estimator import ConceptEmbedding
from skscreen.concepts.fitted import fit_dimensions, n_tasks, objective_of, ridge
from skscreen.concepts.problem.law import law
from skscreen.concepts.reading import Reading, read
from skscreen.concepts.tools.held_out import (
    HeldOut,
    error_over_folds,
    error_over_trials,
    predict_held_out,
    splits_of,
)
from skscreen.concepts.tools.resample import drawn_units
from skscreen.core.sklearn_private import Interval, fit_context
from skscreen.core.threads import one_blas_thread
from skscreen.fitting.callbacks import Tasks, with_callbacks
from skscreen.fitting.grid import MOST_VALUES, NUMBER_OR_LIST, positive_values
from skscreen.fitting.path import forget

# The least and the greatest penalty of a grid, as multiples of the law.
LOWEST, HIGHEST = 0.7, 2.0


class ConceptEmbeddingCV(ConceptEmbedding):
    r"""`ConceptEmbedding` with the L1 penalty that predicts held-out trials best.

    Each penalty is tried once for each fold, starting with all entries at the same level. The model
    is then fitted to all trials with the best penalty, from `n_init` starts.

    Held-out likelihood is often flat: penalties with 30 % more or fewer dimensions predict as well.
    So report the curve, and `dimension_range_`, with the number of dimensions.

    Parameters
    ----------
    n_components : int, default=90
        As in `ConceptEmbedding`.
    l1s : int or array-like, default=6
        Penalties to try; a number of them spreads from .7 to 2 times that of
        `ConceptEmbedding` with l1="auto". Small ones take longest. In a fold, which has fewer
        trials, each grows as that one does.
    cv : int, splitter of scikit-learn, iterable of (train, test) or None, default=None
        Which trials are held out: None is 10 % of them, three times; an integer is a number of
        folds; both at random. One split takes 33 % of the time, but says less of errors
        (`as_good_`).
        With `groups` whole participants are held out.
    l2 : float or "auto", default="auto"
        As in `ConceptEmbedding`; "auto" is each penalty / 20.
    n_init, min_support, max_iter, tol
        As in `ConceptEmbedding`.
    n_jobs : int or None, default=None
        Number of threads for folds and penalties, and for the starts.
    verbose, random_state
        As in `ConceptEmbedding`.

    Attributes
    ----------
    l1s_ : ndarray of shape (n_penalties,)
        The penalties that were tried, ascending.
    l1_ : float
        The best of them, by the mean of `test_log_likelihoods_` over the folds.
    best_index_ : int
        Its place.
    test_log_likelihoods_ : ndarray of shape (n_penalties, n_folds)
        Mean of log p of the choices of held-out trials; chance is -log 3 = -1.0986.
    test_scores_ : ndarray of shape (n_penalties, n_folds)
        Share of held-out choices that are the most likely ones.
    n_dimensions_ : ndarray of shape (n_penalties, n_folds), int
        Numbers of dimensions of the fits, each of one start.
    as_good_ : ndarray of shape (n_penalties,), bool
        Which penalties predict as well as the best one: the mean difference of log p is at most its
        standard error, the larger one of two. That over held-out trials (over participants with
        `groups`) says how far other trials would be predicted otherwise by the same fits. That over
        folds also says how far other trials to learn from, and other starts, would lead to other
        fits; it is corrected for what folds have in common (Nadeau and Bengio 2003), and missing
        with a single split. Neither covers objects or participants of another kind.
    dimension_range_ : tuple of int
        The fewest and the most dimensions of all fits with these penalties.
    embedding_, support_, reproducibility_, standard_errors_, n_significant_, l2_
        Of the fit to all trials, as in `ConceptEmbedding`; and so are all other attributes.

    See Also
    --------
    ConceptEmbedding : With one penalty; the model in symbols, notes and references.

    References
    ----------
    C. Nadeau, Y. Bengio (2003). Inference for the generalization error. Machine Learning 52,
    239-281. Section 4, the corrected resampled t-test.

    Examples
    --------
    >>> import numpy as np
    >>> from skscreen import ConceptEmbeddingCV
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
    >>> model = ConceptEmbeddingCV(10, l1s=3, random_state=0).fit(trials, odd)
    >>> model.n_dimensions_.shape
    (3, 3)
    >>> model.embedding_.shape[1] >= 3
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{name: rule for name, rule in ConceptEmbedding._parameter_constraints.items()
           if name != "l1"},
        "l1s": [Interval(Integral, 1, MOST_VALUES, closed="both"), "array-like"],
        "cv": ["cv_object"],
    }  # fmt: skip

    def __init__(
        self, n_components=90, *, l1s=6, cv=None, l2="auto", n_init=3, min_support=0.5,
        max_iter=1000, tol=2e-6, n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.n_components = n_components
        self.l1s = l1s
        self.cv = cv
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
        sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Choose the penalty and find the dimensions.

        Parameters
        ----------
        answers, y, sample_weight
            As in `ConceptEmbedding.fit`.
        groups : array-like of shape (n_trials,), default=None
            Participant of each trial, as `answers.groups`, whose trials are held out together; None
            holds out single trials.

        Returns
        -------
        ConceptEmbeddingCV
        """
        forget(self)
        reading = read(answers, y, sample_weight)
        codes = drawn_units(groups, reading.answers, reading.n_given)
        usual = law(reading.trials.n_objects, reading.trials.total)
        if isinstance(self.l1s, Integral):
            l1s = usual * np.geomspace(LOWEST, HIGHEST, int(self.l1s))
        else:
            l1s = np.unique(positive_values("l1s", self.l1s, NUMBER_OR_LIST))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        splits = splits_of(self.cv, reading.n_given, groups, seed)
        n_fits = len(l1s) * len(splits)
        objective = objective_of(self, reading.trials, usual, n_fits)
        with one_blas_thread(), Tasks(self, n_fits + n_tasks(self), "start") as tasks:
            # The fit to all trials costs as much as its starts.
            share = n_fits / (n_fits + n_tasks(self))
            penalties = [(float(l1), ridge(self, float(l1))) for l1 in l1s]
            found: list[HeldOut] = []
            for one in predict_held_out(reading, objective, splits, penalties, self, seed):
                found.append(one)
                tasks.end_task(
                    share * len(found) / n_fits, f"{len(found)} of {n_fits} held-out fits"
                )
            best = self._judge(reading, splits, l1s, found, codes)
            objective.l1, objective.l2 = penalties[best]
            fit_dimensions(self, reading, objective, tasks, share)
        return self

    def _judge(
        self, reading: Reading, splits: list, l1s: np.ndarray, found: list[HeldOut],
        codes: np.ndarray,
    ) -> int:  # fmt: skip
        """Set what the folds tell, and return which penalty is the best."""
        shape = len(splits), len(l1s)
        of_rows = reading.answers.trials[reading.rows]
        held = [np.isin(of_rows, test) for _, test in splits]
        weights = reading.trials.weights
        weights = np.ones(len(of_rows)) if weights is None else weights
        by_fold = [weights[rows] for rows in held]
        if not all(one.sum() > 0.0 for one in by_fold):
            raise ValueError("cv must hold out trials in each fold whose weight is not zero.")
        means, scores = (
            np.array([
                np.average(getattr(one, name), weights=by_fold[k // len(l1s)])
                for k, one in enumerate(found)
            ]).reshape(shape).T
            for name in ("log_p", "right")
        )  # fmt: skip
        best = int(np.argmax(means.mean(axis=1)))
        log_p = np.array(
            [np.concatenate([one.log_p for one in found[k :: len(l1s)]]) for k in range(len(l1s))]
        )
        own = np.concatenate([codes[reading.rows][rows] for rows in held])
        self.l1s_, self.best_index_ = l1s, best
        self.test_log_likelihoods_, self.test_scores_ = means, scores
        self.n_dimensions_ = np.array([one.n_dimensions for one in found]).reshape(shape).T
        sizes = np.array([[len(train), len(test)] for train, test in splits])
        ratio = float(np.mean(sizes[:, 1] / sizes[:, 0]))
        errors = np.maximum(
            error_over_trials(log_p, np.concatenate(by_fold), own, best),
            error_over_folds(means, ratio, best),
        )
        lost = (means[best] - means).mean(axis=1)
        self.as_good_ = lost <= errors
        of_these = self.n_dimensions_[self.as_good_]
        self.dimension_range_ = int(of_these.min()), int(of_these.max())
        return best
