"""When: drivers over the regularisation parameter, with warm starts, history and progress."""
