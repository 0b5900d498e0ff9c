"""Ordinal embedding from answers about distances: the estimator."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state

from skscreen.answers.answers import AnswersLike
from skscreen.core.floats import LARGEST
from skscreen.core.named import in_order
from skscreen.core.sklearn_private import Interval, QuickParameters, StrOptions, fit_context
from skscreen.core.threads import N_JOBS
from skscreen.embedding.fitted import FittedEmbedding, given_to
from skscreen.embedding.problem.answers import compacted, counted, pieces
from skscreen.embedding.problem.losses import TRAITS, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import STARTS, clean_ridge
from skscreen.embedding.solvers.solve import (
    FEW_OBJECTS,
    EmbeddingSolution,
    check_free,
    check_inits,
    convex_solver,
    solve_from,
)
from skscreen.embedding.solvers.state import Progress, Settings
from skscreen.embedding.verdict import warn_misread, warn_pieces, warn_unconverged
from skscreen.fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from skscreen.fitting.path import forget
from skscreen.fitting.progress import ProgressBar


class OrdinalEmbedding(
    CallbackSupportMixin,
    FittedEmbedding,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    QuickParameters,
):
    r"""Points whose distances agree with answers of the kind "i is nearer to j than to k".

    An answer says "i and j are nearer to each other than k and l"; a triplet (i, j, k) is the
    quadruplet (i, j, i, k). With :math:`a = \lVert x_i - x_j \rVert^2` and
    :math:`c = \lVert x_k - x_l \rVert^2` of each answer, and weights :math:`w_q`, the fit minimises
    over points :math:`x_1, \dots, x_n`

    .. math::

        F(X) = \frac{\sum_q w_q f(a_q, c_q)}{\sum_q w_q}
        + \frac{\text{reg}}{n} \sum_i \lVert x_i \rVert^2

    where n is the number of objects that are in an answer.

    The problem is not convex, and at best its solution is unique up to rotation, reflection and,
    without the ridge, translation. The embedding is centred.

    Parameters
    ----------
    n_components : int, default=2
        Dimension p of the points.
    loss : {"soe", "ste", "tste", "gnmds", "ckl", "oddoneout"}, default="soe"
        Loss of an answer; see the notes for the formulas. "soe" is a good default: on most sets of
        human answers it is within half a percent of the best loss. "ste" is a likelihood, and has a
        lower bound of the objective. "tste" suits few answers per object, and objects in clusters,
        which it pulls together. "gnmds" suits answers with few errors; like "ste" it is convex.
        "ckl" suits few answers and depends on the ratio of the two distances. "oddoneout" is for
        trials that choose the odd one out of three.
    solver : {"auto", "lbfgs", "svrg-sbb", "svrg", "sgd", "batch"}, default="auto"
        "auto" is a short stochastic start, followed by L-BFGS; points may then take other places if
        that lowers F. "svrg-sbb" is the variance-reduced stochastic gradient method with stabilised
        Barzilai-Borwein steps, "svrg" the same with constant steps, "sgd" stochastic gradient
        descent with decreasing steps, and "batch" gradient descent.
    formulation : {"nonconvex", "convex"}, default="nonconvex"
        "convex" minimises over the Gram matrix, that is over points in any number of dimensions,
        and keeps the largest `n_components` eigenpairs; `solver` is not used. For "gnmds", "ste"
        and "oddoneout" this problem is convex, and solved until the relative duality gap is at most
        `tol`. The other losses use projected gradients, without a certificate.
    reg : float or "auto", default="auto"
        Strength >= 0 of the ridge. "auto" starts from a small value, which decreases with the
        number of answers per coordinate. With the solver "auto" it then increases it for noisy
        answers, judged by 10 % of the answers that the start does not use; not for "ckl", with
        one component, with fewer than 200 answers, with ``formulation="convex"`` or from given
        starting points.
    sbb_epsilon : float or "auto", default="auto"
        Stabilisation of "svrg-sbb", >= 0, which bounds its steps; 0 is SVRG-BB. "auto" is 0.1 / n.
    eta0 : float or None, default=None
        Length of the first step of "svrg-sbb", per answer of a batch, > 0, and of "svrg", "sgd" and
        "batch"; None is a length of each.
    update_frequency : int or None, default=None
        Steps of an epoch of "svrg-sbb" and "svrg", after which the full gradient is computed again;
        None goes through the answers once.
    batch_size : int, default=1
        Number of answers in a step of "svrg-sbb" and "svrg".
    module_epochs : int or None, default=None
        Number of epochs after which "svrg-sbb" restarts from its best point (Algorithm 2 of the
        paper).
    max_iter : int or None, default=None
        Largest number of iterations or epochs; None is a limit of each solver (200 for L-BFGS, 50
        for SVRG). With a certified convex loss, of rounds (100).
    n_init : int or "auto", default="auto"
        Number of random starts, up to a million; the one with the lowest objective is kept. "auto"
        is 1, but 3 for up to 20 objects or one component; the solver "auto" then goes on from the
        best of its stochastic starts, and makes two if their objectives differ by less than 5 %.
        The convex formulation makes one.
    alpha : float or None, default=None
        Degrees of freedom of "tste", > 0; None is max(n_components - 1, 1).
    mu : float, default=1e-3
        Parameter mu of "ckl", > 0.
    margin : float, default=0.1
        Margin of "soe", > 0.
    smoothing : float, default=1.0
        Width of the quadratic piece of "gnmds", >= 0; 0 is the hinge. At least 0.3 in the convex
        formulation.
    tol : float, default=1e-4
        The problem is not convex and has no duality gap: the fit stops when the relative decrease
        of F in an iteration is at most this (ten times this in an epoch of "svrg-sbb" and "svrg").
        With a certified convex loss it is the relative duality gap. Not used by "sgd", whose steps
        are fixed.
    n_jobs : int or None, default=None
        Number of threads for the random starts.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : int, RandomState or None, default=None
        Seed of the random starts and of stochastic steps.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_objects, n_components)
        Points of the objects. Those that are in no answer are at the origin.
    objects_ : ndarray of shape (n_objects,)
        Names of the objects, in the order of `embedding_`: those of the answers.
    compared_ : ndarray of shape (n_objects,), bool
        Whether each object is in an answer.
    objective_ : float
        F at `embedding_`; that of the Gram matrix for the convex formulation.
    stress_ : float
        F without the ridge, at `embedding_`.
    dual_gap_ : float
        Relative duality gap: bound on the relative distance of F from its minimum over points in
        any number of dimensions, for the convex formulation with "gnmds", "ste" and "oddoneout";
        else NaN.
    n_pieces_ : int
        Number of sets of compared objects that no chain of answers connects: 1 is a map, and more
        are maps that hang together by nothing.
    answers_ : Answers
        The answers of the fit with their weights. Of an array, `trials` are its rows.
    n_trials_ : int
        Number of trials, or of rows of an array.
    reg_ : float
        Strength of the ridge.
    n_iter_ : int
        Number of iterations or epochs, the entries of `history_`.
    history_ : structured ndarray of shape (n_iter_,)
        For each iteration of the best start: "iteration", "seconds", objective "primal", lower
        bound "dual" and relative "gap" (NaN where they were not computed), "passes" over the
        answers and "step" length. If the ridge was chosen during the fit, objectives belong to
        different ridges.
    n_features_in_ : int
        Number of objects in an answer.

    Raises
    ------
    ValueError
        For invalid parameters, answers or weights; the message names the argument.
    TypeError
        For a frame, which `read_answers` reads.
    MemoryError
        If the points, or Gram matrices for the convex formulation, would not fit into the free
        memory; names the numbers and bytes.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` did not reach `tol`, or if "sgd" diverged.
    UserWarning
        If no answer connects some objects with others, or if random answers would agree with their
        own fit as well, or the reverse of the answers much better.

    See Also
    --------
    ConceptEmbedding : Dimensions that can be named, in place of a map, from odd-one-out trials.

    Notes
    -----
    The losses, with a and c as above, are

    .. math::

        \text{soe} &: \max(0, \sqrt{a} + \text{margin} - \sqrt{c})^2 \\
        \text{ste} &: \log(1 + \exp(a - c)) \\
        \text{tste} &: \log\bigl(1 + ((\alpha + a) / (\alpha + c))^{(\alpha + 1) / 2}\bigr) \\
        \text{gnmds} &: \max(0, 1 + a - c), \text{ with a quadratic piece of width smoothing} \\
        \text{ckl} &: \log\frac{a + c + 2\mu}{c + \mu} \\
        \text{oddoneout} &: -\log\frac{\exp(-a)}{\exp(-a) + \exp(-b) + \exp(-c)}

    where, in the last one, a is the squared distance between the two other objects, and b and c are
    their squared distances to the odd one.

    If there are more than n^2 / 4 answers, the distance of each pair of objects is computed only
    once in an evaluation. Memory is O(n p) plus the answers; the nonconvex formulation never forms
    an n x n matrix of floats.

    Algorithm 1 of SVRG-SBB returns the points of a random epoch; here "svrg-sbb" returns those of
    the epoch with the lowest F. Gradient methods with tuned steps are faster, and "auto" is as fast
    as these without tuning. The theorems about SVRG-SBB need much smaller batches and steps than
    are used in practice, and here.

    References
    ----------
    K. Ma, J. Zeng, J. Xiong, Q. Xu, X. Cao, W. Liu, Y. Yao (2019). Fast stochastic ordinal
    embedding with variance reduction and adaptive step size. arXiv:1912.00362. Algorithms 1 and 2.

    Y. Terada, U. von Luxburg (2014). Local ordinal embedding. ICML, 847-855. Equation 2.

    L. van der Maaten, K. Weinberger (2012). Stochastic triplet embedding. MLSP. Equations 3 and 6.

    O. Tamuz, C. Liu, S. Belongie, O. Shamir, A. T. Kalai (2011). Adaptively learning the crowd
    kernel. ICML, 673-680. Section 3.

    Examples
    --------
    >>> from skscreen import OrdinalEmbedding
    >>> from skscreen.datasets import load_eurodist, make_triplets
    >>> cities = load_eurodist()
    >>> answers = make_triplets(cities.distances, 2000, metric="precomputed", random_state=0)
    >>> model = OrdinalEmbedding(n_components=2, random_state=0).fit(answers)
    >>> model.embedding_.shape
    (21, 2)
    >>> model.score(answers) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions(set(TRAITS))],
        "solver": [StrOptions({"auto", "lbfgs", "svrg-sbb", "svrg", "sgd", "batch"})],
        "formulation": [StrOptions({"nonconvex", "convex"})],
        "reg": [StrOptions({"auto"}), Interval(Real, 0, LARGEST, closed="both")],
        "sbb_epsilon": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "eta0": [Interval(Real, 0, LARGEST, closed="right"), None],
        "update_frequency": [Interval(Integral, 1, None, closed="left"), None],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "module_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, 10**6, closed="both")],
        "alpha": [Interval(Real, 0, LARGEST, closed="right"), None],
        "mu": [Interval(Real, 0, LARGEST, closed="right")],
        "margin": [Interval(Real, 0, LARGEST, closed="right")],
        "smoothing": [Interval(Real, 0, LARGEST, closed="both")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": N_JOBS,
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components=2, *, loss="soe", solver="auto", formulation="nonconvex", reg="auto",
        sbb_epsilon="auto", eta0=None, update_frequency=None, batch_size=1, module_epochs=None,
        max_iter=None, n_init="auto", alpha=None, mu=1e-3, margin=0.1, smoothing=1.0, tol=1e-4,
        n_jobs=None, verbose=0, random_state=None,
    ):  # fmt: skip
        self.n_components = n_components
        self.loss = loss
        self.solver = solver
        self.formulation = formulation
        self.reg = reg
        self.sbb_epsilon = sbb_epsilon
        self.eta0 = eta0
        self.update_frequency = update_frequency
        self.batch_size = batch_size
        self.module_epochs = module_epochs
        self.max_iter = max_iter
        self.n_init = n_init
        self.alpha = alpha
        self.mu = mu
        self.margin = margin
        self.smoothing = smoothing
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: AnswersLike, y: ArrayLike | None = None, init: ArrayLike | None = None, *,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Find the points.

        Parameters
        ----------
        X : Answers, or array-like of shape (n_answers, 3)
            Triplets or quadruplets, with ``loss="oddoneout"`` choices of the odd one out, as
            `read_answers` reads them. Rows of an array are triplets (i, j, k): object j is nearer
            to i than k is. Numbers are names, as strings are: `objects_` are those that occur,
            sorted.
        y : array-like of shape (n_answers,), optional
            Only with an array: False or -1 where a row says the reverse, True or 1 where it does
            not; with ``loss="oddoneout"`` the column of the odd one, 0, 1 or 2, which is required.
        init : array-like of shape (n_objects, n_components), optional
            Starting points; for several starts, of shape (n_starts, n_objects, n_components). A
            start so close to zero, which is a stationary point, that F is the same is scaled up. A
            frame whose index are the objects may have them in any order, and so may a dict.
            They take the place of stochastic starts, and `n_init` is not used.
        sample_weight : array-like of shape (n_trials,), optional
            Weights >= 0 of the trials.

        Returns
        -------
        OrdinalEmbedding
        """
        self._fit(X, y, init, sample_weight)
        warn_pieces(self.n_pieces_)
        warn_misread(self)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def _fit(
        self, X: AnswersLike, y: ArrayLike | None, init: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> None:  # fmt: skip
        """Find the points, without a word about what the answers say."""
        forget(self)
        given = given_to(self, X, y)
        answers = counted(given, sample_weight)
        if answers.weights is not None and np.ptp(answers.weights) == 0.0:
            # In a mean equal weights mean the same as none.
            answers = replace(answers, weights=None)
        self.answers_, self.objects_, self.n_trials_ = answers, answers.objects, given.n_trials
        self.n_features_in_ = answers.rows.shape[1]
        # Objects that are in no answer are no part of the problem.
        rows, compared = compacted(answers.rows, len(self.objects_))
        n_objects, weights = len(compared), answers.weights
        loss = EmbeddingLoss.of(self)
        solver = convex_solver(loss) if self.formulation == "convex" else self.solver
        check_free(n_objects, self.n_components, solver, self.n_jobs)
        rng = _generator(self.random_state)
        # Stochastic passes take the answers as they come.
        order = rng.permutation(len(rows))
        weights = None if weights is None else weights[order]
        problem = EmbeddingProblem(rows.take(order, axis=0), weights, n_objects, loss, 0.0)
        adapt = self.reg == "auto"
        reg = clean_ridge(problem, self.n_components) if adapt else self.reg
        problem = problem.with_reg(reg)
        # Few points, or points on a line, get stuck on the wrong side of each other.
        few = n_objects <= FEW_OBJECTS or self.n_components == 1
        starts = STARTS if few and self.n_init == "auto" else 1
        inits = self._inits(init, compared, starts)
        seeds = rng.integers(2**31 - 1, size=len(inits)).tolist()
        with Tasks(self, 0) as tasks:
            report = partial(_show, tasks.bar) if self.verbose else None
            solution = solve_from(
                problem, int(self.n_components), solver, Settings.of(self, adapt, starts), seeds,
                inits, self.n_jobs, report,
            )  # fmt: skip
        self.n_pieces_ = int(pieces(rows, n_objects).max()) + 1
        self._store(solution, problem, compared)

    def _inits(
        self, init: ArrayLike | None, compared: np.ndarray, starts: int
    ) -> list[np.ndarray | None]:
        """One start each, None for a random one."""
        if init is None:
            count = starts if self.n_init == "auto" else self.n_init
            # The default solver compares its starts before it goes on from the best one.
            own = self.formulation == "convex" or (self.n_init == "auto" and self.solver == "auto")
            return [None] * (1 if own else count)
        init = in_order(init, self.objects_.tolist(), "init")
        inits = check_inits(init, len(self.objects_), self.n_components)
        return [start[compared] - start[compared].mean(axis=0) for start in inits]

    def _store(
        self, solution: EmbeddingSolution, problem: EmbeddingProblem, compared: np.ndarray
    ) -> None:
        """Set the fitted attributes."""
        warn_unconverged(self, solution)
        X = solution.embedding - solution.embedding.mean(axis=0)
        self.stress_ = problem.with_reg(0.0).evaluate(X)[0]
        self.objective_, self.reg_ = solution.objective, solution.reg
        if self.formulation == "nonconvex":
            # The ridge of the solver's points was larger, as their mean was not zero.
            self.objective_ = self.stress_ + self.reg_ * float(np.vdot(X, X)) / len(X)
        self.dual_gap_ = solution.dual_gap
        self.n_iter_, self.history_ = len(solution.history), solution.history
        is_compared = np.zeros(len(self.objects_), dtype=bool)
        is_compared[compared] = True
        embedding = np.zeros((len(self.objects_), X.shape[1]))
        embedding[compared] = X
        # The last one says that the model is fitted.
        self.compared_, self.embedding_ = is_compared, embedding


def fit_unjudged(model: OrdinalEmbedding, X: AnswersLike) -> OrdinalEmbedding:
    """Fit as a part of a search, which judges by itself what the answers say."""
    model._fit(X, None, None, None)
    return model


def _generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a source of random numbers."""
    # To make a RandomState of a number takes a tenth of the fit of a small map.
    if isinstance(random_state, Integral):
        return np.random.default_rng(int(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _show(bar: ProgressBar, progress: Progress) -> None:
    """Show how far a solver has come."""
    # Stochastic steps do not compute it.
    value = "" if math.isnan(progress.value) else f"objective={progress.value:.4g} "
    bar.update(1.0 - 30.0 / (30.0 + progress.passes), f"{value}passes={progress.passes:.0f}")
