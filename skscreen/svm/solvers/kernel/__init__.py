"""Solvers on a Gram matrix: SMO, active sets and proximal Newton steps."""
