"""Measures of embeddings (answers, shape, retrieval) and of labelled sequences."""

from skscreen.metrics.answers import noise_ceiling, procrustes_distance, triplet_error
from skscreen.metrics.dimensions import match_dimensions
from skscreen.metrics.labellings import sequence_accuracy, span_f1, span_report
from skscreen.metrics.relevance import (
    cmc_at_k_of,
    mean_average_precision_of,
    precision_at_k_of,
    recall_at_k_of,
)
from skscreen.metrics.retrieval import cmc_at_k, mean_average_precision, precision_at_k, recall_at_k

__all__ = [
    "cmc_at_k",
    "cmc_at_k_of",
    "match_dimensions",
    "mean_average_precision",
    "mean_average_precision_of",
    "noise_ceiling",
    "precision_at_k",
    "precision_at_k_of",
    "procrustes_distance",
    "recall_at_k",
    "recall_at_k_of",
    "sequence_accuracy",
    "span_f1",
    "span_report",
    "triplet_error",
]
