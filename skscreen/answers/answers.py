"""Answers of experiments, as every estimator takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

# The order of columns that says the opposite, by kind.
OPPOSITE = {"triplets": [0, 2, 1], "quadruplets": [2, 3, 0, 1], "paired": [1, 0]}
_SENTENCES = {
    "triplets": "{1} is closer to {0} than {2} is",
    "quadruplets": "{0} and {1} are closer than {2} and {3}",
    "oddoneout": "{2} is the odd one among {0}, {1}, {2}",
    "paired": "{0} has more of it than {1}",
}


@dataclass(frozen=True, repr=False, eq=False)
class Answers:
    """Answers to trials about named objects.

    Made by `read_answers` and by the functions of `skscreen.preprocessing`. The length is the
    number of trials, and an index selects trials: a mask, a slice or an array of places,
    ``answers[answers.groups == "P07"]``. The objects stay the same, so that all parts of a
    cross-validation know them. Functions of scikit-learn that split samples split trials.

    Attributes
    ----------
    kind : {"triplets", "quadruplets", "oddoneout", "paired"}
        What a row says.
    rows : ndarray of shape (n_rows, 2, 3 or 4), int32
        Places in `objects`. Triplets (i, j, k): i is closer to j than to k. Quadruplets
        (i, j, k, l): i and j are closer to each other than k and l. Trials of odd-one-out: the last
        one is the odd one. Paired (i, j): i has more of it than j.
    weights : ndarray of shape (n_rows,) or None
        Positive weights; None where all are one.
    trials : ndarray of shape (n_rows,), int
        The trial that each row belongs to, ascending from 0. Trials of several choices have several
        rows.
    objects : ndarray of shape (n_objects,)
        Names of the objects.
    groups : ndarray of shape (n_trials,) or None
        The participant, or another group, of each trial.
    left_out : ndarray of int
        Rows of the table that hold no answer: a missing one, an object twice, or weight 0.

    Examples
    --------
    >>> from skscreen import read_answers
    >>> answers = read_answers([["tea", "coffee", "soap"], ["soap", "tea", "coffee"]])
    >>> answers
    2 trials of 3 objects, triplets
    first: 'coffee' is closer to 'tea' than 'soap' is
    objects occur 2 ('coffee') to 2 ('coffee') times
    >>> answers[[1]].rows
    array([[1, 2, 0]], dtype=int32)
    """

    kind: str
    rows: np.ndarray
    weights: np.ndarray | None
    trials: np.ndarray
    objects: np.ndarray
    groups: np.ndarray | None
    left_out: np.ndarray

    # Python would count indices up to an IndexError.
    __iter__ = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of trials, and of objects in a row."""
        return (int(self.trials[-1]) + 1 if len(self.trials) else 0), self.rows.shape[1]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("Answers are no array: use answers.rows, places in answers.objects.")

    def __getitem__(self, key: Any) -> Answers:
        # scikit-learn asks for answers[key, ...].
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if hasattr(key, "to_numpy"):
            key = np.asarray(key)
        if not isinstance(key, slice) and (isinstance(key, tuple) or np.ndim(key) != 1):
            raise TypeError(
                "Answers are indexed by a mask, a slice or an array of trials, as answers[[0]], "
                f"got {key!r}."
            )
        n = len(self)
        empty = not isinstance(key, slice) and len(key) == 0
        taken = np.arange(n)[slice(0) if empty else key]
        counts = np.bincount(self.trials, minlength=n)
        first, counts = (np.cumsum(counts) - counts)[taken], counts[taken]
        start = np.cumsum(counts) - counts
        places = np.repeat(first - start, counts) + np.arange(counts.sum())
        return replace(
            self,
            rows=self.rows.take(places, axis=0),
            weights=None if self.weights is None else self.weights[places],
            trials=np.repeat(np.arange(len(taken)), counts),
            groups=None if self.groups is None else self.groups[taken],
        )

    def __repr__(self) -> str:
        count, m = len(self), len(self.rows)
        text = f"{count:,} trials of {len(self.objects):,} objects, {self.kind}"
        text += f", {m:,} rows" * (m != count) + ", weighted" * (self.weights is not None)
        if self.groups is not None:
            text += f"; {len(set(self.groups.tolist())):,} groups"
        if len(self.left_out):
            text += f"; {len(self.left_out):,} row{'s' * (len(self.left_out) > 1)} left out"
        if not count:
            return text
        occur = np.bincount(self.rows.ravel(), minlength=len(self.objects))
        low, high = int(occur.argmin()), int(occur.argmax())
        names = [repr(name) for name in self.objects[[*self.rows[0], low, high]].tolist()]
        return (
            f"{text}\nfirst: {_SENTENCES[self.kind].format(*names)}\n"
            f"objects occur {occur[low]:,} ({names[-2]}) to {occur[high]:,} ({names[-1]}) times"
        )

    def reversed(self) -> Answers:
        """Return the answers to the opposite question: what was closer is less close.

        In doubt about the direction of answers: a map should agree with them much better than a map
        of the reversed ones with these.

        Returns
        -------
        Answers

        Raises
        ------
        ValueError
            For choices of the odd one out, which have no opposite.
        """
        if self.kind not in OPPOSITE:
            raise ValueError(f"Answers of kind={self.kind!r} have no opposite.")
        return replace(self, rows=self.rows.take(OPPOSITE[self.kind], axis=1))


