"""Solve an ordinal embedding problem: choice of the solver, and restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike

from skscreen.core import certificate
from skscreen.core.checks import check_samples
from skscreen.core.floats import LARGEST
from skscreen.core.memory import check_memory
from skscreen.embedding.problem.losses import CONVEX_LOSSES, EmbeddingLoss
from skscreen.embedding.problem.objective import EmbeddingProblem
from skscreen.embedding.solvers.auto import auto, random_start
from skscreen.embedding.solvers.convex import convex
from skscreen.embedding.solvers.descent import batch, gram_descent, sgd
from skscreen.embedding.solvers.lbfgs import improve, lbfgs
from skscreen.embedding.solvers.state import Progress, Settings
from skscreen.embedding.solvers.svrg import svrg, svrg_sbb

SOLVERS: dict[str, Callable[..., Iterator[Progress]]] = {
    "svrg-sbb": svrg_sbb,
    "svrg": svrg,
    "sgd": sgd,
    "batch": batch,
    "lbfgs": lbfgs,
    "gram": gram_descent,
    "convex": convex,
}

# Width of the quadratic piece of a hinge, in units of the margin, from which on the convex
# formulation is solved.
NARROWEST = 0.3

# On a line, objects of all starts are moved up to this number of objects, else only of the best
# start.
FEW_OBJECTS = 20

# A line of the history of a fit, in which "dual" and "gap" are NaN where the solver did not compute
# them: also the gradients of answers so far divided by the number of answers, and the length of the
# step, which is that of the iteration for L-BFGS, else the factor of a gradient.
HISTORY = np.dtype([*certificate.HISTORY.descr, ("passes", np.float64), ("step", np.float64)])


@dataclass(frozen=True)
class EmbeddingSolution:
    """Result of a solver."""

    embedding: np.ndarray  # (n_objects, n_components)
    objective: float
    reg: float  # the ridge, which "auto" may have chosen
    converged: bool
    # (n_iter,), of dtype HISTORY: iterations of L-BFGS, epochs of SVRG, parts of an SGD pass.
    history: np.ndarray
    dual_gap: float  # over the objective; NaN without a certificate


def convex_solver(loss: EmbeddingLoss) -> str:
    """Return the solver of the convex formulation for a loss."""
    if loss.name not in CONVEX_LOSSES:
        return "gram"
    # A hinge with a narrow quadratic piece is too hard for descent.
    if loss.name == "gnmds" and loss.shape < NARROWEST:
        raise ValueError(
            f"smoothing must be at least {NARROWEST:g} in the convex formulation, and for its "
            f"bound, got {loss.shape:g}."
        )
    return "convex"


def check_free(n_objects: int, n_components: int, solver: str, n_jobs: int | None) -> None:
    """Refuse points, or Gram matrices, that would not fit, before they are made."""
    if solver in ("gram", "convex"):
        # As measured: eleven of these.
        needed = 8.0 * 11 * n_objects**2
        what = f"Gram matrices of {n_objects:,} objects"
        check_memory(needed, what, "Use formulation='nonconvex'.")
    # As measured: L-BFGS keeps ten pairs.
    needed = 8.0 * 28 * n_objects * n_components * effective_n_jobs(n_jobs)
    what = f"Copies of {n_objects:,} points in {n_components:,} components"
    check_memory(needed, what, "Use a smaller n_components, n_objects or n_jobs.")


def check_inits(init: ArrayLike, n_objects: int, n_components: int) -> list[np.ndarray]:
    """Return centred starts, or raise where `init` has not the right shape or size."""
    init = check_samples(init, "init", dtype=np.float64, allow_nd=True)
    inits = init if init.ndim == 3 else init[None]
    if inits.shape[1:] != (n_objects, n_components):
        raise ValueError(
            f"init must have shape ({n_objects}, {n_components}), or one such array for each "
            f"start, got {init.shape}."
        )
    if np.abs(inits).max() > LARGEST:
        raise ValueError(f"init must hold coordinates of at most {LARGEST:g} in size.")
    if np.any(np.ptp(inits, axis=1) == 0.0):
        raise ValueError("init must not have the same value for all objects in a component.")
    # Distances do not depend on the mean of the points, but the ridge does.
    return [np.ascontiguousarray(start - start.mean(axis=0)) for start in inits]


def _off_zero(
    problem: EmbeddingProblem, init: np.ndarray, random: np.ndarray, tol: float
) -> np.ndarray:
    """Return a start, of the size of a random one if F at it is that at zero."""
    # Zero is stationary: a solver would take the first short steps from there for the last ones.
    value, at_zero = (problem.evaluate(X)[0] for X in (init, np.zeros_like(init)))
    if abs(value - at_zero) > tol * at_zero:
        return init.copy()
    if not init.any():
        return random
    # Not by squares, which may underflow.
    shape = init / np.abs(init).max()
    return shape * (np.linalg.norm(random) / np.linalg.norm(shape))


def solve_embedding(
    problem: EmbeddingProblem, n_components: int, solver: str, settings: Settings, seed: int,
    init: np.ndarray | None = None, report: Callable[[Progress], None] | None = None,
) -> EmbeddingSolution:  # fmt: skip
    """Solve once, from `init` or from a random start; see `SOLVERS`."""
    rng = np.random.default_rng(seed)
    random = random_start(problem.n_objects, n_components, rng)
    X = random if init is None else _off_zero(problem, init, random, settings.tol)
    # The stochastic start of "auto" would ignore the given one.
    solver = "lbfgs" if init is not None and solver == "auto" else solver
    history: list[tuple] = []
    start = perf_counter()

    def note(progress: Progress) -> None:
        history.append(_line(len(history) + 1, perf_counter() - start, progress))
        if report is not None:
            report(progress)

    progress, reg = run(solver, problem, X, settings, rng, note)
    return EmbeddingSolution(
        embedding=progress.embedding,
        objective=progress.value,
        reg=reg,
        converged=progress.converged,
        history=np.array(history, dtype=HISTORY),
        dual_gap=progress.dual_gap,
    )


def run(
    solver: str, problem: EmbeddingProblem, X: np.ndarray, settings: Settings,
    rng: np.random.Generator, report: Callable[[Progress], None],
) -> tuple[Progress, float]:  # fmt: skip
    """Run "auto", or one of `SOLVERS` from X; return its end, and the ridge that it had."""
    if solver == "auto":
        return auto(problem, X.shape[1], settings, rng, report)
    for progress in SOLVERS[solver](problem, X, settings, rng):
        report(progress)
    return progress, problem.reg


def _line(iteration: int, seconds: float, progress: Progress) -> tuple:
    """Return an entry of a history."""
    value, gap = progress.value, progress.dual_gap
    return iteration, seconds, value, value * (1.0 - gap), gap, progress.passes, progress.step


def solve_from(
    problem: EmbeddingProblem, n_components: int, solver: str, settings: Settings,
    seeds: list[int], inits: list[np.ndarray | None], n_jobs: int | None,
    report: Callable[[Progress], None] | None = None,
) -> EmbeddingSolution:  # fmt: skip
    """Solve from several starts, and return the solution of the lowest objective."""
    first = solve_embedding(problem, n_components, solver, settings, seeds[0], inits[0], report)
    # Objectives with different ridges cannot be compared: all take what the first start chooses.
    fixed, settings = problem.with_reg(first.reg), replace(settings, adapt=False)
    found, rest = [first], zip(seeds[1:], inits[1:], strict=True)
    tasks = [(fixed, n_components, solver, settings, *start) for start in rest]
    if effective_n_jobs(n_jobs) == 1:
        # To set up joblib takes as long as a small fit.
        found += [solve_embedding(*task) for task in tasks]
    elif tasks:
        found += Parallel(n_jobs, require="sharedmem")(
            delayed(solve_embedding)(*task) for task in tasks
        )
    if solver == "auto" and inits[0] is None:
        few = n_components == 1 and problem.n_objects <= FEW_OBJECTS
        kept = _distinct(found)[: None if few else 1]
        found = [_moved(fixed, solution, settings) for solution in kept]
    return min(found, key=_by_objective)


def _by_objective(solution: EmbeddingSolution) -> tuple[bool, float]:
    """Written such that NaN is never the lowest."""
    return not solution.objective < np.inf, solution.objective


def _distinct(found: list[EmbeddingSolution]) -> list[EmbeddingSolution]:
    """One solution of each objective, up to a hundredth."""
    found = sorted(found, key=_by_objective)
    new = [True, *(b.objective > a.objective * 1.01 for a, b in pairwise(found))]
    return [solution for solution, is_new in zip(found, new, strict=True) if is_new]


def _moved(
    problem: EmbeddingProblem, solution: EmbeddingSolution, settings: Settings
) -> EmbeddingSolution:
    """Return a solution, or a better one to which moves of its points lead."""
    X, history = solution.embedding.copy(), solution.history.tolist()
    before, start, last = solution.history[-1], perf_counter(), None
    for last in improve(problem, X, settings):
        seconds = before["seconds"] + perf_counter() - start
        moved = last._replace(passes=before["passes"] + last.passes)
        history.append(_line(len(history) + 1, seconds, moved))
    if last is None or not last.value < solution.objective:
        return solution
    return replace(
        solution, embedding=X, objective=last.value, converged=last.converged,
        history=np.array(history, dtype=HISTORY),
    )  # fmt: skip
