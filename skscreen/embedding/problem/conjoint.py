"""Conjoint trials: which of two stimuli, with levels of several attributes, is the greater."""

from math import prod
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from skscreen.answers.answers import Answers, array_of
from skscreen.embedding.problem.answers import pieces
from skscreen.embedding.problem.scale import differences

MODELS = ("independent", "additive", "full")


def learn_levels(answers: Answers) -> list[np.ndarray]:
    """Return the levels of each attribute, numbers ascending, names as the objects have them."""
    objects = answers.objects.tolist()
    widths = {len(name) if isinstance(name, tuple) else 0 for name in objects}
    if len(widths) != 1 or widths.pop() < 2:
        raise ValueError(
            "X must be answers whose objects are tuples of the levels of two or more attributes "
            f"with a conjoint model, got the object {objects[0]!r}."
        )
    levels = []
    for values in zip(*objects, strict=True):
        seen = list(dict.fromkeys(values))
        numbers = all(isinstance(value, Real) for value in seen)
        levels.append(array_of(sorted(seen) if numbers else seen))
    return levels


def stimuli_of(answers: Answers, levels: list[np.ndarray]) -> np.ndarray:
    """Return the levels of both stimuli of each row, (m, 2, n_attributes); the greater is first."""
    place = [{name: k for k, name in enumerate(known.tolist())} for known in levels]
    table = []
    for name in answers.objects.tolist():
        parts = name if isinstance(name, tuple) else (name,)
        found = [known.get(part, -1) for known, part in zip(place, parts, strict=False)]
        table.append(found if len(parts) == len(levels) else [-1] * len(levels))
    stimuli = np.array(table)[answers.rows]
    unknown = (stimuli < 0).any(axis=2)
    if unknown.any():
        row, side = np.argwhere(unknown)[0]
        name = answers.objects.tolist()[answers.rows[row, side]]
        raise ValueError(
            f"X has the object {name!r} in trial {answers.trials[row]}, with levels that are none "
            "of the fit's."
        )
    return stimuli


def conjoint_design(
    stimuli: np.ndarray, shape: tuple[int, ...], model: str, attribute: int
) -> sparse.csr_array:
    """Differences of the stimuli in the parameters of a model, (m, n_parameters)."""
    first, second = stimuli[:, 0].T, stimuli[:, 1].T
    if model == "full":
        pair = (np.ravel_multi_index(tuple(one), shape) for one in (first, second))
        return differences(prod(shape), *pair)
    attributes = [attribute] if model == "independent" else range(len(shape))
    blocks = [differences(shape[a], first[a], second[a]) for a in attributes]
    return sparse.hstack(blocks, format="csr")


def count_pieces(stimuli: np.ndarray, shape: tuple[int, ...], model: str, attribute: int) -> int:
    """Return the number of sets of levels, or of stimuli, that no chain of answers connects."""
    if model == "full":
        places = np.ravel_multi_index(tuple(np.moveaxis(stimuli, 2, 0)), shape)
        return int(pieces(places, prod(shape)).max()) + 1
    attributes = [attribute] if model == "independent" else range(len(shape))
    return 1 + sum(int(pieces(stimuli[:, :, a], shape[a]).max()) for a in attributes)


def stimulus_values(
    values: np.ndarray, shape: tuple[int, ...], model: str, attribute: int
) -> tuple[list[np.ndarray] | None, Any]:
    """Return the values of the levels of each attribute (None for "full"), and of all stimuli."""
    if model == "full":
        return None, np.append(0.0, values).reshape(shape)
    attributes = [attribute] if model == "independent" else range(len(shape))
    scales, start = [np.zeros(size) for size in shape], 0
    for a in attributes:
        scales[a][1:] = values[start : start + shape[a] - 1]
        start += shape[a] - 1
    return scales, sum(np.meshgrid(*scales, indexing="ij"))
