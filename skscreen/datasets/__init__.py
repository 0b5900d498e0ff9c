"""Small data that come with the package, and made ones."""

from skscreen.datasets.answers import make_triplets
from skscreen.datasets.conll import load_conll
from skscreen.datasets.eurodist import load_eurodist

__all__ = ["load_conll", "load_eurodist", "make_triplets"]
