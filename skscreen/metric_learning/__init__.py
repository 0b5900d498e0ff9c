"""Metric learning: a Mahalanobis metric from comparisons of distances."""
