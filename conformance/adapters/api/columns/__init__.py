"""Unfold and fold, for all adapters."""
