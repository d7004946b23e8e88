"""Comparison of a nightly run with earlier ones."""
