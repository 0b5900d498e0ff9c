"""What every fit needs beside its maths: progress, callbacks, threads, store, folds, grids."""
