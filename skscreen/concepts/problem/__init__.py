"""What is minimised: the penalised likelihood of trials."""
