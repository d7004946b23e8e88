"""Resizing, for all adapters."""
