"""Screening as a step of its own: what a solution for one C proves for another."""
