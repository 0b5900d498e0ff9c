"""Linear systems on sets of samples that change little from one system to the next.

Let H = Q + diag(delta), with a known Cholesky factor of H_00 on a set E_0. The system on another
set E, which is E_0 without R and with A, is a system on E_0, bordered by unknowns for A and
multipliers that keep R at zero:

    [H_00  U] [z]   [r_0]             U = [H_0A  I_R],
    [U'    D] [v] = [r_v],            D = [H_AA  0; 0  0],  r_v = [r_A; 0],

which takes a system of the size of A and R, the Schur complement D - U' H_00^-1 U.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from skscreen.core.memory import Pool
from skscreen.samples.gram import IndefiniteError, indefinite_message
from skscreen.svm.solvers.kernel.newton_loops import newton_system

# Least number of samples whose factor is kept, and the largest share of them that may change.
_SMALLEST, _LARGEST_CHANGE = 128, 0.125

# Smallest delta, relative to the diagonal, because the relative rounding errors of the Schur
# complement are 1e-16 divided by it.
_LEAST_DELTA = 1e-7


class BrokenDown(IndefiniteError):
    """A matrix is not positive definite."""

    def __init__(self):
        super().__init__(indefinite_message("a Cholesky factor broke down"))


class BorderedFactor:
    """Solves with Q_EE + diag(delta_E) for one set E after the other.

    Parameters
    ----------
    Q : ndarray of shape (m, m)
    delta : ndarray of shape (m,)
    pool : Pool
    """

    def __init__(self, Q: np.ndarray, delta: np.ndarray, pool: Pool):
        self._Q, self._delta, self._pool = Q, delta, pool
        least = _LEAST_DELTA * Q.diagonal().max(initial=0.0)
        self._keeps = delta.min(initial=np.inf) >= least
        self._E, self._factor = np.empty(0, np.int64), None

    def solve(self, E: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the solutions for the columns of `right`.

        Parameters
        ----------
        E : ndarray of shape (k,)
            Ascending.
        right : ndarray of shape (k, n_columns)

        Raises
        ------
        BrokenDown
            If Q + diag(delta) is found not to be positive definite.
        """
        inside = np.zeros(len(self._Q), np.bool_)
        inside[E] = True
        R = np.flatnonzero(~inside[self._E])
        inside[self._E] = False
        A = np.flatnonzero(inside)
        kept = self._E.size if self._keeps else 0
        if kept < _SMALLEST or A.size + R.size > _LARGEST_CHANGE * kept:
            self._factorise(E)
            A = R = E[:0]
        if A.size + R.size == 0:
            return self._back(self._forth(right))
        return self._solve_bordered(E, right, A, R)

    def _solve_bordered(self, E, right, A, R) -> np.ndarray:
        """Solve with the entries A added and the entries R held at zero."""
        Q, n_columns, k = self._Q, right.shape[1], right.shape[1] + A.size
        added = np.searchsorted(E, A)
        # r_0 and U, side by side.
        sides = np.zeros((self._E.size, k + R.size), order="F")
        sides[np.delete(np.arange(self._E.size), R), :n_columns] = np.delete(right, added, axis=0)
        sides[:, n_columns:k] = Q[np.ix_(A, self._E)].T
        sides[R, k + np.arange(R.size)] = 1.0
        sides = self._forth(sides)
        rights, U = sides[:, :n_columns], sides[:, n_columns:]
        schur, v = U.T @ U, U.T @ rights
        schur[: A.size, : A.size] -= Q[np.ix_(A, A)] + np.diag(self._delta[A])
        v[: A.size] -= right[added]
        v = np.linalg.solve(schur, v)
        out = np.empty((len(Q), n_columns))
        out[self._E] = self._back(rights - U @ v)
        out[A] = v[: A.size]
        return out[E]

    def _factorise(self, E: np.ndarray) -> None:
        self._factor = None
        system = self._pool.empty((E.size, E.size))
        newton_system(self._Q, E, self._delta, system)
        # Transposed, the rows of the lower triangle are columns of the upper one, as LAPACK has it.
        factor, info = dpotrf(system.T, lower=0, clean=0, overwrite_a=1)
        if info != 0:
            raise BrokenDown
        self._E, self._factor = E, factor

    def _forth(self, right: np.ndarray) -> np.ndarray:
        return dtrtrs(self._factor, right, lower=0, trans=1)[0]

    def _back(self, right: np.ndarray) -> np.ndarray:
        return dtrtrs(self._factor, right, lower=0)[0]
