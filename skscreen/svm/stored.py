"""A fit in a store, with one file for all of its problems."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from skscreen.fitting.store import Store
from skscreen.svm.solvers.solution import SampleSolution, Solution, growth

# C, dual variables, their scores if known, and C_min of the problem.
Known = tuple[float, np.ndarray, np.ndarray | None, float]


class StoredFit:
    """Stored solutions for other C, by the key of all else; threads may ask and keep."""

    def __init__(self, store: Store, key: str, n_problems: int):
        self._store, self._key, self._n_problems = store, key, n_problems
        self._lock = Lock()
        self._solved: dict[int, tuple[SampleSolution | Solution, float]] = {}
        self._read: tuple[float, list[list[Known]]] | None = None

    def neighbours(self, problem: int, C: float, n: int) -> list[Known]:
        """Return the solutions of a problem of n samples for the nearest C on both sides."""
        with self._lock:
            # The file is read once for all problems.
            if self._read is None or self._read[0] != C:
                self._read = C, self._neighbours(C)
            found = self._read[1]
        return [known[problem] for known in found if known[problem][1].shape == (n,)]

    def start(self, problem: int, C: float, weights: np.ndarray) -> np.ndarray | None:
        """Return dual variables to start from: of the nearest C, scaled; C_i = C weights_i."""
        known = self.neighbours(problem, C, weights.size)
        if not known:
            return None
        other, beta, *_ = min(known, key=lambda point: abs(np.log(C / point[0])))
        return growth(beta, other * weights, C / other) * beta

    def _neighbours(self, C: float) -> list[list[Known]]:
        out: list[list[Known]] = []
        for other, known in self._store.neighbours(self._key, C):
            ends = np.cumsum(known["sizes"])[:-1]
            betas = np.split(known["beta"], ends)
            scores: Sequence = [None] * len(betas)
            if "scores" in known:
                scores = np.split(known["scores"], ends)
            C_mins = map(float, known["C_min"])
            out.append([(other, *point) for point in zip(betas, scores, C_mins, strict=True)])
        return out

    def keep(
        self, problem: int, C: float, solution: SampleSolution | Solution, C_min: float = 0.0
    ) -> None:
        """Add a solution; write the file when all problems are solved, if all are good."""
        with self._lock:
            self._solved[problem] = solution, C_min
            found = [self._solved[k] for k in sorted(self._solved)]
            if len(found) < self._n_problems or not all(last.converged for last, _ in found):
                return
            self._solved = {}
        solutions = [last for last, _ in found]
        arrays = {
            "beta": np.concatenate([last.beta for last in solutions]),
            "sizes": np.array([last.beta.size for last in solutions]),
            "C_min": np.array([C_min for _, C_min in found]),
        }
        scores = [last.scores for last in solutions if isinstance(last, SampleSolution)]
        if len(scores) == len(solutions):
            arrays["scores"] = np.concatenate(scores)
        self._store.put(self._key, C, arrays)
