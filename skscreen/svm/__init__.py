"""Support vector machines: estimators, paths over C, and choices of C with proof."""
