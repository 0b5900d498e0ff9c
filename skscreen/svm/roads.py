"""Which road a fit takes: what solves it, on which kernel values, in which precision.

This is the one place where methods are chosen by kernels, sizes, losses and what is asked for; what
follows a road looks at nothing but the road. Methods are those of sections "kernel" and "linear" of
`solvers`, and of `l1` and `crammer_singer`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from skscreen.samples.rows import LARGEST, LARGEST_SINGLE
from skscreen.svm.screening.rules import BEST

# What is asked for: one C; one C without any loss; a grid of C; values of C chosen by solutions, or
# bounds on all solutions of a range, which both need margins of solutions; one nu or some.
Plan = Literal["one C", "C=inf", "grid", "eps", "bounds", "nu"]

Solver = Literal[
    "class pairs", "levels", "working sets", "interior point", "rows", "rows at once",
    "rows together", "classes by Newton", "classes on faces", "L1", "LIBSVM",
]  # fmt: skip
Values = Literal[
    "rows", "full features", "sparse features", "columns", "few", "class blocks", "tiles", "matrix"
]
Exact = Literal["", "some", "all"]
Otherwise = Literal["", "refuse", "centre", "shift", "LIBSVM", "fill"]

# Solvers of one problem for all classes; values that are features, and not of a kernel.
JOINT: tuple[Solver, ...] = ("classes by Newton", "classes on faces")
BY_FEATURES: tuple[Values, ...] = ("rows", "full features", "sparse features")

# Samples up to which one compiled call solves a problem faster than what shares work between fits:
# of pairs of classes, and of a single problem for one C; of a pair for the linear kernel, and of a
# linear regression, whose rows are faster but for so few that what they prepare takes longer.
FEW_IN_PAIRS, FEW, FEW_ROWS, FEW_IN_TUBE = 2000, 1000, 400, 200
# Steps (at a nu, too), and features, up to which more of a single problem are tried that way.
STEPS_TRIED, WIDE_TRIED = 4000, 200
# The same of regressions at a nu, most of whose samples are support vectors, and linear ones.
FEW_IN_TUBE_AT_NU, FEW_ROWS_AT_NU = 1600, 1000
# Largest class whose kernel matrix is kept in memory, 36 MB; pairs of larger ones have none.
LARGEST_CLASS = 3000
# Samples, and values, from which on fits take longer than reading and writing a file.
MANY_TO_STORE, VALUES_TO_STORE = 150, 2**15
# Samples of a class, a mean, from which on the columns of support vectors cost less than a matrix,
# which is one of all classes; and with features from a number on, which make columns dear.
MANY_A_CLASS, MANY_A_WIDE_CLASS, WIDE_COLUMNS = 48, 110, 100

# Fixed work of visiting a sample (random access), in units of reading one entry of a row, about a
# nanosecond; work of a multiplication in a product or factorisation of matrices; and the largest
# number of equations of Newton's method, of 130 MB.
ENTRIES_PER_VISIT, PER_MULTIPLY, LARGEST_SYSTEM = 30, 0.03, 4000

# Multiplications of a system of the size of the weights up to which rows are solved in one call;
# samples of a regression without a tube up to which factors of its matrix take little time.
NARROW, INTERIOR = 1e7, 4000

# Classes, features, and rows a feature, from which and up to which sweeps over all classes at once
# leave Newton's method few steps on full rows.
MANY_CLASSES, WIDE, ROWS_A_FEATURE = 10, 100, 20

# Samples up to which working sets of hinges and tubes start from nothing as well as from growing
# parts. All samples have a part in squares: sets of a few change little.
FROM_NOTHING = 12_000

# Samples up to which the matrix of a single problem costs less than products in tiles; of an RBF
# kernel at a nu.
BY_BLOCKS, BY_BLOCKS_AT_NU = 2000, 1000

# Tolerance up to which the linear system of a solution gives it its last digits; samples up to
# which, as it costs little then, rows always have it, so that weights give the same digits as
# repetitions, and kernel values at a nu up to another tolerance.
LAST_DIGITS, FEW_IN_SYSTEM, LAST_DIGITS_OF_FEW = 1e-8, 1000, 1e-4

# Weights of all classes up to which Newton's method moves those of one problem for all of them;
# features, and values, up to which sparse features are filled where they make slow progress: 32 MB,
# as each class against the rest has its own.
FEW_WEIGHTS, FEW_FEATURES, FEW_FILLED = 500, 600, 2**22


class Facts(Protocol):
    """What only the samples tell; each is asked for where the road depends on it."""

    @property
    def largest(self) -> float:
        """The largest square of the length of a sample, with its feature for an intercept."""

    @property
    def is_wide(self) -> bool:
        """Whether kernel values are large enough for most samples to be no support vectors."""

    @property
    def is_definite(self) -> bool:
        """Whether a kernel matrix of few samples is positive semi-definite, where it has to be."""

    @property
    def is_sparse(self) -> bool:
        """Whether rows of the linear kernel are sparse, or mostly zero."""

    @property
    def is_filled(self) -> bool:
        """Whether rows are full, or have more than half of their values."""

    @property
    def n_weights(self) -> int:
        """Number of features, with that for an intercept."""

    @property
    def width(self) -> float:
        """The same of full rows; else infinite."""


@dataclass(frozen=True)
class Fit:
    """What a fit is, as far as its road depends on it."""

    kernel: str
    classes: tuple[int, ...]  # their sizes; of a regression the number of samples
    loss: str
    free: bool = True  # the intercept is unpenalised
    is_definite: bool = True  # the kernel, on any samples
    regression: bool = False
    one_class: bool = False  # samples without labels
    tube: bool = True  # of a regression: whether its epsilon is positive
    one_vs_one: bool = False
    same_weights: bool = True  # of samples in all problems
    joint: bool = False  # one problem for all classes
    by_weights: bool = False  # no dual variables are shown
    penalty: str = "l2"
    plan: Plan = "one C"
    again: bool = False  # for what one compiled loop has left unsolved
    shared: bool = False  # other fits use the same kernel values
    stored: bool = False  # solutions start those for other C
    limited: bool = False  # the number of steps, by the user
    screening: str = "best"  # a test of `rules.BOUNDS`; "best" for what pays, "" for none
    solver: str = "auto"
    indefinite: str = "error"
    cache_size: float = 1000.0  # megabytes

    @property
    def n(self) -> int:
        """Number of samples."""
        return sum(self.classes)

    @property
    def n_duals(self) -> int:
        """Number of dual variables: samples of a regression stand twice."""
        return 2 * self.n if self.regression else self.n

    @property
    def fits(self) -> bool:
        """Whether a kernel matrix of all samples takes no more than its megabytes."""
        return 8 * self.n**2 <= self.cache_size * 2**20

    @property
    def n_problems(self) -> int:
        """Number of problems of two classes."""
        k = len(self.classes)
        if k < 3:
            return 1
        return k * (k - 1) // 2 if self.one_vs_one else k


@dataclass(frozen=True)
class Road:
    """How the problems of a fit are solved."""

    solver: Solver
    values: Values
    # Scores, and matrices of working sets, are in double precision from the beginning.
    double: bool = False
    # Which scores are in double precision at the end: "some", that decide samples or tell losses,
    # or "all", as files and bounds for other C need them.
    exact: Exact = ""
    # The test by the solution for another C, of `rules.BOUNDS`: "gap" for none but that by its own
    # gap; "" for no screening.
    screens: str = ""
    # One call solves all problems, or they share what is computed for it.
    together: bool = False
    # Steps after which the road of another `Fit.again` takes over.
    most_steps: float = math.inf
    # Tolerance up to which linear systems give solutions their last digits.
    polished: float = LAST_DIGITS
    # Solutions are kept in the store of the user.
    stores: bool = False
    # What is done where the kernel turns out not to be positive semi-definite; "fill" where sparse
    # features make slow progress.
    otherwise: Otherwise = ""

    def __str__(self) -> str:
        """One line for users."""
        parts = [_SOLVERS[self.solver], _VALUES[self.values]]
        if self.values not in BY_FEATURES:
            parts.append("double precision" if self.double else "single precision, then double")
        parts.append("screening" if self.screens else "no screening")
        if self.together:
            parts.append("all problems together")
        if self.otherwise in _OTHERWISE:
            parts.append(_OTHERWISE[self.otherwise])
        return "; ".join(parts)


_SOLVERS = {
    "class pairs": "one compiled loop for each problem",
    "levels": "working sets, from growing parts of the samples",
    "working sets": "working sets",
    "interior point": "an interior point if C is large, then working sets",
    "rows": "coordinate descent and Newton's method",
    "rows at once": "Newton's method, or an interior point, in one compiled call",
    "rows together": "coordinate descent and Newton's method",
    "classes by Newton": "one problem for all classes, by sweeps and Newton's method",
    "classes on faces": "one problem for all classes, by sweeps and conjugate gradients",
    "L1": "sets of features and Newton's method",
    "LIBSVM": "one call of LIBSVM, as the kernel is indefinite",
}
_VALUES = {
    "rows": "rows of features",
    "full features": "full columns",
    "sparse features": "sparse columns",
    "columns": "kernel values of support vectors",
    "few": "all kernel values",
    "class blocks": "kernel values between classes",
    "tiles": "kernel values in tiles",
    "matrix": "the kernel matrix",
}
_OTHERWISE = {
    "LIBSVM": "LIBSVM if the kernel is indefinite",
    "shift": "a shift if it is",
    "fill": "full columns if that is slow",
}


def road(fit: Fit, facts: Facts) -> Road:
    """Return the road of a fit."""
    if fit.plan == "nu":
        return _at_nu(fit, facts)
    if fit.joint:
        few = facts.n_weights * len(fit.classes) <= FEW_WEIGHTS
        by: Solver = "classes by Newton" if few else "classes on faces"
        return Road(by, "rows", double=True, together=True, polished=0.0)
    if fit.penalty == "l1":
        return _by_features(fit, facts)
    at_once = fit.kernel == "linear" and _is_at_once(fit, facts)
    pairs = None if at_once else _by_pairs(fit, facts)
    if pairs is not None:
        return pairs
    if fit.kernel == "linear":
        together = at_once or _is_together(fit, facts)
        solver: Solver = "rows at once" if at_once else "rows together" if together else "rows"
        polished = math.inf if fit.n_duals <= FEW_IN_SYSTEM else LAST_DIGITS
        return Road(
            solver, "rows", double=True, exact="all", together=together, stores=fit.stored,
            polished=polished, screens=BEST if fit.screening == "best" else fit.screening,
        )  # fmt: skip
    return _by_kernel(fit, facts)


def is_kept(shape: tuple[int, int]) -> bool:
    """Whether fits of so many samples and features are kept in a store, if there is one."""
    return shape[0] > MANY_TO_STORE or shape[0] * shape[1] > VALUES_TO_STORE


def _by_features(fit: Fit, facts: Facts) -> Road:
    """Return the road of a problem that screens features."""
    if facts.is_filled:
        return Road("L1", "full features", double=True, screens="gap", polished=0.0)
    d = facts.n_weights
    how: Otherwise = "fill" if d <= FEW_FEATURES and fit.n * d <= FEW_FILLED else ""
    return Road(
        "L1", "sparse features", double=True, screens="gap", polished=0.0, otherwise=how
    )  # fmt: skip


def is_few_at_nu(fit: Fit, facts: Facts) -> bool:
    """Whether a problem at a nu is solved in one compiled call, by the width of samples alone."""
    linear, few = fit.kernel == "linear", FEW_IN_PAIRS
    if fit.regression:
        few = FEW_ROWS_AT_NU if linear else FEW_IN_TUBE_AT_NU
    is_few = fit.n <= few and fit.is_definite and not (fit.again or (linear and fit.one_class))
    return is_few and facts.width < math.inf


def are_together_at_nu(sizes: Sequence[int]) -> bool:
    """Whether one call solves the problems at a nu of all pairs of classes, each of few samples."""
    # Nobody can end a call: of more samples it solves small pairs alone.
    return sum(sizes) <= FEW_IN_PAIRS or sum(sorted(sizes)[-2:]) <= FEW_ROWS


def _at_nu(fit: Fit, facts: Facts) -> Road:
    """Return the road of a problem at a nu."""
    if fit.one_class and fit.kernel == "linear":
        # Next to one prescribed sum rows are as fast as ever.
        return Road("rows", "rows", double=True, polished=0.0)
    if is_few_at_nu(fit, facts):
        most = STEPS_TRIED * fit.n_duals // fit.n
        return Road("class pairs", "columns", double=True, polished=0.0, most_steps=most)
    largest = BY_BLOCKS_AT_NU if fit.kernel == "rbf" else BY_BLOCKS
    in_tiles = not fit.fits or (fit.n > largest and fit.is_definite and facts.is_wide)
    in_single = in_tiles and facts.largest <= LARGEST_SINGLE
    in_system = fit.n_duals <= FEW_IN_SYSTEM
    return Road(
        "levels" if in_single else "working sets", "tiles" if in_tiles else "matrix",
        double=not in_single, polished=LAST_DIGITS_OF_FEW if in_system else LAST_DIGITS,
        otherwise="" if fit.is_definite else "LIBSVM" if fit.indefinite == "warn" else "refuse",
    )  # fmt: skip


def _by_pairs(fit: Fit, facts: Facts) -> Road | None:
    """Return the road of problems between two classes that share kernel values, if it is that."""
    # These solvers know hinges, and leave no margins.
    needs_margins = fit.again or fit.plan in ("C=inf", "eps", "bounds")
    loss = "epsilon_insensitive" if fit.regression else "hinge"
    if fit.loss != loss or fit.solver != "auto" or needs_margins:
        return None
    if _is_small(fit, facts):
        if not fit.is_definite and not facts.is_definite:
            is_whole = fit.plan == "one C" and _otherwise(fit) == "LIBSVM"
            return Road("LIBSVM", "matrix", double=True, together=True) if is_whole else None
        values: Values = "few" if fit.one_vs_one and _is_whole(fit, facts) else "columns"
        most = math.inf if fit.one_vs_one or fit.n <= FEW else STEPS_TRIED
        return Road("class pairs", values, double=True, together=True, most_steps=most)
    shares = fit.one_vs_one and fit.is_definite and fit.kernel != "linear"
    if shares and facts.largest <= LARGEST_SINGLE:
        return Road("class pairs", "class blocks", together=True, stores=fit.stored)
    return None


def _is_whole(fit: Fit, facts: Facts) -> bool:
    """Whether pairs of classes share a matrix of all, which takes less time than columns."""
    # A matrix serves all C of a grid.
    if not fit.is_definite or (fit.plan == "grid" and fit.fits):
        return True
    dear = WIDE_COLUMNS <= facts.width < math.inf
    most = (MANY_A_WIDE_CLASS if dear else MANY_A_CLASS) * len(fit.classes)
    return fit.n < most and fit.fits


def _is_small(fit: Fit, facts: Facts) -> bool:
    """Whether one compiled call for a problem is the fastest way."""
    linear = fit.kernel == "linear"
    # Inner products of rows neither overflow nor vanish, and nobody asks for a history.
    if linear and fit.screening not in ("best", ""):
        return False
    if fit.one_vs_one:
        largest = sum(sorted(fit.classes)[-2:])
        # Columns take no memory; of sparse rows there are none.
        small = fit.n <= FEW_IN_PAIRS or (
            largest <= FEW_ROWS and (fit.fits or (fit.is_definite and facts.width < math.inf))
        )
        if linear:
            return small and largest <= FEW_ROWS and 1.0 / LARGEST < facts.largest < LARGEST
        return small
    if fit.plan != "one C" or fit.n_problems > 1 or not fit.tube:
        return False
    # Hinges with kernels take less time than reading a file.
    if fit.stored and (linear or fit.regression):
        return False
    if linear:
        small = fit.n <= FEW_IN_TUBE if fit.regression else fit.free and fit.n <= FEW
        return small and 1.0 / LARGEST < facts.largest < LARGEST
    few = FEW if fit.stored or fit.shared or fit.regression else FEW_IN_PAIRS
    is_few = fit.n <= FEW or (fit.n <= few and facts.width <= WIDE_TRIED)
    return is_few and fit.is_definite


def _is_at_once(fit: Fit, facts: Facts) -> bool:
    """Whether one call solves all problems on few narrow rows: squared hinges, and tubes.

    Dual variables of tubes without squares are inside of their bounds then, however near.
    """
    if fit.plan != "one C" or fit.free or fit.one_vs_one:
        return False
    as_usual = fit.solver == "auto" and fit.screening in ("best", "")
    if not as_usual or fit.limited or fit.stored or fit.again:
        return False
    tubes = fit.loss == "epsilon_insensitive" and fit.by_weights
    tubes |= fit.loss == "squared_epsilon_insensitive"
    if not tubes and (fit.loss != "squared_hinge" or _has_many_classes(fit, facts)):
        return False
    return fit.n * facts.width**2 <= NARROW and 1.0 / LARGEST < facts.largest < LARGEST


def _is_together(fit: Fit, facts: Facts) -> bool:
    """Whether all classes against the rest start from one call: squared hinges."""
    several = not fit.one_vs_one and fit.n_problems > 2 and fit.plan == "one C"
    several = several and fit.same_weights
    as_usual = fit.solver == "auto" and not (fit.limited or fit.stored)
    if not (several and as_usual and fit.loss == "squared_hinge"):
        return False
    return facts.is_sparse or _has_many_classes(fit, facts)


def _has_many_classes(fit: Fit, facts: Facts) -> bool:
    """Whether many classes of a few full rows, with many features, start from one call."""
    many = not fit.one_vs_one and fit.n_problems >= MANY_CLASSES and fit.same_weights
    return many and WIDE <= facts.width < math.inf and fit.n <= ROWS_A_FEATURE * facts.width


def _by_kernel(fit: Fit, facts: Facts) -> Road:
    """Return the road of problems by the values of a kernel."""
    is_alone = fit.plan in ("one C", "C=inf") and fit.n_problems == 1 and not fit.stored
    # With many samples of a regression tiles are cheaper than the matrix, even for a path.
    is_path = fit.regression and fit.plan in ("grid", "eps") and fit.kernel == "rbf"
    # Computing the matrix takes longer than solving one problem; unless it is next to a unit
    # matrix, as most samples are support vectors then.
    by_tiles = (is_alone or is_path) and fit.n > BY_BLOCKS and not fit.shared
    inside = fit.regression and not fit.tube and fit.loss == "epsilon_insensitive"
    inside = inside and fit.fits and fit.n <= INTERIOR and facts.largest <= LARGEST_SINGLE
    in_tiles = not fit.fits or (by_tiles and not inside and fit.is_definite and facts.is_wide)
    in_single = in_tiles and facts.largest <= LARGEST_SINGLE
    grows = in_single and (fit.n > FROM_NOTHING or fit.loss.startswith("squared"))
    # Where a solve takes milliseconds, what is decided before it costs more than it saves.
    screens = "gap" if fit.screening == "best" else fit.screening
    exact: Exact = "" if is_alone and fit.plan == "one C" else "all"
    if in_single and fit.plan in ("one C", "grid") and not fit.stored and screens in ("gap", ""):
        # Bounds on errors go with scores from one C to the next.
        exact = exact and "some"
    return Road(
        "levels" if grows else "interior point" if inside else "working sets",
        "tiles" if in_tiles else "matrix",
        double=not in_single, exact=exact, screens=screens, stores=fit.stored,
        otherwise="" if fit.is_definite else _otherwise(fit),
    )  # fmt: skip


def _otherwise(fit: Fit) -> Otherwise:
    """Return what is done where the kernel turns out not to be positive semi-definite."""
    if fit.indefinite == "warn":
        # LIBSVM has an intercept without penalty, and no squares.
        return "LIBSVM" if fit.free and not fit.loss.startswith("squared") else "shift"
    if fit.indefinite == "shift":
        return "shift"
    # A conditionally definite kernel is convex all the same.
    return "centre" if fit.free else "refuse"


@dataclass(frozen=True)
class Rows:
    """What the work of the two solvers of rows depends on, at some dual variables."""

    n: int  # samples
    n_undecided: int
    n_features: int
    entries: float  # of the rows of all samples
    smooth: bool
    n_inside: int = 0  # undecided samples strictly inside of their bounds
    is_zero: bool = True  # no dual variable of an undecided sample is used
    is_start: bool = True  # dual variables are those for another C, if any
    has_total: bool = False  # dual variables have a prescribed sum
    by_entries: bool = False  # outer products of rows are summed up entry by entry
    # Of sparse rows pairs of entries of two samples in one column, a mean, see `LinearSamples`.
    meetings: Callable[[], float] | None = None


def epoch_work(rows: Rows) -> float:
    """Return the work of a sweep over all samples, in units of reading one entry."""
    return 2.0 * (rows.entries + ENTRIES_PER_VISIT * rows.n)


def newton_work(rows: Rows, most: float = math.inf) -> float:
    """Return the estimated work of Newton's method from here; infinite if surely above `most`."""
    smooth, d, width = rows.smooth, rows.n_features, rows.entries / rows.n
    n_inside = rows.n if smooth else rows.n // 4
    if not rows.is_zero:
        n_inside = rows.n_inside * (1 if smooth else 2)
        if not smooth and rows.is_start and n_inside < d:
            # The solution for a small C, with hardly a margin of 1, says nothing of larger ones.
            n_inside = max(n_inside, rows.n // 4)
    n_inside = min(n_inside, rows.n_undecided)
    side = min(n_inside, d)
    # Typical numbers of steps, and how often all products are summed up. What sweeps have found, or
    # the solution for another C, saves steps; next to a prescribed sum sweeps save few.
    n_steps, n_sums = (8, 1) if smooth else (50, 100)
    if not smooth and not rows.is_zero and (rows.is_start or not rows.has_total):
        n_steps, n_sums = 15, 30
    # Three passes over the rows, a factorisation, and what does not depend on the sizes.
    step = 3.0 * (0.7 * width + 5.0) * rows.n_undecided + PER_MULTIPLY * side**3 / 3.0 + 1e5
    if side > LARGEST_SYSTEM or n_steps * step > most:
        return math.inf
    if rows.meetings is not None and side < d:
        # Pairs of entries of two rows that meet in a column, which have to be found.
        products = 4.0 * rows.meetings() * side
    elif rows.by_entries and side == d:
        products = 1.5 * 0.5 * width**2
    else:
        # Rows are copied to be multiplied.
        products = PER_MULTIPLY * 0.5 * d * side + d
    if side < d:
        # The matrix of a set of samples is of no use for the next set.
        n_sums = max(n_sums, n_steps)
    return n_steps * step + n_sums * n_inside * products


def begins_with_newton(rows: Rows) -> bool:
    """Whether "auto" goes from here by Newton's method, without a sweep."""
    # Losses with shifts take more epochs, of which all samples have a part.
    n_epochs = 100.0 if rows.smooth else 40.0
    return newton_work(rows, most := n_epochs * epoch_work(rows)) < most
