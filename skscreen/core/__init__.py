"""What several towers share: numbers, certificates, decisions, projections, memory."""
