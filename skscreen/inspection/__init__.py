"""Figures: Displays in scikit-learn's sense; Matplotlib is imported when something is drawn."""

from skscreen.inspection.certified import CertifiedPathDisplay
from skscreen.inspection.concepts import ConceptDisplay
from skscreen.inspection.dimension import DimensionTestDisplay
from skscreen.inspection.embedding import EmbeddingDisplay
from skscreen.inspection.learned_space import LearnedSpaceDisplay
from skscreen.inspection.paths import PathDisplay, ScreeningDisplay
from skscreen.inspection.search import SearchDisplay
from skscreen.inspection.transitions import TransitionDisplay

__all__ = [
    "CertifiedPathDisplay",
    "ConceptDisplay",
    "DimensionTestDisplay",
    "EmbeddingDisplay",
    "LearnedSpaceDisplay",
    "PathDisplay",
    "ScreeningDisplay",
    "SearchDisplay",
    "TransitionDisplay",
]
