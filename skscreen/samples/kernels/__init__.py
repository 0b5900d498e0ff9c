"""Kernels and their values: in memory, in blocks, in tiles, or as rows that stand for them."""
