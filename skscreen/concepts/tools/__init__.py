"""What is asked of dimensions: choices, errors, resampled trials, held-out trials."""
