"""Exact sums, correct rounding and error bounds."""
