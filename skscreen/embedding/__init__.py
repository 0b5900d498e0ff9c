"""Ordinal embedding: points from answers that compare distances."""
