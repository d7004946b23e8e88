"""Runs of routes from a source framework to a runtime: in batches, and part by part."""
