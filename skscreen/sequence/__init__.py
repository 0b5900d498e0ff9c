"""Labelling of sequences: max-margin chains and chains of probabilities with kernels."""
