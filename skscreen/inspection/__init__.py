"""Figures: Displays in scikit-learn's sense.

Each class holds the data of one figure, a class method (`from_path`, `from_result`,
`from_estimator`) collects them and draws, and `plot` draws again, on other axes if wanted.
Matplotlib is imported only when something is drawn.
"""

from skscreen.inspection.certified import CertifiedPathDisplay
from skscreen.inspection.dimension import DimensionTestDisplay
from skscreen.inspection.embedding import EmbeddingDisplay
from skscreen.inspection.learned_space import LearnedSpaceDisplay
from skscreen.inspection.paths import PathDisplay, ScreeningDisplay
from skscreen.inspection.search import SearchDisplay
from skscreen.inspection.transitions import TransitionDisplay

__all__ = [
    "CertifiedPathDisplay",
    "DimensionTestDisplay",
    "EmbeddingDisplay",
    "LearnedSpaceDisplay",
    "PathDisplay",
    "ScreeningDisplay",
    "SearchDisplay",
    "TransitionDisplay",
]
