"""What is minimised: answers, losses and their objective."""
