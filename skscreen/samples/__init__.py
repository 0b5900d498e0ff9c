"""Samples: labels, rows, kernel matrices, and the intercept that is not penalised."""
