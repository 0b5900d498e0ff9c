"""What is minimised: losses, domains, geometries and the objective they make up."""
