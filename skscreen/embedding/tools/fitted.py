"""What the mixins of ordinal embeddings find in a fitted one."""

from typing import Any

import numpy as np

from skscreen.embedding.problem.answers import Answers


class Fitted:
    """Parameters and fitted attributes of an ordinal embedding; see `OrdinalEmbedding`."""

    loss: str
    tol: float
    random_state: Any
    embedding_: np.ndarray
    objects_: np.ndarray
    compared_: np.ndarray
    answers_: Answers
    response_: str
    reg_: float
    n_features_in_: int
