"""Ordinal embedding: the tables of its paper, human answers, cblearn."""
