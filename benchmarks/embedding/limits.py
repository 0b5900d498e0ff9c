"""Losses, starts and memory for `run.py`; `benchmarks/whole/growth.py` has sizes."""

import time
import tracemalloc
from itertools import product

import numpy as np

from benchmarks.embedding.peers import SETS
from benchmarks.embedding.runs import LOSSES, Settings, loss_of, ms, split, synthetic
from benchmarks.support.tables import table
from skscreen import OrdinalEmbedding
from skscreen.embedding.problem.objective import EmbeddingProblem, evaluate
from skscreen.embedding.solvers.auto import random_start
from skscreen.embedding.solvers.solve import solve_embedding
from skscreen.embedding.solvers.svrg import svrg_sbb


def losses(bench) -> dict:
    """The test error of each loss on answers of people, in two and in five dimensions."""
    rows = []
    for p, name in product((2, 5), bench.some(SETS, SETS, SETS[4:6])):
        answers = bench.load(name)
        errors = np.zeros(len(LOSSES))
        for seed in range(bench.some(5, 1, 1)):
            train, test = split(answers, seed)
            model = OrdinalEmbedding(p, random_state=seed)
            fits = (model.set_params(loss=loss).fit(train) for loss in LOSSES)
            errors += [(1.0 - fit.score(test)) / bench.some(5, 1, 1) for fit in fits]
        rows.append((p, name, *(f"{error:.4f}" for error in errors)))
    table("components,data," + ",".join(LOSSES), rows)
    return {}


def epochs(bench) -> dict:
    """An epoch of SVRG-SBB against a pass over the answers, and the memory of a fit."""
    things = bench.load("things1854")
    cells = {"things1854, p=5": (things, 1854, 5)}
    if bench.some(True, False, False):
        made = synthetic(5000, 10, 1_000_000, 0.0, 0)[0]
        cells["made, n=5,000, 1e6 answers, p=10"] = made, 5000, 10
    rows = []
    for name, (T, n, p) in cells.items():
        answers = np.random.default_rng(0).permutation(T).astype(np.int32)
        for loss in LOSSES:
            problem = EmbeddingProblem(answers, None, n, loss_of(loss, p), 1e-3)
            X = random_start(n, p, np.random.default_rng(0))
            gradient, work = np.empty_like(X), problem.workspace()
            passes, epochs_ = [], []
            solver = svrg_sbb(problem, X, Settings(max_iter=6, tol=0.0), np.random.default_rng(0))
            next(solver)
            for _ in range(5):
                start = time.process_time()
                next(solver)
                epochs_.append(time.process_time() - start)
                start = time.process_time()
                evaluate(X, problem.terms, work, gradient)
                passes.append(time.process_time() - start)
            del solver
            tracemalloc.start()
            OrdinalEmbedding(p, loss=loss, max_iter=3, random_state=0).fit(T)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            unit = 8.0 * n * p + 12.0 * len(T)
            rows.append(
                (name, loss, ms(np.median(passes)), ms(np.median(epochs_)),
                 f"{np.median(epochs_) / np.median(passes):.2f}", f"{peak / 1e6:.0f}",
                 f"{peak / unit:.1f}", f"{8e-6 * n * n:.0f}")
            )  # fmt: skip
    table(
        "data,loss,pass ms,epoch ms,epoch / pass,peak MB of a fit,in units of X and answers,"
        "n x n floats MB",
        rows,
    )
    return {}


def starts(bench) -> dict:
    """What lifting of starts is good for."""
    rows, repeats = [], bench.some(50, 10, 1)
    for n, p, loss in ((100, 1, "tste"), (100, 1, "soe"), (100, 2, "tste"), (100, 2, "ckl"),
                       (50, 2, "ckl")):  # fmt: skip
        found = {"auto": [], "lbfgs": []}
        for seed in range(repeats):
            train, _ = synthetic(n, p, 50 * n, 0.1, 0)
            answers = np.random.default_rng(seed).permutation(train).astype(np.int32)
            problem = EmbeddingProblem(answers, None, n, loss_of(loss, p), 0.003)
            for solver, objectives in found.items():
                objectives.append(solve_embedding(problem, p, solver, Settings(), seed).objective)
        best = min(min(objectives) for objectives in found.values())
        rates = [np.mean(np.array(values) <= 1.02 * best) for values in found.values()]
        rows.append((f"n={n}, p={p}", loss, *(f"{rate:.2f}" for rate in rates)))
    print("Share of single starts with an objective within 2 % of the best, 10 % noise:\n")
    table("data,loss,lifted start and L-BFGS,L-BFGS alone", rows)
    return {}
