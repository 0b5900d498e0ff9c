"""Linear models with an L1 penalty: sparse in the features."""
