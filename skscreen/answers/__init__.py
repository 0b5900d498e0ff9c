"""Answers about distances: what a table is said to hold, read into one object."""
