"""What is minimised: comparisons, losses, domains and the objective they make up."""
