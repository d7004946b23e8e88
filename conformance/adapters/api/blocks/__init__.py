"""Depth to space and space to depth, for all adapters."""
