"""Sparse, non-negative dimensions of objects from choices among three."""
