"""Infrastructure of fits: progress, callbacks, threads, store, folds, grids."""
