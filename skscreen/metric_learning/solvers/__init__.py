"""How a metric is learned: each solver stops on the duality gap of the full problem."""
