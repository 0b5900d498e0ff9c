"""How support vector machines are solved, on the duality gap of the full problem."""
