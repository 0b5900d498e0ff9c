"""Screening decisions judged by independent optima."""
