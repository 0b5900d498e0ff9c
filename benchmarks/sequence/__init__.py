"""Labelling of sequences."""
