"""Summaries, causes, comparisons and histories computed from results."""
