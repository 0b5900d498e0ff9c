"""Dimensions from odd-one-out trials."""
