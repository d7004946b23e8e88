"""Normalization over channels."""