def concat_answers(parts: Iterable[Answers]) -> Answers:
    """Join answers, such as those of several files.

    Objects are joined by name, in the order in which the parts have them; trials are numbered one
    part after the other.

    Parameters
    ----------
    parts : iterable of Answers
        Of one kind, and all with groups or all without.

    Returns
    -------
    Answers
        `left_out` is empty, as its rows are those of several tables.

    Raises
    ------
    TypeError, ValueError
        If a part is no `Answers`, or differs from the others.

    Examples
    --------
    >>> from skscreen import concat_answers, read_answers
    >>> monday, tuesday = read_answers([["a", "b", "c"]]), read_answers([["c", "d", "a"]])
    >>> len(concat_answers([monday, tuesday]))
    2
    """
    if not isinstance(parts, Iterable):
        raise TypeError(f"parts must be a list of Answers, got {type(parts).__name__}.")
    parts = list(parts)
    for part in parts:
        if not isinstance(part, Answers):
            raise TypeError(f"parts must be Answers, got {type(part).__name__}.")
    if len({part.kind for part in parts}) != 1:
        kinds = [part.kind for part in parts]
        raise ValueError(f"parts must be answers of one kind, at least one, got {kinds}.")
    grouped = [part.groups is not None for part in parts]
    if any(grouped) and not all(grouped):
        raise ValueError(
            f"parts must all have groups, or none of them; part {grouped.index(False)} has none."
        )
    place: dict = {}
    maps = [
        np.array([place.setdefault(name, len(place)) for name in part.objects.tolist()])
        for part in parts
    ]
    starts = np.cumsum([0, *map(len, parts)])
    weights = [np.ones(len(p.rows)) if p.weights is None else p.weights for p in parts]
    rows = [known[part.rows] for known, part in zip(maps, parts, strict=True)]
    trials = [part.trials + start for part, start in zip(parts, starts[:-1], strict=True)]
    groups = [name for part in parts if part.groups is not None for name in part.groups.tolist()]
    return Answers(
        kind=parts[0].kind,
        rows=np.concatenate(rows).astype(np.int32),
        weights=None if all(p.weights is None for p in parts) else np.concatenate(weights),
        trials=np.concatenate(trials),
        objects=array_of(list(place)),
        groups=array_of(groups) if all(grouped) else None,
        left_out=np.empty(0, dtype=np.int64),
    )


def array_of(names: Sequence) -> np.ndarray:
    """Return an array of names: of strings or numbers where all are, else of Python objects."""
    # Whole numbers beside others would become floats, and both beside text would become text.
    kinds = {type(name) for name in names}
    if len(kinds) == 1 and kinds <= {str, int, float, bool, bytes}:
        array = np.array(names)
        # Strings of numpy end before a null character.
        if kinds != {int} or array.dtype.kind in "iu":
            return array
    array = np.empty(len(names), dtype=object)
    # One by one: numpy would unpack tuples.
    for k, name in enumerate(names):
        array[k] = name
    return array


# What estimators take: answers, or an array with a row of objects for each trial.
AnswersLike: TypeAlias = Answers | ArrayLike
