"""Road distances between European cities."""

from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch


def load_eurodist() -> Bunch:
    """Load the road distances between 21 European cities.

    Returns
    -------
    Bunch
        `distances`, ndarray of shape (21, 21) in km, and `names`, list of str.

    Notes
    -----
    The table `eurodist` of the R package `datasets`, originally from The Cambridge Encyclopaedia.

    Examples
    --------
    >>> from skscreen.datasets import load_eurodist
    >>> cities = load_eurodist()
    >>> athens, rome = cities.names.index("Athens"), cities.names.index("Rome")
    >>> int(cities.distances[athens, rome])
    817
    """
    header, *lines = (
        files("skscreen.datasets").joinpath("eurodist.csv").read_text("utf-8").splitlines()
    )
    names = header.split(",")
    distances = np.zeros((len(names), len(names)))
    for row, line in enumerate(lines):
        # The part below the diagonal: the first line is empty.
        distances[row, :row] = [float(number) for number in line.split(",") if number]
    return Bunch(distances=distances + distances.T, names=names)
