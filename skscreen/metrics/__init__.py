"""Measures of embeddings (answers, shape, retrieval) and of labelled sequences."""

from skscreen.metrics.answers import noise_ceiling, procrustes_distance, triplet_error
from skscreen.metrics.dimensions import match_dimensions
from skscreen.metrics.labellings import sequence_accuracy, span_f1, span_report
from skscreen.metrics.retrieval import cmc_at_k, mean_average_precision, precision_at_k, recall_at_k

__all__ = [
    "cmc_at_k",
    "match_dimensions",
    "mean_average_precision",
    "noise_ceiling",
    "precision_at_k",
    "procrustes_distance",
    "recall_at_k",
    "sequence_accuracy",
    "span_f1",
    "span_report",
    "triplet_error",
]
