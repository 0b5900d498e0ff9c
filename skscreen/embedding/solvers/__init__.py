"""How the objective is minimised."""
