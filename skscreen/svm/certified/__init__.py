"""Certified choices of C: bounds on validation errors for every C of a range."""
