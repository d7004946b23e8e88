"""Answers of several releases of a framework."""
