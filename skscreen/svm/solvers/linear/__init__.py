"""Solvers on rows of data: coordinate descent, Newton's method and steps on faces."""
