"""Metric learning: paths, the tables of its paper, peers."""
