"""The experiments of the paper on safe sample screening, repeated with skscreen.

    python -m benchmarks.svm.paper --data FOLDER [--parts tables] [--sets NAME,...] [--limit 6]

Ogawa, Suzuki, Suzumura and Takeuchi (2014), arXiv:1401.6740.
"""

import sys
import time

import numpy as np
from sklearn.svm import SVC

from benchmarks.support.comparison import Side, size
from benchmarks.support.data import Sets
from benchmarks.support.parts import headed, options_of
from benchmarks.support.peer_process import best_of
from benchmarks.support.tables import table
from benchmarks.svm.peers_here import linear_svc, svc_gap
from benchmarks.svm.rates import rates
from skscreen.samples.kernels.gram import Gram, KernelSamples
from skscreen.samples.kernels.kernel import Kernel
from skscreen.samples.losses import hinge
from skscreen.samples.rows import LinearSamples, compress
from skscreen.svm.dual import Dual
from skscreen.svm.path_solver import SamplePathSolver, eps_limit
from skscreen.svm.solvers.kernel.solve import solve_kernel
from skscreen.svm.solvers.linear.coordinate_descent import coordinate_descent
from skscreen.svm.solvers.linear.state import SampleState

GAP, EPS, C_MAX = 1e-6, 1e-3, 1e4
SETS = (
    "breast_cancer", "dna", "satimage", "spambase", "magic", "mushrooms", "shuttle", "mnist", "a9a",
    "ijcnn1", "news20_binary", "reuters_money",
)  # fmt: skip
# Kernel matrices of more samples are not computed here.
MOST_KERNEL = 10_000
# Whether to shrink, and the test of the path.
COLUMNS = {
    "Full": (False, None),
    "Shrink": (True, None),
    "BT1": (False, "ball1"),
    "Shr+BT1": (True, "ball1"),
    "IT": (False, "intersection"),
    "Shr+IT": (True, "intersection"),
}


def tables(data: Sets, names: list[str], args) -> None:
    """Tables III and IV: a fit from a reference, and the whole path, with and without shrinking.

    Without shrinking coordinate descent visits all samples that screening left, with it it leaves
    out what rests. Kernels have working sets in either case. In parentheses: the share of samples
    that the test decides. Behind a path: the C it got to in the time it had.
    """
    fits, paths = [], []
    for name in names or SETS:
        X, y = data(name)
        for label, factor in (("linear", None), ("0.1/d", 0.1), ("1/d", 1.0), ("10/d", 10.0)):
            if factor is not None and X.shape[0] > MOST_KERNEL:
                continue
            gamma = None if factor is None else factor / X.shape[1]
            work = size(name, X).replace(",", ""), label
            fits.append((*work, *single(X, y, gamma, args.limit)))
            paths.append((*work, *whole_path(X, y, gamma, args.limit)))
            print(f"{name}, {label}: done", file=sys.stderr, flush=True)
    columns = ",".join(COLUMNS)
    print("One fit at C = C_ref / 0.9, started from the solution at C_ref = 500 C_min\n")
    table(f"data,kernel,C,{columns},peer,s", fits)
    print(f"The eps-path from C_min to {C_MAX:g}, as far as it gets in {args.limit:g} s\n")
    table(f"data,kernel,{columns}", paths)


def samples_of(X, y, gamma: float | None):
    """Return the samples with a penalised intercept."""
    if gamma is None:
        return LinearSamples(X, np.ones(y.size), 1.0, compress(X))
    return KernelSamples(Gram(X, Kernel("rbf", gamma=gamma), cache_size=2000), bias=1.0)


def path_solver(samples, y, shrink: bool, screening: str | None) -> SamplePathSolver:
    """Return a path with one of the solvers compared."""
    screens = screening is not None

    def solve_linear(samples, dual, *, start, fixed, tol):
        began = time.process_time()
        state = SampleState(samples, dual, start, fixed)
        state.evaluate()
        coordinate_descent(state, tol, 20_000, screening=screens, shrinking=shrink)
        return state.solution(tol, time.process_time() - began)

    solve = solve_linear if isinstance(samples, LinearSamples) else solve_kernel
    dual = Dual.of(hinge(np.ones(y.size)), y, False)
    return SamplePathSolver(samples, dual, solve, screening or "")


def single(X, y, gamma: float | None, limit: float) -> list[str]:
    """Table III: one fit at C = C_ref / 0.9 from the solution at C_ref = 500 C_min."""
    samples, cells = samples_of(X, y, gamma), []
    for shrink, screening in COLUMNS.values():
        solver = path_solver(samples, y, shrink, screening)
        C_ref = 500.0 * solver.C_min
        solver.solve(C_ref, GAP)
        began = time.process_time()
        point = solver.solve(C_ref / 0.9, GAP)
        seconds = time.process_time() - began
        rate = f" ({point.screening_rate('path'):.2f})" if screening else ""
        missed = "" if point.converged else f" gap {point.certificate.relative_gap:.0e}"
        cells.append(f"{seconds:.3f}{rate}{missed}")
    if gamma is None:
        how = {"C": point.C, "loss": "hinge"}
        peer = linear_svc(X, y, point.certificate.dual, GAP, limit, **how)
    else:
        peer = svc(X, samples.gram.whole, y, point.C, gamma)
    name, seconds, reached = peer.cells()
    return [f"{point.C:.2g}", *cells, f"{name}: {reached}", seconds]


def svc(X, K, y, C: float, gamma: float) -> Side:
    """Return SVC at the loosest tolerance that reaches the gap."""
    for tol in (1e-3, 1e-4, 1e-5, 1e-6):
        model = SVC(C=C, gamma=gamma, tol=tol, cache_size=2000)
        seconds, _ = best_of(1, lambda model=model: model.fit(X, y))
        gap = svc_gap(model, K, y, C)
        if gap <= GAP:
            break
    return Side(f"SVC(tol={tol:g})", seconds, f"gap {gap:.0e}", late=gap > GAP)


def whole_path(X, y, gamma: float | None, limit: float) -> list[str]:
    """Table IV: the eps-path from C_min to C_MAX, or as far as the time limit allows."""
    samples, cells = samples_of(X, y, gamma), []
    for shrink, screening in COLUMNS.values():
        solver = path_solver(samples, y, shrink, screening)
        C, started, missed = solver.C_min, time.process_time(), 0
        while True:
            point = solver.solve(C, min(GAP, 0.01 * EPS))
            missed += not point.converged
            seconds, step = time.process_time() - started, eps_limit(point, EPS)
            if C >= C_MAX or seconds > limit or not step > 1.0:
                break
            C = min(C * step, C_MAX)
        end = f"{seconds:.2f} s" if C >= C_MAX else f"to C = {C:.1g}"
        cells.append(f"{end} ({missed} missed)" if missed else end)
    return cells


PARTS = {"tables": tables, "rates": rates}


def main(arguments=None) -> None:
    """Run the parts asked for."""
    more = {"sets": ("", "those of the paper, if none is named"), "limit": (6.0, "CPU s of a path")}
    args = options_of(__doc__, PARTS, "svc_paper", arguments, **more)
    for _, part in headed(args.parts, PARTS):
        part(Sets(args.data), [name for name in args.sets.split(",") if name], args)


if __name__ == "__main__":
    main()
