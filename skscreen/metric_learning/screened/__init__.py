"""Triplet screening as a step of its own: what a metric for one lambda proves for another."""
