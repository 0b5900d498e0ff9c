"""Shared by all packages: certificates, decisions, projections, memory."""
